internal import CofferHTTP
internal import CofferSystem
internal import Synchronization

/// A collection of a WebDAV server as a remote.
///
/// The path of an object below the collection is its name, as in a folder. The collection itself must exist,
/// and is never made; while a vault's format object is missing, nothing else of the vault is made.
package struct WebDAVBackend: RemoteBackend {
    /// How often an object is read that changes meanwhile.
    private static let readCountMax = 20

    let client: WebDAVClient
    let presence = VaultPresence()
    let cleaning = WebDAVCleaning()
    private let polling: PollSchedule

    /// Uses a collection; sends nothing yet.
    ///
    /// - Parameters:
    ///   - variable: The variables of the environment.
    ///   - login: The password that the profile has; asked again whenever it is needed.
    ///   - certificateFile: The certificates that are trusted; nil for those of the environment.
    ///   - polling: When to list for changes.
    package init(
        _ url: WebDAVURL, variable: (String) -> String? = S3Environment.process.variable,
        login: @escaping @Sendable () -> RemoteLogin? = { nil }, certificateFile: String? = nil,
        polling: PollSchedule = .standard
    ) {
        var settings = HTTPSettings()
        settings.certificateFile = certificateFile ?? settings.certificateFile
        client = WebDAVClient(url, HTTPClient(settings), variable: variable, login: login)
        self.polling = polling
    }

    package var limits: RemoteLimits {
        RemoteLimits(objectByteCountMax: 1 << 40, rangeByteCountMax: 64 << 20, concurrentCallsMax: 8)
    }

    package func describe() -> String { "WebDAV collection \(client.url.text)" }

    // MARK: Reading

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try limits.check(range: range)
        for _ in 0..<Self.readCountMax {
            let read = try await read(name, range)
            let content = read.content
            // A part of an object that changes is no more than a part.
            guard content.bytes.count == content.objectByteCount, !content.bytes.isEmpty else {
                return content
            }
            if try await isStill(read.version, name) { return content }
        }
        throw .busy(after: nil)
    }

    /// Whether an object is the same as when an answer began.
    ///
    /// Apache looks at a file, and then opens it: if the file is replaced between the two, an answer has the
    /// headers of the old object, and bytes of the new one, as many as the old one had.
    private func isStill(_ version: String?, _ name: RemoteName) async throws(RemoteError) -> Bool {
        let answer = try await client.send(client.request("HEAD", name.text))
        return answer.version == version
    }

    /// The content of a range, and what identifies this version of the object.
    private struct Reading {
        let content: RemoteContent
        var version: String?
    }

    private func read(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> Reading {
        let answer = try await answer(to: name, range)
        if answer.status == 416 || range.isEmpty {
            // The object ends before the range; not all servers tell its size here.
            let size = range.isEmpty ? answer.contentLength : answer.contentRange?.size
            guard let size else { return Reading(content: try await empty(name)) }
            return Reading(content: RemoteContent(bytes: [], objectByteCount: size))
        }
        return Reading(content: try answer.content(of: range), version: answer.version)
    }

    private func empty(_ name: RemoteName) async throws(RemoteError) -> RemoteContent {
        guard let size = try await answer(to: name, 0..<0).contentLength else {
            throw .failed("the server does not tell an object's size")
        }
        return RemoteContent(bytes: [], objectByteCount: size)
    }

    private func answer(to name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> HTTPResponse {
        var request = client.request(range.isEmpty ? "HEAD" : "GET", name.text)
        request.range = range.isEmpty ? nil : range
        let answer = try await client.send(request)
        if answer.isSuccess || answer.status == 416 { return answer }
        let error = WebDAVClient.error(answer, isChange: false)
        if error == .absent { try await check(name.vaultFormat, besides: name) }
        throw error
    }

    /// Whether an object is there.
    func isThere(_ name: RemoteName) async throws(RemoteError) -> Bool {
        let answer = try await client.send(client.request("HEAD", name.text))
        if answer.isPage { throw HTTPResponse.page }
        if answer.isSuccess { return true }
        let error = WebDAVClient.error(answer, isChange: false)
        if error == .absent { return false }
        throw error
    }

    /// Checks that a vault is there.
    func check(_ format: RemoteName?, besides name: RemoteName? = nil) async throws(RemoteError) {
        try await presence.check(format, besides: name) { name async throws(RemoteError) in
            try await isThere(name)
        }
    }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await check(RemoteName.vaultFormat(prefix.segments))
        var listing = WebDAVListing(client, after: after)
        try await listing.walk(prefix)
        return RemotePage(
            entries: listing.entries, next: listing.isFull ? listing.entries.last?.name : nil)
    }

    package func changes(below prefix: RemotePrefix) -> RemoteChanges {
        PolledChanges.changes(below: prefix, polling) { [client] () async throws(RemoteError) in
            var listing = WebDAVListing(client, after: nil, entryCountMax: .max)
            try await listing.walk(prefix)
            var digest = ListingDigest()
            for (entry, tag) in zip(listing.entries, listing.tags) {
                digest.add(entry.name, byteCount: entry.byteCount, tag: tag)
            }
            return digest.finish()
        }
    }

    // MARK: Deleting

    package func delete(_ name: RemoteName) async throws(RemoteError) {
        let answer = try await client.send(client.request("DELETE", name.text))
        presence.forget(name)
        if answer.isPage { throw HTTPResponse.page }
        if answer.isSuccess { return }
        let error = WebDAVClient.error(answer, isChange: true)
        guard error == .absent else { throw error }
        try await check(name.vaultFormat, besides: name)
    }

    package func tidy(_ prefix: RemotePrefix) async throws(RemoteError) {
        _ = try await removeEmpty(String(prefix.text.dropLast()))
    }

    /// Removes a collection, and those in it, that have no members; returns whether it is gone.
    private func removeEmpty(_ path: String) async throws(RemoteError) -> Bool {
        guard let directory = try await WebDAVDirectory.read(path, client) else { return true }
        var isEmpty = true
        for entry in directory.entries {
            let isOwn = RemoteName.isSegment(entry.name) || entry.name == Self.incoming
            guard entry.isCollection, isOwn, try await removeEmpty("\(path)/\(entry.name)") else {
                isEmpty = false
                continue
            }
        }
        if !isEmpty || path.isEmpty { return false }
        let answer = try await client.send(client.request("DELETE", path + "/"))
        return answer.isSuccess || answer.status == 404
    }
}
