package import CofferFormat

// A checkpoint contains the values of all registers, each with the stamp of the commit that put it there.
extension FactTree {
    /// Begins with the facts of a checkpoint; the store must be empty.
    ///
    /// - Parameters:
    ///   - versions: The commits that the checkpoint covers.
    ///   - clock: Their highest clock.
    ///   - labels: The labels of the devices that write the logs.
    package mutating func beginCheckpoint(
        _ versions: VersionVector, clock: UInt64, labels: [LogID: String]
    ) throws(Store.Failure) {
        for (log, sequence) in versions.sequences { try store.setApplied(Dot(log: log, sequence: sequence)) }
        try store.setClock(clock)
        for (log, label) in labels { try store.setLabel(label, of: log) }
    }

    /// Adds the remaining facts of one commit; call it for all commits, in any order.
    ///
    /// - Returns: The changes of items; `takeChanges` returns entries.
    package mutating func add(_ group: CheckpointPiece.Group) throws(Store.Failure) -> [ItemChange] {
        try add([group])
    }

    /// Adds the remaining facts of several commits, and evaluates them once.
    package mutating func add(_ groups: [CheckpointPiece.Group]) throws(Store.Failure) -> [ItemChange] {
        var pass = Pass()
        for group in groups {
            for fact in group.facts { try assert(fact, group.stamp, &pass) }
        }
        try evaluate(&pass)
        return pass.changes
    }
}
