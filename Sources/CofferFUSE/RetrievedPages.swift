internal import CofferSystem

/// How many bytes the kernel had where it was asked for its copy of a file.
///
/// It answers each question by the pages from there on, up to the first that it does not have.
final class RetrievedPages: Sendable {
    private struct Place: Hashable {
        let node: Node
        let offset: Int64
    }

    private static let pageByteCount: Int64 = 4096
    private let counts = RankedMutex([Place: Int64](), rank: .leaf)

    /// Forgets all answers, before the kernel is asked.
    func removeAll() { counts.withLock { $0 = [:] } }

    /// Notes an answer.
    func add(_ count: Int, of node: Node, at offset: Int64) {
        counts.withLock { $0[Place(node: node, offset: offset)] = Int64(count) }
    }

    /// What an answer says about a range that the kernel was asked for.
    ///
    /// - Returns: What it does not have, which is at most one page, and what it has to be asked for next; both are nil
    ///   if it has not answered.
    func rest(of range: Range<Int64>, of node: Node) -> (missing: Range<Int64>?, next: Range<Int64>?) {
        let count = counts.withLock { $0[Place(node: node, offset: range.lowerBound)] }
        guard let count else { return (nil, nil) }
        let end = range.lowerBound + count
        if end >= range.upperBound { return (nil, nil) }
        // It may also have come to the limit of an answer.
        if count > 0 { return (nil, end..<range.upperBound) }
        let page = min((end / Self.pageByteCount + 1) * Self.pageByteCount, range.upperBound)
        return (end..<page, page < range.upperBound ? page..<range.upperBound : nil)
    }
}
