package import CofferFormat
internal import CofferStore
internal import CofferSystem

// What a vault keeps of its past, and looking at it.
extension History {
    /// How long the states of a vault are kept.
    package enum Retention: Equatable, Sendable {
        /// None are kept.
        case none
        /// For some seconds; the older, the fewer.
        case seconds(Int64)
        /// For ever; the older, the fewer.
        case forever

        /// - Parameter seconds: 0 for none, and less for ever.
        package init(_ seconds: Int64) {
            self = seconds == 0 ? .none : seconds < 0 ? .forever : .seconds(seconds)
        }

        /// The time in seconds; 0 for none, −1 for ever.
        package var seconds: Int64 {
            switch self {
            case .none: 0
            case .seconds(let seconds): max(1, seconds)
            case .forever: -1
            }
        }
    }

    /// A state that is kept.
    package struct State: Equatable, Sendable {
        /// Ascends with the states, and is never used again.
        package let number: Int64
        /// From when on the vault was in this state, in nanoseconds since 1970.
        package let since: Int64
        /// When the next change came, in nanoseconds since 1970; `Int64.max` for the present state.
        package let until: Int64

        init(_ moment: MomentRow) {
            number = moment.number
            since = moment.since
            until = moment.begun
        }
    }

    /// Whether states are kept.
    package var isOn: Bool { vault.state.withLock { $0.tree.history?.isKept ?? false } }

    /// How long states are kept.
    package func retention() throws(FileSystemError) -> Retention {
        try vault.reading { state throws(FileSystemError) in
            state.index.hasHistory ? Retention(try state.index.history().kept) : .none
        }
    }

    /// Sets how long states are kept; what is kept no longer goes in the background.
    ///
    /// States from before the history was turned on do not come back.
    ///
    /// - Throws: `.busy` if the history is to be turned off while somebody looks at it, or while there are snapshots.
    package func set(_ retention: Retention) throws(FileSystemError) {
        if vault.isReadOnly { throw .readOnly }
        var isInUse = false
        try commit { state throws(FileSystemError) in
            if retention == .none, let recorder = state.tree.history {
                // A view that is only held does not need states to be kept.
                if !recorder.isKept { return }
                let snapshots = try state.index.snapshots()
                isInUse = !recorder.viewed.isEmpty || !snapshots.isEmpty
            }
            if isInUse { return }
            let time = Clock.realTime
            if !state.index.hasHistory {
                guard retention != .none else { return }
                try state.index.addHistory(HistoryRow(kept: retention.seconds, changed: time))
            } else {
                let old = try state.index.history()
                var row = state.tree.history?.row ?? old
                row.kept = retention.seconds
                if state.tree.history == nil { row.changed = max(time, old.changed) }
                try state.index.put(row, replacing: old)
            }
            if retention == .none {
                for moment in try state.index.moments() { try state.index.remove(moment) }
                state.tree.history = nil
            } else if state.tree.history == nil {
                state.tree.history = try HistoryRecorder(state.index)
            } else {
                state.tree.history?.row.kept = retention.seconds
            }
        }
        if isInUse { throw .busy }
        try vault.commitIndex()
        thinSoon()
    }

    /// Makes what is kept no longer go, in the background.
    func thinSoon() {
        vault.thinned.withLock { $0 = 0 }
        vault.upkeep.noteUpkeep(isUrgent: true)
    }

    /// The states that are kept, ascending; the present one is not among them.
    package func states() throws(FileSystemError) -> [State] {
        try vault.reading { state throws(FileSystemError) in
            guard state.tree.history?.isKept == true else { return [] }
            return try state.index.moments().map { State($0) }
        }
    }

    /// The states that are kept, ascending, each with a form of time that leads to it and to no other one: the simplest
    /// one, or, where two states begin in one second, one that is also in order as text.
    ///
    /// Those to which no time leads are left out: while the clock stood still, or was behind, one state replaced another.
    package func namedStates() throws(FileSystemError) -> [(state: State, name: String)] {
        let (states, changed) = try vault.looking { state throws(FileSystemError) -> ([State], Int64) in
            guard let recorder = state.tree.history, recorder.isKept else { return ([], 0) }
            return (try state.index.moments().map { State($0) }, recorder.row.changed)
        }
        guard let last = states.last else { return [] }
        let (now, zone) = (Clock.realTime, CivilTime.localZone())
        // If the present state is not committed yet, it will begin later.
        let ends = states.dropFirst().map(\.since) + [changed > last.since ? changed : max(now, last.until)]
        var before = Int64.min
        return zip(states, ends).compactMap { state, end in
            defer { before = state.since }
            guard state.since < end else { return nil }
            let forms = PastTime.forms(of: state.since, local: zone)
            let isFirst = before / 1_000_000_000 < state.since / 1_000_000_000
            let name = (isFirst ? forms[...] : forms.suffix(2)).first { form in
                guard let time = PastTime(form, now: now / 1_000_000_000, local: zone)?.end else {
                    return false
                }
                return state.since <= time && time < end
            }
            return name.map { (state, $0) }
        }
    }

    /// Makes the state that the vault is in now one that is kept, if anything changes after it.
    package func keepPresent() throws(FileSystemError) {
        try commit { $0.tree.history?.isDue = true }
    }

    /// Where a time leads.
    package enum Place {
        /// To a state, which the receiver closes.
        case view(HistoryView)
        /// To the present state, which is not committed yet.
        case uncommitted
        /// To nothing: no state of that time or an earlier one is kept.
        case nothing
    }

    /// Finds the state of a time, or the latest kept one before it; writes nothing to the disk.
    ///
    /// - Parameter time: In nanoseconds since 1970.
    package func find(_ time: Int64) throws(FileSystemError) -> Place {
        try vault.looking { state throws(FileSystemError) in
            guard let recorder = state.tree.history, recorder.isKept else { return .nothing }
            if time < recorder.row.changed {
                return try state.index.moment(at: time).map { .view(view(at: $0, &state)) } ?? .nothing
            }
            if state.hasChanges, !vault.isReadOnly { return .uncommitted }
            // The next change must not belong to a moment before the one that is looked at.
            state.tree.history?.isDue = true
            return .view(view(at: recorder.present, &state))
        }
    }

    /// The vault as it was at a time, or at the latest kept state before it.
    ///
    /// Commits the present state if the time means that. The caller closes the view.
    ///
    /// - Parameter time: In nanoseconds since 1970.
    /// - Returns: Nil if no state of that time or an earlier one is kept.
    package func view(at time: Int64) throws(FileSystemError) -> HistoryView? {
        switch try find(time) {
        case .view(let view): return view
        case .nothing: return nil
        case .uncommitted: break
        }
        var view: HistoryView?
        try commit { state throws(FileSystemError) in
            guard let recorder = state.tree.history, recorder.isKept else { return }
            if time < recorder.row.changed {
                view = try state.index.moment(at: time).map { self.view(at: $0, &state) }
                return
            }
            state.tree.history?.isDue = true
            view = self.view(at: recorder.present, &state)
        }
        return view
    }

    /// The latest state at a time or before it that is kept already; the caller closes it.
    ///
    /// For use if the present state cannot be committed.
    ///
    /// - Parameter time: In nanoseconds since 1970.
    package func keptView(at time: Int64) throws(FileSystemError) -> HistoryView? {
        try vault.looking { state throws(FileSystemError) in
            guard state.tree.history?.isKept == true else { return nil }
            return try state.index.moment(at: time).map { view(at: $0, &state) }
        }
    }

    /// The vault as it was in a state that was kept, or present when somebody looked at it; nil if that is no longer
    /// kept.
    ///
    /// The caller closes it.
    package func view(of kept: State) throws(FileSystemError) -> HistoryView? {
        try vault.looking { state throws(FileSystemError) in
            guard let recorder = state.tree.history, recorder.isKept else { return nil }
            if let moment = try state.index.moment(kept.number) {
                return moment.since == kept.since ? view(at: moment, &state) : nil
            }
            // Nothing has changed since it was present: the first change would have begun its moment.
            guard recorder.isDue, kept.number == recorder.row.last + 1, kept.since == recorder.row.changed
            else {
                return nil
            }
            return view(at: recorder.present, &state)
        }
    }

    /// The vault as it was at a moment that is kept; nil if it is not.
    ///
    /// The caller closes it.
    func view(ofMoment number: Int64) throws(FileSystemError) -> HistoryView? {
        try vault.looking { state throws(FileSystemError) in
            guard state.tree.history != nil else { return nil }
            return try state.index.moment(number).map { view(at: $0, &state) }
        }
    }

    func view(at moment: MomentRow, _ state: inout VaultState) -> HistoryView {
        state.tree.history?.viewed[moment.number, default: 0] += 1
        return HistoryView(vault, moment)
    }

    /// Commits, and calls `body` before anything else changes: a moment is the state that a commit left.
    func commit(
        then body: @escaping (inout VaultState) throws(FileSystemError) -> Void
    ) throws(FileSystemError) {
        try vault.committing.withLock { intents throws(FileSystemError) in
            try vault.commitAlone(intents, then: body)
        }
    }

    func release(_ moment: Int64) {
        vault.state.withLock { state in
            let count = state.tree.history?.viewed[moment] ?? 0
            state.tree.history?.viewed[moment] = count > 1 ? count - 1 : nil
        }
    }
}
