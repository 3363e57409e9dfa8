package import CofferFacts
package import CofferFormat
package import CofferTestSupport

/// Commits that no correct device makes, although they can be decoded and are not refused.
package enum HostileLog {
    package static let log = LogID(low: 99, high: 7)

    /// Facts about few objects, so that they collide: a place in a file, kinds that change, cycles, two entries.
    package static func commits(_ count: Int, devices: Int, _ random: inout SplitMix64) -> [FactCommit] {
        var commits: [FactCommit] = []
        while commits.count < count {
            let dot = Dot(log: log, sequence: UInt64(commits.count) + 1)
            let clock = random.oneIn(9) ? UInt64.max : (1_700_000_000_000 + random.next() % 9) << 16
            let seen = commits.indices.filter { _ in random.oneIn(3) }.map {
                Dot(log: log, sequence: UInt64($0) + 1)
            }
            var commit = FactCommit(
                stamp: Stamp(clock: clock, dot: dot), versions: VersionVector(),
                label: random.oneIn(2) ? "(x) 2/\u{202E}" : nil, facts: [])
            for _ in 0..<1 + random.below(5) {
                let fact = Fact(assertion(&random, seen), replaces: seen)
                commit.facts.append(fact)
                if commit.refusal(root: rootID) != nil { commit.facts.removeLast() }
            }
            commits.append(commit)
        }
        return commits
    }

    private static func assertion(_ random: inout SplitMix64, _ seen: [Dot]) -> Fact.Assertion {
        let item = random.oneIn(12) ? rootID : ItemID(low: UInt64(random.below(6)), high: 0)
        switch random.below(10) {
        case 0..<3:
            let kinds: [Fact.Kind] = [.file, .directory, .directory, .directory, .fifo]
            return .kind(item, random.pick(kinds) ?? .file)
        case 3:
            let source = CopySource(item: item, dot: Dot(log: log, sequence: 1 + UInt64(random.below(3))))
            return .kind(source.ids.item, .file)
        case 4: return .content(item, random.oneIn(4) ? nil : .init(bytes: [UInt8(random.below(3))], size: 1))
        case 5 where random.oneIn(2):
            // Of a content that may have been replaced, or never was.
            return .moved(
                item, of: seen.last ?? Dot(log: log, sequence: 1), bytes: [UInt8(random.below(3)), 64])
        case 5: return .mode(item, UInt16(random.below(8)))
        default:
            var entry = EntryID(low: UInt64(random.below(7)), high: 0)
            if random.oneIn(6) {
                entry =
                    CopySource(item: item, dot: Dot(log: log, sequence: 1 + UInt64(random.below(3)))).ids
                    .entry
            }
            let place = random.oneIn(4) ? nil : place(&random)
            return .place(
                entry,
                .init(
                    item: item, place: place,
                    previous: place == nil || random.oneIn(2) ? self.place(&random) : nil,
                    seenContents: place == nil ? seen : []))
        }
    }

    private static func place(_ random: inout SplitMix64) -> Place {
        let parent = random.oneIn(4) ? rootID : ItemID(low: UInt64(random.below(7)), high: 0)
        let names =
            HistoryNames.names
            + ["a (conflict, b, 2023-11-14)", "a (conflict, b, 2023-11-14) 2"]
            .compactMap { EntryName($0.utf8) }
        return Place(parent: parent, name: random.pick(names) ?? names[0])
    }
}
