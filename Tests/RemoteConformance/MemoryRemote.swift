package import CofferRemote
internal import CofferSystem
internal import Synchronization

/// A remote in memory, without faults or delays: the model of all others, and the base of simulations.
///
/// Copies of one share their objects, as clients of one server do.
package struct MemoryRemote: RemoteBackend {
    /// Kinds of failure.
    package enum Condition: Sendable {
        case well, readOnly, unreachable
    }

    private struct State {
        var objects: [RemoteName: [UInt8]] = [:]
        /// The names in order; nil after they have changed.
        var order: [RemoteName]?
        var byteCount = 0
        var capacity = Int.max
        var condition = Condition.well
        var mailboxes: [WeakMailbox] = []
    }

    private struct WeakMailbox {
        weak var mailbox: ChangeMailbox?
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    private let shared = Shared()
    private let pageEntryCountMax: Int

    /// - Parameters:
    ///   - capacity: The maximum number of bytes.
    ///   - pageEntryCountMax: The maximum number of entries in a page of a listing.
    package init(capacity: Int = .max, pageEntryCountMax: Int = 1000) {
        self.pageEntryCountMax = pageEntryCountMax
        shared.state.withLock { $0.capacity = capacity }
    }

    /// Makes it fail, or work again.
    package func become(_ condition: Condition) {
        shared.state.withLock { $0.condition = condition }
    }

    /// All objects.
    package var objects: [RemoteName: [UInt8]] { shared.state.withLock { $0.objects } }

    package var limits: RemoteLimits {
        RemoteLimits(objectByteCountMax: 1 << 30, rangeByteCountMax: 16 << 20, concurrentCallsMax: 16)
    }

    package func describe() -> String { "memory" }

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try limits.check(range: range)
        let bytes = try locked(changes: false) { state throws(RemoteError) in state.objects[name] }
        guard let bytes else { throw .absent }
        return RemoteContent(
            bytes: Array(bytes[range.clamped(to: 0..<bytes.count)]), objectByteCount: bytes.count)
    }

    package func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try limits.check(object: bytes.byteCount)
        var copy: [UInt8] = []
        copy.reserveCapacity(bytes.byteCount)
        try bytes.forEachPiece { copy += $0.array }
        let whole = copy
        try locked(changes: true) { state throws(RemoteError) in
            let old = state.objects[name]
            if ifAbsent, old != nil { throw .exists }
            let byteCount = state.byteCount - (old?.count ?? 0) + whole.count
            guard byteCount <= state.capacity else { throw .full }
            state.byteCount = byteCount
            if old == nil { state.order = nil }
            state.objects[name] = whole
        }
        post(name)
    }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try locked(changes: false) { state throws(RemoteError) in
            let order = state.order ?? state.objects.keys.sorted()
            state.order = order
            let start = max(after?.text ?? "", prefix.text)
            let first = order.partition { $0.text >= start }
            let names = order[first...].drop { $0 == after }.prefix { prefix.contains($0) }
            let page = names.prefix(pageEntryCountMax)
            let entries = page.map {
                RemotePage.Entry(name: $0, byteCount: state.objects[$0]?.count ?? 0)
            }
            return RemotePage(entries: entries, next: page.count < names.count ? page.last : nil)
        }
    }

    package func delete(_ name: RemoteName) async throws(RemoteError) {
        try locked(changes: true) { state throws(RemoteError) in
            guard let old = state.objects.removeValue(forKey: name) else { return }
            state.byteCount -= old.count
            state.order = nil
        }
        post(name)
    }

    package func changes(below prefix: RemotePrefix) -> RemoteChanges {
        let mailbox = ChangeMailbox(below: prefix)
        mailbox.post(prefix)
        shared.state.withLock { state in
            state.mailboxes.removeAll { $0.mailbox == nil }
            state.mailboxes.append(WeakMailbox(mailbox: mailbox))
        }
        return mailbox.changes {}
    }

    private func post(_ name: RemoteName) {
        let mailboxes = shared.state.withLock { $0.mailboxes.compactMap(\.mailbox) }
        for mailbox in mailboxes where !mailbox.isEnded { mailbox.post(name.parent) }
    }

    private func locked<Value>(
        changes: Bool, _ body: (inout State) throws(RemoteError) -> sending Value
    ) throws(RemoteError) -> Value {
        try shared.state.withLock { state throws(RemoteError) in
            switch state.condition {
            case .unreachable: throw .unreachable("it was switched off")
            case .readOnly where changes: throw .readOnly
            case .well, .readOnly: return try body(&state)
            }
        }
    }
}

extension Array {
    /// The first index for which a condition holds that, once true, holds for all later ones.
    fileprivate func partition(where holds: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
