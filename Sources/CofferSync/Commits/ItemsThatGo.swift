internal import CofferFacts
internal import CofferFormat

/// Finds what this device made or wrote to, and what no commit that counts makes visible.
///
/// - Items that only withdrawn commits of this device made, and files, or copies of files, with contents of theirs.
/// - Files, or copies of files, with contents of this device's that count, where only withdrawn commits state the kind
///   of the file: a member who was removed made it, and this device wrote to it before it heard of the removal.
struct ItemsThatGo {
    private(set) var items: Set<ItemID> = []
    /// The first withdrawn commit of each log that has one.
    private let withdrawn: [LogID: UInt64]
    /// The logs of this device.
    private let own: Set<LogID>
    /// The last item of which only withdrawn commits state the kind.
    private var unmade: ItemID?

    init(withdrawn: [LogID: UInt64], own: Set<LogID>) {
        (self.withdrawn, self.own) = (withdrawn, own)
    }

    /// Looks at the values of a register; call it for all registers in the order of `Register.precedes`, in which the
    /// kind of an item comes before its content.
    mutating func add(_ values: RegisterValues) {
        let dots = values.values.contents.map(\.stamp.dot)
        switch values.register {
        case .kind(let item):
            if dots.allSatisfy(isWithdrawn) { unmade = item }
            if dots.contains(where: { own.contains($0.log) && isWithdrawn($0) }) { items.insert(item) }
        case .content(let item):
            let isUnmade = unmade == item
            let going = dots.filter { own.contains($0.log) && (isUnmade || isWithdrawn($0)) }
            if let shown = dots.last, going.contains(shown) { items.insert(item) }
            items.formUnion(going.map { CopySource(item: item, dot: $0).ids.item })
        default: break
        }
    }

    private func isWithdrawn(_ dot: Dot) -> Bool {
        withdrawn[dot.log].map { dot.sequence >= $0 } ?? false
    }
}
