package import CofferFormat

/// Why a commit is invalid on every device.
package enum FactRefusal: Hashable, Sendable {
    /// Sequences begin at 1.
    case noSequence
    /// Two facts about one register.
    case saidTwice(Register)
    /// A fact names a commit that its author had not applied.
    case unseenCommit(Register, Dot)
    /// The root directory has no kind, content, or entries.
    case aboutRoot(Register)
    /// An entry would lie in the item that it leads to.
    case intoItself(EntryID)
}

/// A statement that Coffer never makes, although it can be applied.
package enum FactComplaint: Hashable, Sendable {
    /// The item had another kind before.
    case kindChanged(ItemID)
    /// No fact states the item's kind.
    case unknownItem(ItemID, Register)
    /// Only files have contents.
    case contentOfNoFile(ItemID)
    /// No fact states the kind of the directory in which the entry would lie.
    case unknownParent(EntryID, ItemID)
    /// The entry would lie in something that is not a directory.
    case parentNoDirectory(EntryID, ItemID)
    /// The entry led to another item before.
    case itemChanged(EntryID, ItemID)
    /// A directory has only one entry.
    case secondEntry(EntryID, ItemID)

    /// Whether something is missing that a commit may have stated which no longer counts.
    package var isAboutMissing: Bool {
        switch self {
        case .unknownItem, .unknownParent: true
        case .kindChanged, .contentOfNoFile, .parentNoDirectory, .itemChanged, .secondEntry: false
        }
    }
}

extension FactCommit {
    /// Why the commit is invalid; nil if it is valid.
    ///
    /// Depends on the commit alone, so the result is the same on all devices. Do not apply an invalid commit.
    package func refusal(root: ItemID) -> FactRefusal? {
        guard stamp.dot.sequence > 0 else { return .noSequence }
        var registers: Set<Register> = []
        for fact in facts {
            let register = fact.register
            guard registers.insert(register).inserted else { return .saidTwice(register) }
            if let dot = fact.replaces.first(where: { !hadSeen($0) }) { return .unseenCommit(register, dot) }
            switch fact.assertion {
            case .kind(root, _), .content(root, _), .moved(root, _, _): return .aboutRoot(register)
            case .place(let entry, let placement):
                if placement.item == root { return .aboutRoot(register) }
                if placement.place?.parent == placement.item { return .intoItself(entry) }
                // A removal may have seen contents of its own commit.
                let dot = placement.seenContents.first { !hadSeen($0) && $0 != stamp.dot }
                if let dot { return .unseenCommit(register, dot) }
            case .moved(_, let dot, _): if !hadSeen(dot) { return .unseenCommit(register, dot) }
            default: break
            }
        }
        return nil
    }

    private func hadSeen(_ dot: Dot) -> Bool {
        dot.log == stamp.dot.log
            ? dot.sequence > 0 && dot.sequence < stamp.dot.sequence : versions.contains(dot)
    }
}

extension FactTree {
    /// What is unusual about a commit that is about to be applied.
    ///
    /// Apply it all the same: whether something is unusual can depend on what else was applied, and devices
    /// must agree on what they apply. The tree is defined for any facts, and the same on all devices.
    package func complaints(about commit: FactCommit) throws(Store.Failure) -> [FactComplaint] {
        var kinds: [ItemID: Fact.Kind] = [:]
        for case .kind(let item, let kind) in commit.facts.map(\.assertion) { kinds[item] = kind }
        var complaints: [FactComplaint] = []
        for fact in commit.facts {
            let item = fact.assertion.item
            let known = try self.kind(of: item)?.kind
            if let kind = kinds[item], let known, known != kind { complaints.append(.kindChanged(item)) }
            guard let kind = known ?? kinds[item] else {
                complaints.append(.unknownItem(item, fact.register))
                continue
            }
            switch fact.assertion {
            case .content where kind != .file, .moved where kind != .file:
                complaints.append(.contentOfNoFile(item))
            case .place(let entry, let placement):
                complaints += try self.complaints(about: entry, placement, kind, kinds)
            default: break
            }
        }
        return complaints
    }

    private func complaints(
        about entry: EntryID, _ placement: Fact.Placement, _ kind: Fact.Kind, _ kinds: [ItemID: Fact.Kind]
    ) throws(Store.Failure) -> [FactComplaint] {
        var complaints: [FactComplaint] = []
        if let before = try self.placement(of: entry)?.placement, before.item != placement.item {
            complaints.append(.itemChanged(entry, placement.item))
        }
        if kind == .directory, let other = try store.item(placement.item)?.entry, other != entry {
            complaints.append(.secondEntry(entry, placement.item))
        }
        if let parent = placement.place?.parent {
            switch try self.kind(of: parent)?.kind ?? kinds[parent] {
            case nil: complaints.append(.unknownParent(entry, parent))
            case .directory: break
            default: complaints.append(.parentNoDirectory(entry, parent))
            }
        }
        return complaints
    }
}
