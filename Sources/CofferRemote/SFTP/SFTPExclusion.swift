internal import Synchronization

/// How a put if absent keeps others from the same name.
enum SFTPExclusion: Sendable {
    /// link(2), which fails if the name is taken.
    case link
    /// A claim (`SFTPClaim`), then a check, then RENAME.
    case claim
    /// Nothing: a check, then RENAME.
    case nothing
}

extension SFTPTree {
    /// How names are kept on this server, which is tried once: some servers only pretend to make links, or replace
    /// directories.
    func exclusion(in incoming: String, _ files: SFTPFiles) throws(RemoteError) -> SFTPExclusion {
        if let known = exclusion.withLock({ $0 }) { return known }
        let found: SFTPExclusion
        if try makesLinks(in: incoming, files) {
            found = .link
        } else {
            found = try keepsDirectories(in: incoming, files) ? .claim : .nothing
        }
        return exclusion.withLock { exclusion in
            exclusion = exclusion ?? found
            return exclusion ?? found
        }
    }

    /// Whether a link is the same file, and a second one to its name fails.
    private func makesLinks(in incoming: String, _ files: SFTPFiles) throws(RemoteError) -> Bool {
        guard try files.has(.link) else { return false }
        let names = (0..<3).map { _ in SFTPPut.temporaryName(in: incoming) }
        defer { for name in names { try? files.uncancelled.remove(name) } }
        try make(names[0], files)
        try make(names[2], files)
        guard try isDone({ () throws(RemoteError) in try link(names[0], names[1], files) }) else {
            return false
        }
        // Some servers only say that they have made it.
        guard try files.linkStatus(names[1])?.byteCount == 1 else { return false }
        // A copy would not grow.
        guard try isDone({ () throws(RemoteError) in try grow(names[0], files) }) else { return false }
        guard try files.linkStatus(names[1])?.byteCount == 2 else { return false }
        if try isDone({ () throws(RemoteError) in try link(names[2], names[1], files) }) { return false }
        return try files.linkStatus(names[1])?.byteCount == 2
    }

    private func grow(_ name: String, _ files: SFTPFiles) throws(RemoteError) {
        let handle = try files.open(name, .write)
        try files.perform(.write(handle, at: 1, [2]))
        try files.perform(.close(handle))
    }

    private func link(_ name: String, _ new: String, _ files: SFTPFiles) throws(RemoteError) {
        try files.perform(.extended(.link, files.path(name), files.path(new)))
    }

    /// Whether a directory that has members is not replaced by another, nor joined with it.
    private func keepsDirectories(in incoming: String, _ files: SFTPFiles) throws(RemoteError) -> Bool {
        let names = (0..<3).map { _ in SFTPPut.temporaryName(in: incoming) }
        defer { for name in names { SFTPClaim.removeDirectory(name, files.uncancelled) } }
        for (index, name) in names.prefix(2).enumerated() {
            try files.perform(.makeDirectory(files.path(name)))
            try make("\(name)/\(index)", files)
        }
        guard try isDone({ () throws(RemoteError) in try files.rename(names[0], to: names[2]) }) else {
            return false
        }
        if try isDone({ () throws(RemoteError) in try files.rename(names[1], to: names[2]) }) { return false }
        let (first, second) = (try files.linkStatus("\(names[2])/0"), try files.linkStatus("\(names[2])/1"))
        return first != nil && second == nil
    }

    private func make(_ name: String, _ files: SFTPFiles) throws(RemoteError) {
        let handle = try files.open(name, [.write, .create, .exclusive])
        try files.perform(.write(handle, at: 0, [1]))
        try files.perform(.close(handle))
    }

    /// Whether something succeeds; other errors than a server's refusal are thrown.
    private func isDone(_ body: () throws(RemoteError) -> Void) throws(RemoteError) -> Bool {
        do throws(RemoteError) { try body() } catch {
            switch error {
            case .failed, .refused, .unsupported, .exists, .absent: return false
            default: throw error
            }
        }
        return true
    }

    /// What the server lacks, tried with objects of no vault.
    func shortcomings(_ call: SFTPCall) throws(RemoteError) -> [String] {
        let files = try files(call)
        var found = files.session.server.shortcomings
        if try !files.has(.sync), found.isEmpty {
            found.append(
                """
                The server cannot be told to bring an object to its disk (no fsync@openssh.com). If it loses power, \
                objects that were just stored may be lost; Coffer stores its own again where it notices.
                """)
        }
        if try !files.has(.rename) {
            found.append(
                """
                The server cannot replace a file in one step (no posix-rename@openssh.com). While a key is replaced, \
                other devices may find it missing for a moment, and look again.
                """)
        }
        switch exclusion.withLock({ $0 }) {
        case .link?, nil: break
        case .claim?:
            found.append(
                """
                The server makes no links. Each object that is stored under a new name costs some more requests.
                """)
        case .nothing?:
            found.append(
                """
                The server cannot store an object only if its name is free. Two devices that store the same object \
                at once may both succeed: Coffer keeps all contents, but if two admins change the members at once, \
                it may report two histories.
                """)
        }
        return found
    }
}
