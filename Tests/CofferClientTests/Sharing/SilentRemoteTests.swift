import CofferFormat
import CofferRemote
import CofferSystem
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// A remote that never answers blocks no request forever.
@Suite(.serialized, .ownThread) struct SilentRemoteTests {
    private struct Silent: RemoteBackend {
        let limits = RemoteLimits(
            objectByteCountMax: 1 << 30, rangeByteCountMax: 1 << 20, concurrentCallsMax: 8)

        func describe() -> String { "silence" }
        private func hang() async -> RemoteError {
            while (try? await Task.sleep(for: .seconds(3600))) != nil {}
            return .cancelled
        }
        func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
            throw await hang()
        }
        func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
            throw await hang()
        }
        func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
            throw await hang()
        }
        func delete(_ name: RemoteName) async throws(RemoteError) { throw await hang() }
        func changes(below prefix: RemotePrefix) -> RemoteChanges { RemoteChanges { $0.finish() } }
    }

    /// A read of remote content fails when the mount ends, and does not start again.
    @Test func waitingReadsEnd() throws {
        let packs = RemotePacks(Silent(), RemoteLayout(VaultID(low: 1, high: 2)))
        let (asked, failed) = (Condition(false), Condition(false))
        Thread.detachNewThread {
            asked.update { $0 = true }
            do throws(TransferError) {
                _ = try packs.fetch(PackID(low: 3, high: 4), 0..<10)
            } catch {
                failed.update { $0 = true }
            }
        }
        _ = asked.wait { $0 ? true : nil }
        packs.stop()
        #expect(failed.wait { $0 ? true : nil })
        #expect(throws: TransferError.self) { _ = try packs.fetch(PackID(low: 3, high: 4), 0..<10) }
    }

    /// A remote that answers small requests, and is silent for large ones.
    private struct Slow: RemoteBackend {
        let limits = RemoteLimits(
            objectByteCountMax: 1 << 30, rangeByteCountMax: 1 << 20, concurrentCallsMax: 8)
        let bytes: [UInt8]

        func describe() -> String { "slow" }
        func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
            if range.count > RemotePacks.leastSliceByteCount { return try await Silent().get(name, range) }
            return RemoteContent(
                bytes: Array(bytes[range.clamped(to: 0..<bytes.count)]), objectByteCount: bytes.count)
        }
        func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {}
        func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
            try await Silent().list(prefix, after: after)
        }
        func delete(_ name: RemoteName) async throws(RemoteError) {}
        func changes(below prefix: RemotePrefix) -> RemoteChanges { RemoteChanges { $0.finish() } }
    }

    @Test func slowRemotesDoNotTimeOut() throws {
        let bytes = (0..<5 * RemotePacks.leastSliceByteCount).map { UInt8(truncatingIfNeeded: $0 / 1000) }
        let packs = RemotePacks(
            Slow(bytes: bytes), RemoteLayout(VaultID(low: 1, high: 2)), patience: 3_600_000_000_000,
            slicePatience: 1_000_000)
        let range = 10..<bytes.count - 10
        for _ in 0..<2 {
            let isSame = try packs.fetch(PackID(low: 3, high: 4), range).bytes == Array(bytes[range])
            #expect(isSame)
        }
        let rest = try packs.fetch(PackID(low: 3, high: 4), bytes.count - 10..<bytes.count + 10)
        #expect(rest.bytes == Array(bytes.suffix(10)))
    }

    /// A range comes with another one, or without it if the other one is late, cut, or missing.
    @Test func twoRangesAtOnce() throws {
        let bytes = (0..<3 * RemotePacks.leastSliceByteCount).map { UInt8(truncatingIfNeeded: $0 / 100) }
        let packs = RemotePacks(
            Slow(bytes: bytes), RemoteLayout(VaultID(low: 1, high: 2)), patience: 3_600_000_000_000,
            slicePatience: 50_000_000)
        let pack = PackID(low: 3, high: 4)
        let far = bytes.count - 100..<bytes.count
        let (first, second) = try packs.fetch(pack, 10..<1000, with: far)
        #expect(first.bytes == Array(bytes[10..<1000]))
        #expect(second?.bytes == Array(bytes[far]))
        let (again, cut) = try packs.fetch(pack, 10..<1000, with: bytes.count - 10..<bytes.count + 90)
        #expect(again.count == 990)
        #expect(cut?.count == 10)
        let (alone, late) = try packs.fetch(pack, 10..<1000, with: 2000..<bytes.count)
        #expect(alone.bytes == Array(bytes[10..<1000]))
        #expect(late == nil)
    }

    @Test(arguments: [10, 1 << 20])
    func silentRemotesTimeOut(byteCount: Int) {
        let packs = RemotePacks(
            Silent(), RemoteLayout(VaultID(low: 1, high: 2)), patience: 2_000_000, slicePatience: 1_000_000)
        #expect(throws: TransferError.timedOut) {
            _ = try packs.fetch(PackID(low: 3, high: 4), 0..<byteCount)
        }
        #expect(throws: TransferError.timedOut) { _ = try packs.byteCount(of: PackID(low: 3, high: 4)) }
        #expect(packs.byteCounts(of: [PackID(low: 3, high: 4)]).isEmpty)
        packs.stop()
    }

    /// Answers no request before a given number of them waits.
    private actor Gathering: RemoteBackend {
        nonisolated let limits: RemoteLimits
        private let count: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(count: Int) {
            self.count = count
            limits = RemoteLimits(
                objectByteCountMax: 1 << 30, rangeByteCountMax: 1 << 20, concurrentCallsMax: count)
        }

        nonisolated func describe() -> String { "gathering" }
        func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
            await withCheckedContinuation { continuation in
                waiting.append(continuation)
                guard waiting.count == count else { return }
                for waiter in waiting { waiter.resume() }
                waiting = []
            }
            if "\(name)".hasSuffix("0") { throw .absent }
            return RemoteContent(bytes: [], objectByteCount: 7)
        }
        func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {}
        func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
            RemotePage(entries: [], next: nil)
        }
        func delete(_ name: RemoteName) async throws(RemoteError) {}
        nonisolated func changes(below prefix: RemotePrefix) -> RemoteChanges {
            RemoteChanges { $0.finish() }
        }
    }

    /// As many requests run at once as the remote allows: one at a time, none would ever be answered.
    @Test func sizesOfPacksAreAskedForTogether() {
        let packs = RemotePacks(Gathering(count: 4), RemoteLayout(VaultID(low: 1, high: 2)))
        let ids = (0..<64).map { PackID(low: $0, high: $0) }
        let sizes = packs.byteCounts(of: ids)
        #expect(sizes.count == 64)
        for id in ids {
            let isThere = !id.description.hasSuffix("0")
            let expected: Result<Int, TransferError> = isThere ? .success(7) : .failure(.missing)
            #expect(sizes[id] == expected, "\(id)")
        }
        packs.stop()
    }

    @Test func waitingIsBounded() {
        let value: Int? = AwaitedTask {
            while (try? await Task.sleep(for: .seconds(1))) != nil {}
            return 1
        }.wait(nanoseconds: 1_000_000)
        #expect(value == nil)
    }
}
