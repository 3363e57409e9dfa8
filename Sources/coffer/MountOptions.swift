internal import ArgumentParser
internal import CofferClient

/// Options of mount(8), sorted by who heeds them.
struct MountOptions {
    let service: MountService.Options

    /// What the kernel and libfuse take from us.
    private static let passedOn: Set<String> = [
        "ro", "rw", "suid", "nosuid", "dev", "nodev", "exec", "noexec", "async", "sync", "dirsync", "atime",
        "noatime", "allow_other", "auto_unmount", "default_permissions",
    ]
    /// What fstab(5) and mount(8) may carry, and means nothing here.
    private static let ignored: Set<String> = [
        "defaults", "auto", "noauto", "user", "users", "nouser", "_netdev", "nofail", "relatime",
        "nodiratime",
        "strictatime",
    ]

    init(parsing texts: [String]) throws {
        var mount = ["fsname=coffer", "subtype=coffer", "default_permissions"]
        var names: Set<String> = []
        for option in texts.flatMap({ $0.split(separator: ",") }).map(String.init) {
            if option.hasPrefix("x-") || Self.ignored.contains(option) { continue }
            names.insert(option)
            if option == "noprotect" || option == "default_permissions" { continue }
            guard Self.passedOn.contains(option) || option.hasPrefix("context=") else {
                throw ValidationError("Unknown mount option “\(option)”.")
            }
            mount.append(option)
        }
        service = MountService.Options(
            mount: mount, isReadOnly: names.contains("ro"),
            keepsAccessTimes: names.contains("noatime") || names.contains("ro"),
            protects: !names.contains("noprotect"))
    }
}
