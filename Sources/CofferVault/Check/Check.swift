package import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Checking a vault: first the index, then every name and every block, from the root, then what only the history has.
extension Vault {
    /// The result of checking a vault.
    package struct CheckResult: Sendable {
        /// The number of files, directories, and other items found.
        package var items = 0
        /// The number of content blocks read.
        package var blocks = 0
        /// The number of content bytes read.
        package var bytes = 0
        /// The number of content bytes that are only on a remote, and were not read.
        package var missingBytes = 0
        /// All damage; empty if there is none.
        package var damage: [Damage] = []
        /// Sentences about what could not be checked and why; empty if everything was.
        package var unchecked: [String] = []

        /// A result before anything is checked.
        package init() {}

        /// A piece of damage.
        package struct Damage: Sendable, Equatable {
            /// The path of the file in the vault.
            package let path: String?
            /// The bytes of the file that cannot be read.
            package let range: Range<Int64>?
            /// The problem, for users.
            package let text: String
        }
    }

    /// Reads every row and block.
    ///
    /// Other operations continue in the meantime.
    ///
    /// - Parameter progress: Called with the number of bytes checked, and the total.
    /// - Throws: Errors that prevent the check itself. Damage is in the result, as is what cannot be checked
    ///   because the disk is full.
    package func check(progress: (Int, Int) -> Void) throws(FileSystemError) -> CheckResult {
        let unstored = commitForCheck()
        // The check must read the disk, not fetched bytes in memory.
        remoteReads.letGo()
        // Damage on the remote may have gone away.
        remoteReads.arrivals.tryAgain(in: self, evenDamaged: true)
        var walk = CheckWalk(vault: self)
        if let unstored { walk.result.unchecked.append(unstored) }
        var packs: [PackID] = []
        do throws(FileSystemError) {
            let reader = try state.withLock { state throws(FileSystemError) in try state.index.makeReader() }
            let size = try reader.size()
            walk.total = Int(size.content + size.pastContent)
            for problem in try reader.problems() {
                walk.result.damage.append(.init(path: nil, range: nil, text: problem))
            }
            packs = try reader.missingPacks()
        } catch {
            guard case .damaged(let place) = error else { throw error }
            walk.result.damage.append(
                .init(path: nil, range: nil, text: "\(place) is damaged; its contents cannot be read."))
        }
        walk.packs.prepare(packs)
        walk.run(progress)
        walk.readPast(progress)
        return walk.result
    }

    /// Commits the changes that are to be checked.
    ///
    /// - Returns: A sentence about changes that are not on the disk, and cannot be checked there; nil if all
    ///   are.
    private func commitForCheck() -> String? {
        guard !isReadOnly, stoppedReason == nil else { return nil }
        do throws(FileSystemError) {
            try commitIndex()
            return nil
        } catch {
            return
                "The latest changes cannot be stored (\(error.summary)): they were read from memory, and the "
                + "index was checked as it was before them."
        }
    }

    /// The number of items, of content bytes, and of those that only the history has, as of the last commit.
    package func size() throws(FileSystemError) -> (items: Int64, content: Int64, pastContent: Int64) {
        try state.withLock { state throws(FileSystemError) in try state.index.makeReader() }.size()
    }
}
