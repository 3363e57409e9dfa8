import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport

@testable import CofferVault

// Input from programs in a mount, and content that changed on disk.
extension Decoder {
    static let accessList = Decoder(name: "access-list", byteCountMax: 256) {
        func entry(_ tag: UInt8, _ permissions: UInt8, _ id: UInt8 = 255) -> [UInt8] {
            [tag, 0, permissions, 0, id, id, id, id]
        }
        let plain = [2, 0, 0, 0] + entry(1, 7) + entry(4, 5) + entry(32, 4)
        return [plain, plain + entry(2, 6, 1) + entry(8, 1, 2) + entry(16, 7)]
    } run: { bytes in
        guard var list = AccessList(bytes) else { return .refused }
        try expect(list.bytes == bytes, "an access list has two encodings")
        for mode: UInt32 in [0, 0o750, .max] {
            list.apply(mode: mode)
            try expect(list.mode == mode & 0o777, "an access list does not follow chmod")
            list.restrict(to: 0o640)
            try expect(list.mode == mode & 0o640, "an access list gives more than its creator")
        }
        try expect(AccessList(list.bytes) == list, "an access list changes when it is stored")
        return .taken
    }

    /// Names and values of extended attributes, as setxattr(2) takes them.
    static let attributes = Decoder(name: "attributes", byteCountMax: 512) {
        [
            [6] + Array("user.a".utf8) + [1, 2, 3],
            [19] + Array("security.capability".utf8) + [0, 0],
            [23] + Array("system.posix_acl_access".utf8) + [2, 0, 0, 0]
                + [1, 0, 6, 0, 9, 9, 9, 9, 4, 0, 0, 0, 9, 9, 9, 9, 32, 0, 4, 0, 9, 9, 9, 9],
        ]
    } run: { bytes in
        var input = Input(bytes)
        let name = input.counted()
        let value = input.remainder()
        let vault = try SealedVault.open(try SealedVault.closed.get().copy())
        let item = SealedVault.largeFile
        guard (try? vault.setExtendedAttribute(name, of: item, to: value, .any)) != nil else {
            return .refused
        }
        // An access list that says no more than the permissions is stored as permissions.
        if let stored = try? vault.extendedAttribute(name, of: item) {
            try expect(stored == value, "an attribute changes when it is stored")
            try expect(try vault.extendedAttributeNames(of: item) == [name], "an attribute is not listed")
            _ = try vault.setAttributes(of: item, mode(0o640))
            try vault.removeExtendedAttribute(name, of: item)
        }
        try expect(try vault.extendedAttributeNames(of: item).isEmpty, "an attribute is left over")
        try vault.commit()
        try expect(try vault.check { _, _ in }.damage == [], "a vault is hurt by an attribute")
        return .taken
    }

    private static func mode(_ mode: UInt32) -> AttributeChanges {
        var changes = AttributeChanges()
        changes.mode = mode
        return changes
    }

    /// A pack that an outsider changed: a read returns the written bytes, or fails.
    static let packs = Decoder(name: "packs", byteCountMax: 128) {
        [[], [0, 100, 0, 0, 1], [1, 100, 0, 0], [2, 0, 0, 0]]
    } run: { bytes in
        let directory = try SealedVault.closed.get().copy()
        guard let pack = directory.paths.first(where: { $0.hasPrefix("packs/") }) else {
            throw Violation("the vault has no pack")
        }
        var input = Input(bytes)
        while !input.isEmpty {
            let kind = input.byte() % 4
            let size = directory.bytes(of: pack).count
            let place = (input.word() << 8 | Int(input.byte())) % max(1, size)
            switch kind {
            case 0: directory.flip(pack, at: place, mask: input.byte())
            case 1: directory.cut(pack, to: place)
            case 2: directory.overwrite(pack, at: place, with: input.counted())
            default: directory.destroy(pack)
            }
        }
        guard let vault = try? SealedVault.open(directory) else { return .refused }
        let damage = try vault.check { _, _ in }.damage
        let buffer = AlignedBuffer(count: ExtentLayout.byteCountMax)
        let content = SealedVault.largeContent
        do {
            let count = try vault.contents.read(
                SealedVault.largeFile, at: 0, count: content.count, into: buffer)
            try expect(
                buffer.withBytes(0..<count) { $0.array } == content, "a pack gives what nobody wrote")
            try expect(damage == [], "a check finds damage in what can be read")
        } catch is FileSystemError {
            try expect(damage != [], "a check does not find damage in what cannot be read")
        }
        // New content goes after whatever is there.
        try vault.contents.write([1, 2, 3].span.bytes, to: 5, at: 0, touches: true, dropsPrivileges: false)
        try vault.commit()
        return .taken
    }
}
