internal import BenchmarkReport

extension BenchmarkedSystem {
    /// Coffer, with the given binary.
    static func coffer(_ binary: String) throws -> BenchmarkedSystem {
        let version = try Command(binary, ["--version"]).run().firstLine
        let options = "init --strength interactive (mount rows: the default); mount -f -o noprotect"
        var system = BenchmarkedSystem(
            SystemDescription(id: "coffer", role: .subject, version: version, options: options),
            create: { place in
                let strength = place.hasDefaultStrength ? [] : ["--strength", "interactive"]
                try Command(
                    binary, ["init"] + strength + profile(place, place.store), environment: place.environment
                ).run()
                if place.hasDefaultStrength { try makeProfileWithoutVaults(binary, place) }
            },
            mount: { place in
                // Without noprotect, the bare mount point would be immutable, and could not be removed.
                let arguments = ["mount", "-f", "-o", "noprotect"] + profile(place, place.store)
                return Command(binary, arguments + [place.mount], environment: place.environment)
            })
        system.directory = "Personal"
        system.unlock = { place in
            let arguments = ["vault", "list"] + profile(place, place.home)
            return Command(binary, arguments, environment: place.environment)
        }
        return system
    }

    /// Creates a profile in which only the passphrase takes time, because listing vaults opens each of them.
    private static func makeProfileWithoutVaults(_ binary: String, _ place: Place) throws {
        let options = profile(place, place.home)
        try Command(binary, ["init"] + options, environment: place.environment).run()
        let delete = ["vault", "delete", "--yes"] + options + ["Personal"]
        try Command(binary, delete, environment: place.environment).run()
    }

    private static func profile(_ place: Place, _ directory: String) -> [String] {
        ["--home", directory + "/profile", "--passphrase-file", place.passphraseFile]
    }
}

extension String {
    /// The first line that is not empty, without leading spaces.
    var firstLine: String {
        split(separator: "\n").map { $0.drop { $0 == " " } }.first { !$0.isEmpty }.map(String.init) ?? ""
    }
}
