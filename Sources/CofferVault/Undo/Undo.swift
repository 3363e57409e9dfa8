package import CofferFormat
internal import CofferStore
internal import CofferSystem
internal import Glibc

extension Undo {
    /// What was taken back, or would be.
    package struct Result: Equatable, Sendable {
        /// What became of which paths, by path.
        package var steps: [Step] = []
        /// What stays as it is, by path.
        package var conflicts: [Conflict] = []
        /// The bytes of contents that were put back.
        package var bytes: Int64 = 0
        /// Whether all changes are on the disk; if not, they will be once that is possible.
        package var isStored = true
    }

    /// Something that was taken back.
    package struct Step: Equatable, Sendable {
        /// A way in which an item changes.
        package enum Kind: String, Sendable {
            /// It is there again.
            case restored
            /// Its content or its attributes are those from before.
            case changed
            /// It has its name from before.
            case moved
            /// It is gone, as it was not there before.
            case removed
        }

        /// What happened.
        package let kind: Kind
        /// The path in the vault, as the item has it afterwards, or had it.
        package let path: [UInt8]
    }

    /// Something that was not taken back, or only a part of it.
    package struct Conflict: Equatable, Sendable {
        /// A reason.
        package enum Reason: String, Sendable {
            /// Others changed the item afterwards, or in the same minute.
            case changedByOthers
            /// Others changed the item in between; only what came after that was taken back.
            case partlyUndone
            /// Somebody changed the item while the undo went on.
            case changedMeanwhile
            /// Another item has its name, its folder is gone, or it would lie in itself.
            case placeTaken
            /// Its content cannot be fetched, or is damaged.
            case unreadable
            /// Something in the folder stays.
            case holdsOthers
        }

        /// The path in the vault.
        package let path: [UInt8]
        /// Why not.
        package let reason: Reason
        /// Who changed it.
        package let authors: Set<History.Author>
    }

    /// Takes back what some devices changed since a state, where nobody else changed the same items afterwards.
    ///
    /// An item becomes what it was before the first of these changes that no change of others follows. All items change
    /// at once, at the end: an undo that fails, or that nobody waits for, has changed nothing. What is there now stays in
    /// the history. Must not be called by a request of a mount.
    ///
    /// - Parameters:
    ///   - authors: The devices; this one also by its logs.
    ///   - isRehearsal: Whether nothing is to be changed; only what would be is returned.
    ///   - step: Called often, with the numbers of contents that were copied, and of all; returns whether the caller still
    ///     waits.
    /// - Throws: `.noSpace`; `.busy` if somebody has touched the folder in which contents are made; `.system` if the caller no longer waits.
    package func run(
        by authors: Set<History.Author>, since view: HistoryView, isRehearsal: Bool,
        step: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
    ) throws(FileSystemError) -> Result {
        if !isRehearsal { try vault.ensureChangeable() }
        let copies = PastCopies(vault)
        let plan = try read(by: authors, since: view, copies) { step(0, 0) }
        let report = UndoReport(plan: plan)
        let settlement = try betweenCommits { () throws(FileSystemError) in
            try vault.reading { state throws(FileSystemError) in try UndoSettlement(plan, &state) }
        }
        if isRehearsal || settlement.items.isEmpty { return report.result(settlement) }
        var drafts = try UndoDrafts(in: vault, copies)
        let done: UndoSettlement
        do throws(FileSystemError) {
            let conflicts = try make(settlement, in: &drafts, step: step)
            done = try change(plan, without: conflicts, drafts)
        } catch {
            drafts.discard()
            throw error
        }
        drafts.discard()
        var result = report.result(done)
        do throws(FileSystemError) { try vault.commit() } catch { result.isStored = false }
        return result
    }

    private func read(
        by authors: Set<History.Author>, since view: HistoryView, _ copies: PastCopies,
        step: @escaping () -> Bool
    ) throws(FileSystemError) -> UndoPlan {
        func read() throws(FileSystemError) -> UndoPlan {
            let reader = UndoReader(vault, since: view, by: authors, copies, step: step)
            try reader.read()
            return reader.plan
        }
        do throws(FileSystemError) { return try read() } catch {
            // States go when their time has come.
            guard case .stale = error else { throw error }
            return try read()
        }
    }

    /// Makes items that are to replace others, or to come back.
    ///
    /// - Returns: The items that stay as they are.
    private func make(
        _ settlement: UndoSettlement, in drafts: inout UndoDrafts, step: (_ done: Int, _ total: Int) -> Bool
    ) throws(FileSystemError) -> [ItemID: Conflict.Reason] {
        var conflicts = settlement.conflicts
        let waiting = settlement.items.filter { $0.value.needsDraft }
        func isAwaited(_ done: Int) -> Bool { step(done, waiting.count) }
        for (done, (id, item)) in waiting.sorted(by: { $0.key < $1.key }).enumerated() {
            guard let past = item.past else { continue }
            do throws(FileSystemError) {
                guard isAwaited(done) else { throw .system(SystemError("undo", code: EINTR)) }
                try drafts.make(id, like: past) { isAwaited(done) }
            } catch {
                guard isAwaited(done) else { throw .system(SystemError("undo", code: EINTR)) }
                switch error {
                case .unreachable, .notArrived, .timedOut, .damaged, .stale: conflicts[id] = .unreadable
                default: throw error
                }
            }
        }
        for item in settlement.items.values {
            guard isAwaited(waiting.count) else { throw .system(SystemError("undo", code: EINTR)) }
            // What programs have written to it is a change, too.
            if let number = item.present?.row.number { vault.flush(number) }
        }
        guard isAwaited(waiting.count) else { throw .system(SystemError("undo", code: EINTR)) }
        return conflicts
    }

    /// Makes all changes that are still possible.
    private func change(
        _ plan: UndoPlan, without conflicts: [ItemID: Conflict.Reason], _ drafts: UndoDrafts
    ) throws(FileSystemError) -> UndoSettlement {
        vault.awaitShown()
        return try betweenCommits { () throws(FileSystemError) in
            try vault.changeElsewhere { changes throws(FileSystemError) in
                try vault.changingNames(isShort: false) { state throws(FileSystemError) in
                    let settlement = try UndoSettlement(plan, without: conflicts, &state)
                    var change = UndoChanges(vault, plan, settlement, drafts)
                    try change.make(&state)
                    changes = change.changes
                    return settlement
                }
            }
        }
    }

    /// Runs `body`, which may ask the facts, while no commit is made or applied.
    private func betweenCommits<Result>(
        _ body: () throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer { vault.facts.close() }
            return try body()
        }
    }
}
