import CofferFormat
import CofferSystem
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// Remote-only content: when the remote is removed, and with a cache limit.
@Suite(.serialized, .ownThread) struct RemoteOnlyTests {
    private static let text = String(repeating: "all that Alice wrote ", count: 200_000)
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    /// Bob has the name of Alice's file, but not its content.
    private func pair() throws -> (alice: OpenProfile, bob: OpenProfile) {
        let (alice, bob) = try place.pair()
        try alice.write(Self.text, to: "a", in: "Personal")
        for person in [alice, bob] { _ = try person.sync() }
        #expect(try bob.vault("Ours").cache.missingContent().bytes == Self.text.utf8.count)
        return (alice, bob)
    }

    @Test func nothingIsLostUnasked() throws {
        let (_, bob) = try pair()
        guard
            case .remoteSetting(.remoteOnly("Ours", items: 1, bytes: Int64(Self.text.utf8.count))) =
                bob.error(RemoteRequest.remove(vault: "Ours"))
        else {
            Issue.record("not refused")
            return
        }
        // Nothing has changed, for others either.
        #expect(try bob.sync().map(\.failure) == [nil])
        try bob.write("x", to: "b", in: "Ours")
        #expect(try bob.sync().map(\.unsentItems) == [0])
        // Content can be lost on request.
        _ = try bob.ask(RemoteRequest.remove(vault: "Ours", contents: .lose))
        #expect(bob.shared.all.isEmpty)
        #expect(throws: FileSystemError.self) { try bob.read("a", in: "Ours") }
    }

    @Test func allIsFetchedFirst() throws {
        let (_, bob) = try pair()
        _ = try bob.ask(VaultRequest.limitCache(vault: "Ours", to: 1000))
        let steps = Condition<[CofferClient.Progress]>([])
        _ = try bob.handler.answer(RemoteRequest.remove(vault: "Ours", contents: .fetch)) { step in
            steps.update { $0.append(step) }
        }
        let all = steps.withLock { $0 }
        let last = try #require(all.last)
        #expect(last.done == Self.text.utf8.count && last.total == last.done)
        try FileManager.default.removeItem(atPath: place.folder.path)
        #expect(try bob.read("a", in: "Ours") == Self.text)
        // The limit does not evict content that no other device has.
        #expect(try bob.vault("Ours").cache.missingContent().bytes == 0)
    }

    @Test func unfetchableContentKeepsTheRemote() throws {
        let (_, bob) = try pair()
        try FileManager.default.removeItem(atPath: place.folder.path)
        #expect(bob.error(RemoteRequest.remove(vault: "Ours", contents: .fetch))?.caseName == "vault")
        #expect(bob.shared.all.count == 1 && bob.profile.shares.first?.hasRemote == true)
    }

    /// Content missing from a copy would be lost with the remote; and nothing is read from a refused copy.
    @Test func aCopyWithoutContentsIsRefused() throws {
        let (_, bob) = try pair()
        let other = try TemporaryDirectory()
        let copy = "\(other.path)/copy"
        try FileManager.default.copyItem(atPath: place.folder.path, toPath: copy)
        for vault in try FileManager.default.contentsOfDirectory(atPath: "\(copy)/vaults") {
            try FileManager.default.removeItem(atPath: "\(copy)/vaults/\(vault)/packs")
        }
        #expect(bob.error(RemoteRequest.move(vault: "Ours", url: copy))?.caseName == "incompleteRemote")
        #expect(try bob.read("a", in: "Ours") == Self.text)
    }

    /// A limit takes effect at once, and whenever the profile is opened.
    @Test func aCacheLimit() throws {
        let (_, bob) = try pair()
        #expect(bob.error(VaultRequest.limitCache(vault: "None", to: 1))?.caseName == "noSuchVault")
        #expect(try bob.read("a", in: "Ours") == Self.text)
        #expect(try bob.vault("Ours").cache.missingContent().bytes == 0)
        _ = try bob.ask(VaultRequest.limitCache(vault: "Ours", to: 100_000))
        #expect(try bob.waitsForMissing(in: "Ours"))
        #expect(try bob.read("a", in: "Ours") == Self.text)
        let status = try bob.ask(StatusRequest())
        #expect(status.vaults.map(\.cacheLimit) == [nil, 100_000])
    }

    @Test func aLimitIsKept() throws {
        let (alice, test) = (try OpenProfile(), try TestProfile())
        _ = try alice.ask(RemoteRequest.add(vault: "Personal", url: place.url))
        try alice.write(Self.text, to: "a", in: "Personal")
        do {
            let bob = try OpenProfile(test)
            _ = try bob.ask(JoinRequest(invite: try alice.invite(), name: "Ours", waits: false))
            _ = try alice.sync()
            _ = try bob.sync()
            _ = try bob.ask(VaultRequest.limitCache(vault: "Ours", to: 100_000))
        }
        do {
            let bob = try OpenProfile(test)
            #expect(try bob.read("a", in: "Ours") == Self.text)
            #expect(try bob.waitsForMissing(in: "Ours"))
            _ = try bob.ask(VaultRequest.limitCache(vault: "Ours", to: nil))
        }
        let bob = try OpenProfile(test)
        #expect(bob.profile.use(of: try bob.vault("Ours").id).isUsual)
    }
}

extension OpenProfile {
    /// The content of a file, fetched if necessary.
    func read(_ name: String, in vault: String) throws -> String {
        let vault = try self.vault(vault)
        let item = try vault.lookup(Array(name.utf8), in: Vault.rootNumber)
        let buffer = AlignedBuffer(count: 1 << 20)
        var bytes: [UInt8] = []
        while true {
            let count = try vault.contents.read(
                item.number, at: Int64(bytes.count), count: 1 << 20, into: buffer)
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer.withBytes(0..<count) { $0.array }
        }
    }

    /// Whether content is evicted in the background.
    func waitsForMissing(in vault: String) throws -> Bool {
        let vault = try self.vault(vault)
        return try waitUntil { try vault.cache.missingContent().bytes > 0 }
    }
}
