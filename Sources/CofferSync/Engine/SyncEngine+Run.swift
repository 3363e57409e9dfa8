package import CofferRemote
internal import CofferFormat
internal import CofferTrust

// Runs rounds for as long as a vault is open: on changes here or at the remote, and now and then.
extension SyncEngine {
    /// How long this device's changes are collected before a round.
    private static let changePause = Duration.milliseconds(200)
    /// How long the remote's changes are collected; the devices that make them have collected theirs before.
    private static let remoteChangePause = Duration.milliseconds(20)
    /// How long an acknowledgement waits for a commit that has more to say.
    private static let acknowledgementPause = Duration.seconds(2)
    /// The pause after a round that failed.
    private static let failurePause = Duration.seconds(30)
    /// The pause before any round after one that the remote refused.
    private static let refusalPause = Duration.seconds(3)
    /// One poll in this many asks for commits that no listing shows.
    private static let thoroughPollStep = 8

    /// Schedules a round for a change on this device.
    package nonisolated func localChange() { wakes.wake(.changes) }

    /// Schedules a round that looks at everything: a remote that failed may work again.
    package nonisolated func lookAgain() { wakes.wake(.all) }

    /// Syncs until the task is cancelled: on changes here or at the remote, and now and then if nothing
    /// reports changes.
    ///
    /// - Parameter clock: Measures the pauses.
    package func run(clock: any RemoteClock = ContinuousRemoteClock()) async {
        await withDiscardingTaskGroup { group in
            let (remote, layout, wakes) = (remote, layout, wakes)
            group.addTask {
                for await prefix in remote.changes(below: layout.prefix) {
                    let own = await self.logs.own
                    if let scope = RoundScope.change(below: prefix, layout, own: own) { wakes.wake(scope) }
                }
            }
            group.addTask { await self.poll(clock) }
            group.addTask { await self.pollNames(clock) }
            while true {
                await wakes.sleep()
                if Task.isCancelled { break }
                let scope = wakes.peek()
                let pause = scope == .changes ? Self.changePause : Self.remoteChangePause
                guard (try? await clock.sleep(for: pause)) != nil else { break }
                do throws(SyncError) {
                    try await round(wakes.next())
                    guard ownLog.owesAcknowledgement else { continue }
                    group.addTask {
                        guard (try? await clock.sleep(for: Self.acknowledgementPause)) != nil else { return }
                        wakes.wake(.acknowledgement)
                    }
                } catch {
                    // The status shows the failure.
                    rounds.failureCount += 1
                    let count = rounds.failureCount
                    group.addTask {
                        guard (try? await clock.sleep(for: Self.failurePause)) != nil else { return }
                        // Another failure since has a retry of its own.
                        if await self.rounds.failureCount == count { wakes.wake(.all) }
                    }
                    // What a remote refuses at once, such as a password, it refuses as often as it is asked.
                    if case .remote(let error, _) = error, !error.canRetryHelp {
                        guard (try? await clock.sleep(for: Self.refusalPause)) != nil else { break }
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Polls: soon after a change, then less and less often.
    private func poll(_ clock: any RemoteClock) async {
        var schedule = PollSchedule.standard
        var (applied, count) = (0, 0)
        while (try? await clock.sleep(for: .milliseconds(schedule.pause))) != nil {
            let last = applied
            applied = status.progress.commitsApplied
            schedule.looked(hasChanged: applied != last)
            count += 1
            var scope = RoundScope.poll
            scope.asksAllLogs = count % Self.thoroughPollStep == 0
            wakes.wake(scope)
        }
    }

    // MARK: Next names

    // Asks every few seconds whether the next names in each log and in the member chain exist. That costs less
    // than a listing, and is up to date where listings are cached.

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
            guard await remote.visibility() != .reported else {
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
        guard rounds.isLoaded else { return nil }
        var scope = RoundScope()
        for log in logs.mostRecent(chain, countMax: Self.logCountMax) {
            switch await isThere(layout.commit(log, logs.checkedSequence(log) + 1)) {
            case true: scope.logs.insert(log)
            case false: break
            // The other names are not asked for, too.
            case nil: return scope == .changes ? nil : scope
            }
        }
        scope.looksForMembers = await isThere(layout.member(chain.nextSequence)) == true
        return scope == .changes ? nil : scope
    }

    /// Whether an object exists; nil if the remote is away, overloaded, or lets nobody in.
    private func isThere(_ name: RemoteName) async -> Bool? {
        do throws(RemoteError) { return try await remote.has(name) } catch {
            switch error {
            // These may concern this object alone.
            case .failed, .short: return false
            default: return nil
            }
        }
    }
}
