internal import BenchmarkReport

/// A filesystem that can be created, mounted and measured.
struct BenchmarkedSystem {
    var description: SystemDescription
    /// Creates an empty store.
    var create: (Place) throws -> Void
    /// The command that serves the store in the foreground until it is unmounted; nil if there is nothing to
    /// mount.
    var mount: ((Place) -> Command)?
    /// The command that does only what a mount does with the passphrase; nil if there is none.
    var unlock: ((Place) -> Command)?
    /// The directory of the files, relative to the mount point; empty for the mount point itself.
    var directory = ""
    /// Whether the files still exist after unmounting.
    var keepsFiles = true
    /// Whether it stores data with a delay that unmounting does not shorten.
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

    /// The directories in which a system is created and mounted.
    struct Place {
        let root: String
        /// Whether the passphrase has the default strength, as for a user; otherwise it has the least one.
        var hasDefaultStrength = false

        var store: String { root + "/store" }
        var mount: String { root + "/mount" }
        /// The home directory of the programs.
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
