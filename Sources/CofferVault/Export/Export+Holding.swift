package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Holding the present state, for something that reads all of it while programs go on.
extension Export {
    /// The vault as it is now, also if no states are kept.
    ///
    /// What the kernel has not written to the vault yet is not in it. In a vault that keeps no states, this one is recorded
    /// until its view is closed, and no command or program sees it otherwise. A crash leaves rows that the next thinning
    /// removes.
    ///
    /// The caller closes it, with `release`.
    package func hold() throws(FileSystemError) -> HistoryView {
        if vault.isReadOnly { return try holdReadOnly() }
        var view: HistoryView?
        // An error of `body` would stop the vault.
        var refusal: FileSystemError?
        try vault.history.commit { state throws(FileSystemError) in
            if state.tree.history == nil {
                do throws(FileSystemError) { try state.space.ensure(for: 65_536) } catch {
                    refusal = error
                    return
                }
                let time = Clock.realTime
                if state.index.hasHistory {
                    let old = try state.index.history()
                    var row = old
                    row.changed = max(time, old.changed)
                    try state.index.put(row, replacing: old)
                } else {
                    try state.index.addHistory(HistoryRow(kept: 0, changed: time))
                }
                state.tree.history = try HistoryRecorder(state.index)
            }
            guard let recorder = state.tree.history else { return }
            state.tree.history?.isDue = true
            view = vault.history.view(at: recorder.present, &state)
        }
        if let refusal { throw refusal }
        guard let view else { throw .stopped(reason: "the present state cannot be held") }
        return view
    }

    /// Nothing changes a read-only vault, so its present state needs no record.
    private func holdReadOnly() throws(FileSystemError) -> HistoryView {
        try vault.looking { state throws(FileSystemError) in
            if let recorder = state.tree.history { return vault.history.view(at: recorder.present, &state) }
            let next = state.index.nextNumbers
            return HistoryView(
                vault,
                MomentRow(
                    number: .max, since: Clock.realTime, begun: .max, nextItem: next.item,
                    nextCookie: next.cookie))
        }
    }

    /// Closes a view that `hold` returned; if states are not kept, its record goes in the background.
    package func release(_ view: HistoryView) {
        view.close()
        if vault.isReadOnly { return }
        do throws(FileSystemError) {
            try vault.history.commit { state throws(FileSystemError) in
                guard let recorder = state.tree.history, !recorder.isKept, recorder.viewed.isEmpty else {
                    return
                }
                for moment in try state.index.moments() { try state.index.remove(moment) }
                state.tree.history = nil
            }
            vault.history.thinSoon()
        } catch {
            // The vault has stopped, or has no room; its next opening does it.
        }
    }
}
