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
        var rates: [String: Int] = [:]
        var lockAfter: Int64?
        for option in texts.flatMap({ $0.split(separator: ",") }).map(String.init) {
            if Self.ignored.contains(option) || Self.ignoredBeginnings.contains(where: option.hasPrefix) {
                continue
            }
            if option.hasPrefix("fsname=") {
                source = option
                continue
            }
            if let (name, rate) = try Self.rate(option) {
                rates[name] = rate
                continue
            }
            if let time = try Self.lockAfter(option) {
                lockAfter = time
                continue
            }
            names.insert(option)
            if ["noprotect", "default_permissions", "lock-on-sleep"].contains(option) { continue }
            guard Self.passedOn.contains(option) || option.hasPrefix("context=") else {
                throw ValidationError(
                    "Unknown mount option “\(option)”. Remove it; “man mount.coffer” lists the known options."
                )
            }
            mount.append(option)
        }
        var service = MountService.Options(
            mount: [source] + mount, isReadOnly: names.contains("ro"),
            keepsAccessTimes: names.contains("noatime") || names.contains("ro"),
            protects: !names.contains("noprotect"))
        (service.sending, service.receiving) = (rates["upload"], rates["download"])
        (service.lockAfter, service.locksOnSleep) = (lockAfter, names.contains("lock-on-sleep"))
        self.service = service
    }

    private static let secondsOfUnits: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]

    /// Parses “lock-after=15m”, in nanoseconds; nil for another option.
    private static func lockAfter(_ option: String) throws -> Int64? {
        let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "lock-after" else { return nil }
        guard let unit = parts[1].last.flatMap({ secondsOfUnits[$0] }),
            let count = Int64(parts[1].dropLast()),
            (1...1_000_000).contains(count)
        else {
            throw ValidationError(
                "“\(option)”: give a time in seconds, minutes, hours, or days, as in lock-after=15m or lock-after=2h."
            )
        }
        return count * unit * 1_000_000_000
    }

    /// Parses “upload=500K” and “download=2MiB”, bytes per second; nil for another option.
    private static func rate(_ option: String) throws -> (name: String, rate: Int)? {
        let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "upload" || parts[0] == "download" else { return nil }
        guard let rate = ByteUnit.count(String(parts[1])).flatMap({ Int(exactly: $0) }), rate >= 1000 else {
            throw ValidationError(
                "“\(option)”: give bytes per second, at least 1000, as in \(parts[0])=500K or \(parts[0])=2MiB."
            )
        }
        return (String(parts[0]), rate)
    }
}
