import CofferSystem
import CofferTestSupport
import Testing

import CofferVault

/// The attribute that shows where the content of an item is.
@Suite struct StateAttributeTests {
    private let name = Array("user.coffer.state".utf8)

    private func state(_ vault: Vault, _ number: Int64) throws -> String {
        String(decoding: try vault.extendedAttribute(name, of: number), as: UTF8.self)
    }

    @Test func theAttributeExistsInSharedVaults() throws {
        let devices = try TwoDevices()
        let (a, b) = try devices.file(Pattern.make(10_000))
        #expect(fails("attributeNotFound") { _ = try state(devices.a, a) })
        for vault in [devices.a, devices.b] { try vault.outgoing.beginTracking() }
        #expect(try state(devices.a, a) == "synced")
        #expect(try state(devices.b, b) == "remote-only")
        _ = try devices.b.get(b, count: 10)
        #expect(try state(devices.b, b) == "synced")
        try devices.b.put([1], to: b)
        #expect(try state(devices.b, b) == "local")
        let directory = try devices.a.makeDirectory("directory")
        #expect(try state(devices.a, directory) == "local")
    }

    @Test func theAttributeCanNeitherBeSetNorCopied() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let number = try vault.makeFile("file", [1])
        for isTracked in [false, true] {
            if isTracked { try vault.outgoing.beginTracking() }
            for name in ["user.coffer.state", "user.coffer.other"].map({ Array($0.utf8) }) {
                #expect(
                    fails("notSupported") {
                        try vault.setExtendedAttribute(name, of: number, to: [1], .any)
                    })
                #expect(fails("notSupported") { try vault.removeExtendedAttribute(name, of: number) })
            }
            #expect(try vault.extendedAttributeNames(of: number).isEmpty)
        }
        #expect(
            fails("attributeNotFound") {
                _ = try vault.extendedAttribute(Array("user.coffer.other".utf8), of: number)
            })
        #expect(!Vault.isSent(attribute: name))
        try vault.setExtendedAttribute(Array("user.coffer".utf8), of: number, to: [1], .any)
        #expect(try vault.extendedAttributeNames(of: number) == [Array("user.coffer".utf8)])
    }
}
