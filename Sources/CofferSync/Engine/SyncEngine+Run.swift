package import CofferRemote
internal import CofferFormat
internal import CofferTrust
internal import Synchronization

/// Wakes the loop that runs rounds, and tells it what to look at.
final class Wakes: Sendable {
    private struct State {
        var scope: RoundScope?
        var sleeper: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Wakes the sleeper, or the next one before it sleeps.
    func wake(_ scope: RoundScope) {
        let sleeper = state.withLock { state in
            if state.scope == nil { state.scope = scope } else { state.scope?.formUnion(scope) }
            defer { state.sleeper = nil }
            return state.sleeper
        }
        sleeper?.resume()
    }

    /// Returns once there is something to look at; only one task may sleep at a time.
    func sleep() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isAwake = state.withLock { state in
                    let isAwake = state.scope != nil || Task.isCancelled
                    if !isAwake { state.sleeper = continuation }
                    return isAwake
                }
                if isAwake { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                defer { state.sleeper = nil }
                return state.sleeper
            }
            sleeper?.resume()
        }
    }

    /// What to look at.
    func peek() -> RoundScope { state.withLock { $0.scope ?? .changes } }

    /// What to look at; resets it.
    func take() -> RoundScope {
        state.withLock { state in
            defer { state.scope = nil }
            return state.scope ?? .changes
        }
    }
}

extension SyncEngine {
    /// How long this device's changes are collected before a round.
    private static let gathering = Duration.milliseconds(200)
    /// How long the remote's changes are collected; the devices that make them have collected theirs before.
    private static let remoteGathering = Duration.milliseconds(20)
    /// How long an acknowledgement waits for a commit that has more to say.
    private static let acknowledgementPause = Duration.seconds(2)
    /// The pause after a round that failed.
    private static let failurePause = Duration.seconds(30)
    /// The number of epochs begun by one member at which that is reported.
    private static let epochCountNamed = 1000
    /// One poll in this many asks for commits that no listing shows.
    private static let thoroughPollStep = 8

    /// Schedules a round for a change on this device.
    package nonisolated func localChange() { wakes.wake(.changes) }

    /// Syncs until the task is cancelled: on changes here or at the remote, and now and then if nothing
    /// reports changes.
    ///
    /// - Parameter clock: Measures the pauses.
    package func run(clock: any RemoteClock = ContinuousRemoteClock()) async {
        await withDiscardingTaskGroup { group in
            let (remote, layout, wakes) = (remote, layout, wakes)
            group.addTask {
                for await prefix in remote.changes(below: layout.prefix) {
                    let own = await self.setup.log
                    if let scope = RoundScope.change(below: prefix, layout, own: own) { wakes.wake(scope) }
                }
            }
            group.addTask { await self.poll(clock) }
            group.addTask { await self.pollNames(clock) }
            while true {
                await wakes.sleep()
                if Task.isCancelled { break }
                let scope = wakes.peek()
                let pause = scope == .changes ? Self.gathering : Self.remoteGathering
                guard (try? await clock.sleep(for: pause)) != nil else { break }
                let next: (pause: Duration, scope: RoundScope)?
                do throws(SyncError) {
                    try await round(wakes.take())
                    next = owesAcknowledgement ? (Self.acknowledgementPause, .acknowledgement) : nil
                } catch {
                    // The status shows the failure.
                    next = (Self.failurePause, .all)
                }
                guard let next else { continue }
                group.addTask {
                    guard (try? await clock.sleep(for: next.pause)) != nil else { return }
                    wakes.wake(next.scope)
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

    // MARK: Status

    /// The current status, then each change; a slow reader always gets the last one.
    package func statuses() -> AsyncStream<SyncStatus> {
        listenerCount += 1
        let number = listenerCount
        let (stream, continuation) = AsyncStream.makeStream(
            of: SyncStatus.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(status)
        continuation.onTermination = { [weak self] _ in
            Task { await self?.forget(listener: number) }
        }
        listeners[number] = continuation
        return stream
    }

    private func forget(listener: UInt64) { listeners[listener] = nil }

    /// Updates the status and reports it.
    func publish(_ phase: SyncPhase) {
        status.phase = phase
        status.findings = findings()
        if phase == .idle { status.devices = devices() }
        let snapshot = SyncSnapshot(status: status, chain: chain, role: role)
        latest.withLock { $0 = snapshot }
        for listener in listeners.values { listener.yield(status) }
    }

    private func devices() -> [DeviceStatus] {
        let lastChange = logs[setup.log]?.lastWrite?.sequence ?? 0
        return logs.values.filter { !isLeft($0.log) }.sorted { $0.log < $1.log }.map { summary in
            let isThisDevice = summary.log == setup.log
            let seen = isThisDevice ? summary.head.sequence : seenOfOwn[summary.log]
            return DeviceStatus(
                author: author(summary.log), identity: summary.author, isThisDevice: isThisDevice,
                sequence: summary.head.sequence, milliseconds: summary.clock >> 16,
                isMembers: chain.state.members[summary.author] != nil,
                hasAllOfThisDevice: seen.map { $0 >= lastChange } ?? false)
        }
    }

    private func findings() -> [SyncFinding] {
        var findings = notes
        // During a round, the change may be about to be put.
        if status.phase == .idle, let pending = duties.pending {
            findings.append(.membership(.postponed(change(pending).text)))
        }
        for (identity, count) in chain.state.epochCounts.sorted(by: { $0.key < $1.key })
        where count >= Self.epochCountNamed && chain.state.members[identity] != nil {
            findings.append(.membership(.manyEpochs(name(of: identity), count: count)))
        }
        findings += logFindings
        // Known logs come first, since there may be any number of others.
        let stopped = stops.values.filter { if case .tooManyLogs = $0.problem { false } else { true } }
            .sorted {
                (tails[$0.dot.log] == nil ? 1 : 0, $0.dot) < (tails[$1.dot.log] == nil ? 1 : 0, $1.dot)
            }
        for stop in stopped.prefix(Self.findingCountMax) {
            if case .otherAuthor(let identity) = stop.problem {
                findings.append(
                    .intruder(
                        author(stop.dot.log), sequence: stop.dot.sequence, identity,
                        name: knownName(of: identity)))
                continue
            }
            findings.append(.stopped(author(stop.dot.log), sequence: stop.dot.sequence, stop.problem))
        }
        for (log, fork) in forks.sorted(by: { $0.key < $1.key }) {
            findings.append(.forked(author(log), fork))
        }
        for (missing, waiting) in queue.gaps.sorted(by: { $0.key < $1.key }) where stops[missing.log] == nil {
            findings.append(
                .gap(
                    author(missing.log), missing: missing.sequence, waiting: author(waiting.log),
                    sequence: waiting.sequence))
        }
        if lookedAtPacks.lostByteCount > 0 {
            findings.append(.contentsLost(byteCount: lookedAtPacks.lostByteCount))
        }
        let lostOwn = lostOwnCommits
        if let first = lostOwn.min() {
            findings.append(.ownLost(sequence: first, others: lostOwn.count - 1))
        }
        for dot in lost.sorted() where stops[dot.log] == nil && queue.gaps[dot] == nil {
            findings.append(.absent(author(dot.log), sequence: dot.sequence))
        }
        return findings
    }
}
