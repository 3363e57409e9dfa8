package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Turning a vault of this device alone into one that other devices share.
extension Outgoing {
    /// The number of names that are looked at together.
    private static let pageCount = 256

    /// Begins to track all changes for a remote, and records what already exists; permanent.
    ///
    /// Other operations continue in the meantime: existing items are read from the last commit, while later
    /// changes go into the journal. Does nothing if it was completed before. If a crash interrupted it, it
    /// starts over.
    package func beginTracking() throws(FileSystemError) {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            let isOn = try vault.state.withLock { state throws(FileSystemError) in
                try state.index.tracking() == .on
            }
            if isOn { return }
            var found: IndexReader?
            try vault.committing.withLock { intents throws(FileSystemError) in
                try vault.commitAlone(intents) { state throws(FileSystemError) in
                    found = try self.openJournal(&state)
                }
            }
            guard let found else { return }
            try noteFound(in: found)
            try vault.commitIndex()
        }
    }

    /// Opens the journal for changes.
    ///
    /// - Returns: A reader of the current index.
    private func openJournal(_ state: inout VaultState) throws(FileSystemError) -> IndexReader {
        let isEmpty = try state.index.isEmpty(Vault.rootNumber)
        let reader = try state.index.makeReader()
        try reader.begin()
        try state.index.beginTracking()
        state.tree.journal = JournalWriter()
        state.tree.markAll()
        let root = try state.tree.item(Vault.rootNumber)
        root.isMarked = false
        // A device that joins with an empty vault has nothing to send about its root.
        if isEmpty {
            root.row.unsent = []
            state.tree.touch(root, [])
        } else {
            state.tree.touch(root, [.mode, .times])
        }
        vault.upkeep.noteChanges(isUrgent: state.isCommitUrgent)
        return reader
    }

    /// Records everything that existed, from the root.
    private func noteFound(in reader: IndexReader) throws(FileSystemError) {
        var found = FoundItems()
        let root = try reader.item(Vault.rootNumber)
        guard let root else { throw .damaged(place: "the root directory") }
        var directories = [(number: root.number, id: root.id)]
        while let directory = directories.popLast() {
            var last: [UInt8] = []
            while true {
                let page = try reader.names(in: directory.number, after: last, limit: Self.pageCount)
                for (name, item) in page {
                    last = name
                    if found.note(item, name, in: directory.id) { directories.append((item.number, item.id)) }
                }
                if found.writer.byteCount >= FoundItems.byteCountMax { try append(&found) }
                if page.count < Self.pageCount { break }
            }
        }
        try append(&found)
        try vault.changing { state throws(FileSystemError) in
            try state.index.endFound()
        }
    }

    private func append(_ found: inout FoundItems) throws(FileSystemError) {
        guard found.writer.count > 0 else { return }
        found.number += 1
        let (record, number) = (found.writer.take(), found.number)
        try vault.changing { state throws(FileSystemError) in
            try state.index.appendFound(record, number)
        }
    }
}

/// Records of the items that existed when tracking began, on their way to the journal.
private struct FoundItems {
    static let byteCountMax = 16 << 10

    var writer = JournalWriter()
    /// The number of the last record.
    var number: Int64 = 0
    /// Files with several names that were already visited.
    private var seen: Set<Int64> = []

    /// Records a name, and with its first name the item.
    ///
    /// - Returns: Whether it is a directory.
    mutating func note(_ item: ItemRow, _ name: [UInt8], in directory: ItemID) -> Bool {
        let place = JournalWriter.End(name, in: directory)
        let isDirectory = FileType(mode: item.mode) == .directory
        if !isDirectory, item.links > 1, !seen.insert(item.number).inserted {
            writer.link(item.id, at: place)
        } else {
            writer.make(
                number: item.number, item.id, mode: item.mode, modified: item.modified, device: item.device,
                target: item.target, at: place)
        }
        return isDirectory
    }
}
