import CofferFormat
import CofferVault
import Testing

@testable import CofferClient

/// The texts by which `coffer history` names people and devices.
@Suite struct AuthorNameTests {
    private let bob = IdentityID([UInt8](repeating: 1, count: 32))
    private let mallory = IdentityID([UInt8](repeating: 2, count: 32))
    private func log(_ number: UInt64) -> History.Author { .device(LogID(low: number, high: 7)) }

    @Test func peopleAndDevicesAreNamed() {
        var names = AuthorNames()
        names.add(.thisDevice, nil, "Alice", "Alice's laptop")
        names.add(log(1), bob, "Bob", "desk")
        names.add(log(2), bob, "Bob", "Bob's phone")
        names.add(log(3), nil, nil, "old laptop")
        #expect(names.reports([.thisDevice]).map(\.text) == ["Alice's laptop"])
        let all = names.reports([log(1), log(2), log(3), .unknown])
        #expect(all.map(\.text) == ["Bob on desk", "Bob's phone", "an unknown device", "old laptop"])
        #expect(all.map(\.name) == ["Bob", "Bob", nil, nil])
        #expect(all.map(\.device) == ["desk", "Bob's phone", nil, "old laptop"])
        #expect(all[0].identity == bob.description)
    }

    /// A device that has a new log is the same one.
    @Test func logsOfOneDeviceAreOne() {
        var names = AuthorNames()
        names.add(.thisDevice, bob, "Bob", "desk")
        names.add(log(1), bob, "Bob", "desk")
        #expect(names.reports([.thisDevice, log(1)]).map(\.text) == ["Bob on desk"])
    }

    /// Labels and names are claims: nobody looks like somebody else.
    @Test func theSameTextIsShownWithTheIdentity() {
        var names = AuthorNames()
        names.add(.thisDevice, nil, "Alice", "laptop")
        names.add(log(1), bob, "Bob", "Bob's laptop")
        names.add(log(2), mallory, "Bob", "Bob's laptop")
        names.add(log(3), mallory, "Bob's laptop on", "x")
        let texts = [bob, mallory].map { "Bob's laptop (identity \($0.description.prefix(16)))" }
        #expect(names.reports([log(1)]).map(\.text) == [texts[0]])
        #expect(names.reports([log(1), log(2)]).map(\.text) == texts.sorted())
    }
}
