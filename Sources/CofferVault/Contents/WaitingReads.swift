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

    private struct State {
        var requests: [Waiting] = []
        /// A page that a stream will need; one at a time.
        var page: AbsentPage?
    }

    private let state = RankedMutex(State(), rank: .leaf)
    private let readers = Workers("coffer-read", max: 4)

    /// Has a thread read a range of an item, and answer the request.
    func answer(_ item: Int64, _ range: Range<Int64>, _ request: any ReadRequest, in vault: Vault) {
        state.withLock { $0.requests.append(Waiting(item: item, range: range, request: request)) }
        // Without a thread, nothing else would answer it.
        if !readers.call({ self.answerNext(in: vault) }, leaving: {}) {
            LeavingWaits.suspended { while answerNext(in: vault) {} }
        }
    }

    /// Has a thread bring a page of the index that a request will need soon.
    func bring(_ page: AbsentPage, in vault: Vault) {
        let isNext = state.withLock { state in
            guard state.page == nil else { return false }
            state.page = page
            return true
        }
        // Without a thread, the request itself brings it.
        if isNext, !readers.call({ self.answerNext(in: vault) }, leaving: {}) {
            state.withLock { $0.page = nil }
        }
    }

    /// Ends the threads once all requests are answered.
    func stop() { readers.stop() }

    private func answerNext(in vault: Vault) -> Bool {
        let (next, page) = state.withLock { state -> (Waiting?, AbsentPage?) in
            if !state.requests.isEmpty { return (state.requests.removeFirst(), nil) }
            defer { state.page = nil }
            return (nil, state.page)
        }
        guard let next else {
            // An error is one of the request that needs the page.
            try? page?.bring()
            return page != nil
        }
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
