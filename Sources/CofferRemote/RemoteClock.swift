/// The time for remotes; tests replace it, so that they need not wait.
package protocol RemoteClock: Sendable {
    /// Time since an arbitrary moment; never goes back.
    var now: Duration { get }
    /// Returns after the duration.
    ///
    /// - Throws: `.cancelled`.
    func sleep(for duration: Duration) async throws(RemoteError)
}

/// This machine's time, which continues while the machine sleeps.
package struct ContinuousRemoteClock: RemoteClock {
    private let start = ContinuousClock.now

    /// A clock that starts now.
    package init() {}

    package var now: Duration { start.duration(to: .now) }

    package func sleep(for duration: Duration) async throws(RemoteError) {
        do { try await ContinuousClock().sleep(for: duration) } catch { throw .cancelled }
    }
}
