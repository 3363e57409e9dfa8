internal import ArgumentParser
internal import CofferClient

/// Options of mount(8), by the component that uses them.
struct MountOptions {
    let service: MountService.Options

    /// Options for the kernel and libfuse.
    private static let passedOn: Set<String> = [
        "ro", "rw", "suid", "nosuid", "dev", "nodev", "exec", "noexec", "async", "sync", "dirsync", "atime",
        "noatime", "allow_other", "auto_unmount", "default_permissions",
    ]
    /// Options of fstab(5) and mount(8) that have no meaning here.
    private static let ignored: Set<String> = [
        "defaults", "auto", "noauto", "user", "nouser", "users", "nousers", "owner", "noowner", "group",
        "nogroup", "_netdev", "nofail", "silent", "loud", "relatime", "norelatime", "diratime", "nodiratime",
        "strictatime", "nostrictatime", "lazytime", "nolazytime", "iversion", "noiversion", "mand", "nomand",
    ]
    /// Prefixes of options that have no meaning here: comments, and settings of other programs.
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
                    "Unknown mount option “\(option)”. Remove it; “man mount.coffer” lists the known options."
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
