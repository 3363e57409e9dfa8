internal import BenchmarkReport

/// A filesystem that can be made, mounted and measured.
struct BenchmarkedSystem {
    var description: SystemDescription
    /// Makes an empty store.
    var create: (Place) throws -> Void
    /// Serves the store in the foreground until it is unmounted; nil if there is nothing to mount.
    var mount: ((Place) -> Command)?
    /// Does with the passphrase what a mount does, and nothing else; nil if there is no such command.
    var unlock: ((Place) -> Command)?
    /// Where the files are, seen from the mount point; empty if they are right there.
    var directory = ""
    /// Whether the files are still there after unmounting.
    var keepsFiles = true
    /// Whether it stores what was written only later, and no earlier for being unmounted.
    var storesLater = false

    var id: String { description.id }

    init(
        _ description: SystemDescription, create: @escaping (Place) throws -> Void = { _ in },
        mount: ((Place) -> Command)?
    ) {
        self.description = description
        self.create = create
        self.mount = mount
    }

    /// Where a system is made and mounted.
    struct Place {
        let root: String
        /// For costs of the passphrase as a user would have them; otherwise the least there is.
        var hasDefaultStrength = false

        var store: String { root + "/store" }
        var mount: String { root + "/mount" }
        /// For what the programs keep in the home directory.
        var home: String { root + "/home" }
        var passphraseFile: String { root + "/passphrase" }
        var log: String { root + "/log" }
        static let passphrase = "correct horse battery staple"
        var environment: [String: String] {
            [
                "HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "XDG_CACHE_HOME": home,
                "XDG_RUNTIME_DIR": "", "LC_ALL": "C.UTF-8",
            ]
        }
    }
}
