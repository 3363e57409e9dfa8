import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferVault

/// Checks of packs, by a device that has no content of a file of several extents.
@Suite struct PackCheckTests {
    private let devices: TwoDevices

    init() throws {
        devices = try TwoDevices()
        _ = try devices.file(Pattern.make(6 << 20))
        devices.remote.forgetFetches()
    }

    @Test func readingIsBounded() throws {
        var check = try PackCheck(of: devices.b)
        check.compare(with: [:])
        var done = 0
        check.read { count, _ in done = count }
        let (isSuspicious, unchecked) = (check.isSuspicious, check.unchecked)
        #expect(!isSuspicious && unchecked == [])
        let (all, read) = (check.byteCount, check.readByteCount)
        #expect(done == all && done > 6 << 20 && read == done)
        let fetched = devices.remote.state.withLock { $0.fetches.map(\.range.count) }
        #expect(fetched.count > 1 && fetched.allSatisfy { $0 <= RemoteReads.runByteCountMax })
    }

    /// Contents may have moved from packs that are gone.
    @Test func aLossThatADeviceBehindSees() throws {
        var check = try PackCheck(of: devices.b)
        devices.remote.change { $0 = [:] }
        check.compare(with: [:])
        let isSuspicious = check.isSuspicious
        #expect(isSuspicious)
        let unsure = try check.problems(isBehind: true)
        var unchecked = check.unchecked
        #expect(unsure == [] && unchecked.count == 1)
        let sure = try check.problems()
        let packs = check.packs
        #expect(Set(sure.map(\.pack)) == packs && sure.allSatisfy { $0.fault == .missing })
        unchecked = check.unchecked
        #expect(unchecked.count == 1)
    }

    /// Packs do not change, wherever contents move.
    @Test func damageThatADeviceBehindSees() throws {
        devices.remote.change { packs in
            packs = packs.mapValues { bytes -> [UInt8] in
                var bytes = bytes
                bytes[bytes.count / 4] ^= 1
                return bytes
            }
        }
        var check = try PackCheck(of: devices.b)
        check.compare(with: [:])
        check.read { _, _ in }
        let isSuspicious = check.isSuspicious
        #expect(isSuspicious)
        let problems = try check.problems(isBehind: true)
        let (packs, unchecked) = (check.packs, check.unchecked)
        #expect(!problems.isEmpty && packs.isSuperset(of: problems.map(\.pack)))
        #expect(problems.allSatisfy { $0.fault == .damaged && $0.paths == ["file"] })
        #expect(unchecked == [])
    }

    /// The remote is not asked for anything once nobody waits.
    @Test func aCheckForNobody() throws {
        var check = try PackCheck(of: devices.b, while: { false })
        devices.remote.change { $0 = [:] }
        check.compare(with: [:])
        check.read { _, _ in }
        let (isSuspicious, unchecked) = (check.isSuspicious, check.unchecked)
        #expect(!isSuspicious && unchecked.count == 1)
        #expect(devices.remote.fetchCount == 0)
    }
}
