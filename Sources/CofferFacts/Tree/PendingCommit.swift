package import CofferFormat

/// The commit that this device is making, which condenses many changes into few facts.
struct PendingCommit: Sendable {
    let stamp: Stamp
    let versions: VersionVector
    let label: String?
    /// In the order in which facts first stated them.
    private(set) var registers: [Register] = []
    private(set) var facts: [Register: Fact] = [:]
    /// Items whose part in the hash of what is shown may change.
    var unhashed: Set<ItemID> = []

    init(stamp: Stamp, versions: VersionVector, label: String?) {
        self.stamp = stamp
        self.versions = versions
        self.label = label
    }

    /// Merges a fact with the earlier one about its register.
    ///
    /// Other devices never see the states in between. So an entry's previous place stays the first one, and a
    /// content stays when others are given up after it.
    mutating func add(_ fact: Fact) {
        var fact = fact
        if let before = facts[fact.register] {
            fact.replaces = Array(Set(before.replaces).union(fact.replaces)).sorted()
            if case .place(let entry, var placement) = fact.assertion,
                case .place(_, let earlier) = before.assertion
            {
                placement.previous = earlier.previous ?? (placement.place == nil ? placement.previous : nil)
                fact.assertion = .place(entry, placement)
            } else if !fact.assertion.isValue {
                fact.assertion = before.assertion
            }
        } else {
            registers.append(fact.register)
        }
        facts[fact.register] = fact
    }

    /// Removes the fact about a register.
    mutating func forget(_ register: Register) {
        facts[register] = nil
        registers.removeAll { $0 == register }
    }

    /// Whether the entry or item of a register was made in this commit.
    func made(_ register: Register) -> Bool { facts[register]?.replaces.isEmpty == true }

    /// All facts, at most one for each register.
    var allFacts: [Fact] { registers.compactMap { facts[$0] } }
}

extension FactTree {
    /// Begins a commit of this device; it follows all applied commits.
    ///
    /// - Parameters:
    ///   - log: This device's log in the vault.
    ///   - milliseconds: The device's time, since 1970.
    ///   - label: The device's label; goes into the log's first commit.
    package mutating func beginCommit(
        log: LogID, milliseconds: UInt64, label: String
    ) throws(Store.Failure) {
        precondition(pending == nil, "a commit is being made already")
        let versions = try store.versions()
        let stamp = Stamp(
            clock: Stamp.clock(milliseconds: milliseconds, after: try store.clock()),
            dot: Dot(log: log, sequence: versions[log] + 1))
        let isFirst = versions[log] == 0
        if isFirst { try store.setLabel(label, of: log) }
        pending = PendingCommit(stamp: stamp, versions: versions, label: isFirst ? label : nil)
    }

    /// Ends the commit that `beginCommit` began.
    ///
    /// - Returns: The commit for the log; nil if it has no facts.
    package mutating func finishCommit() throws(Store.Failure) -> FactCommit? {
        try rehashPending()
        guard let commit = pending else { preconditionFailure("no commit is being made") }
        pending = nil
        let facts = commit.allFacts
        guard !facts.isEmpty else { return nil }
        try store.setApplied(commit.stamp.dot)
        try store.setClock(commit.stamp.clock)
        return FactCommit(stamp: commit.stamp, versions: commit.versions, label: commit.label, facts: facts)
    }

    /// Updates the hash for the items that the pending commit has changed.
    mutating func rehashPending() throws(Store.Failure) {
        guard let items = pending?.unhashed, !items.isEmpty else { return }
        pending?.unhashed = []
        for item in items.sorted() { try rehash(item) }
    }

    /// States something in the pending commit; replaces all values of the register, or only those of some
    /// commits.
    mutating func say(
        _ assertion: Fact.Assertion, replacing dots: [Dot]? = nil, _ pass: inout Pass
    ) throws(Store.Failure) {
        guard let stamp = pending?.stamp else { preconditionFailure("no commit is being made") }
        let register = assertion.register
        var replaced = dots ?? []
        if dots == nil { replaced = try store.values(register).map(\.stamp.dot) }
        replaced.removeAll { $0 == stamp.dot }
        pending?.add(Fact(assertion, replaces: replaced.sorted()))
        guard let fact = pending?.facts[register] else { return }
        try assert(fact, stamp, &pass)
    }

    /// Takes back an entry that was made in the pending commit, and, with the last entry, its item.
    mutating func unsay(_ entry: EntryID, of item: ItemID, _ pass: inout Pass) throws(Store.Failure) {
        try unsay(.place(entry), &pass)
        pass.items.insert(item)
        guard pending?.made(.kind(item)) == true else { return }
        for other in try store.entries(of: item) {
            guard try store.values(.place(other)).isEmpty else { return }
        }
        var registers: [Register] = [.kind(item), .mode(item), .modified(item), .content(item)]
        for name in try store.extendedAttributes(of: item) {
            registers.append(.extendedAttribute(item, name: name))
        }
        for register in registers { try unsay(register, &pass) }
    }

    private mutating func unsay(_ register: Register, _ pass: inout Pass) throws(Store.Failure) {
        guard pending?.made(register) == true else { return }
        pending?.forget(register)
        try store.setValues([], of: register)
        pass.touch(register)
    }
}
