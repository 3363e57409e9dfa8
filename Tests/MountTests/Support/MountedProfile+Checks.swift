import Foundation
import Testing

/// Runs a body with a profile, mounted unless `options` is nil, and fails the test on anything left behind.
///
/// - Parameters:
///   - options: For `mount -o`.
///   - disk: A directory for the profile.
func withProfile(
    mounted options: String?, disk: String? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (MountedProfile) throws -> Void
) throws {
    let profile = try MountedProfile(disk: disk)
    defer { profile.removeAll() }
    try profile.initialise()
    if let options { try profile.mount(options, sourceLocation: sourceLocation) }
    try body(profile)
    if profile.process != nil { try profile.unmount(sourceLocation: sourceLocation) }
    #expect(
        Mounts.below(profile.base) == [], "the test left mounts behind", sourceLocation: sourceLocation)
}

/// Runs a body with a profile that is mounted without special options.
func withMountedProfile(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (MountedProfile) throws -> Void
) throws {
    try withProfile(mounted: "rw", sourceLocation: sourceLocation, body)
}

extension MountedProfile {
    /// Checks that the mount met no problems and holds no descriptors that it did not hold at first.
    func checkAtRest(sourceLocation: SourceLocation = #_sourceLocation) throws {
        guard let process, kill(process, 0) == 0 else { return }
        if !expectsProblems {
            let status = try status()
            let problems = status.problems.map(\.text) + status.vaults.flatMap { $0.sync?.findings ?? [] }
            #expect(problems == [], "the mount met problems", sourceLocation: sourceLocation)
        }
        var leak: String?
        // The mount may not have finished a request that it just answered.
        Processes.waitUntil {
            leak = (try? self.leakedDescriptors()) ?? nil
            return leak == nil
        }
        if let leak { Issue.record("descriptors leaked: \(leak)", sourceLocation: sourceLocation) }
    }

    /// The open files of the process that serves the mount.
    ///
    /// A vault keeps a limited number of packs open, each at most twice:
    /// once through the page cache, once past it. Tasks that sleep share a timer for each of the three
    /// clocks, which the runtime makes when a task first sleeps by that clock.
    func descriptors() throws -> [String] {
        let process: pid_t = try #require(process)
        let directory = "/proc/\(process)/fd"
        var packs: [String: Int] = [:]
        var timers = 0
        return try Files.names(directory).compactMap { name in
            guard
                let target = try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "\(directory)/\(name)")
            else { return nil }
            if target.contains("/packs/") {
                packs[target, default: 0] += 1
                if packs[target, default: 0] <= 2 { return nil }
            }
            if target == "anon_inode:[timerfd]" {
                timers += 1
                if timers <= 3 { return nil }
            }
            return target
        }
    }

    /// Descriptors beyond those that the mount had at first: every vault may have as many as the first one,
    /// and a removed vault none.
    private func leakedDescriptors() throws -> String? {
        let (first, now) = (byVault(firstDescriptors), byVault(try descriptors()))
        let usual = first.filter { $0.key != "" }.map(\.value.count).max() ?? 0
        // The intent log is opened with the first fsync that it serves, and kept.
        for (vault, open) in now {
            if vault != "", !Files.exists(vault) { return "\(open) of a vault that is gone" }
            let isLater = open.contains { $0.hasSuffix("/intents") }
            let allowed = vault == "" ? first[""]?.count ?? 0 : usual + (isLater ? 1 : 0)
            if open.count > allowed { return "\(open), at first \(first)" }
        }
        return nil
    }

    /// Descriptors by the vault's directory; those outside of vaults have the empty name.
    private func byVault(_ descriptors: [String]) -> [String: [String]] {
        Dictionary(grouping: descriptors) { target in
            let vaults = "\(home)/vaults/"
            return target.hasPrefix(vaults) ? vaults + target.dropFirst(vaults.count).prefix(32) : ""
        }
    }

    /// Ends the mounts and removes all files, however the test went.
    func removeAll() {
        if let process {
            kill(process, SIGKILL)
            forgetProcess()
            Processes.waitUntilGone(process)
        }
        for mount in Mounts.below(base).reversed() { umount2(mount, Int32(MNT_DETACH)) }
        try? makeWritable(point)
        try? FileManager.default.removeItem(atPath: base)
    }

    /// Removes the protection of a bare mount point.
    ///
    /// Does the same as chattr(1) -i and chmod(1).
    func makeWritable(_ path: String) throws {
        let setFlags: UInt = 0x4008_6602
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try Files.check(directory, path)
        defer { close(directory) }
        var flags: CLong = 0
        _ = withUnsafeMutablePointer(to: &flags) { ioctl(directory, setFlags, $0) }
        try Files.check(chmod(path, 0o755), path)
    }
}

/// Reads /proc/self/mountinfo.
enum Mounts {
    /// The mount points at and below a path, outer ones first.
    static func below(_ path: String) -> [String] {
        let text = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 4, fields[4] == path || fields[4].hasPrefix("\(path)/") else { return nil }
            return String(fields[4])
        }
    }
}
