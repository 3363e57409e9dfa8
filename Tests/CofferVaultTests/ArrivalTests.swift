import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Packs that have not arrived at the remote, or that it has lost.
@Suite struct ArrivalTests {
    private let devices: TwoDevices
    private let content = Pattern.make(3 << 20)
    private let b: Int64

    init() throws {
        devices = try TwoDevices()
        b = try devices.file(content).b
        try devices.b.commit()
        devices.b.remoteReads.arrivals.wait(nanoseconds: 3_600_000_000_000)
    }

    /// Removes the packs during `body`.
    private func withoutPacks(_ body: () throws -> Void) rethrows {
        let packs = devices.remote.state.withLock { $0.packs }
        devices.remote.change { $0 = [:] }
        try body()
        devices.remote.change { $0 = packs }
    }

    /// Begins to read the first bytes of a file, as a program does.
    private func begin(_ file: Int64? = nil) throws -> WaitingRequest {
        let request = WaitingRequest()
        let buffer = AlignedBuffer(count: 10)
        let count = try devices.b.contents.read(file ?? b, at: 0, count: 10, into: buffer, or: { request })
        #expect(count == nil)
        return request
    }

    /// Returns once a reader has asked the remote in vain.
    private func waitForFetch() { _ = devices.remote.state.wait { $0.fetches.isEmpty ? nil : true } }

    // MARK: Reading

    @Test func aReadWaitsForAPack() throws {
        var request: WaitingRequest?
        try withoutPacks {
            devices.remote.forgetFetches()
            request = try begin()
            waitForFetch()
        }
        #expect(try request?.wait() == Array(content[..<10]))
        #expect(devices.problems.all == [])
        try devices.b.close()
    }

    /// A past file is no exception.
    @Test func aReadOfThePastWaitsForAPack() throws {
        try devices.b.history.set(.forever)
        let view = try #require(try devices.b.history.view(at: .max))
        defer { view.close() }
        let got = Condition<Result<[UInt8], FileSystemError>?>(nil)
        func read(isInterrupted: @escaping @Sendable () -> Bool = { false }) throws -> Thread {
            try Thread.start("reader") { [b, content] in
                let buffer = AlignedBuffer(count: content.count)
                do throws(FileSystemError) {
                    let count = try view.read(
                        b, at: 5, count: 10, into: buffer, isInterrupted: isInterrupted)
                    let bytes = buffer.withBytes(0..<count) { $0.array }
                    got.update { $0 = .success(bytes) }
                } catch {
                    got.update { $0 = .failure(error) }
                }
            }
        }
        var reader: Thread?
        try withoutPacks {
            devices.remote.forgetFetches()
            // A signal ends it.
            try read(isInterrupted: { true }).join()
            #expect(fails("notArrived") { _ = try got.withLock { $0 }?.get() })
            got.update { $0 = nil }
            devices.remote.forgetFetches()
            reader = try read()
            waitForFetch()
        }
        #expect(try got.wait { $0 }.get() == Array(content[5..<15]))
        reader?.join()
        #expect(devices.problems.all == [])
    }

    /// Many more reads than threads wait; another read is answered meanwhile.
    @Test func missingPacksDelayNoOtherReads() throws {
        let files = try (0..<40).map { try devices.file(Pattern.make(100, seed: $0), named: "\($0)").b }
        let known = Set(devices.remote.state.withLock { $0.packs.keys })
        let here = Pattern.make(1 << 20, seed: 100)
        let other = try devices.file(here, named: "other").b
        let packs = devices.remote.state.withLock { $0.packs }
        devices.remote.change { $0 = $0.filter { !known.contains($0.key) } }
        let waiting = try files.map { try begin($0) }
        #expect(try begin(other).wait() == Array(here[..<10]))
        #expect(!waiting.contains { $0.isAnswered })
        devices.remote.change { $0 = packs }
        for (request, seed) in zip(waiting, UInt64(0)...) {
            #expect(try request.wait() == Pattern.make(10, seed: seed))
        }
        try devices.b.close()
    }

    /// The kernel has a limited number of reads in flight: waiting reads must leave room for others.
    @Test func notAllReadsWait() throws {
        try withoutPacks {
            let requests = try (0..<200).map { _ in try begin() }
            for request in requests[..<100] where request.isAnswered {
                #expect(fails("notArrived") { _ = try request.wait() })
            }
            try devices.b.close()
            for request in requests { #expect(fails("notArrived") { _ = try request.wait() }) }
        }
    }

    @Test func aSignalEndsTheWait() throws {
        try withoutPacks {
            devices.remote.forgetFetches()
            let request = try begin()
            waitForFetch()
            #expect(!request.isAnswered)
            request.interrupt()
            #expect(throws: FileSystemError.self) { _ = try request.wait() }
        }
        try devices.b.close()
    }

    /// A program that reads very many files does not wait ten seconds for each.
    @Test func readsWaitInVainForFewPacksOnly() throws {
        let arrivals = Arrivals()
        func waits(for pack: UInt64, since begin: Int64) -> Bool {
            arrivals.isWaiting(2, since: begin, after: .notArrived(PackID(low: pack, high: 0)))
        }
        arrivals.wait(nanoseconds: 3_600_000_000_000)
        let (longAgo, halfAnHourAgo) = (Int64.min / 2, Clock.monotonic - 1_800_000_000_000)
        #expect(!waits(for: 1, since: longAgo))
        for _ in 0..<10 { #expect(!waits(for: 2, since: longAgo)) }
        #expect(waits(for: 3, since: halfAnHourAgo))
        #expect(!waits(for: 4, since: longAgo))
        #expect(!waits(for: 3, since: halfAnHourAgo))
        #expect(waits(for: 3, since: Clock.monotonic))
        arrivals.noteArrival()
        #expect(waits(for: 5, since: halfAnHourAgo))
    }

    @Test func theEndOfTheVaultEndsTheWait() throws {
        try withoutPacks {
            devices.remote.forgetFetches()
            let request = try begin()
            waitForFetch()
            try devices.b.close()
            #expect(fails("notArrived") { _ = try request.wait() })
        }
    }

    @Test func aSilentRemoteEndsTheWait() throws {
        try withoutPacks {
            devices.remote.forgetFetches()
            let request = try begin()
            waitForFetch()
            devices.remote.fail(.timedOut)
            #expect(fails("timedOut") { _ = try request.wait() })
        }
        devices.remote.fail(nil)
        try devices.b.close()
    }

    /// No program reads it again, and the line disappears all the same.
    @Test func messagesEndOnceThePackArrives() throws {
        withoutPacks {
            #expect(fails("notArrived") { _ = try devices.b.get(b, count: 10) })
            #expect(fails("notArrived") { _ = try devices.b.get(b, at: 2 << 20, count: 10) })
            devices.b.remoteReads.arrivals.tryAgain(in: devices.b)
            let texts = devices.problems.all.map(\.text)
            #expect(texts.count == 1 && texts.allSatisfy { $0.contains("has not arrived") }, "\(texts)")
            #expect(texts.allSatisfy { !$0.contains("damaged") })
        }
        devices.b.remoteReads.arrivals.tryAgain(in: devices.b)
        #expect(devices.problems.all == [])
        try devices.b.close()
    }

    @Test func aBoundedNumberIsRemembered() throws {
        let files = try (0..<101).map { try devices.file(Pattern.make(100, seed: $0), named: "\($0)").b }
        withoutPacks {
            for file in files { #expect(fails("notArrived") { _ = try devices.b.get(file, count: 10) }) }
            #expect(devices.b.remoteReads.arrivals.items == Array(files[1...]))
            #expect(devices.problems.all.count == 100)
            #expect(!devices.problems.all.contains { $0.text.hasPrefix("0:") })
        }
        devices.b.remoteReads.arrivals.tryAgain(in: devices.b)
        #expect(devices.b.remoteReads.arrivals.items == [])
        #expect(devices.problems.all == [])
        try devices.b.close()
    }

    /// The line about a file with many such ranges stays until all of it can be read.
    @Test func theLineStaysUntilEverythingCanBeRead() throws {
        let arrivals = devices.b.remoteReads.arrivals
        withoutPacks {
            for index in 0..<12 {
                #expect(fails("notArrived") { _ = try devices.b.get(b, at: index * 200_000, count: 100_000) })
            }
            arrivals.forget(b, 0..<1_000_000, in: devices.b)
            #expect(devices.problems.all.count == 1)
            arrivals.forget(b, 1_000_000..<2_200_000, in: devices.b)
            #expect(devices.problems.all.count == 1)
            // There is nothing past the end.
            arrivals.forget(b, 2_200_000..<Int64.max, in: devices.b)
            #expect(devices.problems.all == [])
            #expect(arrivals.items == [])
        }
        try devices.b.close()
    }

    // MARK: Damage

    /// A read does not wait for wrong content, which is checked again only for a reason.
    @Test("Damage is not checked again without need", arguments: [false, true])
    func damageIsNotWaitedFor(isResized: Bool) throws {
        let whole = devices.remote.state.withLock { $0.packs }
        devices.remote.change { packs in for id in packs.keys { packs[id]?[10_000] ^= 1 } }
        #expect(fails("damaged") { _ = try begin().wait() })
        #expect(devices.problems.all.count == 1)
        #expect(devices.problems.all.first?.text.contains("file: bytes 0 to 9 cannot be read") == true)
        #expect(devices.problems.all.first?.text.hasSuffix("is damaged") == true)
        devices.remote.change { packs in
            packs = isResized ? whole.mapValues { $0 + [0] } : whole
        }
        devices.remote.forgetFetches()
        devices.b.remoteReads.arrivals.tryAgain(in: devices.b)
        #expect((devices.remote.fetchCount == 0) == !isResized)
        #expect((devices.problems.all == []) == isResized)
        #expect(try devices.b.damage() == [])
        #expect(devices.problems.all == [])
        try devices.b.close()
    }

    @Test func lastingDamageIsReportedAgain() throws {
        devices.remote.change { packs in for id in packs.keys { packs[id]?[10_000] ^= 1 } }
        #expect(fails("damaged") { _ = try devices.b.get(b, count: 10) })
        _ = try devices.b.check { _, _ in }
        devices.b.remoteReads.arrivals.tryAgain(in: devices.b)
        #expect(devices.problems.all.count == 1)
        #expect(devices.problems.all.first?.text.hasSuffix("is damaged") == true)
        try devices.b.close()
    }

    // MARK: The last copy

    @Test("Content that the remote has lost is not evicted", arguments: [false, true])
    func theLastCopyStays(isCut: Bool) throws {
        _ = try devices.b.content(of: b)
        try devices.b.commit()
        let packs = devices.remote.state.withLock { $0.packs }
        devices.remote.change { all in
            for (id, bytes) in all { all[id] = isCut ? Array(bytes.dropLast(1 << 20)) : nil }
        }
        try devices.b.cache.evict(to: 0)
        #expect(try devices.b.missingByteCount(of: b) <= (isCut ? 2 << 20 : 0))
        let isSame = try haveSameBytes(devices.b.content(of: b), content)
        #expect(isSame)
        #expect(devices.problems.all.contains { $0.text.contains("is not at the remote, or cut short") })
        devices.remote.change { $0 = packs }
        try devices.b.cache.evict(to: 0)
        #expect(try devices.b.missingByteCount(of: b) == content.count)
        #expect(devices.problems.all == [])
        try devices.b.close()
    }

    @Test func nothingIsEvictedWhileTheRemoteIsSilent() throws {
        _ = try devices.b.content(of: b)
        try devices.b.commit()
        devices.remote.fail(.timedOut)
        try devices.b.cache.evict(to: 0)
        #expect(try devices.b.missingByteCount(of: b) == 0)
        try devices.b.close()
    }

    @Test func aCheckNamesWhatIsLost() throws {
        try withoutPacks {
            let damage = try devices.b.check { _, _ in }.damage
            #expect(Set(damage.map(\.path)) == ["file"])
            #expect(damage.allSatisfy { $0.text.contains("has not arrived at the remote or is lost there") })
            // An offline device learns nothing from a check.
            devices.remote.fail(.timedOut)
            #expect(try devices.b.damage() == [])
            devices.remote.fail(nil)
        }
        #expect(try devices.b.damage() == [])
        try devices.b.close()
    }
}
