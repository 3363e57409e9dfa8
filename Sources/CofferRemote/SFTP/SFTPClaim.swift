internal import Glibc

/// A claim on a free name: a directory that only one client can bring to its place, as in a WebDAV collection.
///
/// RENAME of SFTP does not exclude on all servers, but no file system replaces a directory that has members. So the
/// bytes of the object are written into a directory of their own, which is renamed to the name of the claim; from
/// there, the object is renamed to its own name. Who loses the claim loses the bytes with it, and cannot take the
/// name any more.
struct SFTPClaim {
    static let ownPrefix = "put.", claimPrefix = FolderTemporary.claimPrefix
    /// The age from which a claim counts as abandoned, in seconds: an hour.
    private static let age: Int64 = 3600
    /// The number and length of pauses while another client holds the claim: five seconds in all.
    private static let attemptCountMax = 100
    private static let pauseMicroseconds: UInt32 = 50_000

    private let token = ClaimHolder().text
    private let incoming: String
    private let own: String
    private let path: String
    private var isHeld = false

    init(on name: RemoteName, in incoming: String) {
        self.incoming = incoming
        own = SFTPPut.temporaryName(in: incoming)
        // The same name as in a folder.
        path = "\(incoming)/\(Self.claimPrefix)\(name.segments.suffix(3).joined(separator: ".").suffix(240))"
    }

    /// Where the bytes are written to.
    var source: String { "\(own)/\(token)" }

    /// Where the bytes are once the claim is taken.
    var held: String { "\(path)/\(token)" }

    /// Whether a name is one that a put may leave.
    static func isTemporary(_ name: String) -> Bool {
        name.hasPrefix(ownPrefix) || name.hasPrefix(claimPrefix)
    }

    /// Makes the directory for the bytes.
    func makeOwn(_ files: SFTPFiles) throws(RemoteError) {
        try files.perform(.makeDirectory(files.path(own)))
    }

    /// Takes the claim; waits while another client has it.
    ///
    /// - Parameter now: The server's clock, in seconds; nil if it is not known.
    /// - Throws: `.exists` once the name is taken; `.busy` if another claim stays.
    mutating func take(
        _ files: SFTPFiles, at now: Int64?, _ isTaken: () throws(RemoteError) -> Bool
    ) throws(RemoteError) {
        for _ in 0..<Self.attemptCountMax {
            do throws(RemoteError) {
                try files.rename(own, to: path)
            } catch {
                switch error {
                case .failed, .refused, .unsupported: break
                default: throw error
                }
            }
            let claim = try Self.members(of: path, files)
            // Only what is there counts: a server may say that it has renamed, and not have done it.
            if claim.contains(where: { $0.name == token }) { return isHeld = true }
            if try isTaken() { throw .exists }
            if !claim.isEmpty, claim.allSatisfy({ Self.isAbandoned($0, at: now) }) {
                removeAbandoned(claim, files)
            }
            usleep(Self.pauseMicroseconds)
        }
        throw .busy(after: nil)
    }

    /// What is in a directory; nothing if there is none.
    private static func members(of path: String, _ files: SFTPFiles) throws(RemoteError) -> [SFTPEntry] {
        var members: [SFTPEntry] = []
        _ = try files.forEachEntry(in: path) { entry in
            if ![".", ".."].contains(entry.name), !entry.name.contains("/") { members.append(entry) }
            return members.count < 100
        }
        return members
    }

    private static func isAbandoned(_ entry: SFTPEntry, at now: Int64?) -> Bool {
        if let now, let modified = entry.attributes.modified, now - modified > age { return true }
        return ClaimHolder.hasEnded(entry.name)
    }

    /// Takes an abandoned claim out of the way.
    ///
    /// It may have been another one by then. So it is renamed first: a holder whose claim goes away cannot take the
    /// name, and one that is put back loses nothing.
    private func removeAbandoned(_ claim: [SFTPEntry], _ files: SFTPFiles) {
        let aside = SFTPPut.temporaryName(in: incoming)
        do throws(RemoteError) {
            try files.rename(path, to: aside)
            let got = try Self.members(of: aside, files)
            if got.allSatisfy({ entry in claim.contains { $0.name == entry.name } }) {
                Self.removeDirectory(aside, files)
            } else {
                try files.rename(aside, to: path)
            }
        } catch {
            // Another client was faster, or a cleanup removes it.
        }
    }

    /// Removes a directory that holds the bytes of puts.
    static func removeDirectory(_ path: String, _ files: SFTPFiles) {
        for entry in (try? members(of: path, files)) ?? [] { try? files.remove("\(path)/\(entry.name)") }
        try? files.perform(.removeDirectory(files.path(path)))
    }

    /// Gives up the claim, if this client holds it, and removes what is left of it.
    ///
    /// Others may take the claim in between: of its directory, only this client's bytes are removed, and the
    /// directory itself only if it is empty.
    func remove(_ files: SFTPFiles) {
        // The call may have ended before the answer to its rename.
        let mayBeHeld = isHeld || ((try? Self.members(of: path, files)) ?? []).contains { $0.name == token }
        guard mayBeHeld else { return Self.removeDirectory(own, files) }
        if !isHeld { try? files.remove(held) }
        try? files.perform(.removeDirectory(files.path(path)))
    }
}
