internal import CofferSystem

/// The files of a server, for one call: each function waits for the server's answer.
struct SFTPFiles {
    /// How many bytes one request reads or writes; all servers take as many.
    static let pieceByteCount = 32 << 10

    let session: SFTPSession
    let call: SFTPCall
    /// The directory of the remote: "." or a path.
    let root: String

    /// The path of a name on the server.
    func path(_ name: String) -> String {
        if name.isEmpty { return root }
        if root == "." { return name }
        return root == "/" ? "/\(name)" : "\(root)/\(name)"
    }

    func has(_ item: SFTPExtension) throws(RemoteError) -> Bool { try session.has(item, call) }

    /// The same files, for what has to be done even if the call is cancelled.
    var uncancelled: SFTPFiles { SFTPFiles(session: session, call: SFTPCall(), root: root) }

    // MARK: Requests

    func send(_ request: SFTPRequest) throws(RemoteError) -> UInt32 { try session.send(request, call) }

    func ask(_ request: SFTPRequest) throws(RemoteError) -> SFTPAnswer {
        try session.answer(try send(request), call)
    }

    /// Waits for an answer that is no more than a status.
    func finish(_ number: UInt32) throws(RemoteError) {
        guard case .status(let status) = try session.answer(number, call) else { throw unexpected }
        if let error = error(status) { throw error }
    }

    func perform(_ request: SFTPRequest) throws(RemoteError) { try finish(try send(request)) }

    var unexpected: RemoteError { .failed("\(session.server.name) answers something else than was asked") }

    /// The meaning of a status; nil for success.
    func error(_ status: SFTPStatus) -> RemoteError? {
        let text = "\(session.server.name): " + (status.text.isEmpty ? "error \(status.code)" : status.text)
        return switch status.code {
        case SFTPStatus.ok: nil
        case SFTPStatus.absent: .absent
        case SFTPStatus.forbidden: .refused(text)
        case SFTPStatus.noConnection, SFTPStatus.connectionLost: .unreachable(text)
        case SFTPStatus.unsupported: .unsupported(text)
        default: Self.meaning(of: status.text.lowercased(), text)
        }
    }

    /// Version 3 has one code for most failures; some servers tell the rest in words.
    private static func meaning(of words: String, _ text: String) -> RemoteError {
        if ["no space left", "quota", "disk full"].contains(where: words.contains) { return .full }
        if words.contains("read-only file system") { return .readOnly }
        return .failed(text)
    }

    // MARK: Files

    func open(_ name: String, _ access: SFTPRequest.Access) throws(RemoteError) -> SFTPHandle {
        try handle(try send(.open(path(name), access)))
    }

    func openDirectory(_ name: String) throws(RemoteError) -> SFTPHandle {
        try handle(try send(.openDirectory(path(name))))
    }

    /// Waits for an open file.
    func handle(_ number: UInt32) throws(RemoteError) -> SFTPHandle {
        switch try session.answer(number, call) {
        case .handle(let bytes): return SFTPHandle(bytes: bytes)
        case .status(let status): throw error(status) ?? unexpected
        default: throw unexpected
        }
    }

    /// Closes what was only read, without waiting.
    func discard(_ handle: SFTPHandle) { session.post(.close(handle)) }

    /// Waits for attributes; nil if there is nothing with that name.
    func attributes(_ number: UInt32) throws(RemoteError) -> SFTPAttributes? {
        switch try session.answer(number, call) {
        case .attributes(let attributes): return attributes
        case .status(let status):
            let error = error(status) ?? unexpected
            guard error == .absent else { throw error }
            return nil
        default: throw unexpected
        }
    }

    /// What has a name, without following a symbolic link; nil if nothing has.
    func linkStatus(_ name: String) throws(RemoteError) -> SFTPAttributes? {
        try attributes(try send(.linkStatus(of: path(name))))
    }

    func remove(_ name: String) throws(RemoteError) { try perform(.remove(path(name))) }

    func rename(_ name: String, to new: String) throws(RemoteError) {
        try perform(.rename(path(name), to: path(new)))
    }

    /// Syncs the names in a directory to disk, where the server can do that.
    func syncDirectory(_ name: String) throws(RemoteError) {
        guard try has(.sync) else { return }
        let handle: SFTPHandle
        // Servers that open no directory as a file cannot sync one.
        do throws(RemoteError) { handle = try open(name, .read) } catch {
            if case .unreachable = error { throw error }
            if error == .cancelled { throw error }
            return
        }
        defer { discard(handle) }
        guard case .status(let status) = try ask(.sync(handle)) else { throw unexpected }
        // EINVAL of fsync(2) comes as a malformed request.
        if [SFTPStatus.malformed, SFTPStatus.unsupported].contains(status.code) { return }
        if let error = error(status) { throw error }
    }

    /// The free space of the file system that has a name, and whether it is read-only; nil if the server cannot
    /// tell.
    func space(at name: String) throws(RemoteError) -> (free: UInt64, isReadOnly: Bool)? {
        guard try has(.space), case .extended(let bytes) = try ask(.extended(.space, path(name))) else {
            return nil
        }
        var reader = SFTPReader(bytes[...])
        var fields: [UInt64] = []
        for _ in 0..<11 {
            guard let field = try? reader.longNumber() else { return nil }
            fields.append(field)
        }
        // PROTOCOL of OpenSSH, 3.4: block size, fragment size, blocks, free and available ones, the same of files,
        // file system id, flags, longest name.
        let free =
            fields[7] == 0 && fields[5] > 0
            ? 0
            : fields[1].multipliedReportingOverflow(by: fields[4])
                .partialValue
        return (free, fields[9] & 1 != 0)
    }
}
