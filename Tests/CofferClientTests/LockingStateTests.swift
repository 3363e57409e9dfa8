import CofferCrypto
import CofferFUSE
import CofferSystem
import Glibc
import Synchronization
import Testing

@testable import CofferClient
@testable import CofferVault

/// What a mount decides on its way to another process.
@Suite(.serialized) struct LockingStateTests {
    private static let patience: Int64 = 90_000_000_000

    /// A vault that had a disk error has nothing more to lose, and must not keep the keys in memory.
    @Test func aStoppedVaultCanBeLocked() throws {
        let vaults = try TestProfile().open()
        defer { vaults.close() }
        try #require(vaults.vaults.first).vault.stop("a disk error")
        try vaults.storeAll()
    }

    @Test func itemsThatTheKernelForgetsAreNotKept() throws {
        var inUse = ItemsInUse()
        inUse.items = [1: [5, 6], 2: [5]]
        let rest = inUse.remaining([.root, Node(slot: 1, item: 6), Node(slot: 2, item: 9)])
        #expect(rest.items == [1: [6], 2: []])
    }

    @Test func aMountIsLeftOrEnds() throws {
        let (leaves, ends) = (Locking(isAllowed: true), Locking(isAllowed: true))
        try leaves.beginLeaving()
        #expect(!leaves.beginEnd(), "the next process has to end it")
        #expect(!leaves.beginEndOnce())
        #expect(ends.beginEndOnce() && !ends.beginEndOnce())
        #expect(ends.beginEnd() && ends.beginEnd())
        ends.begin { _, _ throws(ClientError) in Issue.record("a mount that ends is locked") }
        for attempt in [{ try ends.beginLeaving() }, { try ends.check() }, { try ends.lock(false, nil) }] {
            #expect(clientErrorName(attempt) == "lockingUnderWay")
        }
    }

    /// A thread that waits in the kernel without end must not leave the mount when it wakes up at last.
    @Test func whatWasGivenUpIsNotLeft() throws {
        let (slow, quick) = (Locking(isAllowed: true), Locking(isAllowed: true))
        #expect(slow.giveUp())
        for step in [{ try slow.beginLeaving() }, { try slow.check() }] {
            #expect(clientErrorName(step) == "lockingInUse")
        }
        #expect(!slow.mayGoOn)
        #expect(slow.beginEnd())
        try quick.beginLeaving()
        #expect(!quick.giveUp())
        // The next attempt is another one.
        let again = Locking(isAllowed: true)
        #expect(again.giveUp())
        again.begin { _, _ throws(ClientError) in }
        try again.lock(false, nil)
        #expect(again.mayGoOn)
        try again.check()
        try again.beginLeaving()
    }

    /// Neither part of an attempt may hang without end, and each has the time for itself.
    @Test func whatTakesTooLongIsGivenUp() throws {
        let (short, long): (Int64, Int64) = (50_000_000, 1_000_000_000)
        for startsAtGate in [false, true] {
            for hanging in [[], [LockLimit.Progress.gate]] {
                let isGivenUp = Condition(false)
                let limit = try LockLimit(nanoseconds: short, startsAtGate: startsAtGate) {
                    isGivenUp.update { $0 = true }
                }
                for part in hanging { limit.reach(part) }
                let result = isGivenUp.wait(nanoseconds: Self.patience) { $0 ? true : nil }
                #expect(result == true, "\(startsAtGate), \(hanging)")
            }
        }
        let isGivenUp = Condition(false)
        let limit = try LockLimit(nanoseconds: long, startsAtGate: false) { isGivenUp.update { $0 = true } }
        for part in [LockLimit.Progress.gate, .end] {
            usleep(600_000)
            limit.reach(part)
        }
        let result = isGivenUp.wait(nanoseconds: long + short) { $0 ? true : nil }
        #expect(result == nil)
    }

    /// The thread of an attempt ends before the mount does.
    @Test func theEndAwaitsAnAttempt() throws {
        let locking = Locking(isAllowed: true)
        let (hasBegun, hasSeen) = (Condition(false), Condition(false))
        locking.begin { _, _ throws(ClientError) in
            hasBegun.update { $0 = true }
            while locking.mayGoOn { usleep(1000) }
            usleep(100_000)
            hasSeen.update { $0 = true }
            try locking.check()
        }
        try CofferSystem.Thread.startDetached("locks") { try? locking.lock(false, nil) }
        _ = hasBegun.wait { $0 ? true : nil }
        #expect(locking.isUnderWay && locking.beginEnd())
        locking.awaitAttempt(nanoseconds: Self.patience)
        let isOver = hasSeen.withLock { $0 }
        #expect(isOver && !locking.isUnderWay)
    }

    @Test func nobodyIsToldThatItIsUnlockedDuringALock() throws {
        let vaults = try TestProfile().open()
        defer { vaults.close() }
        let locking = Condition(true)
        let handler = ControlHandler(
            vaults, SharedVaults(vaults), mountPoint: "/m", isLocking: { locking.withLock { $0 } }
        ) { _ in }
        let error = clientError { () throws(ClientError) in
            _ = try handler.answer(LockStateRequest()) { _ in }
        }
        #expect(error?.caseName == "lockingUnderWay")
        locking.withLock { $0 = false }
        #expect(try !handler.answer(LockStateRequest()) { _ in }.isLocked)
    }

    @Test func aLockedProfileTellsThatItsMountWasDetached() throws {
        let location = try TestProfile().location
        for device in [nil, "0:0"] {
            let handler = LockedHandler(location, "/m", device: device, since: 5, Unlocking {})
            let client = RequestClient(isHeard: { true }, progress: { _ in })
            let status = try handler.perform(StatusRequest(), for: client)
            #expect(status.mountPoint == (device == nil ? "/m" : nil))
            #expect(status.detachedFrom == (device == nil ? nil : "/m"))
        }
    }

    /// What is lost is told once the profile is locked, unless it was given up.
    @Test(arguments: [false, true]) func lossesAreTold(isForced: Bool) throws {
        let locking = Locking(isAllowed: true)
        locking.begin { _, _ throws(ClientError) in locking.noteLosses(2) }
        #expect(locking.failure == nil)
        try locking.lock(isForced, nil)
        #expect(locking.failure?.caseName == (isForced ? nil : "lockingLost"))
    }

    /// Nobody waits for an answer if the profile locks itself.
    @Test func aLockedProfileTellsWhatWentWrong() throws {
        let location = try TestProfile().location
        for problem in [nil, "Something is lost."] {
            let handler = LockedHandler(location, "/m", since: 5, problem: problem, Unlocking {})
            let client = RequestClient(isHeard: { true }, progress: { _ in })
            let status = try handler.perform(StatusRequest(), for: client)
            #expect(status.problems.map(\.text) == [problem].compactMap { $0 })
        }
        let handler = LockedHandler(location, "/m", since: 5, refusedCount: { 3 }, Unlocking {})
        let client = RequestClient(isHeard: { true }, progress: { _ in })
        let problems = try handler.perform(StatusRequest(), for: client).problems
        #expect(problems.count == 1 && problems[0].text.contains("files (3) came too late"))
    }

    @Test func whatWasGivenUpIsNotStored() throws {
        for (isForced, losses) in [(false, 0), (true, 0), (false, 1)] {
            let locking = Locking(isAllowed: true)
            locking.begin { _, _ throws(ClientError) in locking.noteLosses(losses) }
            try locking.lock(isForced, nil)
            #expect(locking.hasStored == (!isForced && losses == 0))
        }
    }

    /// A command that comes while the vaults close is answered by the next process, however long that takes.
    @Test func commandsWaitForTheNextProcess() throws {
        let test = try TestProfile()
        let vaults = try test.open()
        defer { vaults.close() }
        let place = try vaults.profile.place()
        let handler = ControlHandler(vaults, SharedVaults(vaults), mountPoint: "/m") { _ in }
        let first = try ControlServer(of: place, in: test.location.path, handler)
        let copy = try Descriptor.copy(of: first.number).release()
        try vaults.profile.setLockNote(LockNote(process: 1, mountPoint: "/m", socket: first.path))
        try first.start()
        let access = try ProfileAccess.open(test.location) { () throws(ClientError) in secret("") }
        _ = try access.perform(StatusRequest())
        first.refuseAll(except: nil, .locking(.locked))
        let answers = Condition<[Bool]>([])
        let count = 3
        for _ in 0..<count {
            try CofferSystem.Thread.startDetached("command") {
                let isAnswered = (try? access.perform(StatusRequest())) != nil
                answers.update { $0.append(isAnswered) }
            }
        }
        // Longer than a command tries to connect.
        let early = answers.wait(nanoseconds: 3_000_000_000) { $0.isEmpty ? nil : $0 }
        #expect(early == nil)
        let next = ControlServer(Descriptor(owning: copy), at: first.path, of: place, handler)
        try next.start()
        defer { next.stop() }
        let all = answers.wait(nanoseconds: Self.patience) { $0.count == count ? $0 : nil }
        #expect(all == [true, true, true])
    }

    /// Performs a request for as long as the test likes.
    private final class Slow: RequestPerformer {
        let hasBegun = Condition(false), mayEnd = Condition(false)

        func perform<Request: ControlRequest>(
            _ request: Request, for client: RequestClient
        ) throws(ClientError) -> Request.Answer {
            hasBegun.update { $0 = true }
            mayEnd.wait { $0 ? () : nil }
            throw .locking(.underWay)
        }
    }

    /// A command that changes nothing is answered by the next process, also if the first one had begun with it.
    @Test func commandsUnderWayAskTheNextProcess() throws {
        let test = try TestProfile()
        let vaults = try test.open()
        defer { vaults.close() }
        let place = try vaults.profile.place()
        let slow = Slow()
        let first = try ControlServer(of: place, in: test.location.path, slow)
        let (path, profile) = (first.path, test.location.path)
        let copy = try Descriptor.copy(of: first.number)
        try first.start()
        let answer = Condition<Bool?>(nil)
        try CofferSystem.Thread.startDetached("command") {
            let status = try? ProfileAccess.ask(path, of: place, StatusRequest()) { _ in }
            answer.update { $0 = status?.profile == profile }
        }
        slow.hasBegun.wait { $0 ? () : nil }
        first.refuseAll(except: nil, .locking(.locked))
        slow.mayEnd.update { $0 = true }
        let handler = ControlHandler(vaults, SharedVaults(vaults), mountPoint: "/m") { _ in }
        let next = ControlServer(copy, at: path, of: place, handler)
        try next.start()
        defer { next.stop() }
        #expect(answer.wait(nanoseconds: Self.patience) { $0 } == true)
    }

    /// A process that is about to be replaced, and leaves the request to the next one.
    private final class Leaving: RequestPerformer {
        private let asked = Atomic(0)
        private let end: @Sendable () -> Void

        init(_ end: @escaping @Sendable () -> Void) { self.end = end }

        var count: Int { asked.load(ordering: .relaxed) }

        func perform<Request: ControlRequest>(
            _ request: Request, for client: RequestClient
        ) throws(ClientError) -> Request.Answer {
            if case .profile(.end) = request.message, asked.add(1, ordering: .relaxed).newValue == 2 { end() }
            guard let answer = Done() as? Request.Answer else { throw .locking(.underWay) }
            return answer
        }
    }

    /// The kernel does not tell the next process of the unmount if there are copies of the mount.
    @Test func anUnmountAsksTheNextProcess() throws {
        let test = try TestProfile()
        let vaults = try test.open()
        defer { vaults.close() }
        let profile = vaults.profile
        let leaving = Leaving { try? profile.setLockNote(LockNote(process: 2, mountPoint: "", socket: "")) }
        let server = try ControlServer(of: try profile.place(), in: test.location.path, leaving)
        try profile.setLockNote(LockNote(process: 1, mountPoint: "/m", socket: server.path))
        try server.start()
        defer { server.stop() }
        let found = try #require(MountServer.find(nil, at: "/m", test.location, []))
        let hasEnded = Condition(false)
        try CofferSystem.Thread.startDetached("unmounts") {
            try? Unmounting.end("/m", found, force: true) { _ in }
            hasEnded.update { $0 = true }
        }
        let result = hasEnded.wait(nanoseconds: Self.patience) { $0 ? true : nil }
        #expect(result == true && leaving.count == 2)
    }

    private func clientErrorName(_ body: () throws -> Void) -> String? {
        do { try body() } catch let error as ClientError { return error.caseName } catch { return "\(error)" }
        return nil
    }

    /// The first command after a long sleep, too, comes too late.
    @Test func noCommandIsServedAfterTheTime() throws {
        let test = try TestProfile()
        let vaults = try test.open()
        defer { vaults.close() }
        let idle = IdleTime(limit: 1, detectsSleep: false)
        let handler = ControlHandler(vaults, SharedVaults(vaults), mountPoint: "/m", idle: idle) { _ in }
        let error = clientError { () throws(ClientError) in
            _ = try handler.answer(VaultRequest.create(name: "New")) { _ in }
        }
        #expect(error?.caseName == "lockingUnderWay")
        #expect(vaults.vaults.map(\.name) == ["Personal"])
        // Status is no use.
        _ = try handler.answer(StatusRequest()) { _ in }
    }

    /// A process that has seen a key is replaced, whatever was wrong with it.
    @Test(arguments: [0, 31, 33, 100_000])
    func aKeyOfAnotherLengthLocksAgain(count: Int) throws {
        let hasLeft = Condition(false)
        let unlocking = Unlocking { hasLeft.update { $0 = true } }
        let request = UnlockRequest(key: SecretBytes(copying: [UInt8](repeating: 7, count: count).span.bytes))
        try CofferSystem.Thread.startDetached("unlocks") {
            try? unlocking.begin(request, for: RequestClient(isHeard: { true }, progress: { _ in }))
        }
        let isOver = hasLeft.wait(nanoseconds: Self.patience) { $0 ? true : nil }
        #expect(isOver == true)
        #expect(unlocking.way?.key == nil && unlocking.way?.failure?.code == 76)
        #expect(!unlocking.beginEnd())
    }

    /// Commands that change vaults end before the process is replaced, and none begins.
    @Test func changesAreAwaited() throws {
        let test = try TestProfile()
        let vaults = try test.open()
        defer { vaults.close() }
        let (hasBegun, mayEnd, isHeld) = (Condition(false), Condition(false), Condition<Bool?>(nil))
        let handler = ControlHandler(vaults, SharedVaults(vaults), mountPoint: "/m") { _ in
            hasBegun.update { $0 = true }
            _ = mayEnd.wait { $0 ? true : nil }
        }
        let server = try ControlServer(of: try vaults.profile.place(), in: test.location.path, handler)
        try vaults.profile.setLockNote(LockNote(process: 1, mountPoint: "/m", socket: server.path))
        try server.start()
        defer { server.stop() }
        let access = try ProfileAccess.open(test.location) { () throws(ClientError) in secret("") }
        try CofferSystem.Thread.startDetached("command") {
            _ = try? access.perform(VaultRequest.create(name: "New"))
        }
        _ = hasBegun.wait { $0 ? true : nil }
        try CofferSystem.Thread.startDetached("locks") {
            let result = server.holdChanges()
            isHeld.update { $0 = result }
        }
        let early = isHeld.wait(nanoseconds: 300_000_000) { $0 }
        #expect(early == nil, "a command is under way")
        let refused = clientError { () throws(ClientError) in
            _ = try access.perform(VaultRequest.create(name: "Other"))
        }
        #expect(refused?.exitCode == 75)
        _ = try access.perform(StatusRequest())
        mayEnd.update { $0 = true }
        let result = isHeld.wait(nanoseconds: Self.patience) { $0 }
        #expect(result == true)
        server.allowChanges()
        _ = try access.perform(VaultRequest.create(name: "Other"))
        #expect(vaults.vaults.map(\.name) == ["Personal", "New", "Other"])
    }
}
