import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferVault

/// The names of past states, which are times.
@Suite struct StateNameTests {
    /// A vault with states that begin at some times, the present one last.
    private func vault(_ times: [Int64]) throws -> Vault {
        let vault = try TestVault.create().open()
        try vault.history.set(.forever)
        try vault.changing { state throws(FileSystemError) in
            for (index, time) in times.dropLast().enumerated() {
                try state.index.insert(
                    MomentRow(
                        number: Int64(index + 1), since: time, begun: time + 1, nextItem: 2, nextCookie: 3))
            }
            state.tree.history?.row.last = Int64(times.count - 1)
            state.tree.history?.row.changed = times[times.count - 1]
        }
        return vault
    }

    private static let second: Int64 = 1_000_000_000
    /// A second of winter.
    private static let start = 1_764_000_000 * second

    @Test(arguments: [
        [0, second], [0, second / 2], [0, 0, second], [0, 1, 2, 3, second],
        [0, second - 1, second, second + 1, 90 * second],
        [0, 5 * second, 5 * second, 5 * second, 6 * second, 6 * second + 7],
        [second / 3, second, 2 * second],
        [0, 60 * second, 3600 * second, 3600 * second + second / 2, 3601 * second, 86_400 * second],
    ])
    func eachNameLeadsToItsState(offsets: [Int64]) throws {
        let times = offsets.map { Self.start + $0 }
        let vault = try vault(times)
        let named = try vault.history.namedStates()
        // States that lasted no time have no name.
        let expected = zip(times, times.dropFirst()).filter { $0 < $1 }.map(\.0)
        #expect(named.map(\.state.since) == expected)
        #expect(Set(named.map(\.name)).count == named.count)
        #expect(named.map(\.name) == named.map(\.name).sorted())
        for (state, name) in named {
            let time = try #require(PastTime(name, now: 0)?.end)
            let view = try #require(try vault.history.view(at: time))
            defer { view.close() }
            #expect(view.state == state)
        }
        let plain = named.filter { $0.name.utf8.count == 19 }.map(\.state.since)
        let seconds = times.map { $0 / Self.second }
        #expect(plain == expected.filter { time in seconds.count { $0 == time / Self.second } == 1 })
    }

    /// The present state may not have begun in the index yet.
    @Test func theLastStateBeforeACommit() throws {
        let vault = try TestVault.create().open()
        try vault.history.set(.forever)
        let caller = Caller(user: 0, group: 0, umask: 0)
        for name in ["one", "two"] {
            _ = try vault.create(
                Vault.NewItem(mode: 0o100644), named: Array(name.utf8), in: Vault.rootNumber, by: caller)
            let named = try vault.history.namedStates()
            #expect(named.count == (name == "one" ? 1 : 2))
            try vault.history.keepPresent()
        }
        #expect(try vault.history.namedStates().count == 2)
    }

    /// Views of one state, which is first the present one, then kept, then gone.
    @Test func aViewIsOpenedAgain() throws {
        let vault = try TestVault.create().open()
        try vault.history.set(.forever)
        let view = try #require(try vault.history.view(at: .max))
        let state = view.state
        #expect(state.until == .max)
        view.close()
        let caller = Caller(user: 0, group: 0, umask: 0)
        func change(_ name: String) throws {
            _ = try vault.create(
                Vault.NewItem(mode: 0o100644), named: Array(name.utf8), in: Vault.rootNumber, by: caller)
        }
        let again = try #require(try vault.history.view(of: state))
        #expect(again.state == state)
        try change("one")
        #expect(try again.entries(of: Vault.rootNumber).isEmpty)
        again.close()
        let kept = try #require(try vault.history.view(of: state))
        #expect(kept.state.number == state.number && kept.state.until < .max)
        #expect(try kept.entries(of: Vault.rootNumber).isEmpty)
        #expect(try kept.parent(of: Vault.rootNumber) == Vault.rootNumber)
        kept.close()
        try vault.history.keepPresent()
        try change("two")
        try vault.history.keep(only: [])
        #expect(try vault.history.view(of: state) === nil)
    }
}
