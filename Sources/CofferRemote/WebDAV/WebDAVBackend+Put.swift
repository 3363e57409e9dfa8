internal import CofferHTTP
internal import CofferSystem

extension WebDAVBackend {
    /// The collection of temporary names in each vault's; the same as in a folder.
    static let incoming = ".incoming"

    /// Puts an object.
    ///
    /// One that may replace another is sent to its name: servers replace a file by a rename when all of it is
    /// there. MOVE would be no better, as it deletes what it replaces first (RFC 4918, section 9.9.3).
    package func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try limits.check(object: bytes.byteCount)
        guard ifAbsent else { return try await send(bytes, to: name.text, for: name) }
        if try await isThere(name) { throw .exists }
        var claim = WebDAVClaim(on: name, in: Self.temporaryDirectory(of: name), client)
        do throws(RemoteError) {
            try await makeCollections(claim.own, for: name)
            try await send(bytes, to: claim.source, for: name)
            try await claim.acquire { () async throws(RemoteError) in try await isThere(name) }
            if try await isThere(name) { throw .exists }
            try await move(claim.held, to: name, bytes)
        } catch {
            await claim.remove()
            throw error
        }
        await claim.remove()
        await cleaning.cleanNowAndThen(Self.temporaryDirectory(of: name), client)
    }

    /// The collection for temporary names: in the vault's own one.
    private static func temporaryDirectory(of name: RemoteName) -> String {
        let segments = name.segments
        guard segments.count > 2 else { return incoming }
        return "\(segments[0])/\(segments[1])/\(incoming)"
    }

    private func send(
        _ bytes: RemoteBytes, to path: String, for name: RemoteName
    ) async throws(RemoteError) {
        var request = client.request("PUT", path)
        request.body = bytes
        var answer = try await client.send(request)
        if answer.status != 500, try await lacksCollection(above: path, answer) {
            try await makeCollections(Self.parent(of: path), for: name)
            answer = try await client.send(request)
        }
        guard answer.isSuccess else { throw WebDAVClient.error(ofChange: answer) }
        if answer.isNoChange { throw HTTPResponse.page }
    }

    private func move(
        _ source: String, to name: RemoteName, _ bytes: RemoteBytes
    ) async throws(RemoteError) {
        let request = client.move(source, to: name.text)
        var answer = try await client.send(request)
        if try await lacksCollection(above: name.text, answer) {
            try await makeCollections(Self.parent(of: name.text), for: name)
            answer = try await client.send(request)
        }
        if answer.isNoChange { throw HTTPResponse.page }
        if answer.isSuccess { return }
        if answer.status == 412 { throw .exists }
        // libcurl repeats a request over a new connection if the old one ended before an answer. So the
        // object may have been moved by this very call.
        if answer.status == 404, try await holds(name, bytes) { return }
        throw WebDAVClient.error(ofChange: answer)
    }

    /// Whether a change has failed, or may have, because a collection above a path is missing.
    ///
    /// RFC 4918 has 409 for that. Apache answers MOVE with 500, and other servers with 403 or 404, which they also
    /// answer for other reasons.
    private func lacksCollection(
        above path: String, _ answer: HTTPResponse
    ) async throws(RemoteError) -> Bool {
        guard [403, 404, 409, 500].contains(answer.status) else { return false }
        if answer.status == 409 || answer.status == 500 { return true }
        do throws(RemoteError) {
            return try await WebDAVDirectory.read(Self.parent(of: path), client) == nil
        } catch {
            if error == .cancelled { throw error }
            // The answer to the change says more.
            return false
        }
    }

    private static func parent(of path: String) -> String {
        path.split(separator: "/").dropLast().joined(separator: "/")
    }

    /// Makes a collection, and those above it that are missing, but for the one of the client; those of a vault
    /// that is not there only for its format object.
    private func makeCollections(_ path: String, for name: RemoteName) async throws(RemoteError) {
        if try await make(path) { return }
        try await check(name.vaultFormat, besides: name)
        var collection = ""
        for segment in path.split(separator: "/") {
            collection += collection.isEmpty ? "\(segment)" : "/\(segment)"
            if try await !make(collection) {
                throw .unreachable("there is no collection \(client.url.text)")
            }
        }
    }

    /// Makes a collection if it is missing; returns false if the one above it is missing.
    private func make(_ path: String) async throws(RemoteError) -> Bool {
        let answer = try await client.send(client.request("MKCOL", path + "/"))
        if answer.isNoChange { throw HTTPResponse.page }
        // 405: it exists.
        if answer.isSuccess || answer.status == 405 { return true }
        if [404, 409].contains(answer.status) { return false }
        // Apache answers 403 if another client made it at the same time.
        if answer.status == 403, try await WebDAVDirectory.read(path, client) != nil { return true }
        throw WebDAVClient.error(ofChange: answer)
    }
}

extension HTTPResponse {
    /// Whether a success is none of a WebDAV server, which answers a change with 201 or 204, or without a body.
    fileprivate var isNoChange: Bool { status == 200 && !body.isEmpty }
}
