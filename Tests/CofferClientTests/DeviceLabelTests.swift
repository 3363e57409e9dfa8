import Testing

@testable import CofferClient

/// The label of a device shows its owner to others.
@Suite struct DeviceLabelTests {
    @Test(arguments: [
        ("laptop", "Ann", "Ann's laptop"), ("Ann's laptop", "Ann", "Ann's laptop"),
        ("ann-laptop", "Ann", "ann-laptop"), ("ANN", "Ann", "ANN"), ("Annex", "Ann", "Ann's Annex"),
        ("Ann's laptop", "Ann Miller", "Ann's laptop"), ("büro", "Jürgen", "Jürgen's büro"),
        ("", "Ann", ""), (" ", "Ann", " "),
    ])
    func labels(_ machine: String, _ person: String, _ label: String) {
        #expect(DeviceLabel.of(machine, ownedBy: person) == label)
    }

    @Test func twoPeopleWithTheSameName() {
        #expect(DeviceLabel.of("laptop", ownedBy: "Ann") != DeviceLabel.of("laptop", ownedBy: "Bob"))
    }

    @Test func copiesWithTooLongNamesStay() {
        let machine = String(repeating: "x", count: 249)
        #expect(DeviceLabel.of(machine, ownedBy: "Ann") == "Ann's \(machine)")
        #expect(DeviceLabel.of(machine, ownedBy: "Annabella") == machine)
    }

    /// Identities distinguish two people of one name with devices of one name.
    @Test func devicesOfOneName() {
        func device(_ identity: String, isThis: Bool = false) -> DeviceReport {
            DeviceReport(
                name: "Ann", label: "Ann's laptop", identity: identity, commit: 1, time: 1, isMembers: true,
                hasOurs: true, isThis: isThis)
        }
        func report(_ devices: [DeviceReport]) -> SyncReport {
            SyncReport(
                vault: "v", remote: "file:///r", role: nil, phase: "idle", failure: nil, offlineSince: nil,
                findings: [], unsentItems: 0, commitsLeft: 0, lastRound: nil, rotationOwed: nil,
                oldEpochBytes: 0, devices: devices)
        }
        let (first, second) = (String(repeating: "1", count: 64), String(repeating: "2", count: 64))
        let two = report([device(first, isThis: true), device(second)])
        #expect(two.place(of: two.devices[1]) == "Ann's laptop (identity 2222222222222222)")
        let one = report([device(first), device(first)])
        #expect(one.place(of: one.devices[1]) == "Ann's laptop")
    }
}
