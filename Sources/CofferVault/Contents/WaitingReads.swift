internal import CofferFormat
internal import CofferSystem

/// Requests whose reads may wait for the disk for long: threads perform them, so that the serving thread need
/// not wait.
final class WaitingReads: Sendable {
    private struct Waiting {
        let item: Int64
        let range: Range<Int64>
        let request: any ReadRequest
    }

    private let waiting = RankedMutex([Waiting](), rank: .leaf)
    private let readers = Workers("coffer-read", max: 4)

    /// Has a thread read a range of an item, and answer the request.
    func answer(_ item: Int64, _ range: Range<Int64>, _ request: any ReadRequest, in vault: Vault) {
        waiting.withLock { $0.append(Waiting(item: item, range: range, request: request)) }
        // Without a thread, nothing else would answer it.
        if !readers.call({ self.answerNext(in: vault) }, leaving: {}) {
            while answerNext(in: vault) {}
        }
    }

    /// Ends the threads once all requests are answered.
    func stop() { readers.stop() }

    private func answerNext(in vault: Vault) -> Bool {
        guard let next = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
        let buffer = AlignedBuffer(count: next.range.count)
        let start = Clock.monotonic
        defer { vault.pace.note(since: start) }
        do throws(FileSystemError) {
            let count = try vault.contents.read(
                next.item, at: next.range.lowerBound, count: next.range.count, into: buffer,
                isScattered: false, later: { next.request })
            if let count { next.request.answer([ReadPart(buffer: buffer, range: 0..<count)]) }
        } catch {
            next.request.fail(error)
        }
        return true
    }
}
