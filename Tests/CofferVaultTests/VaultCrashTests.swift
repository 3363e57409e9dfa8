import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
import CofferVault

/// Power cuts at random calls, also in the middle of commits.
@Suite struct VaultCrashTests {
    /// The commits so far, the commit in progress, and the disks that power cuts left meanwhile.
    private final class Recorder: Sendable {
        struct State {
            var commits: [[String: [UInt8]]] = [[:]]
            var promised = 0
            var calls = 0
            var moments: Set<Int> = []
            var cuts: [(directory: SimulatedStorageDirectory, promised: Int, begun: Int)] = []
        }

        let state = Condition(State())

        func begin(_ files: [String: [UInt8]]) { state.withLock { $0.commits.append(files) } }
        func promise() { state.withLock { $0.promised = $0.commits.count - 1 } }

        func note(_ directory: SimulatedStorageDirectory) {
            state.withLock { state in
                state.calls += 1
                guard state.moments.contains(state.calls) else { return }
                let left = directory.crash(seed: UInt64(state.calls))
                state.cuts.append((left, state.promised, state.commits.count - 1))
            }
        }
    }

    @Test(arguments: Seeds.first(24))
    func committedStateSurvivesWhole(seed: UInt64) throws {
        let test = try TestVault.create()
        let recorder = Recorder()
        var random = SplitMix64(seed: seed)
        let moments = Set((0..<10).map { _ in 1 + random.below(500) })
        recorder.state.withLock { $0.moments = moments }
        try {
            let vault = try test.open()
            test.directory.observe { [directory = test.directory] _, _ in recorder.note(directory) }
            try work(in: vault, recorder, &random)
            #expect(vault.intents.recordCount >= 3, "seed \(seed)")
            test.directory.observe(nil)
        }()
        let (cuts, commits) = recorder.state.withLock { ($0.cuts, $0.commits) }
        for (number, cut) in cuts.enumerated() {
            let vault = try test.on(cut.directory).open()
            let files = try vault.files()
            let isThere = commits[cut.promised...cut.begun].contains(files)
            #expect(isThere, "seed \(seed), cut \(number): the files are not those of a commit")
            #expect(try vault.damage() == [], "seed \(seed), cut \(number)")
            _ = try vault.makeFile("after the crash", Pattern.make(100_000))
            try vault.close()
        }
    }

    /// Makes, writes, truncates, replaces and removes files, with commits and moves of the log in between.
    private func work(in vault: Vault, _ recorder: Recorder, _ random: inout SplitMix64) throws {
        var files: [String: [UInt8]] = [:]
        var round = 0
        // Some histories have hardly an fsync among so many steps: those continue.
        while round < 60 || vault.intents.recordCount < 3 {
            defer { round += 1 }
            let name = "file \(random.below(6))"
            switch random.below(12) {
            case 0...4:
                if files[name] == nil { _ = try vault.makeFile(name) }
                let count = random.oneIn(4) ? random.below(1_500_000) : random.below(20_000)
                let offset = random.below((files[name]?.count ?? 0) + 1)
                let bytes = random.bytes(count)
                try vault.put(bytes, to: try vault.number(of: name), at: offset)
                var content = files[name] ?? []
                content.replaceSubrange(offset..<min(content.count, offset + count), with: bytes)
                files[name] = content
            case 5:
                guard let content = files[name] else { continue }
                let size = random.below(content.count + 1)
                try vault.truncate(try vault.number(of: name), to: size)
                files[name] = Array(content[..<size])
            case 6:
                guard let content = files[name] else { continue }
                let target = "file \(random.below(6))"
                if let replaced = try vault.move(name, to: target) { vault.release(replaced) }
                files[name] = nil
                files[target] = content
            case 7:
                guard files.removeValue(forKey: name) != nil else { continue }
                try vault.remove(name)
            case 8:
                try vault.compact()
                if round % 3 == 0 {
                    let rest = try vault.moveLog()
                    if rest < 200 { vault.expectLogToBeMoved() }
                }
            case 9:
                recorder.begin(files)
                try vault.commit()
                recorder.promise()
            default:
                for _ in 0..<1 + random.below(6) {
                    try writeALittle(in: vault, &files, &random)
                    recorder.begin(files)
                    try random.oneIn(8) ? vault.commitWhole() : vault.commit()
                    recorder.promise()
                }
            }
        }
    }

    /// Changes a few bytes, or only the times, of an existing file.
    private func writeALittle(
        in vault: Vault, _ files: inout [String: [UInt8]], _ random: inout SplitMix64
    ) throws {
        guard let name = files.keys.sorted().first, let content = files[name] else { return }
        let number = try vault.number(of: name)
        if random.oneIn(6) {
            var changes = AttributeChanges()
            changes.modified = .at(Int64(random.below(1_000_000)))
            _ = try vault.setAttributes(of: number, changes)
            return
        }
        let bytes = random.bytes(1 + random.below(9000))
        let offset = random.oneIn(2) ? content.count : random.below(content.count + 1)
        try vault.put(bytes, to: number, at: offset)
        files[name]?.replaceSubrange(offset..<min(content.count, offset + bytes.count), with: bytes)
    }

    /// No uncommitted change is half visible.
    @Test(arguments: Seeds.first(12))
    func uncommittedChangesAreGone(seed: UInt64) throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let old = Pattern.make(3 << 20, seed: 1)
        let number = try vault.makeFile("a", old)
        try vault.commit()
        try vault.put(Pattern.make(3 << 20, seed: 2), to: number)
        _ = try vault.makeFile("b", Pattern.make(100))
        let again = try test.crashed(seed: seed).open()
        let isOld = try again.content(of: number) == old
        #expect(isOld, "seed \(seed)")
        #expect(try again.names() == ["a"], "seed \(seed)")
        #expect(try again.damage() == [], "seed \(seed)")
    }
}
