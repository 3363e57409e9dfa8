internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Asks every few seconds whether the next names in each log and in the member chain exist. That costs less
// than a listing, and is up to date where listings are cached.
extension SyncEngine {
    /// The pauses between looks while the vault is in use, and otherwise.
    private static let shortPause = Duration.seconds(3), longPause = Duration.seconds(30)
    /// The longest pause between looks at names that exist, but that rounds can do nothing about.
    private static let pauseMax = Duration.seconds(300)
    /// How long the vault counts as in use after the last change on any device.
    private static let useTime = Duration.seconds(600)
    /// The most logs to ask about, the most recently written ones.
    private static let logCountMax = 32

    /// Wakes a round whenever the next names exist; sleeps longer while the remote reports changes itself.
    func pollNames(_ clock: any RemoteClock) async {
        var (changes, lastChange) = (-1, clock.now)
        var pause = Self.shortPause
        var (found, foundLink): (RoundScope?, UInt64) = (nil, 0)
        var extraPause = Duration.zero
        while (try? await clock.sleep(for: pause)) != nil {
            guard await remote.needsLooks() else {
                pause = Self.longPause
                continue
            }
            let count = status.progress.commitsApplied + status.progress.commitsSent
            if count != changes { (changes, lastChange, found) = (count, clock.now, nil) }
            let isUsed = clock.now - lastChange < Self.useTime
            pause = isUsed ? Self.shortPause : Self.longPause
            let scope = await nextNames()
            if let scope { wakes.wake(scope) }
            // The same names again, although a round has looked at them: each look waits longer than the
            // last.
            let link = chain.nextSequence
            let isAgain = scope != nil && scope == found && link == foundLink
            extraPause = isAgain ? min(max(extraPause, pause) * 2, Self.pauseMax) : .zero
            (found, foundLink) = (scope, link)
            pause = max(pause, extraPause)
        }
    }

    /// The scope of a round for the next names that exist in logs and in the member chain.
    ///
    /// - Returns: Nil if none exists, or the remote does not answer.
    func nextNames() async -> RoundScope? {
        guard isLoaded else { return nil }
        var scope = RoundScope()
        let logs = logs.values.filter { summary in
            summary.log != setup.log && stops[summary.log] == nil
                && chain.state.members[summary.author]?.keys != nil
        }
        for summary in logs.sorted(by: { $0.clock > $1.clock }).prefix(Self.logCountMax) {
            let head = (tails[summary.log] ?? summary).head.sequence
            if await isThere(layout.commit(summary.log, head + 1)) { scope.logs.insert(summary.log) }
        }
        scope.looksForMembers = await isThere(layout.member(chain.nextSequence))
        return scope == .changes ? nil : scope
    }

    private func isThere(_ name: RemoteName) async -> Bool { (try? await remote.has(name)) ?? false }
}
