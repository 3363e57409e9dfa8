internal import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Contents that move out of sparse packs at the remote, so that these can be deleted.
extension Outgoing {
    /// The most contents in a commit, and about the most bytes of their values; the others go into the next one.
    private static let moveCountMax = 512, moveByteCountMax = 2 << 20
    /// The number of files that are looked at while the lock is held.
    private static let fileBatchCount = 64
    /// After how many copied bytes to see whether there is something else to send.
    private static let pauseByteCount = 8 << 20

    /// Copies what contents refer to in some packs into new ones at the remote.
    ///
    /// The next commits state the new places. What cannot be had, and what programs are changing, stays.
    ///
    /// - Parameters:
    ///   - packs: Packs at the remote.
    ///   - byteCountMax: About how many sealed bytes to copy.
    ///   - deliver: Starts the upload of a pack.
    /// - Returns: The number of contents that lie elsewhere now.
    /// - Throws: `.unreachable`, `.timedOut`, `.readOnly`.
    package func move(
        from packs: Set<PackID>, byteCountMax: Int, as participant: Participant,
        beginning deliver: @escaping Sending.Deliver
    ) throws(FileSystemError) -> Int {
        if vault.isReadOnly { throw .readOnly }
        let (reader, stated) = try vault.exchanging.withLock {
            _ throws(FileSystemError) -> (ContentReader, [StatedContent]) in
            defer { vault.facts.close() }
            try vault.commitIndex()
            // The facts stay as they are meanwhile; what programs change, `Moving` sees in the index.
            let stated = try self.stated(files(in: packs), as: participant)
            let reader = try vault.reading { state throws(FileSystemError) in
                try state.index.makeContentReader()
            }
            return (reader, stated)
        }
        let moving = Moving(vault, reader, from: packs, deliver: deliver)
        var next = Self.pauseByteCount
        for file in stated where moving.byteCount < byteCountMax && !moving.isFull {
            if vault.upkeep.isStopped { break }
            if moving.byteCount >= next {
                // What programs write goes first.
                if try hasUnsent() { break }
                next = moving.byteCount + Self.pauseByteCount
            }
            do throws(FileSystemError) {
                try moving.add(file.number, file.dot, file.content)
            } catch {
                switch error {
                case .stale, .damaged, .notArrived, .fileTooLarge: continue
                default: throw error
                }
            }
        }
        let moves = try moving.finish()
        vault.moves.withLock { $0 = moves }
        return moves.count
    }

    private struct StatedContent {
        let number: Int64
        let dot: Dot
        let content: Fact.Content
    }

    /// The contents that facts state of those of some files that have no unsent ones.
    private func stated(
        _ files: [Int64], as participant: Participant
    ) throws(FileSystemError) -> [StatedContent] {
        var stated: [StatedContent] = []
        for start in stride(from: 0, to: files.count, by: Self.fileBatchCount) {
            stated += try vault.reading { state throws(FileSystemError) in
                let tree = try state.factTree(participant.hashKey)
                var batch: [StatedContent] = []
                for number in files[start..<min(start + Self.fileBatchCount, files.count)] {
                    guard let row = try state.tree.row(number), row.unsent.isDisjoint(with: .content),
                        let found = try tree.statedContent(of: row.id)
                    else { continue }
                    batch.append(StatedContent(number: number, dot: found.dot, content: found.content))
                }
                return batch
            }
        }
        return stated
    }

    /// Files with extents or pages in some packs, in the order in which they were made.
    private func files(in packs: Set<PackID>) throws(FileSystemError) -> [Int64] {
        let reader = try vault.state.withLock { state throws(FileSystemError) in try state.index.makeReader()
        }
        let files = Set(try reader.extents(in: packs).map(\.item))
        return files.union(try reader.itemsWithPages(in: packs)).sorted()
    }

    /// Makes a commit of contents that lie elsewhere; nil if there are none.
    func commitMoves(
        as participant: Participant, _ recorder: any CommitRecorder, _ state: inout VaultState
    ) throws(FileSystemError) -> FactCommit? {
        while true {
            let moves = nextMoves()
            if moves.isEmpty { return nil }
            let tree = try state.factTree(participant.hashKey)
            try state.space.ensure(for: (moves.count + 1) * VaultState.byteCountPerFact)
            try sealing { () throws(SealingError) in try recorder.check(tree.store.versions()) }
            var facts: [Fact] = []
            for move in moves {
                guard let row = try state.tree.row(move.number), row.unsent.isDisjoint(with: .content),
                    let stated = try tree.statedContent(of: move.item), stated.dot == move.dot,
                    stated.content.bytes == move.before,
                    // Compaction may have replaced the extents; then the old places stay those of the content.
                    try state.setPlaces(of: try state.tree.item(move.number), to: move.content)
                else { continue }
                facts.append(Fact(.moved(move.item, of: move.dot, bytes: move.content.value.bytes)))
            }
            // All of these contents have changed; others may follow.
            if facts.isEmpty { continue }
            return try commit(facts, as: participant, recorder, &state)
        }
    }

    /// Takes as many contents as fit a commit.
    private func nextMoves() -> [ContentMove] {
        vault.moves.withLock { moves in
            var (count, byteCount) = (0, 0)
            while count < min(moves.count, Self.moveCountMax), byteCount < Self.moveByteCountMax {
                byteCount += moves[count].content.value.bytes.count
                count += 1
            }
            defer { moves.removeFirst(count) }
            return Array(moves.prefix(count))
        }
    }
}
