internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Fetches contents that are only on a remote: for requests, and ahead of readers.
///
/// A request for an extent that is being fetched waits for that fetch, so that each extent is fetched once.
/// Only this type's own threads wait, and callers that stated they may; never under a lock.
final class RemoteReads: Sendable {
    /// The number of sealed bytes per fetch, and the maximum gap between extents that is fetched with them.
    static let runByteCountMax = 4 * (4096 + ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax))
    static let gapByteCountMax = 64 << 10
    /// The maximum gap between a leaf and the hashes that are fetched with it in one range, instead of two at once.
    private static let smallGapByteCountMax = 4 << 10
    private static let answererCount = 4, fetcherCount = 4
    /// The maximum number of requests that wait for packs to arrive: fewer than the kernel allows in flight,
    /// to leave room for others.
    private static let waitingMax = 48

    /// An extent that is being fetched.
    final class Fetch {
        /// Its sealed bytes; contains nil if the extent must be looked up again.
        var result: Result<BufferPart?, FileSystemError>?
    }

    private struct Request {
        let item: Int64
        let range: Range<Int64>
        /// Whether it is a read away from others, which needs no more than it reads.
        let isSeek: Bool
        let request: any ReadRequest
        let begin = Clock.monotonic
        /// When to try it again; 0 if it has not been tried yet.
        var notBefore: Int64 = 0
    }

    private struct Shared {
        var source: (any ContentSource)?
        var held = HeldExtents()
        /// By the numbers of extents on the remote; until they are stored on this device.
        var underWay: [Int64: Fetch] = [:]
        var requests: [Request] = []
        var ahead: [(item: Int64, range: Range<Int64>)] = []
        var readers = RemoteReaders()
        var isStopped = false
    }

    /// Also protects the contents of a `Fetch`.
    private let shared = Condition(Shared(), rank: .remoteReads)
    /// The contents that could not be read for now, and those that reads wait for.
    let arrivals = Arrivals()
    /// The leaves that are fetched alone.
    let leaves = LeafReads()
    private let answerers = Workers("coffer-remote", max: answererCount)
    private let fetchers = Workers("coffer-ahead", max: fetcherCount)

    /// Sets the source of contents; nil for none.
    func attach(_ source: (any ContentSource)?) {
        shared.withLock { $0.source = source }
    }

    /// Limits how far to fetch ahead where there is a cache limit; nil for none.
    func bound(by cacheLimit: Int64?) {
        shared.withLock { $0.readers.bound(by: cacheLimit) }
    }

    /// Answers waiting requests, and ends the threads.
    func stop() {
        arrivals.stop()
        shared.update { shared in
            shared.isStopped = true
            shared.ahead = []
        }
        answerers.stop()
        fetchers.stop()
        letGo()
    }

    // MARK: Requests

    /// Has a thread that may wait answer a request.
    ///
    /// - Parameter isSeek: Whether it is a read away from others, which needs no more than it reads.
    func answer(
        _ item: Int64, _ range: Range<Int64>, isSeek: Bool, _ request: any ReadRequest, in vault: Vault
    ) {
        shared.update {
            $0.requests.append(Request(item: item, range: range, isSeek: isSeek, request: request))
        }
        // Without a thread, nothing else would answer it.
        if !answerers.call({ self.answerNext(in: vault) }, leaving: {}) {
            LeavingWaits.suspended { while answerNext(in: vault) {} }
        }
    }

    private func answerNext(in vault: Vault) -> Bool {
        guard let next = nextRequest() else { return false }
        let (range, buffer) = (next.range, AlignedBuffer(count: next.range.count))
        do throws(FileSystemError) {
            // It has waited, and is no longer wanted.
            if next.notBefore > 0, next.request.isInterrupted { throw .stale }
            let count = try vault.contents.read(
                next.item, at: range.lowerBound, count: range.count, into: buffer,
                demand: next.isSeek ? .leaves : .bytes)
            if next.notBefore > 0 { arrivals.noteArrival() }
            arrivals.forget(next.item, range, in: vault)
            next.request.answer([ReadPart(buffer: buffer, range: 0..<count)])
        } catch {
            // While it waits, the thread serves other requests.
            let waits = arrivals.isWaiting(next.item, since: next.begin, after: error) && putBack(next)
            if !waits { next.request.fail(error) }
        }
        return true
    }

    /// Queues a request to be tried again after a pause; false if too many are waiting.
    private func putBack(_ request: Request) -> Bool {
        var request = request
        request.notBefore = Clock.monotonic + Arrivals.pause
        let waiting = request
        return shared.withLock { shared in
            if shared.isStopped || shared.requests.count(where: { $0.notBefore > 0 }) >= Self.waitingMax {
                return false
            }
            shared.requests.append(waiting)
            return true
        }
    }

    /// The next request to try, new ones first; waits until one is due, and returns nil if there is none at
    /// all.
    private func nextRequest() -> Request? {
        while true {
            let now = Clock.monotonic
            var pause: Int64 = 0
            let next = shared.withLock { shared -> Request? in
                let isStopped = shared.isStopped
                let index =
                    shared.requests.firstIndex { $0.notBefore == 0 }
                    ?? shared.requests.firstIndex { $0.notBefore <= now || isStopped }
                if let index { return shared.requests.remove(at: index) }
                pause = (shared.requests.map(\.notBefore).min() ?? now) - now
                return nil
            }
            if next != nil || pause <= 0 { return next }
            _ = shared.wait(nanoseconds: pause) { shared in
                shared.isStopped || shared.requests.contains { $0.notBefore == 0 } ? true : nil
            }
        }
    }

    /// The current size of a remote pack on the remote, in bytes.
    func byteCount(of pack: PackID) throws(FileSystemError) -> Int {
        guard let source = shared.withLock({ $0.source }) else {
            throw .unreachable(reason: "the vault has no remote")
        }
        do throws(TransferError) { return try source.byteCount(of: pack) } catch {
            switch error {
            case .missing: throw .notArrived(pack)
            case .timedOut: throw .timedOut
            case .failed(let reason): throw .unreachable(reason: reason)
            }
        }
    }

    /// The current sizes of remote packs on the remote, in bytes; 0 for a pack that is not there.
    ///
    /// Does not contain packs whose sizes the remote does not return.
    func byteCounts(of packs: [PackID]) -> [PackID: Int] {
        guard let source = shared.withLock({ $0.source }) else { return [:] }
        return source.byteCounts(of: packs).compactMapValues { answer in
            switch answer {
            case .success(let byteCount): byteCount
            case .failure(.missing): 0
            case .failure: nil
            }
        }
    }

    // MARK: Fetching

    /// Fetches a range of a remote pack; checks only the number of bytes.
    func fetch(_ pack: PackID, _ range: Range<Int>) throws(FileSystemError) -> BufferPart {
        guard let source = shared.withLock({ $0.source }) else {
            throw .unreachable(reason: "the vault has no remote")
        }
        return try Self.fetching(pack) { () throws(TransferError) in
            let bytes = try source.fetch(pack, range)
            guard bytes.count == range.count else { throw .missing }
            return bytes
        }
    }

    /// Fetches a range of a remote pack, and another one behind it, in one round trip.
    ///
    /// - Returns: Both; nil for the other one if the pack does not have all of it.
    func fetch(
        _ pack: PackID, _ range: Range<Int>, with other: Range<Int>
    ) throws(FileSystemError) -> (BufferPart, BufferPart?) {
        guard let source = shared.withLock({ $0.source }) else {
            throw .unreachable(reason: "the vault has no remote")
        }
        return try Self.fetching(pack) { () throws(TransferError) in
            if other.lowerBound - range.upperBound <= Self.smallGapByteCountMax {
                let both = try source.fetch(pack, range.lowerBound..<other.upperBound)
                guard both.count >= range.count else { throw .missing }
                let start = other.lowerBound - range.lowerBound
                let isWhole = both.count == start + other.count
                return (both[0..<range.count], isWhole ? both[start..<both.count] : nil)
            }
            let (bytes, rest) = try source.fetch(pack, range, with: other)
            guard bytes.count == range.count else { throw .missing }
            return (bytes, rest.flatMap { $0.count == other.count ? $0 : nil })
        }
    }

    private static func fetching<Bytes>(
        _ pack: PackID, _ body: () throws(TransferError) -> Bytes
    ) throws(FileSystemError) -> Bytes {
        if pack == .nowhere { throw .notArrived(pack) }
        do throws(TransferError) { return try body() } catch {
            switch error {
            case .missing: throw .notArrived(pack)
            case .timedOut: throw .timedOut
            case .failed(let reason): throw .unreachable(reason: reason)
            }
        }
    }

    /// Fetches the sealed bytes of extents, by their numbers on the remote; they are stored on this device
    /// soon, if there is room.
    ///
    /// - Returns: The extents that had not been fetched in the meantime; the caller must look up the others
    ///   again.
    func bring(
        _ extents: [SealedExtent], in vault: Vault
    ) throws(FileSystemError) -> [Int64: BufferPart] {
        let (mine, all) = claim(extents)
        var failure: FileSystemError?
        for run in Self.runs(of: mine) {
            do throws(FileSystemError) {
                try bring(run: run, in: vault)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        var result: [Int64: BufferPart] = [:]
        for (number, fetch) in all {
            result[number] = try shared.wait { _ in fetch.result }.get()
        }
        return result
    }

    /// The sealed bytes of a recently fetched extent.
    func held(_ row: ExtentRow) -> BufferPart? { shared.withLock { $0.held[row] } }

    /// Drops an extent that is evicted: if it is read again, it must be stored again.
    func forget(_ row: ExtentRow) {
        shared.withLock { $0.held.remove(row) }
        leaves.forget(row)
    }

    /// Whether all of an extent is in memory, or on its way.
    func isComing(_ row: ExtentRow) -> Bool {
        shared.withLock { $0.held[row] != nil || $0.underWay[row.remote] != nil }
    }

    /// Waits until everything fetched so far is stored.
    func waitUntilStored() {
        let running = shared.withLock { Array($0.underWay.values) }
        _ = shared.wait { shared in
            shared.underWay.values.contains { fetch in running.contains { $0 === fetch } } ? nil : true
        }
    }

    private func claim(
        _ extents: [SealedExtent]
    ) -> (mine: [SealedExtent], all: [(number: Int64, fetch: Fetch)]) {
        shared.withLock { shared in
            var mine: [SealedExtent] = []
            var all: [(Int64, Fetch)] = []
            for extent in extents where extent.remotePlace != nil {
                let number = extent.row.remote
                if all.contains(where: { $0.0 == number }) { continue }
                let fetch = shared.underWay[number] ?? Fetch()
                all.append((number, fetch))
                if shared.underWay[number] != nil { continue }
                if let part = shared.held[extent.row] {
                    fetch.result = .success(part)
                } else {
                    shared.underWay[number] = fetch
                    mine.append(extent)
                }
            }
            return (mine, all)
        }
    }

    /// Groups extents that follow each other in a remote pack.
    static func runs(of extents: [SealedExtent]) -> [[SealedExtent]] {
        var runs: [[SealedExtent]] = []
        var end: (pack: PackID, start: Int, end: Int)?
        for extent in extents {
            guard let place = extent.remotePlace else { continue }
            let range = Int(place.position)..<Int(place.position) + extent.sealedByteCount
            if let last = end, last.pack == place.pack, range.lowerBound >= last.end,
                range.lowerBound - last.end <= gapByteCountMax,
                range.upperBound - last.start <= runByteCountMax
            {
                runs[runs.count - 1].append(extent)
                end = (place.pack, last.start, range.upperBound)
            } else {
                runs.append([extent])
                end = (place.pack, range.lowerBound, range.upperBound)
            }
        }
        return runs
    }

    private func bring(run: [SealedExtent], in vault: Vault) throws(FileSystemError) {
        var failure: FileSystemError?
        do throws(FileSystemError) {
            // Extents that were fetched since they were looked up need not be fetched again.
            var wanted: [SealedExtent] = []
            for extent in run {
                if try vault.contents.isMissing(extent.row) {
                    wanted.append(extent)
                } else {
                    finish(extent, .success(nil))
                }
            }
            guard let first = wanted.first?.remotePlace, let last = wanted.last,
                let lastPlace = last.remotePlace
            else { return }
            let start = Int(first.position)
            let bytes = try fetch(first.pack, start..<Int(lastPlace.position) + last.sealedByteCount)
            var fetched: [(SealedExtent, BufferPart)] = []
            for extent in wanted {
                guard let place = extent.remotePlace else { continue }
                let from = Int(place.position) - start
                let sealed = bytes[from..<from + extent.sealedByteCount]
                guard sealed.withBytes({ RemoteHash.extent($0) }) == place.hash else {
                    let error = FileSystemError.damaged(
                        place: "byte \(place.position) of remote pack \(place.pack)")
                    failure = failure ?? error
                    finish(extent, .failure(error))
                    continue
                }
                finish(extent, .success(sealed))
                leaves.forget(extent.row)
                fetched.append((extent, sealed))
            }
            // Requests that wait for them need not wait for this disk.
            callFetchers(1, for: vault)
            for (extent, sealed) in fetched {
                vault.contents.storeFetched(sealed, extent.row)
                shared.update { $0.underWay[extent.row.remote] = nil }
            }
        } catch {
            // A failing extent must not make its neighbours fail.
            if run.count > 1, error.isOfOneExtent {
                for extent in run {
                    do throws(FileSystemError) {
                        try bring(run: [extent], in: vault)
                    } catch {
                        failure = error
                    }
                }
            } else {
                failure = error
                for extent in run { finish(extent, .failure(error)) }
            }
        }
        if let failure { throw failure }
    }

    /// Reports the result of an extent to the threads that wait for it.
    private func finish(_ extent: SealedExtent, _ result: Result<BufferPart?, FileSystemError>) {
        shared.update { shared in
            guard let fetch = shared.underWay[extent.row.remote], fetch.result == nil else { return }
            fetch.result = result
            if case .success(let part?) = result {
                shared.held.add(part, extent.row)
            } else {
                shared.underWay[extent.row.remote] = nil
            }
        }
    }

    // MARK: Ahead of readers

    /// Records a read, and starts fetching what its reader will need next.
    ///
    /// - Parameter isMissing: Whether some of it is only on the remote.
    /// - Returns: Whether the read is away from others, so that it needs no more than it reads.
    @discardableResult
    func note(_ item: Int64, _ range: Range<Int64>, isMissing: Bool, in vault: Vault) -> Bool {
        let (calls, isSeek) = shared.withLock { shared in
            if shared.source == nil || shared.isStopped { return (0, false) }
            let (ahead, isSeek) = shared.readers.note(item, range, isMissing: isMissing)
            shared.ahead += ahead.map { (item, $0) }
            return (ahead.count, isSeek)
        }
        callFetchers(calls, for: vault)
        return isSeek
    }

    /// Makes threads fetch what is due; after some seconds without fetches, they free the extents in memory.
    func callFetchers(_ count: Int, for vault: Vault) {
        for _ in 0..<count {
            fetchers.call({ self.fetchNext(in: vault) }, leaving: { self.letGo() })
        }
    }

    /// Drops all extents in memory; later reads take them from this disk, or fetch them again.
    func letGo() {
        let held = shared.withLock { shared in
            defer { shared.held = HeldExtents() }
            return shared.held
        }
        withExtendedLifetime(held) {}
        leaves.letGo()
    }

    private func fetchNext(in vault: Vault) -> Bool {
        let next = shared.withLock { shared in
            shared.ahead.isEmpty ? nil : shared.ahead.removeFirst()
        }
        guard let next else { return false }
        // A request for it will report the error.
        guard let extents = try? vault.contents.missingExtents(of: next.item, next.range) else { return true }
        for run in Self.runs(of: claim(extents).mine) { try? bring(run: run, in: vault) }
        return true
    }
}

extension FileSystemError {
    /// Whether neighbouring extents may be readable.
    var isOfOneExtent: Bool {
        switch self {
        case .damaged, .notArrived: true
        default: false
        }
    }
}

extension SealedExtent {
    var sealedByteCount: Int { ExtentLayout.sealedByteCount(Int(row.total)) }
}
