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
        guard let format, format != name else { return }
        let now = Clock.monotonic
        if let time = seen.withLock({ $0[format] }), now - time < Self.age { return }
        guard try await isThere(format) else {
            seen.withLock { $0[format] = nil }
            throw .unreachable("the vault is not there: \(format) is missing")
        }
        seen.withLock { $0[format] = now }
    }

    /// Forgets a vault whose format object is deleted.
    func forget(_ name: RemoteName) { seen.withLock { $0[name] = nil } }
}
