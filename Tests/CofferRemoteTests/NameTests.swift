import CofferFormat
import CofferRemote
import Testing

/// Names, prefixes, and the names of a vault's objects.
@Suite struct NameTests {
    @Test(arguments: [
        "a", "0", "-", "_", "a/b", "a.b", "a..b", "a-b_c.d/0", "a/b/c/d/e/f/g/h",
        String(repeating: "n", count: 128),
    ])
    func names(_ text: String) {
        #expect(RemoteName(text)?.text == text)
    }

    @Test(arguments: [
        "", "/", "/a", "a/", "a//b", ".", "..", "a/../b", ".a", "a.", "a/.b", "a./b", "A", "ä", "a b", "a\0b",
        "a\nb",
        "a%2f", "a\\b", "a:b", "a~", "~a", "a/b/c/d/e/f/g/h/i", String(repeating: "n", count: 129),
        ".syncthing.a.tmp", "a.sync-conflict-20261120-101112-abcdefg", "é", "a/\u{0}",
    ])
    func noNames(_ text: String) {
        #expect(RemoteName(text) == nil)
    }

    @Test func aNameHasUpTo512Bytes() {
        let segment = String(repeating: "n", count: 127)
        let whole = [segment, segment, segment, segment + "n"].joined(separator: "/")
        #expect(whole.utf8.count == 512)
        #expect(RemoteName(whole) != nil)
        #expect(RemoteName("a/" + whole.dropFirst(1)) == nil)
    }

    @Test(arguments: [
        ("", true), ("a/", true), ("a/b/", true), ("a", false), ("/", false), ("a//", false), ("./", false),
    ])
    func prefixes(_ text: String, _ isOne: Bool) {
        #expect((RemotePrefix(text) != nil) == isOne)
    }

    /// A prefix that leaves no room for a segment has no names.
    @Test func aPrefixLeavesRoomForASegment() {
        #expect(RemotePrefix("a/b/c/d/e/f/g/") != nil)
        #expect(RemotePrefix("a/b/c/d/e/f/g/h/") == nil)
    }

    @Test func partsOfAName() throws {
        let name = try #require(RemoteName("vaults/x/log/1"))
        #expect(name.parent.text == "vaults/x/log/")
        #expect(name.last == "1")
        #expect(name.vaultFormat?.text == "vaults/x/format")
        #expect(RemoteName("one")?.parent == .all)
        #expect(RemoteName("one/x/log")?.vaultFormat == nil)
        #expect(try #require(RemotePrefix("vaults/x/")).contains(name))
        #expect(!(try #require(RemotePrefix("vaults/x/lo/"))).contains(name))
    }

    @Test func layout() {
        let layout = RemoteLayout(VaultID(low: 0, high: 0))
        let log = DeviceID(low: 1, high: 0)
        let vault = "vaults/00000000000000000000000000000000"
        #expect(layout.format.text == "\(vault)/format")
        #expect(layout.member(10).text == "\(vault)/members/000000000000000a")
        #expect(layout.wraps(epoch: 2, hash: [0, 255, 16]).text == "\(vault)/wraps/0000000000000002/00ff10")
        #expect(layout.identityLink(log, 0).text == "\(vault)/identities/\(log)/chain/0000000000000000")
        #expect(layout.transientKey(log).text == "\(vault)/identities/\(log)/transient")
        #expect(layout.commit(log, .max).text == "\(vault)/log/\(log)/ffffffffffffffff")
        #expect(layout.pack(PackID(low: 2, high: 3)).text == "\(vault)/packs/\(PackID(low: 2, high: 3))")
        #expect(layout.checkpoint(log, 1).text == "\(vault)/checkpoints/\(log)/0000000000000001")
        #expect(layout.request(log).text == "\(vault)/requests/\(log)")
        #expect(layout.log(log).contains(layout.commit(log, 5)))
        for name in [layout.format, layout.wraps(epoch: .max, hash: Array(repeating: 9, count: 64))] {
            #expect(RemoteName(name.text) == name)
        }
    }

    @Test(arguments: [
        ("000000000000000a", 10 as UInt64?), ("ffffffffffffffff", .max), ("000000000000000A", nil),
        ("a", nil),
        ("+00000000000000a", nil), ("00000000000000000", nil), ("000000000000000g", nil),
    ])
    func sequences(_ last: String, _ sequence: UInt64?) {
        #expect(RemoteName("log/\(last)").flatMap { RemoteLayout.sequence(of: $0) } == sequence)
    }
}
