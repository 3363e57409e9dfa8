internal import BenchmarkReport

extension BenchmarkedSystem {
    /// gocryptfs with its default cipher, or with XChaCha20-Poly1305; nil if not installed.
    static func gocryptfs(xchacha: Bool) throws -> BenchmarkedSystem? {
        guard let binary = Command.find("gocryptfs") else { return nil }
        let version = try Command(binary, ["-version"]).run().firstLine
        let cipher = xchacha ? ["-xchacha"] : []
        let options = "-init \(xchacha ? "-xchacha" : "(AES-256-GCM)"); mount -fg"
        var system = BenchmarkedSystem(
            SystemDescription(
                id: xchacha ? "gocryptfs-xchacha" : "gocryptfs", role: .peer, version: version,
                options: options),
            create: { place in
                let arguments = ["-init", "-q"] + cipher + ["-passfile", place.passphraseFile, place.store]
                try Command(binary, arguments, environment: place.environment).run()
            },
            mount: { place in
                let arguments = ["-fg", "-q", "-nosyslog", "-passfile", place.passphraseFile]
                return Command(
                    binary, arguments + [place.store, place.mount], environment: place.environment)
            })
        if let xray = Command.find("gocryptfs-xray") {
            system.unlock = { place in
                Command(
                    xray, ["-dumpmasterkey", place.store + "/gocryptfs.conf"], environment: place.environment,
                    input: Place.passphrase + "\n")
            }
        }
        return system
    }
}
