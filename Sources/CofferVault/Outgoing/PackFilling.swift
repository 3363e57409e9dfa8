internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Reads extents into a remote pack, tries to decrypt them, and hashes them; the sending thread and others
/// share the work.
final class PackFilling: Sendable {
    /// An extent, and its place in the pack, where room for the hashes of its leaves follows it.
    struct Extent: Sendable {
        let row: ExtentRow
        /// All ranges that refer to it; its other blocks may be gone.
        let live: [ExtentRow]
        /// The id under which it is sealed.
        let origin: ItemID
        /// The file to read it from; nil if its bytes are already in the pack.
        let file: PackFile?
        /// Its position in the pack.
        let position: Int
    }

    /// The hash of an extent, or why it must not be sent.
    typealias Outcome = Result<ContentHash, FileSystemError>

    private struct State {
        var next = 0
        var outcomes: [Outcome?]
        var left: Int
    }

    private let vault: Vault
    private let buffer: AlignedBuffer
    private let extents: [Extent]
    private let state: Condition<State>

    init(_ extents: [Extent], into buffer: AlignedBuffer, in vault: Vault) {
        self.extents = extents
        self.buffer = buffer
        self.vault = vault
        state = Condition(
            State(outcomes: Array(repeating: nil, count: extents.count), left: extents.count), rank: .leaf)
    }

    /// Fills the pack; there must be at least one extent.
    ///
    /// - Returns: The outcome for each extent; a failed extent is replaced by zeros.
    func run() -> [Outcome] {
        // While one thread waits for the disk, another one hashes.
        vault.packFillers.help(self, count: min(extents.count - 1, 2))
        while fillNext() {}
        vault.packFillers.end(self)
        return state.wait { $0.left == 0 ? $0.outcomes.compactMap { $0 } : nil }
    }

    /// Fills in the next extent; false if there is none.
    func fillNext() -> Bool {
        let next = state.withLock { state -> Int? in
            guard state.next < extents.count else { return nil }
            defer { state.next += 1 }
            return state.next
        }
        guard let next else { return false }
        let outcome: Outcome
        do throws(FileSystemError) { outcome = .success(try fill(extents[next])) } catch {
            outcome = .failure(error)
        }
        state.update { state in
            state.outcomes[next] = outcome
            state.left -= 1
        }
        return true
    }

    private func fill(_ extent: Extent) throws(FileSystemError) -> ContentHash {
        let total = Int(extent.row.total)
        let place = extent.position..<extent.position + ExtentLayout.sealedByteCount(total)
        do throws(FileSystemError) {
            if let file = extent.file { try read(extent, from: file, into: place) }
            // An extent that cannot be decrypted here could not be decrypted anywhere.
            let scratch = vault.buffers.take()
            defer { vault.buffers.giveBack(scratch) }
            for row in extent.live {
                try vault.contents.fill(
                    scratch.sealed, at: 0, with: row.offset..<row.end, of: extent.origin,
                    from: [SealedExtent(row: row, source: .buffer(buffer, place: place.lowerBound, from: 0))])
            }
        } catch {
            let all = place.lowerBound..<place.lowerBound + ExtentLayout.remoteByteCount(total)
            buffer.withMutableBytes(all) { $0.zero() }
            throw error
        }
        let hashes = buffer.withBytes(place) { LeafHashes(of: $0) }
        if ExtentLayout.leafHashesByteCount(total) > 0 {
            buffer.copy(unsafe hashes.bytes.span.bytes, to: place.upperBound)
        }
        return hashes.root
    }

    private func read(
        _ extent: Extent, from file: PackFile, into place: Range<Int>
    ) throws(FileSystemError) {
        guard case .pack(let pack, let position) = extent.row.place else { return }
        let got =
            if place.count > PackStore.tailPieceMax {
                try file.read(into: buffer, at: place.lowerBound, from: Int(position), count: place.count)
            } else {
                try buffer.withMutableBytes(place) { bytes throws(FileSystemError) in
                    try file.read(into: &bytes, at: Int(position))
                }
            }
        guard got == place.count else { throw .damaged(place: "byte \(position) of pack \(pack)") }
    }
}
