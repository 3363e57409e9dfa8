internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Names that come next, asked for every few seconds: cheaper than listings, and fresh where listings are cached.
extension SyncEngine {
    /// Pauses between looks while somebody works in the vault, and else.
    private static let shortPause = Duration.seconds(3), longPause = Duration.seconds(30)
    /// Between looks at names that are there, and of which rounds can make nothing.
    private static let pauseMax = Duration.seconds(300)
    /// How long after the last change here or elsewhere somebody is taken to work in it.
    private static let useTime = Duration.seconds(600)
    /// Logs that are asked about, those that were written to last first.
    private static let logCountMax = 32

    /// Wakes a round whenever the remote has what comes next; sleeps long where the remote tells by itself.
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
            // The same again, though a round has looked at it: whatever it is, it can wait longer each time.
            let link = chain.nextSequence
            let isAgain = scope != nil && scope == found && link == foundLink
            extraPause = isAgain ? min(max(extraPause, pause) * 2, Self.pauseMax) : .zero
            (found, foundLink) = (scope, link)
            pause = max(pause, extraPause)
        }
    }

    /// What a round has to look at, by the names that come next in logs and among the members' links.
    ///
    /// - Returns: Nil if the remote has none of them, or does not answer.
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
