import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Power cuts of a device that sends and applies, at random calls.
@Suite struct ExchangeCrashTests {
    /// The state after a power cut: both devices' disks, the sent commits, and what must exist.
    private struct Cut {
        let disk: SimulatedStorageDirectory
        let other: SimulatedStorageDirectory
        let hub: CommitHub
        let promised: [String: String]
    }

    private final class Recorder: Sendable {
        struct State {
            var calls = 0
            var moments: Set<Int> = []
            var files: [String: String] = [:]
            var promised: [String: String] = [:]
            var cuts: [Cut] = []
        }

        let state = Condition(State())

        func write(_ name: String, _ text: String) { state.withLock { $0.files[name] = text } }
        func promise() { state.withLock { $0.promised = $0.files } }

        func note(_ disk: SimulatedStorageDirectory, _ other: SimulatedStorageDirectory, _ hub: CommitHub) {
            state.withLock { state in
                state.calls += 1
                guard state.moments.contains(state.calls) else { return }
                state.cuts.append(
                    Cut(
                        disk: disk.crash(seed: UInt64(state.calls)), other: other.copy(), hub: hub.copy(),
                        promised: state.promised))
            }
        }
    }

    @Test("Nothing is lost or doubled by a power cut", arguments: Seeds.first(12))
    func whatIsCommittedStays(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let recorder = Recorder()
        let moments = Set((0..<8).map { _ in 1 + random.below(150) })
        recorder.state.withLock { $0.moments = moments }
        let hub = CommitHub()
        let test = try TestVault.create()
        let otherTest = try test.onAnotherDevice()
        do {
            let vault = try test.open()
            for number in 0..<5 { _ = try vault.makeFile("old \(number)", Array("old \(number)".utf8)) }
            try vault.close()
        }
        try {
            let other = try ExchangeDevice("member", number: 2, otherTest, hub)
            test.directory.observe { [disk = test.directory, otherDisk = otherTest.directory] _, _ in
                recorder.note(disk, otherDisk, hub)
            }
            let device = try ExchangeDevice("owner", number: 1, test, hub)
            for number in 0..<5 { recorder.write("old \(number)", "old \(number)") }
            recorder.promise()
            try work(device, other, recorder, seed)
            test.directory.observe(nil)
        }()
        let cuts = recorder.state.withLock { $0.cuts }
        #expect(!cuts.isEmpty, "seed \(seed)")
        for (number, cut) in cuts.enumerated() {
            try check(cut, test, otherTest, "seed \(seed), cut \(number)")
        }
    }

    private func work(
        _ device: ExchangeDevice, _ other: ExchangeDevice, _ recorder: Recorder, _ seed: UInt64
    ) throws {
        var random = SplitMix64(seed: seed &+ 1000)
        var programs = [
            RandomProgram(seed: seed &* 2, in: device.vault, mark: "0."),
            RandomProgram(seed: seed &* 2 &+ 1, in: other.vault, mark: "1."),
        ]
        for step in 0..<60 {
            switch random.below(8) {
            case 0:
                let name = "new \(step)"
                _ = try device.vault.makeFile(name, Array(name.utf8))
                recorder.write(name, name)
            case 1:
                try device.vault.commit()
                recorder.promise()
            case 2: try device.collect()
            case 3: _ = try device.sync()
            case 4: _ = try other.sync()
            case 5: try programs[1].act()
            default: try programs[0].act()
            }
        }
    }

    private func check(_ cut: Cut, _ test: TestVault, _ otherTest: TestVault, _ comment: Comment) throws {
        let device = try ExchangeDevice("owner", number: 1, test.on(cut.disk), cut.hub)
        let other = try ExchangeDevice("member", number: 2, otherTest.on(cut.other), cut.hub)
        try ExchangeDevice.meet([device, other])
        let tree = try device.tree()
        #expect(try other.tree() == tree, comment)
        for (name, text) in cut.promised {
            let found = tree[name]?.contains(" \(text) ") == true
            #expect(found, "\(comment): \(name)")
        }
        #expect(!tree.keys.contains { $0.hasPrefix("new") && $0.contains("conflict") }, comment)
        for one in [device, other] {
            let flaws = try one.flaws()
            #expect(flaws == [], comment)
        }
    }

    @Test("On a full disk a commit is applied whole or not at all, and later")
    func fullDisk() throws {
        let devices = try ExchangeDevice.make(2)
        for number in 0..<40 { try devices[0].write(String(repeating: "x", count: 2000), to: "\(number)") }
        _ = try devices[0].sync()
        try devices[1].vault.commit()
        let disk = devices[1].test.directory
        // Less than is kept free for the index.
        disk.limit(to: disk.usedByteCount + 4 << 20)
        let before = try devices[1].tree()
        #expect(throws: FileSystemError.self) { try devices[1].fetch() }
        #expect(try devices[1].tree() == before)
        #expect(devices[1].vault.stoppedReason == nil)
        disk.limit(to: nil)
        // The known amount of free space expires after a while.
        devices[1].vault.state.withLock { $0.space.budget = (0, 0) }
        try ExchangeDevice.meet(devices)
        #expect(try devices[1].tree() == devices[0].tree())
        for device in devices {
            let flaws = try device.flaws()
            #expect(flaws == [])
        }
    }
}
