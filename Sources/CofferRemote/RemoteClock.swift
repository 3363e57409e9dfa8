/// Time as remotes see it, so that tests need not wait for it.
package protocol RemoteClock: Sendable {
    /// Time since some moment; never goes back.
    var now: Duration { get }
    /// Returns when the time is over.
    ///
    /// - Throws: `.cancelled`.
    func sleep(for duration: Duration) async throws(RemoteError)
}

/// The time of this machine, which goes on while it sleeps.
package struct ContinuousRemoteClock: RemoteClock {
    private let start = ContinuousClock.now

    /// A clock that begins now.
    package init() {}

    package var now: Duration { start.duration(to: .now) }

    package func sleep(for duration: Duration) async throws(RemoteError) {
        do { try await ContinuousClock().sleep(for: duration) } catch { throw .cancelled }
    }
}
