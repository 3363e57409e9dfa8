internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// A directory in which items are made before they get their places.
///
/// Its name begins with “.restoring-”. A process that is killed leaves it behind.
struct UndoDrafts {
    let vault: Vault
    /// The directory.
    let directory: Vault.Name
    /// The directory's number.
    let number: Int64
    /// The items that were made, by the ids of those that they replace.
    private(set) var made: [ItemID: Draft] = [:]
    /// All drafts, also those that failed half-way.
    private var all: [Draft] = []

    private let copies: PastCopies

    /// An item that was made.
    struct Draft {
        let number: Int64
        let name: Vault.Name
    }

    init(in vault: Vault, _ copies: PastCopies) throws(FileSystemError) {
        self.vault = vault
        self.copies = copies
        directory = Vault.Name(Array(".restoring-\(Random.number())".utf8), in: Vault.rootNumber)
        let name = directory
        let root = try vault.attributes(of: name.parent)
        number = try vault.changeElsewhere { changes throws(FileSystemError) in
            changes.append(.entry(name))
            let caller = Caller(user: root.user, group: root.group, umask: 0o77)
            return try vault.create(
                Vault.NewItem(mode: 0o40_700), named: name.name, in: name.parent, by: caller
            ).number
        }
    }

    /// Makes an item like a past one.
    ///
    /// - Parameter isAwaited: Called often; returns whether the caller still waits.
    mutating func make(
        _ id: ItemID, like past: UndoItem.Past, isAwaited: () -> Bool
    ) throws(FileSystemError) {
        let attributes = past.attributes
        let name = Vault.Name(Array("\(all.count)".utf8), in: number)
        let draft = Draft(
            number: try copies.make(attributes, in: past.view, named: name.name, in: number), name: name)
        all.append(draft)
        do throws(FileSystemError) {
            if attributes.type == .regular {
                try copies.copyContent(of: attributes, in: past.view, to: draft.number, isAwaited: isAwaited)
            }
            try copies.setAttributes(of: draft.number, like: attributes, in: past.view)
        } catch {
            try? remove(name, isDirectory: attributes.type == .directory)
            throw error
        }
        made[id] = draft
    }

    /// Removes the drafts that are still in the directory, and the directory itself; what somebody else put there stays.
    func discard() {
        do throws(FileSystemError) {
            for draft in all {
                guard try number(of: draft.name) == draft.number else { continue }
                try remove(draft.name, isDirectory: vault.attributes(of: draft.number).type == .directory)
            }
            try remove(directory, isDirectory: true)
        } catch {
            vault.problems.add(
                "“\(String(decoding: directory.name, as: UTF8.self))”, with which an undo began, can be deleted."
            )
        }
    }

    private func number(of name: Vault.Name) throws(FileSystemError) -> Int64? {
        try vault.reading { state throws(FileSystemError) in
            try state.index.entry(name.name, in: name.parent)?.item
        }
    }

    /// Checks that the directory and all drafts are where they were made.
    ///
    /// - Throws: `.busy` if somebody has moved or removed one, or put something there.
    func check(_ state: borrowing VaultState) throws(FileSystemError) {
        guard try state.index.entry(directory.name, in: directory.parent)?.item == number else { throw .busy }
        guard try state.index.entries(in: number, after: 0, limit: made.count + 1).count == made.count else {
            throw .busy
        }
        for draft in made.values {
            // Of a file, nothing is found.
            guard try state.index.isEmpty(draft.number) else { throw .busy }
            guard try state.index.entry(draft.name.name, in: number)?.item == draft.number,
                try state.tree.row(draft.number)?.links ?? 0 > 0
            else { throw .busy }
        }
    }

    private func remove(_ name: Vault.Name, isDirectory: Bool) throws(FileSystemError) {
        try vault.changeElsewhere { changes throws(FileSystemError) in
            changes.append(.entry(name))
            if isDirectory {
                changes.append(.nameless(item: try vault.removeDirectory(name.name, in: name.parent)))
            } else {
                let removed = try vault.unlink(name.name, in: name.parent)
                if removed.isLast { changes.append(.nameless(item: removed.number)) }
            }
        }
    }
}
