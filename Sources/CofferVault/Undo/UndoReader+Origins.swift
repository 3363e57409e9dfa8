internal import CofferFormat
internal import CofferStore

// What the history takes for a change of these devices, though others made it.
extension UndoReader {
    /// Leaves alone the items that these devices only brought into sight.
    ///
    /// The history names the device whose commit made something appear. That commit may have brought back a directory
    /// into which somebody else had put it.
    func keepWorkOfOthers(_ origins: [Int64: ItemOrigin]) {
        for (id, item) in plan.items where item.obstacle == nil {
            guard let origin = item.present.flatMap({ origins[$0.row.number] }) else { continue }
            var makers: Set<LogID> = []
            if item.past == nil { makers = origin.creators }
            if item.past == nil || item.changesContent, let writer = origin.writer { makers.insert(writer) }
            let others = Set(makers.map { History.Author.device($0) }).subtracting(authors)
            // What lost a conflict may be anybody's, whoever has changed it since.
            guard !others.isEmpty || item.past == nil && origin.wasCopy else { continue }
            plan.items[id]?.obstacle = .changedByOthers
            plan.items[id]?.others.formUnion(others)
        }
    }
}
