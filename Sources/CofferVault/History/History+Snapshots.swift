package import CofferFormat
internal import CofferStore
internal import CofferSystem

// States that have a name, and stay until it is removed.
extension History {
    /// A state that has a name.
    package struct Snapshot: Equatable, Sendable {
        /// Ascends in the order in which snapshots are made.
        package let number: Int64
        /// The name.
        package let name: String
        /// When it was made, in nanoseconds since 1970.
        package let made: Int64
        /// The state; the present one if nothing has changed since, and nil if the index has lost it.
        package let state: State?
    }

    /// The snapshots, in the order in which they were made.
    package func snapshots() throws(FileSystemError) -> [Snapshot] {
        try vault.looking { state throws(FileSystemError) in
            guard try Self.isOn(state) else { return [] }
            return try state.index.snapshots().map { row throws(FileSystemError) in
                Snapshot(
                    number: row.number, name: String(decoding: row.name, as: UTF8.self), made: row.made,
                    state: try Self.moment(of: row, in: state).map(State.init))
            }
        }
    }

    /// Gives a name to the state that the vault is in now, which stays until `removeSnapshot`.
    ///
    /// What the kernel has not written to the vault yet is not in it. Blocks until the snapshot is on disk.
    ///
    /// - Throws: `.alreadyExists` if another snapshot has the name; `.notSupported` if no states are kept.
    package func addSnapshot(_ name: SnapshotName) throws(FileSystemError) {
        if vault.isReadOnly { throw .readOnly }
        // An error of `body` would stop the vault.
        var refusal: FileSystemError?
        try commit { state throws(FileSystemError) in
            do throws(FileSystemError) {
                guard try Self.isOn(state) else { throw .notSupported }
                guard try state.index.snapshot(name.bytes) == nil else { throw .alreadyExists }
                try state.space.ensure(for: 8192)
            } catch {
                refusal = error
                return
            }
            guard let recorder = state.tree.history else { return }
            let number = (try state.index.snapshots().last?.number ?? 0) &+ 1
            try state.index.insert(
                SnapshotRow(
                    number: number, name: name.bytes, moment: recorder.present.number, made: Clock.realTime))
            // The next change begins the moment.
            state.tree.history?.isDue = true
        }
        if let refusal { throw refusal }
        try vault.commitIndex()
    }

    /// Removes a snapshot; what only it kept goes in the background.
    ///
    /// - Throws: `.notFound`.
    package func removeSnapshot(_ name: [UInt8]) throws(FileSystemError) {
        try vault.changing { state throws(FileSystemError) in
            guard try Self.isOn(state), let row = try state.index.snapshot(name) else { throw .notFound }
            // This frees space.
            state.tree.removes = true
            try state.index.remove(row)
        }
        defer { thinSoon() }
        try vault.commitIndex()
    }

    /// The vault as it was when a snapshot was made, which the caller closes; nil if there is none of this name.
    ///
    /// Writes nothing to the disk.
    package func view(ofSnapshot name: [UInt8]) throws(FileSystemError) -> HistoryView? {
        try vault.looking { state throws(FileSystemError) in
            guard try Self.isOn(state), let row = try state.index.snapshot(name) else { return nil }
            guard let moment = try Self.moment(of: row, in: state) else {
                throw .damaged(place: "the state of a snapshot in the index")
            }
            return view(at: moment, &state)
        }
    }

    /// Whether states are kept.
    ///
    /// - Throws: `.stopped` if that is not known any more, because the disk failed.
    private static func isOn(_ state: borrowing VaultState) throws(FileSystemError) -> Bool {
        if state.tree.history?.isKept == true { return true }
        if let reason = state.stopped { throw .stopped(reason: reason) }
        return false
    }

    /// The moment of a snapshot; as long as nothing has changed since, it is that of the present state.
    ///
    /// - Returns: Nil if the index has lost it.
    private static func moment(
        of row: SnapshotRow, in state: borrowing VaultState
    ) throws(FileSystemError) -> MomentRow? {
        if let moment = try state.index.moment(row.moment) { return moment }
        guard let present = state.tree.history?.present, present.number == row.moment else { return nil }
        return present
    }
}
