import Foundation
import Testing

/// A person who shares the vault “Plans”, with a profile, a mount, and a path of their own to the folder that is the
/// remote, so that each member can go offline alone.
///
/// Made by `withMembers`.
final class Member {
    let name: String
    let profile: MountedProfile
    /// A link to the folder.
    let way: String
    private let folder: String

    init(_ name: String, _ profile: MountedProfile, folder: String) throws {
        self.name = name
        self.profile = profile
        self.folder = folder
        way = "\(profile.base)/way"
        try lead(to: folder)
        try profile.initialise("--name", name, "--device", device)
        try profile.mount()
    }

    var device: String { "\(name)'s laptop" }

    /// A path in the vault.
    func path(_ name: String = "") -> String { "\(profile.point)/Plans/\(name)" }

    /// A `coffer` command that talks to the mount.
    func coffer(_ words: String...) throws -> Command {
        Command(try Programs.coffer(), words + ["--home", profile.home])
    }

    func sync() throws { try coffer("sync", "Plans").succeed() }

    func mount() throws {
        try profile.mount()
        try noteSharing()
    }

    /// Waits until the mount watches the folder, and records what it has open then as what it has open at rest.
    fileprivate func noteSharing() throws {
        let isWatching = Processes.waitUntil {
            let open = (try? profile.descriptors()) ?? []
            return open.contains("anon_inode:inotify") && open.count { $0 == "anon_inode:[eventfd]" } > 1
        }
        #expect(isWatching, "\(name)'s mount does not watch the folder")
        try profile.noteMounted()
    }

    /// Cuts the path to the remote.
    ///
    /// After the sync that fails now, nothing becomes a commit until the path is back. A link to itself fails at once;
    /// a missing folder would be retried for seconds.
    fileprivate func leave() throws {
        try lead(to: way)
        let result = try coffer("sync", "Plans").fail(with: 74)
        #expect(result.error.contains(way))
    }

    /// Restores the path to the remote, and syncs.
    fileprivate func comeBack() throws {
        try lead(to: folder)
        try sync()
    }

    /// Points the path at another folder.
    func lead(to target: String) throws {
        unlink(way)
        try Files.check(symlink(target, way), way)
    }
}

/// People who share a vault.
struct Members {
    let all: [Member]
    /// The folder that is everybody's remote.
    let folder: String

    /// The member who made the vault, and the first who joined.
    var alice: Member { all[0] }
    var bob: Member { all[1] }

    /// Syncs all members, in the order of the list, until all have everything.
    func sync() throws {
        for _ in 1...2 { for member in all { try member.sync() } }
    }

    /// Cuts every member's path to the remote.
    func part() throws {
        for member in all { try member.leave() }
    }

    /// Restores the paths, one after the other, and syncs.
    func meet() throws {
        for member in all { try member.comeBack() }
        try sync()
    }

    /// Waits until all members see a file with the given bytes.
    func expect(_ bytes: [UInt8], in name: String, sourceLocation: SourceLocation = #_sourceLocation) {
        for member in all {
            #expect(
                Processes.waitUntil { (try? Files.read(member.path(name))) == bytes },
                "\(name), as \(member.name) sees it", sourceLocation: sourceLocation)
        }
    }

    func expect(_ text: String, in name: String, sourceLocation: SourceLocation = #_sourceLocation) {
        expect(Array(text.utf8), in: name, sourceLocation: sourceLocation)
    }

    /// Adds a member by an invite.
    fileprivate func join(_ member: Member, as role: String) throws {
        let invite = try alice.invite(as: role)
        try member.coffer("join", invite, "--as", "Plans").succeed()
        try member.coffer("remote", "remove", "Plans").succeed()
        try member.coffer("remote", "add", "Plans", "file://\(member.way)").succeed()
        try member.sync()
    }
}

extension Member {
    /// Makes an invite to the vault.
    func invite(as role: String) throws -> String {
        let answer = try coffer("member", "invite", "Plans", "--role", role).succeed()
        return try #require(answer.lines.first)
    }
}

/// Runs a body with people who share a vault, and fails the test on anything left behind.
///
/// - Parameters:
///   - names: The first is the owner.
///   - role: The role of the others.
///   - folder: Their remote; nil makes a new folder.
func withMembers(
    _ names: [String] = ["Alice", "Bob"], role: String = "writer", folder: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (Members) throws -> Void
) throws {
    let profiles = try names.map { _ in try MountedProfile() }
    defer { for profile in profiles { profile.removeAll() } }
    let folder = folder ?? "\(profiles[0].base)/remote"
    if !Files.exists(folder) { try Files.makeDirectory(folder) }
    let all = try zip(names, profiles).map { try Member($0, $1, folder: folder) }
    let members = Members(all: all, folder: folder)
    try Files.makeDirectory(members.alice.path())
    try members.alice.coffer("remote", "add", "Plans", "file://\(members.alice.way)").succeed()
    for member in all.dropFirst() { try members.join(member, as: role) }
    for member in all { try member.noteSharing() }
    try body(members)
    for profile in profiles where profile.process != nil {
        try profile.unmount(sourceLocation: sourceLocation)
        #expect(try profile.check().damage.isEmpty, sourceLocation: sourceLocation)
    }
}
