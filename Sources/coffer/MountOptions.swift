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
        "defaults", "auto", "noauto", "user", "nouser", "users", "nousers", "owner", "noowner", "group",
        "nogroup", "_netdev", "nofail", "silent", "loud", "relatime", "norelatime", "diratime", "nodiratime",
        "strictatime", "nostrictatime", "lazytime", "nolazytime", "iversion", "noiversion", "mand", "nomand",
    ]
    /// The same, for options of which only the beginning is known: comments, and what programs keep there.
    private static let ignoredBeginnings = ["x-", "X-", "comment=", "user=", "uhelper=", "helper="]

    init(parsing texts: [String]) throws {
        var mount = ["subtype=coffer", "default_permissions"]
        var source = "fsname=coffer"
        var names: Set<String> = []
        for option in texts.flatMap({ $0.split(separator: ",") }).map(String.init) {
            if Self.ignored.contains(option) || Self.ignoredBeginnings.contains(where: option.hasPrefix) {
                continue
            }
            if option.hasPrefix("fsname=") {
                source = option
                continue
            }
            names.insert(option)
            if option == "noprotect" || option == "default_permissions" { continue }
            guard Self.passedOn.contains(option) || option.hasPrefix("context=") else {
                throw ValidationError(
                    "Unknown mount option “\(option)”. Leave it out; “man mount.coffer” lists those that there are."
                )
            }
            mount.append(option)
        }
        service = MountService.Options(
            mount: [source] + mount, isReadOnly: names.contains("ro"),
            keepsAccessTimes: names.contains("noatime") || names.contains("ro"),
            protects: !names.contains("noprotect"))
    }
}
