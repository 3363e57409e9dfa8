import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// Exports of vaults, and imports, as commands ask for them without a mount.
@Suite(.serialized) struct ExportTests {
    // MARK: Streams

    private static func export(
        _ profile: OpenProfile, _ seal: ExportSeal, vault: String = "Personal",
        isHeard: @escaping @Sendable () -> Bool = { true }
    ) throws -> (bytes: [UInt8], report: ExportedReport) {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/export"
        let file = try Descriptor.open(path, [.writeOnly, .create, .exclusive])
        let report = try profile.handler.answer(
            ExportRequest(vault: vault, seal), isHeard: isHeard, stream: file.number
        ) { _ in }
        return (Array(try Data(contentsOf: URL(filePath: path))), report)
    }

    /// Imports as the command does: the header first, then the rest.
    private static func importing(
        _ bytes: [UInt8], to profile: OpenProfile, as name: String = "Copy", passphrase: String? = nil,
        isHeard: @escaping @Sendable () -> Bool = { true }
    ) throws -> ImportedReport {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/export"
        try Data(bytes).write(to: URL(filePath: path))
        let file = try Descriptor.open(path, .readOnly)
        let opening = try ExportOpening(from: file.number)
        let key = try passphrase.map { try opening.key(passphrase: secret($0)) }
        let request = ImportRequest(vault: name, opening, key: key, byteCount: bytes.count)
        return try profile.handler.answer(request, isHeard: isHeard, stream: file.number) { _ in }
    }

    private static func error(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch let error as ClientError {
            return error.caseName
        } catch {
            return "\(error)"
        }
    }

    /// What an import leaves if it fails: one vault, its store, and nothing else.
    private static func expectNothingNew(
        _ profile: OpenProfile, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(profile.names() == ["Personal"], sourceLocation: sourceLocation)
        #expect(profile.profile.vaults.count == 1, sourceLocation: sourceLocation)
        let names = try FileManager.default.contentsOfDirectory(atPath: profile.profile.location.vaults)
        #expect(names.count == 1, sourceLocation: sourceLocation)
    }

    private static func card(_ profile: OpenProfile) throws -> String {
        try #require(try profile.ask(IdentityRequest.show).card)
    }

    /// A seal that costs nothing to open: for the person itself.
    private static func ownSeal(_ profile: OpenProfile) throws -> ExportSeal {
        try ExportSeal(cards: [try card(profile)])
    }

    private static func fill(_ profile: OpenProfile, byteCount: Int = 700_000) throws -> [UInt8] {
        var random = SplitMix64(seed: 5)
        let bytes = random.bytes(byteCount)
        let vault = try profile.vault("Personal")
        let file = try vault.create(
            Vault.NewItem(mode: 0o100640), named: Array("file".utf8), in: Vault.rootNumber,
            by: OpenProfile.caller)
        try vault.contents.write(
            bytes.span.bytes, to: file.number, at: 0, touches: true, dropsPrivileges: false)
        try profile.write("text", to: "small", in: "Personal")
        return bytes
    }

    private static func content(_ name: String, of vault: Vault) throws -> [UInt8] {
        let item = try vault.lookup(Array(name.utf8), in: Vault.rootNumber)
        let buffer = AlignedBuffer(count: max(Int(item.size), 1))
        let count = try vault.contents.read(item.number, at: 0, count: buffer.count, into: buffer)
        return buffer.withBytes(0..<count) { $0.array }
    }

    // MARK: Who opens an export

    @Test func byPassphrase() throws {
        let profile = try OpenProfile()
        let bytes = try Self.fill(profile)
        let seal = try ExportSeal(passphrase: secret("of the export"), strength: .interactive)
        let export = try Self.export(profile, seal)
        #expect(export.report.items == 2 && export.report.bytes == 700_004)
        #expect(export.report.exportBytes == Int64(export.bytes.count))
        let report = try Self.importing(export.bytes, to: profile, passphrase: "of the export")
        #expect(report.items == 2 && report.bytes == 700_004)
        #expect(profile.names() == ["Personal", "Copy"])
        #expect(try Self.content("file", of: profile.vault("Copy")) == bytes)
        #expect(try Self.content("small", of: profile.vault("Copy")) == Array("text".utf8))
        // On another machine, too, and by nobody else.
        let other = try OpenProfile()
        #expect(
            Self.error { _ = try Self.importing(export.bytes, to: other, passphrase: "wrong") }
                == "wrongExportPassphrase")
        #expect(Self.error { _ = try Self.importing(export.bytes, to: other) } == "passphraseNeeded")
        try Self.expectNothingNew(other)
        _ = try Self.importing(export.bytes, to: other, passphrase: "of the export")
        #expect(try Self.content("file", of: other.vault("Copy")) == bytes)
        // It stays after the next opening, and has keys of its own.
        let ids = other.profile.vaults.map(\.id)
        #expect(Set(ids + profile.profile.vaults.map(\.id)).count == 4)
    }

    @Test func byCards() throws {
        let (alice, bob, carol) = (try OpenProfile(), try OpenProfile(), try OpenProfile())
        let bytes = try Self.fill(alice)
        let seal = try ExportSeal(cards: [try Self.card(bob), try Self.card(alice)])
        let export = try Self.export(alice, seal).bytes
        for profile in [alice, bob] {
            _ = try Self.importing(export, to: profile)
            #expect(try Self.content("file", of: profile.vault("Copy")) == bytes)
        }
        #expect(Self.error { _ = try Self.importing(export, to: carol) } == "notRecipient")
        #expect(
            Self.error { _ = try Self.importing(export, to: carol, passphrase: "x") } == "recipientNeeded")
        try Self.expectNothingNew(carol)
        // Nothing in the header names a recipient.
        let header = Array(export.prefix(14 + 2 * 110))
        for profile in [alice, bob] {
            let key = profile.profile.identityKeys.agreement.publicKey
            #expect(!(0..<header.count - 32).contains { Array(header[$0..<$0 + 32]) == key })
        }
    }

    @Test func recipients() throws {
        let profile = try OpenProfile()
        let card = try Self.card(profile)
        #expect(Self.error { _ = try ExportSeal(cards: []) } == "recipientCount")
        #expect(
            Self.error { _ = try ExportSeal(cards: [String](repeating: card, count: 17)) } == "recipientCount"
        )
        #expect(Self.error { _ = try ExportSeal(cards: ["nothing"]) } == "trust")
        let export = try Self.export(
            profile, try ExportSeal(cards: [String](repeating: card, count: 16)))
        #expect(try Self.importing(export.bytes, to: profile).items == 0)
    }

    // MARK: Damaged exports

    /// The places at which the parts of an export begin, and its end.
    private static func places(of export: [UInt8]) throws -> [Int] {
        let header = 14 + 110
        var places = [0, 8, 12, 14, 16, 20, 52, header]
        var place = header
        while place < export.count {
            let piece = try ExportPiece(Array(export[place..<place + 4]).span.bytes)
            places += [place + 4, place + 4 + piece.count]
            place += 4 + piece.count + 16
            places.append(place)
        }
        #expect(place == export.count)
        return places
    }

    @Test func everyCut() throws {
        let profile = try OpenProfile()
        _ = try Self.fill(profile)
        let export = try Self.export(profile, try Self.ownSeal(profile)).bytes
        let places = try Self.places(of: export)
        #expect(places.count == 17)
        for place in places.flatMap({ [$0 - 1, $0, $0 + 1] }) where (0..<export.count).contains(place) {
            let error = Self.error { _ = try Self.importing(Array(export[..<place]), to: profile) }
            #expect(error == (place < 8 ? "noExport" : "cutExport"), "\(place)")
        }
        try Self.expectNothingNew(profile)
        #expect(Self.error { _ = try Self.importing(export + [0], to: profile) } == "trailingExport")
        #expect(Self.error { _ = try Self.importing(export + export, to: profile) } == "trailingExport")
        try Self.expectNothingNew(profile)
    }

    @Test func everyFlippedBit() throws {
        let profile = try OpenProfile()
        _ = try Self.fill(profile)
        let export = try Self.export(profile, try Self.ownSeal(profile)).bytes
        var places = try Self.places(of: export).flatMap { [$0 - 1, $0, $0 + 1, $0 + 3] }
        places += stride(from: 0, to: export.count, by: 9973)
        for place in Set(places).sorted() where (0..<export.count).contains(place) {
            var damaged = export
            damaged[place] ^= 1 << UInt8(place % 8)
            let error = Self.error { _ = try Self.importing(damaged, to: profile) }
            let expected =
                switch place {
                case ..<8: ["noExport"]
                case ..<12: ["newerExport", "damagedHeader"]
                case ..<20: ["damagedHeader", "cutExport", "notRecipient", "damagedExport"]
                case ..<124: ["notRecipient"]
                default: ["damagedExport", "cutExport", "trailingExport"]
                }
            #expect(error.map(expected.contains) == true, "\(place): \(error ?? "accepted")")
        }
        try Self.expectNothingNew(profile)
    }

    /// Pieces cannot be left out, exchanged, repeated, or come from elsewhere, also under the same key.
    @Test func everyPieceInItsPlace() throws {
        let profile = try OpenProfile()
        _ = try Self.fill(profile)
        let seal = try Self.ownSeal(profile)
        let export = try Self.export(profile, seal).bytes
        let begin = 124, size = 4 + 262_144 + 16
        let pieces = [
            Array(export[begin..<begin + size]), Array(export[begin + size..<begin + 2 * size]),
            Array(export[(begin + 2 * size)...]),
        ]
        let header = Array(export[..<begin])
        func error(_ order: [[UInt8]]) -> String? {
            Self.error { _ = try Self.importing(header + order.flatMap { $0 }, to: profile) }
        }
        for order in [[1, 0, 2], [0, 0, 2], [0, 2], [2], [1, 2], [0, 1, 1, 2], [0, 2, 1]] {
            #expect(error(order.map { pieces[$0] }) == "damagedExport", "\(order)")
        }
        #expect(error([pieces[0], pieces[1]]) == "cutExport")
        // The last bit of a piece is bound to it.
        var last = pieces[1]
        last[3] |= 0x80
        #expect(error([pieces[0], last]) == "damagedExport")
        var notLast = pieces[2]
        notLast[3] &= 0x7F
        #expect(error([pieces[0], pieces[1], notLast]) == "damagedExport")
        try Self.expectNothingNew(profile)
        // A recipient was taken out of the header; the key of the other one is the right one.
        let card = try Self.card(profile)
        let both = try Self.export(profile, try ExportSeal(cards: [card, card])).bytes
        var alone = Array(both[..<begin])
        alone[12] = 1
        let rest = both[(begin + 110)...]
        #expect(Self.error { _ = try Self.importing(alone + rest, to: profile) } == "damagedExport")
        // The same pieces under another header.
        let other = try Self.ownSeal(profile)
        let otherHeader = other.header
        #expect(
            Self.error { _ = try Self.importing(otherHeader + pieces.flatMap { $0 }, to: profile) }
                == "damagedExport")
        #expect(error(pieces) == nil)
    }

    // MARK: Hostile senders

    /// Seals an archive as it is.
    private static func sealed(_ archive: [UInt8], for profile: OpenProfile) throws -> [UInt8] {
        let seal = try ownSeal(profile)
        var key = seal.key
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/export"
        let file = try Descriptor.open(path, [.writeOnly, .create])
        var stream = try SealingStream(
            to: file.number, header: seal.header, SymmetricKey(SecretBytes(moving: &key))
        ) { true }
        try stream.append(archive.span.bytes)
        try stream.finish()
        return Array(try Data(contentsOf: URL(filePath: path)))
    }

    @Test func whatASenderCanSeal() throws {
        let profile = try OpenProfile()
        func entry(_ path: [String], _ kind: ArchiveEntry.Kind) throws -> [UInt8] {
            try ArchiveWriter.header(
                of: ArchiveEntry(
                    path: path.map { Array($0.utf8) }, kind: kind, permissions: 0o755, modified: 0))
        }
        let root = try entry([], .directory), end = ArchiveWriter.end
        let file =
            try entry(["f"], .file(size: 3, data: [0..<3])) + [1, 2, 3] + [UInt8](repeating: 0, count: 509)
        let cases: [(String, [UInt8], String)] = [
            ("nothing", [], "badArchive"), ("no end", root, "badArchive"),
            ("half an end", root + end.dropLast(512), "badArchive"),
            ("text", Array("hello, this is no archive".utf8), "badArchive"),
            ("no root", file + end, "badArchive"), ("more after the end", root + end + [0], "badArchive"),
            ("a block after the end", root + end + end, "badArchive"),
            ("a cut file", root + file.dropLast(600), "badArchive"),
            ("a file twice", root + file + file + end, "badEntry"),
            ("a directory that is missing", root + (try entry(["d", "f"], .fifo)) + end, "badEntry"),
            ("a link to nothing", root + (try entry(["l"], .link(to: [[0x78]]))) + end, "badEntry"),
        ]
        for (name, archive, expected) in cases {
            let export = try Self.sealed(archive, for: profile)
            #expect(Self.error { _ = try Self.importing(export, to: profile) } == expected, "\(name)")
            try Self.expectNothingNew(profile)
        }
        let good = try Self.sealed(root + file + end, for: profile)
        #expect(try Self.importing(good, to: profile).items == 1)
    }

    // MARK: Names, interruptions, and remains

    @Test func names() throws {
        let profile = try OpenProfile()
        let export = try Self.export(profile, try Self.ownSeal(profile)).bytes
        #expect(Self.error { _ = try Self.importing(export, to: profile, as: "Personal") } == "vaultExists")
        for name in ["", "a/b", ".x", "."] {
            #expect(
                Self.error { _ = try Self.importing(export, to: profile, as: name) } == "invalidVaultName")
        }
        try Self.expectNothingNew(profile)
        #expect(
            Self.error { _ = try Self.export(profile, try Self.ownSeal(profile), vault: "None") }
                == "noSuchVault")
    }

    /// Nobody waits any more: nothing stays.
    @Test func interrupted() throws {
        let profile = try OpenProfile()
        _ = try Self.fill(profile)
        let seal = try Self.ownSeal(profile)
        #expect(Self.error { _ = try Self.export(profile, seal, isHeard: { false }) } == "exportInterrupted")
        let export = try Self.export(profile, seal).bytes
        #expect(
            Self.error { _ = try Self.importing(export, to: profile, isHeard: { false }) }
                == "exportInterrupted")
        try Self.expectNothingNew(profile)
        #expect(profile.problems.isEmpty)
    }

    /// A pipe that nobody writes to keeps an import only as long as somebody waits for it.
    @Test func silentPipe() throws {
        let profile = try OpenProfile()
        let seal = try Self.ownSeal(profile)
        let export = try Self.export(profile, seal).bytes
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        let start = Array(export.prefix(200))
        #expect(write(ends[1], start, start.count) == start.count)
        let opening = try ExportOpening(from: ends[0])
        let asked = Condition(0)
        let error = clientError { () throws(ClientError) in
            try profile.handler.answer(
                ImportRequest(vault: "Copy", opening, key: nil, byteCount: 0),
                isHeard: {
                    asked.update {
                        $0 += 1; return $0 < 5
                    }
                }, stream: ends[0]
            ) { _ in }
        }
        #expect(error?.caseName == "exportInterrupted")
        try Self.expectNothingNew(profile)
    }

    /// The next opening removes what a crash left of an import, and nothing else.
    @Test func remainsOfACrash() throws {
        let test = try TestProfile()
        let vaults = test.location.vaults
        do {
            let profile = try OpenProfile(test)
            let left = try profile.profile.beginImport(named: "Left", owner: .current)
            // Ended between the change of the profile and the removal of the mark.
            let late = try profile.profile.beginImport(named: "Late", owner: .current)
            _ = try profile.profile.adding(late)
            let names = Set(try FileManager.default.contentsOfDirectory(atPath: vaults))
            #expect(names.isSuperset(of: ["\(left.id)", "\(left.id).importing", "\(late.id).importing"]))
        }
        try FileManager.default.createDirectory(
            atPath: "\(vaults)/00112233445566778899aabbccddeeff", withIntermediateDirectories: false)
        let profile = try OpenProfile(test)
        #expect(profile.names() == ["Personal", "Late"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: vaults).count == 3)
        #expect(profile.problems.map(\.text).filter { $0.contains("belongs to no vault") }.count == 1)
    }

    /// Contents that are only at the remote are fetched; if they cannot be, the export fails, and names the file.
    @Test func contentsAtTheRemote() throws {
        let place = try MeetingPlace()
        let (alice, bob) = try place.pair()
        let text = String(repeating: "all that Alice wrote ", count: 100_000)
        try alice.write(text, to: "a", in: "Personal")
        for person in [alice, bob] { _ = try person.sync() }
        #expect(try bob.vault("Ours").cache.missingContent().bytes == text.utf8.count)
        let seal = try Self.ownSeal(bob)
        let export = try Self.export(bob, seal, vault: "Ours").bytes
        _ = try Self.importing(export, to: bob)
        #expect(try Self.content("a", of: bob.vault("Copy")) == Array(text.utf8))
        try alice.write(text, to: "b", in: "Personal")
        for person in [alice, bob] { _ = try person.sync() }
        try FileManager.default.removeItem(atPath: place.folder.path)
        do {
            _ = try Self.export(bob, seal, vault: "Ours")
            Issue.record("a file without its content was exported")
        } catch let error as ClientError {
            #expect("\(error)".contains("“b” in “Ours” cannot be read"))
        }
    }

    /// What cannot be read is named, and nothing is exported without it.
    @Test func unreadable() throws {
        let profile = try OpenProfile()
        _ = try Self.fill(profile)
        try profile.vault("Personal").commit()
        let packs = "\(profile.profile.directory(of: profile.profile.vaults[0]))/packs"
        for name in try FileManager.default.contentsOfDirectory(atPath: packs) {
            let file = try Descriptor.open("\(packs)/\(name)", .readWrite)
            let bytes = [UInt8](repeating: 0xA5, count: 8192)
            _ = pwrite(file.number, bytes, bytes.count, 200_000)
        }
        let seal = try Self.ownSeal(profile)
        do {
            _ = try Self.export(profile, seal)
            Issue.record("a damaged file was exported")
        } catch let error as ClientError {
            #expect("\(error)".contains("“file” in “Personal” cannot be read"))
        }
    }
}
