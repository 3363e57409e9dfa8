internal import CofferCrypto
internal import CofferHTTP
internal import CofferSystem

/// A bucket of Amazon S3, or of a server that speaks its protocol, as a remote.
///
/// The key of an object is the place's prefix and the object's name. A put if absent relies on the server's
/// If-None-Match; `S3Exclusion` finds out whether it has that.
package struct S3Backend: RemoteBackend {
    /// The header that marks an object with the put that made it.
    static let markHeader = "x-amz-meta-coffer-put"

    let client: S3Client
    private let exclusion: S3Exclusion
    private let presence = VaultPresence()
    private let calls = BlockingCalls("coffer-hash", max: 2)
    private let polling: PollSchedule

    /// Uses a bucket; sends nothing yet.
    ///
    /// - Parameters:
    ///   - environment: Where credentials are found.
    ///   - login: The credentials that the profile has; asked again whenever they are needed.
    ///   - polling: When to list for changes.
    package init(
        _ place: S3Place, _ environment: S3Environment = .process,
        login: @escaping @Sendable () -> RemoteLogin? = { nil }, polling: PollSchedule = .standard
    ) {
        let now: @Sendable () -> Int64 = { Clock.realTime / 1_000_000_000 }
        let source = S3CredentialSource(environment, login: login, now: now)
        client = S3Client(place, source, HTTPClient(), now: now)
        exclusion = S3Exclusion(client)
        self.polling = polling
    }

    package var limits: RemoteLimits {
        // A single PUT takes 5 GiB; Coffer's largest objects have 16 MiB.
        RemoteLimits(objectByteCountMax: 5 << 30, rangeByteCountMax: 64 << 20, concurrentCallsMax: 8)
    }

    package func describe() -> String { "S3 bucket \(client.place.text)" }

    func key(_ name: RemoteName) -> String { client.place.prefix + name.text }

    /// Whether an object is there.
    private func isThere(_ name: RemoteName) async throws(RemoteError) -> Bool {
        let answer = try await client.send(S3Client.Request("HEAD", key(name)))
        if answer.isPage { throw HTTPResponse.page }
        if answer.isSuccess { return true }
        let error = S3Failure(answer).error(isChange: false)
        if error == .absent { return false }
        throw error
    }

    /// Checks that a vault is there.
    private func check(_ format: RemoteName?, besides name: RemoteName? = nil) async throws(RemoteError) {
        try await presence.check(format, besides: name) { name async throws(RemoteError) in
            try await isThere(name)
        }
    }

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try limits.check(range: range)
        do throws(RemoteError) {
            return try await read(name, range)
        } catch {
            // An absent format object means that the vault is absent, so there is nothing to check.
            if error == .absent { try await check(name.vaultFormat, besides: name) }
            throw error
        }
    }

    private func read(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        if range.isEmpty { return RemoteContent(bytes: [], objectByteCount: try await byteCount(of: name)) }
        var request = S3Client.Request("GET", key(name))
        request.range = range
        let answer = try await client.send(request)
        if answer.status == 416 {
            // The object ends before the range; not all servers tell its size here.
            guard let size = answer.contentRange?.size else {
                return RemoteContent(bytes: [], objectByteCount: try await byteCount(of: name))
            }
            return RemoteContent(bytes: [], objectByteCount: size)
        }
        guard answer.isSuccess else { throw S3Failure(answer).error(isChange: false) }
        return try answer.content(of: range)
    }

    private func byteCount(of name: RemoteName) async throws(RemoteError) -> Int {
        let answer = try await client.send(S3Client.Request("HEAD", key(name)))
        guard answer.isSuccess else { throw S3Failure(answer).error(isChange: false) }
        guard let size = answer.contentLength else {
            throw .failed("the server does not tell an object's size")
        }
        return size
    }

    package func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try limits.check(object: bytes.byteCount)
        try await check(name.vaultFormat, besides: name)
        let mark = S3Signature.hexadecimal(Random.bytes(16))
        var request = S3Client.Request("PUT", key(name))
        request.headers = [HTTPHeader(Self.markHeader, mark)]
        request.body = bytes
        let hash = try await calls.run(ifCancelled: .cancelled) { () throws(RemoteError) in try bytes.hash() }
        request.bodyHash = S3Signature.hexadecimal(hash)
        if ifAbsent {
            try await putIfAbsent(request, mark)
        } else {
            try check(try await client.send(request))
        }
    }

    private func putIfAbsent(_ request: S3Client.Request, _ mark: String) async throws(RemoteError) {
        guard try await exclusion.isThere() else {
            // The best that can be done; of several clients at once, more than one may succeed.
            if try await self.mark(request.key) != nil { throw .exists }
            return try check(try await client.send(request))
        }
        var request = request
        request.headers.append(HTTPHeader("if-none-match", "*"))
        let answer = try await client.send(request)
        guard [409, 412].contains(answer.status) else { return try check(answer) }
        // libcurl repeats a request over a new connection if the old one ended before an answer. So the object
        // that is there may be of this very call.
        let found = try await self.mark(request.key)
        if found == mark { return }
        // 409: another request was on its way, and may have been a removal.
        throw found == nil ? .busy(after: nil) : .exists
    }

    /// The mark of an object: empty if it has none, nil if there is no object.
    private func mark(_ key: String) async throws(RemoteError) -> String? {
        let answer = try await client.send(S3Client.Request("HEAD", key))
        if answer.status == 404 { return nil }
        guard answer.isSuccess else { throw S3Failure(answer).error(isChange: false) }
        if answer.isPage { throw HTTPResponse.page }
        return answer[Self.markHeader] ?? ""
    }

    private func check(_ answer: HTTPResponse) throws(RemoteError) {
        if S3Failure.hasStored(answer) { return }
        if S3Failure.hasRemoved(answer) { throw HTTPResponse.page }
        let error = S3Failure(answer).error(isChange: true)
        throw error == .absent ? .failed("the server has no place for the object") : error
    }

    package func delete(_ name: RemoteName) async throws(RemoteError) {
        try await check(name.vaultFormat, besides: name)
        let answer = try await client.send(S3Client.Request("DELETE", key(name)))
        presence.forget(name)
        if answer.isPage { throw HTTPResponse.page }
        if S3Failure.hasRemoved(answer) { return }
        let error = S3Failure(answer).error(isChange: true)
        if error != .absent { throw error }
    }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await check(RemoteName.vaultFormat(prefix.segments))
        return try await S3Listing(client).page(prefix, after: after)
    }

    package func shortcomings() async throws(RemoteError) -> [String] {
        try await exclusion.isThere() ? [] : [S3Exclusion.shortcoming]
    }

    package func changes(below prefix: RemotePrefix) -> RemoteChanges {
        let listing = S3Listing(client)
        return PolledChanges.changes(below: prefix, polling) { () async throws(RemoteError) in
            try await listing.digest(below: prefix)
        }
    }
}
