internal import CofferSystem

/// An object that is being put: bytes under a temporary name, which then get the object's name.
struct SFTPPut {
    private let files: SFTPFiles
    private let name: RemoteName
    /// The directory of temporary names.
    let incoming: String
    private let exclusion: SFTPExclusion?
    private var claim: SFTPClaim?
    /// Where the bytes are; nil where there are none, or none any more.
    private var temporary: String?
    /// The server's clock when the bytes were written, in seconds since 1970.
    private(set) var time: Int64?

    /// - Parameter exclusion: How the name is kept from being taken twice; nil if the object may replace another.
    init(_ files: SFTPFiles, _ name: RemoteName, in incoming: String, _ exclusion: SFTPExclusion?) {
        self.files = files
        self.name = name
        self.incoming = incoming
        self.exclusion = exclusion
        if exclusion == .claim { claim = SFTPClaim(on: name, in: incoming) }
    }

    // MARK: Sending

    /// Writes the bytes under a temporary name, and syncs them to disk.
    mutating func send(_ bytes: RemoteBytes, _ access: SFTPAccess) throws(RemoteError) {
        let path = claim?.source ?? Self.temporaryName(in: incoming)
        try claim?.makeOwn(files)
        // From here on there may be a file, whether the server says so or not.
        temporary = path
        let handle = try files.open(path, [.write, .create, .exclusive])
        do throws(RemoteError) {
            try write(bytes, to: handle, path, access)
        } catch {
            throw reason(for: error, handle)
        }
        // Some servers upload only now.
        try files.perform(.close(handle))
    }

    /// Closes a file that could not be written; rclone tells only now why.
    private func reason(for error: RemoteError, _ handle: SFTPHandle) -> RemoteError {
        guard case .failed = error else {
            files.discard(handle)
            return error
        }
        do throws(RemoteError) { try files.perform(.close(handle)) } catch {
            if [.full, .readOnly].contains(error) { return error }
        }
        return error
    }

    static func temporaryName(in incoming: String) -> String {
        "\(incoming)/\(SFTPClaim.ownPrefix)\(String(UInt64.random(in: 0 ... .max), radix: 16))"
    }

    private mutating func write(
        _ bytes: RemoteBytes, to handle: SFTPHandle, _ path: String, _ access: SFTPAccess
    ) throws(RemoteError) {
        let asked = try files.send(.status(of: handle))
        var sent: [UInt32] = []
        var offset = 0
        let (files, window) = (files, files.session.server.window)
        defer { for number in sent { files.session.abandon(number) } }
        do throws(RemoteError) {
            try bytes.forEachPiece { span throws(RemoteError) in
                for start in stride(from: 0, to: span.byteCount, by: SFTPFiles.pieceByteCount) {
                    if sent.count >= window { try files.finish(sent.removeFirst()) }
                    let end = min(span.byteCount, start + SFTPFiles.pieceByteCount)
                    sent.append(
                        try files.send(.write(handle, at: offset, span.extracting(start..<end).array)))
                    offset += end - start
                }
            }
        } catch {
            files.session.abandon(asked)
            throw error
        }
        // A server that does not know is asked again when its clock is needed.
        if let status = try? files.attributes(asked) {
            time = status.modified
            access.apply(toFile: path, status, files)
        }
        while !sent.isEmpty { try files.finish(sent.removeFirst()) }
        if try files.has(.sync) { try files.perform(.sync(handle)) }
    }

    // MARK: Publishing

    /// Gives the bytes the object's name.
    ///
    /// - Throws: `.exists`.
    mutating func publish() throws(RemoteError) {
        do throws(RemoteError) {
            try publishOnce()
        } catch {
            // What is no object does not stay in an object's place.
            guard case .failed = error, let status = try files.linkStatus(name.text),
                status.kind ?? .file != .file
            else { throw error }
            let number = String(UInt64.random(in: 0 ... .max), radix: 16)
            try files.rename(name.text, to: "\(incoming)/\(SFTPTree.asidePrefix)\(number)")
            try publishOnce()
        }
    }

    private mutating func publishOnce() throws(RemoteError) {
        guard let source = temporary else { return }
        switch exclusion {
        case nil: try replace(with: source)
        case .link: return try link(source)
        case .claim:
            let (files, name, time) = (files, name, time)
            try claim?.take(files, at: time) { () throws(RemoteError) in try Self.isTaken(name, files) }
            if let held = claim?.held { temporary = held }
            if try Self.isTaken(name, files) { throw .exists }
            try files.rename(claim?.held ?? source, to: name.text)
        case .nothing:
            if try Self.isTaken(name, files) { throw .exists }
            try files.rename(source, to: name.text)
        }
        temporary = nil
    }

    private static func isTaken(_ name: RemoteName, _ files: SFTPFiles) throws(RemoteError) -> Bool {
        guard let status = try files.linkStatus(name.text) else { return false }
        return status.kind ?? .file == .file
    }

    private func link(_ source: String) throws(RemoteError) {
        do throws(RemoteError) {
            try files.perform(.extended(.link, files.path(source), files.path(name.text)))
        } catch {
            guard case .failed = error, try Self.isTaken(name, files) else { throw error }
            throw .exists
        }
    }

    private func replace(with source: String) throws(RemoteError) {
        if try files.has(.rename) { return try rename(source) }
        do throws(RemoteError) {
            try files.rename(source, to: name.text)
        } catch {
            // This server does not replace. For a moment there is no object, as `shortcomings` says.
            guard case .failed = error, try Self.isTaken(name, files) else { throw error }
            try files.remove(name.text)
            try files.rename(source, to: name.text)
        }
    }

    /// Replaces by rename(2); rclone removes what it replaces first, and fails if another client has done so.
    private func rename(_ source: String) throws(RemoteError) {
        let request = SFTPRequest.extended(.rename, files.path(source), files.path(name.text))
        for _ in 0..<10 where !files.session.server.readsOneVersion {
            do throws(RemoteError) { return try files.perform(request) } catch {
                guard case .failed = error else { throw error }
            }
        }
        try files.perform(request)
    }

    /// Removes the bytes, if they are still there, and gives up the claim, even if the call is cancelled.
    mutating func remove() {
        let files = files.uncancelled
        // If one of these fails, a later cleanup removes it.
        if let temporary { try? files.remove(temporary) }
        temporary = nil
        claim?.remove(files)
    }
}
