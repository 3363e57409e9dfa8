internal import CofferSystem
internal import Synchronization

/// Removes what puts that were killed have left, now and then.
final class WebDAVCleaning: Sendable {
    /// The time between two cleanups, in nanoseconds: an hour.
    private static let interval: Int64 = 3600 * 1_000_000_000
    /// The age from which a temporary name counts as abandoned, in seconds: two days.
    static let age: Int64 = 2 * 86400

    private let last = Mutex<Int64?>(nil)

    /// Removes abandoned temporary names, at most once an hour.
    func cleanNowAndThen(_ directory: String, _ client: WebDAVClient) async {
        let isDue = last.withLock { last in
            let now = Clock.monotonic
            if let last, now - last < Self.interval { return false }
            last = now
            return true
        }
        // If this fails, the next cleanup tries again.
        if isDue { try? await Self.clean(directory, client, olderThan: Self.age) }
    }

    /// Removes temporary names of at least an age, by the server's clock.
    static func clean(
        _ directory: String, _ client: WebDAVClient, olderThan age: Int64
    ) async throws(RemoteError) {
        guard let found = try await WebDAVDirectory.read(directory, client), let now = found.now else {
            return
        }
        for entry in found.entries where entry.isCollection {
            guard WebDAVClaim.isTemporary(entry.name) else { continue }
            guard let modified = entry.modified, now - modified >= age else { continue }
            _ = try await client.send(client.request("DELETE", "\(directory)/\(entry.name)/"))
        }
    }
}
