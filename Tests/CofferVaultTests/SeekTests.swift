import CofferTestSupport
import Testing

import CofferStore
import CofferVault

/// Where data and holes are, in files of any size and any number of ranges.
@Suite struct SeekTests {
    /// The number of steps does not depend on the size of a hole: here 4 EiB of it.
    @Test(.timeLimit(.minutes(10))) func aHugeHoleIsOneStep() throws {
        let vault = try TestVault.create().open()
        let number = try vault.makeFile("a", [1, 2, 3])
        let far = Int64(1) << 61
        try vault.put([4], to: number, at: Int(far))
        try vault.truncate(number, to: Int(2 * far))
        #expect(try vault.contents.seek(number, from: 0, toData: true) == 0)
        #expect(try vault.contents.seek(number, from: 0, toData: false) == 3)
        #expect(try vault.contents.seek(number, from: 3, toData: true) == far)
        #expect(try vault.contents.seek(number, from: 100, toData: false) == 100)
        #expect(try vault.contents.seek(number, from: far, toData: false) == far + 1)
        #expect(fails("beyondEnd") { _ = try vault.contents.seek(number, from: far + 1, toData: true) })
        #expect(fails("beyondEnd") { _ = try vault.contents.seek(number, from: 2 * far, toData: false) })
        #expect(fails("beyondEnd") { _ = try vault.contents.seek(number, from: -1, toData: true) })
    }

    /// A neighbour's ranges are not taken for the file's own.
    @Test func theNextItemIsAnotherFile() throws {
        let vault = try TestVault.create().open()
        let first = try vault.makeFile("a", [1])
        _ = try vault.makeFile("b", [1, 2, 3])
        try vault.truncate(first, to: 100)
        #expect(fails("beyondEnd") { _ = try vault.contents.seek(first, from: 1, toData: true) })
        #expect(try vault.contents.seek(first, from: 0, toData: false) == 1)
    }

    /// More adjacent ranges than one step examines.
    @Test(arguments: [255, 256, 257, 258, 600])
    func manyRangesSideBySide(count: Int) throws {
        let vault = try TestVault.create().open()
        let number = try vault.makeFile("a")
        for piece in 0..<count { try vault.put([1, 2], to: number, at: piece * 2) }
        let end = Int64(count * 2)
        #expect(try vault.contents.seek(number, from: 1, toData: false) == end)
        try vault.put([1], to: number, at: count * 2 + 10)
        #expect(try vault.contents.seek(number, from: 1, toData: false) == end)
        #expect(try vault.contents.seek(number, from: end, toData: true) == end + 10)
        #expect(try vault.contents.seek(number, from: end + 10, toData: false) == end + 11)
    }
}
