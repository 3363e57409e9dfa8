import CofferFormat
import CofferSystem
import Foundation
import RemoteConformance
import Testing

@testable import CofferRemote

/// What a folder's own permissions keep its users from doing, and file systems that show changes late.
@Suite struct FolderShortcomingTests {
    private static let alice: UInt32 = 4711, bob: UInt32 = 4712, team: UInt32 = 4713

    /// A list as Linux encodes it.
    private func list(_ entries: [(tag: UInt16, permissions: UInt16, number: UInt32)]) -> [UInt8] {
        var bytes: [UInt8] = [2, 0, 0, 0]
        for entry in entries {
            bytes += [UInt8(entry.tag & 0xFF), UInt8(entry.tag >> 8)]
            bytes += [UInt8(entry.permissions & 0xFF), UInt8(entry.permissions >> 8)]
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: entry.number >> (8 * UInt32($0))) }
        }
        return bytes
    }

    private func excludes(
        _ user: UInt32, _ entries: [(tag: UInt16, permissions: UInt16, number: UInt32)],
        groups: Set<UInt32> = [], groupOfFiles: UInt32? = nil
    ) throws -> Bool {
        let access = try #require(AccessList(list(entries)))
        return access.excludes(user, groups, groupOfFiles: groupOfFiles)
    }

    private let owner: (tag: UInt16, permissions: UInt16, number: UInt32) = (0x01, 7, .max)
    private let group: (tag: UInt16, permissions: UInt16, number: UInt32) = (0x04, 5, .max)
    private let mask: (tag: UInt16, permissions: UInt16, number: UInt32) = (0x10, 7, .max)
    private let others: (tag: UInt16, permissions: UInt16, number: UInt32) = (0x20, 0, .max)

    @Test func aDefaultListThatHasOnlyTheOtherUser() throws {
        let entries = [owner, (0x02, 7, Self.bob), group, mask, others]
        #expect(try excludes(Self.alice, entries))
        #expect(try !excludes(Self.bob, entries))
        // Root may do everything.
        #expect(try !excludes(0, entries))
    }

    @Test func listsThatHaveBoth() throws {
        let both = [owner, (0x02, 7, Self.alice), (0x02, 7, Self.bob), group, mask, others]
        #expect(try !excludes(Self.alice, both))
        let byGroup = [owner, (0x02, 7, Self.bob), group, (0x08, 7, Self.team), mask, others]
        #expect(try !excludes(Self.alice, byGroup, groups: [Self.team]))
        #expect(try excludes(Self.alice, byGroup))
        let ofFolder = [owner, (0x02, 7, Self.bob), (0x04, 7, .max), mask, others]
        #expect(try !excludes(Self.alice, ofFolder, groups: [Self.team], groupOfFiles: Self.team))
        #expect(try excludes(Self.alice, ofFolder, groups: [Self.team]))
        let everybody = [owner, (0x02, 7, Self.bob), group, mask, (0x20, 7, .max)]
        #expect(try !excludes(Self.alice, everybody))
    }

    @Test func theMaskLimitsEntries() throws {
        let masked = [owner, (0x02, 7, Self.alice), (0x02, 7, Self.bob), group, (0x10, 5, .max), others]
        #expect(try excludes(Self.alice, masked))
    }

    /// A list that names nobody says nothing about other users.
    @Test func aListOfTheOwnerAlone() throws {
        #expect(try !excludes(Self.alice, [owner, group, others]))
    }

    @Test func theStickyBitIsNamed() async throws {
        let directory = try TemporaryDirectory()
        let remote = FolderBackend(path: directory.path)
        #expect(try await remote.shortcomings() == [])
        try #require(chmod(directory.path, 0o1777) == 0)
        let texts = try await remote.shortcomings()
        #expect(texts.count == 1)
        #expect(texts.first?.contains("sticky bit") == true)
        #expect(texts.first?.contains("chmod -R -t \(directory.path)") == true)
        // Only the user of a private folder puts anything there.
        try #require(chmod(directory.path, 0o1700) == 0)
        #expect(try await remote.shortcomings() == [])
    }

    /// From linux/magic.h: FUSE, NFS, ext4, tmpfs.
    @Test(
        arguments: [
            (0x6573_5546, ChangeVisibility.delayed), (0x6969, .polled), (0xEF53, .reported),
            (0x0102_1994, .reported),
        ] as [(Int64, ChangeVisibility)])
    func changesInAFileSystem(type: Int64, visibility: ChangeVisibility) {
        #expect(WatchedDirectories.visibility(ofFileSystem: type) == visibility)
    }
}
