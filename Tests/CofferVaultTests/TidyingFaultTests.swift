import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
import CofferVault

/// Faults and power cuts at every call while a vault compacts and moves its log.
@Suite struct TidyingFaultTests {
    @Test func theScenarioHasWorkForCompaction() throws {
        let resting = try RestingVault()
        let (test, vault) = try resting.open()
        let number = try vault.number(of: "fragments")
        let packs = test.directory.paths.filter { $0.hasPrefix("packs/") }
        func ranges() throws -> Int {
            try vault.extentCount(of: number)
        }
        #expect(try ranges() >= 100)
        try resting.tidy(vault)
        #expect(try ranges() <= 4)
        let left = test.directory.paths.filter { $0.hasPrefix("packs/") }
        #expect(!Set(packs).subtracting(left).isEmpty, "no pack was emptied")
        try resting.expectWhole(vault, "tidied up")
    }

    /// Every call that changes something fails with EIO, and so do some calls that read.
    @Test(arguments: [ErrorNumber.inputOutput, ErrorNumber.noSpace], [true, false])
    func anyCallMayFail(code: Int32, changes: Bool) throws {
        let resting = try RestingVault()
        for number in stride(from: 0, to: 10_000, by: changes ? (code == ErrorNumber.noSpace ? 4 : 1) : 53) {
            let (test, vault) = try resting.open()
            let calls = changes ? StorageCall.changes : [.read]
            test.directory.fail(StorageFault(calls, skip: number, code: code, lasts: (number / 4) % 2 == 1))
            try? resting.tidy(vault)
            let hasFailed = test.directory.statistics.failures > 0
            let left = test.crashed(seed: UInt64(number))
            try resting.expectWhole(try left.open(), "call \(number), after a power cut")
            test.directory.heal()
            try resting.expectWhole(vault, "call \(number)")
            // Continues only every eighth time, to save time.
            if vault.stoppedReason == nil, number % 8 == 0 {
                try resting.tidy(vault)
                let again = try test.crashed(seed: UInt64(number)).open()
                try resting.expectWhole(again, "call \(number), tidied up again")
            }
            if !hasFailed { return }
        }
        Issue.record("The scenario does not end.")
    }

    /// Collects the disks that power cuts leave before each call that changes something.
    private final class Cuts: Sendable {
        private let left = Condition([SimulatedStorageDirectory]())

        func observe(_ directory: SimulatedStorageDirectory, seed: UInt64) {
            directory.observe { [left] call, _ in
                guard StorageCall.changes.contains(call) || call == .open else { return }
                left.withLock { $0.append(directory.crash(seed: seed &* 10_000 &+ UInt64($0.count))) }
            }
        }

        var all: [SimulatedStorageDirectory] { left.withLock { $0 } }
    }

    @Test(arguments: Seeds.first(1))
    func thePowerMayGoAtAnyCall(seed: UInt64) throws {
        let resting = try RestingVault()
        let (test, vault) = try resting.open()
        let cuts = Cuts()
        cuts.observe(test.directory, seed: seed)
        try resting.tidy(vault)
        test.directory.observe(nil)
        #expect(cuts.all.count > 30)
        for (number, directory) in cuts.all.enumerated() {
            let again = try test.on(directory).open()
            try resting.expectWhole(again, "seed \(seed), call \(number)")
            try again.close()
        }
    }

    /// A second power cut at each call of the opening that repairs the state after the first.
    @Test(arguments: Seeds.first(1))
    func thePowerMayGoAtAnyCallOfTheRecovery(seed: UInt64) throws {
        let resting = try RestingVault()
        let (test, vault) = try resting.open()
        let cuts = Cuts()
        cuts.observe(test.directory, seed: seed)
        try resting.tidy(vault)
        test.directory.observe(nil)
        for (first, directory) in cuts.all.enumerated() where first % 16 == Int(seed % 16) {
            let later = Cuts()
            later.observe(directory, seed: seed)
            let opened = try test.on(directory).open()
            directory.observe(nil)
            withExtendedLifetime(opened) {}
            #expect(later.all.count > 5)
            for (second, left) in later.all.enumerated() {
                let again = try test.on(left).open()
                try resting.expectWhole(again, "seed \(seed), call \(first), then call \(second)")
            }
        }
    }

    /// A failed opening changes nothing: the next one finds everything.
    @Test(arguments: [ErrorNumber.inputOutput, ErrorNumber.noSpace])
    func anyCallOfAnOpeningMayFail(code: Int32) throws {
        let resting = try RestingVault()
        let (test, vault) = try resting.open()
        try vault.compact()
        try vault.commit()
        _ = try vault.makeFile("more", Pattern.make(2 << 20))
        let crashed = test.directory.crash(seed: 1)
        for number in 0..<10_000 {
            let copy = test.on(crashed.copy())
            copy.directory.fail(StorageFault(skip: number, code: code))
            do {
                let opened = try copy.open()
                try opened.close()
            } catch {}
            let hasFailed = copy.directory.statistics.failures > 0
            copy.directory.heal()
            try resting.expectWhole(try copy.crashed(seed: UInt64(number)).open(), "call \(number)")
            if !hasFailed { return }
        }
        Issue.record("The opening does not end.")
    }
}
