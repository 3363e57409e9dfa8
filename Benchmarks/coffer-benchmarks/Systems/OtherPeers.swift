internal import BenchmarkReport

extension BenchmarkedSystem {
    /// securefs in its default format.
    static func securefs() throws -> BenchmarkedSystem? {
        guard let binary = Command.find("securefs") else { return nil }
        // Debian's build does not know its own version.
        let package = try? Command("dpkg-query", ["-W", "-f", "securefs ${Version} (Debian)", "securefs"])
            .run()
        let version = try package ?? Command(binary, ["version"]).run().firstLine
        return BenchmarkedSystem(
            SystemDescription(id: "securefs", role: .peer, version: version, options: "create; mount"),
            create: { place in
                let arguments = ["create", "--pass", Place.passphrase, place.store]
                try Command(binary, arguments, environment: place.environment).run()
            },
            mount: { place in
                let arguments = ["mount", "--pass", Place.passphrase, place.store, place.mount]
                return Command(binary, arguments, environment: place.environment)
            })
    }

    /// EncFS in its standard configuration.
    static func encfs() throws -> BenchmarkedSystem? {
        guard let binary = Command.find("encfs") else { return nil }
        let version = try Command(binary, ["--version"]).run().firstLine
        let mount: (Place) -> Command = { place in
            Command(
                binary, ["-f", "--standard", "--stdinpass", place.store, place.mount],
                environment: place.environment, input: Place.passphrase + "\n")
        }
        var system = BenchmarkedSystem(
            SystemDescription(id: "encfs", role: .peer, version: version, options: "--standard; -f"),
            create: { place in
                // The first mount creates the store.
                let daemon = try Daemon(mount(place), place)
                try daemon.unmount()
            }, mount: mount)
        if let control = Command.find("encfsctl") {
            system.unlock = { place in
                Command(
                    control, ["autocheckpasswd", place.store], environment: place.environment,
                    input: Place.passphrase + "\n")
            }
        }
        return system
    }

    /// CryFS with its defaults.
    static func cryfs() throws -> BenchmarkedSystem? {
        guard let binary = Command.find("cryfs") else { return nil }
        let quiet = ["CRYFS_FRONTEND": "noninteractive", "CRYFS_NO_UPDATE_CHECK": "true"]
        let version = try Command(binary, ["--version"], environment: quiet).run().firstLine
        let mount: (Place) -> Command = { place in
            Command(
                binary, ["-f", place.store, place.mount],
                environment: place.environment.merging(quiet) { _, new in new },
                input: Place.passphrase + "\n")
        }
        let reason = "it answers fsync without writing to the disk"
        let rows = ["large.write", "large.write-cpu", "large.random-write", "large.append"]
        return BenchmarkedSystem(
            SystemDescription(
                id: "cryfs", role: .peer, version: version, options: "-f",
                notRacing: Dictionary(uniqueKeysWithValues: rows.map { ($0, reason) })),
            create: { place in
                let daemon = try Daemon(mount(place), place)
                try daemon.unmount()
            }, mount: mount)
    }

    /// The crypt remote of rclone, over a local directory.
    static func rclone() throws -> BenchmarkedSystem? {
        guard let binary = Command.find("rclone") else { return nil }
        let version = try Command(binary, ["--version"]).run().firstLine
        let reason = "it writes to, and reads from, a cache of plaintext on the disk"
        let rows = [
            "large.write", "large.write-cpu", "large.read-cold", "large.read-cpu", "large.read-warm",
            "large.seek",
            "large.seek-worst", "large.late", "large.random-read", "large.random-write", "large.append",
            "small.create", "small.read-cold", "small.read-warm", "tree.untar", "tree.grep-cold",
            "tree.git-add",
            "tree.status-cold", "tree.status-warm", "space.written", "space.rewritten", "space.settled",
        ]
        var system = BenchmarkedSystem(
            SystemDescription(
                id: "rclone", role: .peer, version: version,
                options: "crypt over a local directory; mount --vfs-cache-mode full",
                notRacing: Dictionary(uniqueKeysWithValues: rows.map { ($0, reason) })),
            create: { place in
                let hidden = try Command(binary, ["obscure", Place.passphrase]).run().firstLine
                try Place.write(
                    "[sealed]\ntype = crypt\nremote = \(place.store)\npassword = \(hidden)\n",
                    to: place.home + "/rclone.conf")
            },
            mount: { place in
                let arguments = [
                    "mount", "--config", place.home + "/rclone.conf", "--vfs-cache-mode", "full",
                    "--cache-dir", place.home + "/cache", "sealed:", place.mount,
                ]
                return Command(binary, arguments, environment: place.environment)
            })
        system.storesLater = true
        return system
    }
}
