internal import CofferSystem
internal import Synchronization

/// Tells a missing object from a missing vault: a wrong place, or a server whose disk is not mounted.
///
/// Asks for the vault's format object if anything of the vault is absent, at most every half minute while that
/// is there.
final class VaultPresence: Sendable {
    /// How long an answer holds, in nanoseconds.
    private static let age: Int64 = 30_000_000_000

    /// When the format objects were seen.
    private let seen = Mutex<[RemoteName: Int64]>([:])

    /// Returns if the vault of a name, or of a prefix, is there; if the name is none of a vault; or if it is
    /// the format object itself.
    ///
    /// - Throws: `.unreachable`; errors of `isThere`.
    func check(
        _ format: RemoteName?, besides name: RemoteName? = nil,
        isThere: (RemoteName) async throws(RemoteError) -> Bool
    ) async throws(RemoteError) {
        guard let format, format != name, !wasSeen(format) else { return }
        try saw(format, try await isThere(format))
    }

    /// Whether a format object was seen not long ago.
    func wasSeen(_ format: RemoteName) -> Bool {
        seen.withLock { $0[format] }.map { Clock.monotonic - $0 < Self.age } ?? false
    }

    /// Keeps what a look at a format object has shown.
    ///
    /// - Throws: `.unreachable` if it is not there.
    func saw(_ format: RemoteName, _ isThere: Bool) throws(RemoteError) {
        guard isThere else {
            forget(format)
            throw .unreachable("the vault is not there: \(format) is missing")
        }
        seen.withLock { $0[format] = Clock.monotonic }
    }

    /// Forgets a vault whose format object is deleted.
    func forget(_ name: RemoteName) { seen.withLock { $0[name] = nil } }
}
