import MergeCases
import Testing

@Suite struct MergeOnVaultsTests {
    /// Who writes a file changes its time, too, which makes files of their own of copies by rule: so they stay.
    private static let cases = MergeCase.all.filter {
        $0.description != "A copy that one removes, while the other writes the file"
    }

    @Test("The merge table, on vaults", arguments: cases, [false, true])
    func row(_ row: MergeCase, isReversed: Bool) throws {
        let devices = try ExchangeDevice.make(row.userCount)
        try row.run(World(devices, isReversed: isReversed))
        for device in devices {
            let flaws = try device.flaws()
            #expect(flaws == [])
        }
    }
}
