package import CofferFormat

// A checkpoint has the values of all registers, each with the stamp of the commit that put it there.
extension FactTree {
    /// Begins with the facts of a checkpoint, in a store that is empty.
    ///
    /// - Parameters:
    ///   - versions: Which commits the checkpoint covers.
    ///   - clock: The highest clock of these.
    ///   - labels: What the devices are called that write the logs.
    package mutating func beginCheckpoint(
        _ versions: VersionVector, clock: UInt64, labels: [LogID: String]
    ) throws(Store.Failure) {
        for (log, sequence) in versions.sequences { try store.setApplied(Dot(log: log, sequence: sequence)) }
        try store.setClock(clock)
        for (log, label) in labels { try store.setLabel(label, of: log) }
    }

    /// Puts in what is left of a commit; call it for all of them, in whatever order.
    ///
    /// - Returns: What changed of items; entries are in `takeChanges`.
    package mutating func take(_ group: CheckpointPiece.Group) throws(Store.Failure) -> [ItemChange] {
        try take([group])
    }

    /// Puts in what is left of several commits, and looks at what comes of it once.
    package mutating func take(_ groups: [CheckpointPiece.Group]) throws(Store.Failure) -> [ItemChange] {
        var pass = Pass()
        for group in groups {
            for fact in group.facts { try assert(fact, group.stamp, &pass) }
        }
        try evaluate(&pass)
        return pass.changes
    }
}
