package import CofferRemote
internal import CofferFormat
internal import CofferTrust
internal import Synchronization

/// What wakes a round, and what that is to look at.
final class Wakes: Sendable {
    private struct State {
        var scope: RoundScope?
        var sleeper: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Wakes whoever sleeps, or the next who would.
    func wake(_ scope: RoundScope) {
        let sleeper = state.withLock { state in
            if state.scope == nil { state.scope = scope } else { state.scope?.formUnion(scope) }
            defer { state.sleeper = nil }
            return state.sleeper
        }
        sleeper?.resume()
    }

    /// Returns when there is something to look at; one may sleep at a time.
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

    /// What there is to look at.
    func peek() -> RoundScope { state.withLock { $0.scope ?? .changes } }

    /// What there is to look at; from then on, nothing.
    func take() -> RoundScope {
        state.withLock { state in
            defer { state.scope = nil }
            return state.scope ?? .changes
        }
    }
}

extension SyncEngine {
    /// How long changes of this device are gathered before a round.
    private static let gathering = Duration.milliseconds(200)
    /// How long changes of the remote are: who puts a commit has gathered.
    private static let remoteGathering = Duration.milliseconds(20)
    /// How long what was applied waits for a commit that has more to say.
    private static let acknowledgementPause = Duration.seconds(2)
    /// How long after a round that failed there is another one.
    private static let failurePause = Duration.seconds(30)
    /// Epochs that somebody has begun from which on that is named.
    private static let epochCountNamed = 1000
    /// One look of so many asks for commits that no listing has.
    private static let thoroughPollStep = 8

    /// Says that something was changed on this device.
    package nonisolated func localChange() { wakes.wake(.changes) }

    /// Syncs until the task is cancelled: when something changes here or at the remote, and now and then where nobody
    /// tells.
    ///
    /// - Parameter clock: By which pauses are measured.
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
                    // Why it did not end well stands in the status.
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

    /// Looks now and then: soon after a change, then less and less often.
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

    /// How sync stands, now and whenever that changes; the last state is never left out.
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

    /// Brings the status up to date and tells it.
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
        // While a round is under way, it may just be put.
        if status.phase == .idle, let pending = duties.pending {
            findings.append(.membership(.postponed(change(pending).text)))
        }
        for (identity, count) in chain.state.epochCounts.sorted(by: { $0.key < $1.key })
        where count >= Self.epochCountNamed && chain.state.members[identity] != nil {
            findings.append(.membership(.manyEpochs(name(of: identity), count: count)))
        }
        findings += logFindings
        // Of logs that are known first: of others there may be any number.
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
        for dot in lost.sorted() where stops[dot.log] == nil && queue.gaps[dot] == nil {
            findings.append(.absent(author(dot.log), sequence: dot.sequence))
        }
        return findings
    }
}
