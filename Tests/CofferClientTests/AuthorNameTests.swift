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
        var names = AuthorNames(vault: "V")
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
        var names = AuthorNames(vault: "V")
        names.add(.thisDevice, bob, "Bob", "desk")
        names.add(log(1), bob, "Bob", "desk")
        #expect(names.reports([.thisDevice, log(1)]).map(\.text) == ["Bob on desk"])
    }

    /// Labels and names are claims: nobody looks like somebody else.
    @Test func theSameTextIsShownWithTheIdentity() {
        var names = AuthorNames(vault: "V")
        names.add(.thisDevice, nil, "Alice", "laptop")
        names.add(log(1), bob, "Bob", "Bob's laptop")
        names.add(log(2), mallory, "Bob", "Bob's laptop")
        names.add(log(3), mallory, "Bob's laptop on", "x")
        let texts = [bob, mallory].map { "Bob's laptop (identity \($0.description.prefix(16)))" }
        #expect(names.reports([log(1)]).map(\.text) == [texts[0]])
        #expect(names.reports([log(1), log(2)]).map(\.text) == texts.sorted())
    }

    @Test func textsStandForDevicesAndPeople() throws {
        var names = AuthorNames(vault: "V")
        names.add(.thisDevice, nil, "Alice", "Alice's laptop")
        names.add(log(1), bob, "Bob", "desk")
        names.add(log(2), bob, "Bob", "Bob's phone")
        names.add(log(4), bob, "Bob", "desk")
        #expect(try names.authors(called: "Bob") == [log(1), log(2), log(4)])
        for text in ["desk", "Bob on desk"] { #expect(try names.authors(called: text) == [log(1), log(4)]) }
        for text in ["Alice", "Alice's laptop"] {
            #expect(try names.authors(called: text) == [.thisDevice])
        }
        #expect(try names.authors(called: String(bob.description.prefix(16))) == [log(1), log(2), log(4)])
        names.add(log(5), nil, nil, nil)
        names.add(log(6), bob, "Bob", nil)
        #expect(try names.authors(called: "Bob on an unknown device") == [log(6)])
        for text in ["Mallory", "", "bob ", "an unknown device"] {
            #expect(throws: ContentError.self) { _ = try names.authors(called: text) }
        }
    }

    /// A text that could mean somebody else means nobody.
    @Test func textsThatFitSeveralAreRefused() throws {
        var names = AuthorNames(vault: "V")
        names.add(.thisDevice, nil, "Alice", "laptop")
        names.add(log(1), bob, "Bob", "desk")
        names.add(log(2), mallory, "Bob", "phone")
        names.add(log(3), mallory, "Mallory", "Alice")
        for text in ["Bob", "Alice"] {
            do throws(ContentError) {
                _ = try names.authors(called: text)
                Issue.record("“\(text)” was taken for somebody")
            } catch {
                guard case .ambiguousAuthor(_, _, let fitting) = error else { throw error }
                #expect(fitting.count == 2)
            }
        }
        #expect(try names.authors(called: "desk") == [log(1)])
    }
}
