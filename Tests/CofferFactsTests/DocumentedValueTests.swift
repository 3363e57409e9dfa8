import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferFacts

/// The values that docs/format.md gives under "Test values", and docs/merge.md under "Examples".
@Suite struct DocumentedValueTests {
    private let vault: [UInt8] = .init(0x10...0x1F)
    private let item: [UInt8] = .init(0x20...0x2F)

    @Test func idsOfACopy() throws {
        let log = try #require(LogID(bytes: .init(0x30...0x3F)))
        let source = CopySource(item: try #require(ItemID(bytes: item)), dot: Dot(log: log, sequence: 7))
        #expect(source.ids.item == ItemID(hexadecimal: "d97a5476c74f55198013821ca8670cf8"))
        #expect(source.ids.entry == EntryID(hexadecimal: "36ee6222e2878fd5b56687e53167abad"))
    }

    @Test func hashOfAFileInTheRoot() throws {
        let root = try #require(ItemID(bytes: vault))
        let file = try #require(ItemID(bytes: item))
        let entry = EntryID(low: 1, high: 1)
        let place = Place(parent: root, name: try #require(EntryName("a.txt".utf8)))
        let content = ContentValue(size: 6, origin: file, extents: .entries([])).bytes
        let assertions: [Fact.Assertion] = [
            .kind(file, .file), .mode(file, 0o644),
            .content(file, Fact.Content(bytes: content, size: 6, origin: file)),
            .place(entry, Fact.Placement(item: file, place: place, previous: nil)),
        ]
        let stamp = Stamp(clock: 1, dot: Dot(log: LogID(low: 1, high: 0), sequence: 1))
        let values = assertions.map { ($0.register, [RegisterValue(stamp: stamp, assertion: $0)]) }
        var evaluation = FullEvaluation(
            values: Dictionary(uniqueKeysWithValues: values), labels: [:], root: root)
        #expect(
            evaluation.tree().hash(key())
                == StateHash(
                    bytes: [
                        0x4F, 0x71, 0xB3, 0x4D, 0x4F, 0xC4, 0xA6, 0x14, 0x41, 0x99, 0xA7, 0x80, 0x03, 0x82,
                        0xC9, 0xAF, 0xBD, 0x3E, 0xD8, 0x94, 0x9E, 0x4D, 0xF7, 0xF3, 0x32, 0xF7, 0xCB, 0xB0,
                        0xC8, 0x4F, 0x53, 0x03,
                    ]))
    }

    @Test func namesByRule() throws {
        let names = try DocumentedValues().ruleNames()
        #expect(names.count >= 10)
        for name in names {
            let lost = try #require(EntryName(name.name.utf8))
            let wanted = ConflictName.wanted(for: lost, label: name.label, milliseconds: 1_795_219_199_000)
            let found = ConflictName.numbered(wanted, name.number)
            #expect(found.bytes == Array(name.found.utf8), "\(found)")
        }
    }

    @Test func examplesOfTheRules() throws {
        let root = try #require(ItemID(bytes: vault))
        let examples = try DocumentedValues().mergeExamples()
        #expect(examples.count >= 6)
        for example in examples {
            var tree = FactTree(store: MemoryFactStore(), root: root, hashKey: key())
            for stored in example.commits {
                let commit = try factCommit(stored)
                #expect(commit.refusal(root: root) == nil, "\(example.title)")
                let application = tree.apply(commit)
                guard case .applied = application else {
                    Issue.record("\(example.title): \(application)")
                    continue
                }
            }
            let digits = try #require(DocumentedValues.bytes(hexadecimal: example.stateHash))
            let expected = try #require(StateHash(bytes: digits))
            let kept = tree.stateHash()
            #expect(kept == expected, "\(example.title)")
            var evaluation = FullEvaluation(
                values: tree.store.allValues, labels: tree.store.allLabels, root: root)
            let evaluated = evaluation.tree().hash(key())
            #expect(evaluated == expected, "\(example.title)")
        }
    }

    private func factCommit(_ commit: DocumentedValues.MergeExample.Commit) throws -> FactCommit {
        var versions = VersionVector()
        for (name, sequence) in commit.versions {
            let other = try #require(LogID(hexadecimal: name))
            versions[other] = sequence
        }
        let log = try #require(LogID(hexadecimal: commit.log))
        let facts = try #require(DocumentedValues.bytes(hexadecimal: commit.facts))
        return FactCommit(
            stamp: Stamp(clock: commit.clock, dot: Dot(log: log, sequence: commit.sequence)),
            versions: versions, label: commit.label, facts: try FactRecord.facts(facts.span.bytes))
    }

    /// The key derived from the key 00 01 … 1f of epoch 1.
    private func key() -> StateHashKey {
        let bytes: [UInt8] = .init(0x00...0x1F)
        let parent = unsafe SymmetricKey<VaultRole>(SecretBytes(copying: bytes.span.bytes))
        let context = vault + [1, 0, 0, 0]
        return StateHashKey(unsafe parent.derive(StateHashRole.self, context: context.span.bytes))
    }
}
