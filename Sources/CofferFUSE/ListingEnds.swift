/// Where listings of directories end.
///
/// New entries come last, so a listing would never end while entries are made faster than it reads. It ends before
/// those that were made after it began.
struct ListingEnds {
    /// The maximum number of directories that are remembered; a listing of a forgotten one goes on to new entries.
    static let countMax = 4096

    private var ends: [Node: Int64] = [:]
    /// The directories, in the order in which they came; a ring.
    private var order: [Node] = []
    private var next = 0

    /// Records where a listing that begins will end.
    ///
    /// - Parameter end: The first cookie that does not belong to it.
    mutating func begin(_ directory: Node, endingBefore end: Int64) {
        guard ends.updateValue(end, forKey: directory) == nil else { return }
        if order.count < Self.countMax { return order.append(directory) }
        ends[order[next]] = nil
        order[next] = directory
        next = (next + 1) % Self.countMax
    }

    /// The first cookie that does not belong to the listing of a directory that began last; nil if that is unknown.
    func end(of directory: Node) -> Int64? { ends[directory] }
}
