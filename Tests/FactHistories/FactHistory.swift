package import CofferFacts
internal import CofferFormat
internal import CofferTestSupport

/// A rule that a history breaks.
package struct Flaw: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

/// Devices that make random changes, learn of each other's late and in any order, and must agree in the end.
package struct FactHistory<Store: TestedFactStore> {
    var random: SplitMix64
    package var replicas: [FactReplica<Store>]
    /// The steps so far, to print on a failure.
    package var script: [String] = []
    private var clocks: [UInt64]
    private var nextID: UInt64 = 1000
    private let checksEveryStep: Bool
    /// Whether devices also move contents, as those do that make room at a remote.
    private let movesContents: Bool
    /// The commits of a hostile author; if there are any, local changes are not compared.
    package let hostile: [FactCommit]

    package init(
        seed: UInt64, hostileCommits: Int = 0, movesContents: Bool = false, checksEveryStep: Bool = true
    ) throws {
        var random = SplitMix64(seed: seed)
        let count = 2 + random.below(4)
        replicas = try (0..<count).map { number in
            FactReplica(
                number: UInt64(number) + 1, label: HistoryNames.labels[number],
                store: try Store(seed: seed &+ UInt64(number)))
        }
        clocks = (0..<count).map { _ in 1_700_000_000_000 + UInt64(random.below(5)) }
        hostile = HostileLog.commits(hostileCommits, devices: count, &random)
        self.movesContents = movesContents
        self.checksEveryStep = checksEveryStep
        self.random = random
    }

    private mutating func newID() -> UInt64 {
        nextID += 1
        // Shuffled, so that ids are in no order of time.
        var mixer = SplitMix64(seed: nextID)
        return mixer.next()
    }

    package mutating func run(steps: Int) throws {
        for _ in 0..<steps {
            let device = random.below(replicas.count)
            switch random.below(10) {
            case 0..<6: if movesContents, random.oneIn(4) { try move(device) } else { try act(device) }
            case 6:
                try replicas[device].commit()
                script.append("\(device) commits")
            default: try fetch(device)
            }
        }
    }

    /// Delivers everything to every device; then all must show the same.
    package mutating func finish() throws {
        for device in replicas.indices { try replicas[device].commit() }
        var isQuiet = false
        while !isQuiet {
            isQuiet = true
            for device in replicas.indices.shuffled(using: &random) {
                while try fetch(device) { isQuiet = false }
            }
        }
        for device in replicas.indices { try check(device) }
        let first = try replicas[0].shownTree()
        for var replica in replicas {
            let tree = try replica.shownTree()
            guard tree == first, try replica.tree.stateHash() == replicas[0].tree.stateHash() else {
                throw Flaw(description: "devices differ:\n\(first.description)\n--\n\(tree.description)")
            }
            if try tree.hash(hashKey) != replica.tree.stateHash() { throw Flaw(description: "another hash") }
        }
        if hostile.isEmpty { try expectNothingLost(first) }
    }

    // MARK: Steps

    /// Applies a few commits of one other device; false if there was none.
    @discardableResult
    private mutating func fetch(_ device: Int) throws -> Bool {
        var applied = false
        let logs = replicas.indices.filter { $0 != device }.map { replicas[$0].commits } + [hostile]
        for log in logs.shuffled(using: &random) {
            guard let name = log.first?.stamp.dot.log else { continue }
            let have = try Int(replicas[device].tree.store.versions()[name])
            for commit in log.dropFirst(have).prefix(1 + random.below(3)) {
                guard case .applied = try replicas[device].apply(commit) else { break }
                applied = true
                script.append("\(device) applies \(name.low)'s \(commit.stamp.dot.sequence)")
                if checksEveryStep { try check(device) }
                if random.oneIn(8), try replicas[device].apply(commit) != .known {
                    throw Flaw(description: "a commit was applied twice")
                }
            }
            if applied { return true }
        }
        return false
    }

    private mutating func act(_ device: Int) throws {
        let before = try replicas[device].shownTree()
        guard let change = change(before) else { return }
        clocks[device] += UInt64(random.below(3)) * 40_000_000
        do {
            try replicas[device].perform(change, milliseconds: clocks[device])
        } catch let error as LocalChangeError<Store.Failure> {
            if case .refused = error { return }
            throw error
        }
        script.append("\(device): \(Self.text(change))")
        if random.oneIn(3) {
            try replicas[device].commit()
            script.append("\(device) commits")
        }
        if checksEveryStep { try check(device) }
        guard hostile.isEmpty else { return }
        let after = try replicas[device].shownTree()
        let wanted = before.after(change)
        guard after.isSame(as: wanted) else {
            throw Flaw(
                description: "\(change)\nmade of\n\(before.description)\n-- wanted\n\(wanted.description)"
                    + "\n-- got\n\(after.description)")
        }
    }

    /// Moves a content: everything else that is shown stays as it is.
    private mutating func move(_ device: Int) throws {
        let before = try replicas[device].shownTree()
        let files = before.items.filter { $0.value.content != nil }.keys.sorted()
        guard let item = random.pick(files),
            let bytes = try replicas[device].move(item, milliseconds: clocks[device])
        else { return }
        script.append("\(device) moves the content of \(item.short)")
        if checksEveryStep { try check(device) }
        guard hostile.isEmpty else { return }
        var wanted = before
        wanted.items[item]?.content?.bytes = bytes
        guard try replicas[device].shownTree() == wanted else {
            throw Flaw(description: "a move changed something else:\n\(wanted.description)")
        }
    }

    private static func text(_ change: LocalChange) -> String {
        switch change {
        case .create(let item, let kind, _, _, let entry, let place):
            "create \(kind) \(item.short) entry \(entry.short) at \(place.parent.short)/\(place.name)"
        case .link(let item, let entry, let place):
            "link \(item.short) entry \(entry.short) at \(place.parent.short)/\(place.name)"
        case .move(let entry, let place): "move \(entry.short) to \(place.parent.short)/\(place.name)"
        case .exchange(let one, let other): "exchange \(one.short) \(other.short)"
        case .remove(let entry): "remove \(entry.short)"
        case .setContent(let item, let content): "content of \(item.short): \(content.bytes)"
        default: "\(change)"
        }
    }

    /// A change that makes sense in a tree; nil if none was found.
    private mutating func change(_ tree: ShownTree) -> LocalChange? {
        let entries = tree.entries.sorted { $0.key < $1.key }
        let directories =
            [rootID] + entries.map(\.value.item).filter { tree.items[$0]?.kind == .directory }
        guard let parent = random.pick(directories), let name = random.pick(HistoryNames.names) else {
            return nil
        }
        let place = Place(parent: parent, name: name)
        let one = random.oneIn(9) ? nil : random.pick(entries)
        switch random.below(20) {
        case 0..<4:
            return create(random.oneIn(6) ? .symlink(target: [1]) : .file, at: place)
        case 4..<8: return create(.directory, at: place)
        case 8: return one.map { .link($0.value.item, EntryID(low: newID(), high: 1), at: place) }
        case 9..<13: return one.map { .move($0.key, to: place) }
        case 13:
            guard let one, let other = random.pick(entries), one.key != other.key else { return nil }
            return .exchange(one.key, other.key)
        case 14..<16: return one.map { .remove($0.key) }
        case 16..<18:
            let content = Fact.Content(bytes: Array(String(newID(), radix: 36).utf8), size: 1)
            return one.map { .setContent($0.value.item, content) }
        case 18: return .setMode(one?.value.item ?? rootID, 0o600 + UInt16(random.below(8)))
        default:
            let value: [UInt8]? = random.oneIn(3) ? nil : [UInt8(random.below(200))]
            return one.map { .setExtendedAttribute($0.value.item, name: [97], value: value) }
        }
    }

    private mutating func create(_ kind: Fact.Kind, at place: Place) -> LocalChange {
        .create(
            ItemID(low: newID(), high: newID()), kind, mode: 0o644, modified: 1,
            EntryID(low: newID(), high: 1), at: place)
    }

    // MARK: Checks

    private mutating func check(_ device: Int) throws {
        try replicas[device].tree.store.rest()
        let tree = try replicas[device].shownTree()
        let evaluated = replicas[device].evaluatedTree()
        guard tree == evaluated else {
            throw Flaw(
                description:
                    "device \(device) shows\n\(tree.description)\n-- and should\n\(evaluated.description)")
        }
        if let flaw = evaluated.flaw { throw Flaw(description: "\(flaw):\n\(evaluated.description)") }
        if random.oneIn(3) {
            _ = try replicas[device].take(limit: 1 + random.below(4))
            guard replicas[device].mirror == tree.entries else {
                throw Flaw(description: "changes of device \(device) do not add up")
            }
        }
        if random.oneIn(4), try tree.hash(hashKey) != replicas[device].tree.stateHash() {
            throw Flaw(description: "device \(device) has another hash")
        }
    }

    /// Checks that all content exists that no author replaced or removed after seeing it.
    private func expectNothingLost(_ tree: ShownTree) throws {
        let facts = replicas.flatMap(\.commits).flatMap { commit in
            commit.facts.map { (commit.stamp.dot, $0) }
        }
        var dead: Set<CopySource> = []
        for (_, fact) in facts {
            switch fact.assertion {
            case .content(let item, _):
                for dot in fact.replaces { dead.insert(CopySource(item: item, dot: dot)) }
            case .place(_, let placement):
                for dot in placement.seenContents { dead.insert(CopySource(item: placement.item, dot: dot)) }
            default: break
            }
        }
        // A content that was moved has a number behind its text.
        let readable = Set(
            tree.items.values.compactMap(\.content?.bytes).map {
                Array($0.prefix { $0 != UInt8(ascii: "@") })
            })
        for (dot, fact) in facts {
            guard case .content(let item, let content?) = fact.assertion,
                !dead.contains(CopySource(item: item, dot: dot))
            else { continue }
            if !readable.contains(content.bytes) {
                throw Flaw(
                    description: "content \(content.bytes) of \(item.short) is lost:\n\(tree.description)")
            }
        }
    }
}

/// The names in histories.
enum HistoryNames {
    static let names = ["a", "b", "c.txt", "d"].compactMap { EntryName($0.utf8) }

    static let labels = ["Ann's (new) PC", "b", "b", "d/d", ""]
}

extension ShownTree {
    /// The tree after a change, if nothing else changes.
    func after(_ change: LocalChange) -> ShownTree {
        var tree = self
        switch change {
        case .create(let item, let kind, let mode, let modified, let entry, let place):
            tree.entries[entry] = Showing(place: place, item: item)
            tree.items[item] = ShownItem(
                kind: kind, mode: mode, modified: modified, extendedAttributes: [], content: nil,
                otherContents: [])
        case .link(let item, let entry, let place): tree.entries[entry] = Showing(place: place, item: item)
        case .move(let entry, let place):
            let there = tree.entries.first { $0.value.place == place }
            if let there, there.value.item == tree.entries[entry]?.item { return tree }
            if let there { tree.remove(there.key) }
            tree.entries[entry]?.place = place
        case .exchange(let one, let other):
            let place = tree.entries[one]?.place
            if let there = tree.entries[other]?.place { tree.entries[one]?.place = there }
            if let place { tree.entries[other]?.place = place }
        case .remove(let entry): tree.remove(entry)
        case .setContent(let item, let content): tree.items[item]?.content = content
        case .setMode(rootID, let mode):
            tree.items[rootID] = ShownItem(
                kind: .directory, mode: mode, modified: nil, extendedAttributes: [], content: nil,
                otherContents: [])
        case .setMode(let item, let mode): tree.items[item]?.mode = mode
        case .setModified(let item, let time): tree.items[item]?.modified = time
        case .setExtendedAttribute(let item, let name, let value):
            tree.items[item]?.extendedAttributes.removeAll { $0.name == name }
            if let value { tree.items[item]?.extendedAttributes.append(.init(name: name, value: value)) }
        }
        return tree
    }

    private mutating func remove(_ entry: EntryID) {
        guard let item = entries.removeValue(forKey: entry)?.item else { return }
        if !entries.values.contains(where: { $0.item == item }) { items[item] = nil }
    }

    /// Whether users see no difference; copies by rule and copies stated by facts look alike.
    func isSame(as other: ShownTree) -> Bool {
        var (one, other) = (self, other)
        for id in one.items.keys { one.items[id]?.otherContents = [] }
        for id in other.items.keys { other.items[id]?.otherContents = [] }
        return one == other
    }
}

extension FactHistory {
    /// Runs the history of a seed.
    ///
    /// - Returns: The broken rule, with the shortest prefix of the history that breaks it; nil if none
    ///   does.
    package static func flaw(
        seed: UInt64, steps: Int, hostileCommits: Int = 0, movesContents: Bool = false
    ) throws -> Flaw? {
        guard try run(seed, steps, hostileCommits, movesContents) != nil else { return nil }
        for count in 1...steps {
            guard let (script, flaw) = try run(seed, count, hostileCommits, movesContents) else { continue }
            return Flaw(
                description: "seed \(seed), \(count) steps:\n\(script.joined(separator: "\n"))\n\(flaw)")
        }
        return Flaw(description: "seed \(seed), \(steps) steps: not the second time")
    }

    private static func run(
        _ seed: UInt64, _ steps: Int, _ hostileCommits: Int, _ movesContents: Bool
    ) throws -> (script: [String], flaw: Flaw)? {
        var history = try Self(seed: seed, hostileCommits: hostileCommits, movesContents: movesContents)
        do {
            try history.run(steps: steps)
            try history.finish()
            return nil
        } catch let flaw as Flaw {
            return (history.script, flaw)
        }
    }
}
