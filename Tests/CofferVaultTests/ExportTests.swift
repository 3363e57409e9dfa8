import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferVault

/// From a vault to an archive, and back.
@Suite struct ExportTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// The archive of a view.
    private static func archive(of view: HistoryView) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var walk = ExportWalk(view)
        let buffer = AlignedBuffer(count: 1 << 20)
        while let step = try walk.next() {
            bytes += try ArchiveWriter.header(of: step.entry)
            guard case .file(_, let data) = step.entry.kind else { continue }
            var stored = 0
            for range in data {
                for place in stride(from: range.lowerBound, to: range.upperBound, by: 1 << 20) {
                    let count = Int(min(range.upperBound - place, 1 << 20))
                    #expect(try view.read(step.item, at: place, count: count, into: buffer) == count)
                    bytes += buffer.withBytes(0..<count) { $0.array }
                }
                stored += range.count
            }
            bytes += [UInt8](repeating: 0, count: ArchiveLimits.padding(after: Int64(stored)))
        }
        return bytes + ArchiveWriter.end
    }

    private static func archive(of vault: Vault) throws -> [UInt8] {
        let view = try vault.export.hold()
        defer { vault.export.release(view) }
        return try archive(of: view)
    }

    /// Makes a vault of an archive.
    @discardableResult
    private static func restore(_ archive: [UInt8], into vault: Vault) throws -> TreeImport {
        var reader = ArchiveReader()
        var tree = TreeImport(vault, owner: TestVault.owner)
        var rest = archive[...]
        while true {
            let piece = Array(rest.prefix(reader.needed))
            rest = rest.dropFirst(piece.count)
            switch try reader.take(piece.span.bytes) {
            case .nothing: continue
            case .entry(let entry): try tree.begin(entry)
            case .data(let range): try tree.write(piece.span.bytes, at: range.lowerBound)
            case .end:
                try tree.finish()
                return tree
            }
        }
    }

    private static func makeEverything(in vault: Vault) throws {
        var random = SplitMix64(seed: 7)
        let directory = try vault.makeDirectory("d")
        let file = try vault.makeFile("file", in: directory, random.bytes(2_500_000))
        _ = try vault.link(file, as: bytes("other name"), in: Vault.rootNumber)
        _ = try vault.create(
            Vault.NewItem(mode: 0o120777, target: bytes("../\n") + [0xFF]), named: bytes("symlink"),
            in: directory, by: TestVault.owner)
        _ = try vault.create(
            Vault.NewItem(mode: 0o010640), named: bytes("fifo"), in: directory, by: TestVault.owner)
        _ = try vault.create(
            Vault.NewItem(mode: 0o020600, device: 0x103), named: bytes("null"), in: directory,
            by: TestVault.owner)
        _ = try vault.create(
            Vault.NewItem(mode: 0o140600), named: bytes("socket"), in: directory, by: TestVault.owner)
        _ = try vault.makeFile("empty")
        let holes = try vault.makeFile("holes")
        try vault.put(random.bytes(5), to: holes, at: 100_000)
        try vault.put(random.bytes(5000), to: holes, at: 5_000_000)
        try vault.truncate(holes, to: 1 << 40)
        let hole = try vault.makeFile("hole")
        try vault.truncate(hole, to: 12345)
        try vault.setExtendedAttribute(bytes("user.a=%"), of: file, to: [0, 0xFF, 10], .any)
        try vault.setExtendedAttribute(bytes("user.b"), of: directory, to: [], .any)
        try vault.setExtendedAttribute(bytes("trusted.x"), of: file, to: [1], .any)
        try vault.setExtendedAttribute(ExtendedAttributeName.accessList, of: file, to: accessList, .any)
        try vault.setExtendedAttribute(ExtendedAttributeName.defaultList, of: directory, to: accessList, .any)
        for (number, time) in [(file, Int64(-1)), (directory, 1_234_567_890_123_456_789), (holes, 5)] {
            var changes = AttributeChanges()
            changes.modified = .at(time)
            _ = try vault.setAttributes(of: number, changes)
        }
        var rights = AttributeChanges()
        rights.mode = 0o1500
        _ = try vault.setAttributes(of: directory, rights)
    }

    /// An access list that lets a user read: u::rw-, u:5:r--, g::r--, m::r--, o::---.
    private static let accessList: [UInt8] = {
        var writer = ByteWriter()
        writer.number(UInt32(2))
        for (tag, rights, id) in [
            (UInt16(1), UInt16(6), UInt32.max), (2, 4, 5), (4, 4, .max), (0x10, 4, .max), (0x20, 0, .max),
        ] {
            writer.number(tag)
            writer.number(rights)
            writer.number(id)
        }
        return writer.finish()
    }()

    @Test func everything() throws {
        let vault = try TestVault.create().open()
        try Self.makeEverything(in: vault)
        let archive = try Self.archive(of: vault)
        let copy = try TestVault.create().open()
        let made = try Self.restore(archive, into: copy)
        // The further name is none, and the socket is left out.
        #expect(made.items == 8)
        // Whatever an archive says is what it says of the copy.
        #expect(try Self.archive(of: copy) == archive)
        #expect(archive.count < 3_000_000)
        let file = try copy.number(of: "other name")
        #expect(try copy.attributes(of: file).links == 2)
        #expect(try copy.content(of: file) == vault.content(of: try vault.number(of: "other name")))
        #expect(
            Set(try copy.extendedAttributeNames(of: file))
                == [Self.bytes("user.a=%"), ExtendedAttributeName.accessList])
        #expect(try copy.attributes(of: copy.number(of: "d")).mode & 0o7777 == 0o1500)
        // What is made below the directory does not get its list.
        let fifo = try copy.number(of: "fifo", in: copy.number(of: "d"))
        #expect(try copy.extendedAttributeNames(of: fifo).isEmpty)
        #expect(try copy.attributes(of: copy.number(of: "holes")).allocated < 200_000)
        #expect(try copy.attributes(of: copy.number(of: "hole")).allocated == 0)
        #expect(try copy.check { _, _ in }.damage.map(\.text) == [])
        #expect(throws: FileSystemError.self) { try copy.number(of: "socket", in: copy.number(of: "d")) }
    }

    /// Blocks of zeros in an archive take no space.
    @Test func zerosBecomeHoles() throws {
        let vault = try TestVault.create().open()
        var content = [UInt8](repeating: 0, count: 3_000_000)
        content[4096] = 1
        content[1_500_000] = 2
        content[2_999_999] = 3
        let file = try vault.makeFile("zeros", content)
        #expect(try vault.attributes(of: file).allocated == 3_000_000)
        let copy = try TestVault.create().open()
        try Self.restore(try Self.archive(of: vault), into: copy)
        let made = try copy.number(of: "zeros")
        #expect(try copy.content(of: made) == content)
        #expect(try copy.attributes(of: made).allocated <= 3 * 4096)
    }

    // MARK: One moment

    /// What is written while an archive is made is not in it, whether or not the vault keeps its past.
    @Test(arguments: [History.Retention.none, .forever, .seconds(5)])
    func asOfOneMoment(retention: History.Retention) throws {
        let test = try TestVault.create()
        let vault = try test.open()
        try vault.history.set(retention)
        try Self.makeEverything(in: vault)
        let view = try vault.export.hold()
        let before = try Self.archive(of: view)
        var random = SplitMix64(seed: 3)
        for round in 0..<5 {
            try vault.put(random.bytes(300_000), to: vault.number(of: "other name"), at: round * 200_000)
            _ = try vault.makeFile("new \(round)", random.bytes(1000))
            try vault.truncate(vault.number(of: "holes"), to: 5 - round)
            if round == 1 { try vault.remove("empty") }
            if round == 2 { _ = try vault.move("d", to: "e") }
            try vault.commit()
            try vault.history.thin(at: Clock.realTime)
            #expect(try Self.archive(of: view) == before)
        }
        vault.export.release(view)
        try vault.history.thin(at: Clock.realTime)
        #expect(try Self.archive(of: vault) != before)
        #expect(vault.history.isOn == (retention != .none))
        #expect(try vault.history.retention() == retention)
        #expect(try vault.check { _, _ in }.damage.map(\.text) == [])
    }

    /// In a vault that keeps no past, what is held for an export shows nowhere else, and nothing of it stays.
    @Test func nothingStays() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let file = try vault.makeFile("file", [UInt8](repeating: 1, count: 400_000))
        try vault.commit()
        let first = try vault.export.hold(), second = try vault.export.hold()
        try vault.truncate(file, to: 0)
        try vault.commit()
        #expect(!vault.history.isOn)
        #expect(try vault.history.states().isEmpty && vault.history.namedStates().isEmpty)
        #expect(try vault.history.view(at: .max) == nil)
        #expect(throws: FileSystemError.self) {
            try vault.history.addSnapshot(try #require(SnapshotName("name")))
        }
        try vault.history.set(.none)
        vault.export.release(first)
        #expect(try second.attributes(of: file).size == 400_000)
        #expect(try vault.size().pastContent == 400_000)
        vault.export.release(second)
        try vault.history.thin(at: Clock.realTime)
        try vault.commit()
        #expect(try vault.size().pastContent == 0)
        #expect(vault.state.withLock { $0.tree.history == nil })
        #expect(try vault.check { _, _ in }.damage.map(\.text) == [])
    }

    /// On a full disk, the vault goes on without an export, or has one.
    @Test func aFullDisk() throws {
        let vault = try TestVault.create(byteCount: 32 << 20).open()
        var random = SplitMix64(seed: 1)
        for number in 0..<1000 {
            do {
                try vault.put(random.bytes(300_000), to: try vault.makeFile("\(number)"))
            } catch FileSystemError.noSpace {
                break
            }
        }
        do {
            vault.export.release(try vault.export.hold())
        } catch FileSystemError.noSpace {
            #expect(!vault.history.isOn)
        }
        #expect(vault.stoppedReason == nil)
        try vault.remove("0")
        try vault.remove("1")
        try vault.commit()
        let archive = try Self.archive(of: vault)
        #expect(archive.count > 1_000_000)
    }

    /// After a crash, the next opening knows no past, and what was held goes.
    @Test(arguments: 0..<4 as Range<UInt64>)
    func crashWhileHeld(seed: UInt64) throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let file = try vault.makeFile("file", [UInt8](repeating: 1, count: 400_000))
        try vault.commit()
        _ = try vault.export.hold()
        try vault.put([2, 3], to: file, at: 5)
        try vault.truncate(file, to: 100)
        try vault.commit()
        let again = try test.crashed(seed: seed).open()
        #expect(!again.history.isOn)
        #expect(try again.content(of: again.number(of: "file")).count == 100)
        try again.history.thin(at: Clock.realTime)
        try again.commit()
        #expect(try again.size().pastContent == 0)
        #expect(try again.check { _, _ in }.damage.map(\.text) == [])
    }

    /// A vault that is only read is exported as it is, also if it never kept its past.
    @Test func readOnly() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        try Self.makeEverything(in: vault)
        let archive = try Self.archive(of: vault)
        try vault.close()
        let never = try TestVault.create()
        let other = try never.open()
        try Self.restore(archive, into: other)
        try other.close()
        for test in [test, never] { #expect(try Self.archive(of: test.open(isReadOnly: true)) == archive) }
    }

    // MARK: Hostile entries

    enum Problem: String, CaseIterable {
        case noDirectory, fileAsDirectory, linkAsDirectory, duplicateFile, duplicateDirectory, linkToNothing
        case linkToDirectory, linkToRoot, linkToItself, linkThroughSymlink, trusted, security, reserved,
            foreign, badList
        case tooManyAttributes, longAttribute, longName, listOnSymlink
        case attributeOnSymlink, defaultListOnFile, longAttributeName, zeroInAttributeName, endlessFiles
    }

    @Test(arguments: Problem.allCases) func hostileEntry(_ problem: Problem) throws {
        func path(_ text: String) -> [[UInt8]] { text.split(separator: "/").map { Self.bytes(String($0)) } }
        func entry(
            _ text: String, _ kind: ArchiveEntry.Kind, _ attributes: [(String, Int)] = []
        ) -> ArchiveEntry {
            ArchiveEntry(
                path: path(text), kind: kind, permissions: 0o644, modified: 0,
                attributes: attributes.map {
                    .init(name: Self.bytes($0.0), value: [UInt8](repeating: 1, count: $0.1))
                })
        }
        let vault = try TestVault.create().open()
        var tree = TreeImport(vault, owner: TestVault.owner)
        for good in [
            entry("", .directory), entry("d", .directory), entry("f", .file(size: 0, data: [])),
            entry("s", .symbolicLink(Self.bytes("d"))), entry("d/g", .fifo),
            entry("h", .file(size: 1 << 62, data: [])),
        ] { try tree.begin(good) }
        let (bad, expected): (ArchiveEntry, String) =
            switch problem {
            case .noDirectory: (entry("x/y", .fifo), "noDirectory")
            case .fileAsDirectory: (entry("f/y", .fifo), "noDirectory")
            case .linkAsDirectory: (entry("s/y", .fifo), "noDirectory")
            case .duplicateFile: (entry("f", .fifo), "duplicate")
            case .duplicateDirectory: (entry("d", .directory), "duplicate")
            case .linkToNothing: (entry("l", .link(to: path("x"))), "noTarget")
            case .linkToDirectory: (entry("l", .link(to: path("d"))), "noTarget")
            case .linkToRoot: (entry("l", .link(to: [])), "noTarget")
            case .linkToItself: (entry("l", .link(to: path("l"))), "noTarget")
            case .linkThroughSymlink: (entry("l", .link(to: path("s/g"))), "noTarget")
            case .trusted: (entry("x", .fifo, [("trusted.a", 1)]), "attribute")
            case .security: (entry("x", .fifo, [("security.capability", 20)]), "attribute")
            case .reserved: (entry("x", .fifo, [("user.coffer.state", 1)]), "attribute")
            case .foreign: (entry("x", .fifo, [("user.", 1)]), "attribute")
            case .badList: (entry("x", .fifo, [("system.posix_acl_access", 28)]), "attribute")
            case .tooManyAttributes:
                (
                    entry(
                        "x", .fifo, (0..<300).map { ("user.\($0)" + String(repeating: "n", count: 240), 1) }),
                    "tooManyAttributes"
                )
            case .longAttribute: (entry("x", .fifo, [("user.a", 65_537)]), "attribute")
            case .longName: (entry(String(repeating: "x", count: 256), .fifo), "vault")
            case .listOnSymlink:
                (entry("x", .symbolicLink([1]), [("system.posix_acl_default", 28)]), "attribute")
            case .attributeOnSymlink: (entry("x", .symbolicLink([1]), [("user.a", 1)]), "attribute")
            case .defaultListOnFile:
                (
                    ArchiveEntry(
                        path: path("x"), kind: .fifo, permissions: 0o644, modified: 0,
                        attributes: [
                            .init(name: ExtendedAttributeName.defaultList, value: Self.accessList)
                        ]), "attribute"
                )
            case .longAttributeName:
                (entry("x", .fifo, [("user." + String(repeating: "n", count: 251), 1)]), "attribute")
            case .zeroInAttributeName: (entry("x", .fifo, [("user.a\0b", 1)]), "attribute")
            case .endlessFiles: (entry("x", .file(size: 1 << 62, data: [])), "tooMuchContent")
            }
        do {
            try tree.begin(bad)
            try tree.finish()
            Issue.record("\(problem) was accepted")
        } catch {
            let name =
                switch error {
                case .noDirectory: "noDirectory"
                case .duplicate: "duplicate"
                case .noTarget: "noTarget"
                case .attribute: "attribute"
                case .tooManyAttributes: "tooManyAttributes"
                case .tooMuchContent: "tooMuchContent"
                case .vault: "vault"
                }
            #expect(name == expected, "\(error)")
        }
        #expect(vault.stoppedReason == nil)
    }

    /// An item may have attributes whose names are as long together as the kernel can list.
    @Test func asManyAttributesAsFit() throws {
        let vault = try TestVault.create().open()
        var names = (0..<5957).map { "user." + String(repeating: "0", count: 5 - "\($0)".count) + "\($0)" }
        names.append("user.abc")
        #expect(names.reduce(0) { $0 + $1.utf8.count + 1 } == 65_536)
        func entry(_ name: String, _ names: [String]) -> ArchiveEntry {
            ArchiveEntry(
                path: name.isEmpty ? [] : [Self.bytes(name)], kind: .directory, permissions: 0o700,
                modified: 0,
                attributes: names.map { .init(name: Self.bytes($0), value: Self.bytes($0)) })
        }
        var tree = TreeImport(vault, owner: TestVault.owner)
        try tree.begin(entry("", names))
        try tree.begin(entry("d", names))
        #expect(throws: ImportProblem.self) { try tree.begin(entry("e", names.dropLast() + ["user.abcd"])) }
        try tree.finish()
        for item in [Vault.rootNumber, try vault.number(of: "d")] {
            #expect(Set(try vault.extendedAttributeNames(of: item)) == Set(names.map { Self.bytes($0) }))
            #expect(
                try vault.extendedAttribute(Self.bytes("user.01234"), of: item) == Self.bytes("user.01234"))
        }
        #expect(try vault.check { _, _ in }.damage.map(\.text) == [])
    }

    /// Names that the kernel would not pass on are refused, and those of 255 bytes are not.
    @Test func namesOfAttributes() throws {
        let vault = try TestVault.create().open()
        let file = try vault.makeFile("file")
        let long = Self.bytes("user." + String(repeating: "n", count: 250))
        try vault.setExtendedAttribute(long, of: file, to: [1], .any)
        for name in [long + [0x6E], Self.bytes("user.a\0b"), []] {
            #expect(throws: FileSystemError.self) {
                try vault.setExtendedAttribute(name, of: file, to: [1], .any)
            }
        }
        #expect(try vault.extendedAttributeNames(of: file) == [long])
    }

    /// A vault that is given up stores nothing more.
    @Test func givenUp() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        _ = try vault.makeFile("stored", [1])
        try vault.commit()
        _ = try vault.makeFile("lost", [UInt8](repeating: 1, count: 300_000))
        vault.abandon()
        let again = try test.open()
        #expect(try again.content(of: again.number(of: "stored")) == [1])
        #expect(throws: FileSystemError.self) { try again.number(of: "lost") }
    }
}
