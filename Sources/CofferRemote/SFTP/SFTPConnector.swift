internal import CofferSystem
internal import Synchronization

/// The connection of a backend: made when it is needed, and made again when it has ended.
///
/// While connecting fails, attempts get rarer, up to one a minute; calls in between fail at once, with the last
/// error.
final class SFTPConnector: Sendable {
    private struct State {
        var session: SFTPSession?
        /// When the next attempt may be made, by the monotonic clock.
        var next: Int64 = 0
        /// The pause after the next failure, in nanoseconds.
        var pause = SFTPConnector.firstPause
        var lastError: RemoteError?
    }

    private static let firstPause: Int64 = 1_000_000_000
    private static let pauseMax: Int64 = 60_000_000_000

    let server: SFTPServer
    private let state = Mutex(State())

    init(_ server: SFTPServer) {
        self.server = server
    }

    deinit {
        state.withLock { $0.session }?.release()
    }

    /// The connection, which may still be in the making.
    ///
    /// - Throws: Why there is none now.
    func session() throws(RemoteError) -> SFTPSession {
        try state.withLock { state throws(RemoteError) in
            if let session = state.session {
                guard let end = session.end else {
                    if session.isProven { state.pause = Self.firstPause }
                    return session
                }
                state.session = nil
                if session.isProven {
                    state.pause = Self.firstPause
                } else {
                    Self.fail(end, &state)
                }
            }
            if let error = state.lastError, Clock.monotonic < state.next { throw error }
            do throws(RemoteError) {
                let session = try SFTPSession(server)
                state.session = session
                return session
            } catch {
                Self.fail(error, &state)
                throw error
            }
        }
    }

    private static func fail(_ error: RemoteError, _ state: inout State) {
        state.lastError = error
        state.next = Clock.monotonic + state.pause
        state.pause = min(pauseMax, state.pause * 2)
    }
}
