import Testing

@testable import CofferClient

/// The size of the reserve for removals.
@Suite struct ReserveFileTests {
    @Test func aQuarterOfTheRoom() {
        let mebibyte = 1 << 20
        #expect(ReserveFile.byteCount(in: 100 * mebibyte) == 8 * mebibyte)
        #expect(ReserveFile.byteCount(in: 32 * mebibyte) == 8 * mebibyte)
        #expect(ReserveFile.byteCount(in: 20 * mebibyte) == 5 * mebibyte)
        #expect(ReserveFile.byteCount(in: 3 * mebibyte) == mebibyte / 2)
        #expect(ReserveFile.byteCount(in: 2 * mebibyte) == mebibyte / 2)
        #expect(ReserveFile.byteCount(in: mebibyte / 2) == mebibyte / 2)
        #expect(ReserveFile.byteCount(in: mebibyte / 2 - 1) == 0)
        #expect(ReserveFile.byteCount(in: 0) == 0)
    }

    /// What is set aside counts as room, so that a reserve never grows out of itself.
    @Test func itStaysWhatItIs() throws {
        let test = try TestProfile()
        let reserve = ReserveFile(in: test.location.path)
        #expect(reserve.byteCount == 0)
        reserve.restore()
        let count = try #require(reserve.byteCount)
        #expect(count >= ReserveFile.byteCountMin && count <= ReserveFile.byteCountMax + 4096)
        reserve.restore()
        #expect(reserve.byteCount == count)
        #expect(reserve.release())
        #expect(reserve.byteCount == 0)
        #expect(!reserve.release())
    }
}
