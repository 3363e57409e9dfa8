internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Tells what an undo has done.
struct UndoReport {
    let plan: UndoPlan

    /// The result, once all is done.
    func result(_ settlement: UndoSettlement) -> Undo.Result {
        var result = Undo.Result()
        for item in settlement.items.values {
            result.steps += Self.steps(of: item).map {
                Undo.Step(kind: $0.kind, path: settlement.path(of: $0.place))
            }
            if item.needsDraft, let past = item.past?.attributes, past.type == .regular {
                result.bytes += past.size
            }
        }
        for (id, item) in plan.items {
            let isPartly = item.changes && !item.others.isEmpty
            guard
                let reason = settlement.conflicts[id] ?? (item.isOther ? item.obstacle : nil)
                    ?? (isPartly ? .partlyUndone : nil)
            else { continue }
            result.conflicts.append(
                Undo.Conflict(
                    path: item.place.map(settlement.path) ?? [], reason: reason, authors: item.others))
        }
        result.steps.sort { $0.path.lexicographicallyPrecedes($1.path) }
        result.conflicts.sort {
            $0.path == $1.path
                ? $0.reason.rawValue < $1.reason.rawValue : $0.path.lexicographicallyPrecedes($1.path)
        }
        return result
    }

    private static func steps(of item: UndoItem) -> [(kind: Undo.Step.Kind, place: UndoItem.Place)] {
        let present = item.present?.places ?? []
        let past = item.past?.places ?? []
        let leaving = present.subtracting(past).sorted()
        let coming = past.subtracting(present).sorted()
        let count = min(leaving.count, coming.count)
        var steps: [(kind: Undo.Step.Kind, place: UndoItem.Place)] = []
        steps += coming.prefix(count).map { (.moved, $0) }
        steps += coming.dropFirst(count).map { (.restored, $0) }
        steps += leaving.dropFirst(count).map { (.removed, $0) }
        if item.present != nil, item.changesContent || item.changesAttributes, let place = past.min() {
            steps.append((.changed, place))
        }
        return steps
    }
}
