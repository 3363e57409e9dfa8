import MergeCases
import Testing

@Suite struct MergeOnVaultsTests {
    @Test("The merge table, on vaults", arguments: MergeCase.onVaults, [false, true])
    func row(_ row: MergeCase, isReversed: Bool) throws {
        let devices = try ExchangeDevice.make(row.userCount)
        try row.run(World(devices, isReversed: isReversed))
        for device in devices {
            let flaws = try device.flaws()
            #expect(flaws == [])
        }
    }
}
