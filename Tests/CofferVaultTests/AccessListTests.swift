import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferVault

/// POSIX access control lists, acl(5), in the form of linux/posix_acl_xattr.h.
@Suite struct AccessListTests {
    private static let none: UInt32 = .max

    private static func value(_ entries: [(tag: UInt16, permissions: UInt16, id: UInt32)]) -> [UInt8] {
        var bytes: [UInt8] = [2, 0, 0, 0]
        for entry in entries {
            withUnsafeBytes(of: entry.tag.littleEndian) { bytes += Array($0) }
            withUnsafeBytes(of: entry.permissions.littleEndian) { bytes += Array($0) }
            withUnsafeBytes(of: entry.id.littleEndian) { bytes += Array($0) }
        }
        return bytes
    }

    private static let plain = value([(1, 6, none), (4, 4, none), (32, 0, none)])
    // user::rwx, user:1001:rw-, group::r-x, mask::rw-, other::r--
    private static let full = value([(1, 7, none), (2, 6, 1001), (4, 5, none), (16, 6, none), (32, 4, none)])

    @Test func listsReadAsWritten() throws {
        for bytes in [Self.plain, Self.full] {
            #expect(try #require(AccessList(bytes)).bytes == bytes)
        }
    }

    @Test func permissionsComeFromOwnerMaskAndOther() throws {
        #expect(try #require(AccessList(Self.plain)).mode == 0o640)
        #expect(try #require(AccessList(Self.plain)).isPlain)
        #expect(try #require(AccessList(Self.full)).mode == 0o764)
        #expect(try !#require(AccessList(Self.full)).isPlain)
    }

    @Test func changingPermissionsChangesTheMaskWhereThereIsOne() throws {
        var list = try #require(AccessList(Self.full))
        list.apply(mode: 0o510)
        #expect(list.mode == 0o510)
        #expect(list.entries.map(\.permissions) == [5, 6, 5, 1, 0])
        list = try #require(AccessList(Self.plain))
        list.apply(mode: 0o123)
        #expect(list.entries.map(\.permissions) == [1, 2, 3])
    }

    @Test func inheritanceIsLimitedByTheCreatorsMode() throws {
        var list = try #require(AccessList(Self.full))
        list.restrict(to: 0o600)
        #expect(list.mode == 0o600)
        #expect(list.entries.map(\.permissions) == [6, 6, 5, 0, 0])
    }

    /// If there is no room for the list, the permissions stay unchanged, too.
    @Test func aListThatCannotBeSetChangesNothing() throws {
        let vault = try TestVault.create().open()
        let number = try vault.makeFile("a")
        var count = 0
        for length in [160, 1] {
            while !fails(
                "noSpace",
                {
                    let name = "user.\(count)" + String(repeating: "x", count: length)
                    try vault.setExtendedAttribute(Array(name.utf8), of: number, to: [1], .any)
                })
            {
                count += 1
            }
        }
        let mode = try vault.attributes(of: number).mode
        let name = Array("system.posix_acl_access".utf8)
        #expect(fails("noSpace") { try vault.setExtendedAttribute(name, of: number, to: Self.full, .any) })
        #expect(try vault.attributes(of: number).mode == mode)
    }

    @Test func everyTruncationIsRefused() {
        for count in 0..<Self.full.count where (count - 4) % 8 != 0 {
            #expect(AccessList(Array(Self.full[..<count])) == nil, "\(count) bytes")
        }
    }

    @Test func listsThatBreakTheRulesAreRefused() {
        let (owner, group, other):
            ((UInt16, UInt16, UInt32), (UInt16, UInt16, UInt32), (UInt16, UInt16, UInt32)) =
                ((1, 7, Self.none), (4, 7, Self.none), (32, 7, Self.none))
        let wrong: [[(tag: UInt16, permissions: UInt16, id: UInt32)]] = [
            [], [owner, group], [owner, other], [group, other], [owner, owner, group, other],
            [owner, group, other, (2, 7, 5)], [owner, group, other, (8, 7, 5)],
            [owner, group, other, (16, 7, 0), (16, 7, 0)], [(1, 8, 0), group, other],
            [(3, 7, 0), group, other],
        ]
        for entries in wrong { #expect(AccessList(Self.value(entries)) == nil, "\(entries)") }
        #expect(AccessList([1] + Self.plain.dropFirst()) == nil)
        #expect(AccessList(Self.plain + [0]) == nil)
    }

    @Test(arguments: [UInt64](0..<4))
    func randomBytesNeverTrapAndReadAsWritten(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<2000 {
            var bytes = Self.full
            for _ in 0..<1 + random.below(3) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            if let list = AccessList(bytes) { #expect(list.bytes == bytes, "seed \(seed)") }
        }
    }

    @Test func newItemsInheritTheDefaultListOfTheirDirectory() throws {
        let vault = try TestVault.create().open()
        let directory = try vault.makeDirectory("directory")
        try vault.setExtendedAttribute(ExtendedAttributeName.defaultList, of: directory, to: Self.full, .any)
        let file = try vault.makeFile("file", in: directory)
        #expect(try vault.attributes(of: file).mode & 0o777 == 0o644)
        let inherited = try #require(
            AccessList(try vault.extendedAttribute(ExtendedAttributeName.accessList, of: file)))
        #expect(inherited.entries.map(\.permissions) == [6, 6, 5, 4, 4])
        let below = try vault.makeDirectory("below", in: directory)
        #expect(try vault.extendedAttribute(ExtendedAttributeName.defaultList, of: below) == Self.full)
        #expect(
            fails("attributeNotFound") {
                _ = try vault.extendedAttribute(ExtendedAttributeName.defaultList, of: file)
            })
        #expect(try vault.damage() == [])
    }

    @Test func aPlainListIsKeptAsPermissionsOnly() throws {
        let vault = try TestVault.create().open()
        let file = try vault.makeFile("file")
        try vault.setExtendedAttribute(ExtendedAttributeName.accessList, of: file, to: Self.full, .any)
        try vault.setExtendedAttribute(ExtendedAttributeName.accessList, of: file, to: Self.plain, .any)
        #expect(try vault.attributes(of: file).mode & 0o777 == 0o640)
        #expect(try vault.extendedAttributeNames(of: file) == [])
        #expect(
            fails("accessDenied") {
                try vault.setExtendedAttribute(
                    ExtendedAttributeName.defaultList, of: file, to: Self.plain, .any)
            })
        #expect(
            fails("invalidArgument") {
                try vault.setExtendedAttribute(
                    ExtendedAttributeName.accessList, of: file, to: [2, 0, 0, 0], .any)
            })
    }
}
