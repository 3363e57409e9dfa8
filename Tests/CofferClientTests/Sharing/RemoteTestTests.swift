import CofferRemote
import Foundation
import Testing

@testable import CofferClient

/// The checks of `coffer remote test`.
@Suite(.ownThread) struct RemoteTestTests {
    @Test func aFolder() throws {
        let folder = try TemporaryDirectory()
        let remote = FolderBackend(path: folder.path)
        let report = AwaitedTask { await RemoteTest(remote, of: nil).run() }.wait()
        #expect(report.isUsable, "\(report.steps)")
        #expect(
            report.steps.map(\.name) == [
                "begin", "put 4 MiB", "refuse what exists", "get a range", "list", "delete",
            ])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    /// The test of a vault's remote uses the vault's own directories, and touches no object of the vault.
    @Test func aVault() throws {
        let place = try MeetingPlace()
        let (alice, _) = try place.pair()
        /// All objects; a missing directory may have been made.
        func all() throws -> [String] {
            try FileManager.default.subpathsOfDirectory(atPath: place.folder.path).filter { path in
                let attributes = try FileManager.default.attributesOfItem(
                    atPath: "\(place.folder.path)/\(path)")
                return attributes[.type] as? FileAttributeType == .typeRegular
            }.sorted()
        }
        let before = try all()
        let report = try alice.ask(RemoteTestRequest.vault("Personal"))
        #expect(report.isUsable, "\(report.steps)")
        #expect(try all() == before)
        #expect(try alice.sync().first?.failure == nil)
    }

    /// The message about directories of another user names their owner.
    @Test func directoriesOfAnotherUser() throws {
        struct Obstacle: RemoteBackend {
            let base: any RemoteBackend
            var limits: RemoteLimits { base.limits }
            func describe() -> String { base.describe() }
            func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
                try await base.get(name, range)
            }
            func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
                Issue.record("\(name) is put all the same")
            }
            func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
                try await base.list(prefix, after: after)
            }
            func delete(_ name: RemoteName) async throws(RemoteError) {
                Issue.record("\(name) is deleted")
            }
            func obstacles(below prefix: RemotePrefix) async throws(RemoteError) -> [String] {
                ["bob may not write in /x", "bob may not write in /y"]
            }
            func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }
        }
        let place = try MeetingPlace()
        let (alice, _) = try place.pair()
        let vault = try #require(alice.profile.shares.first).vault
        let remote = Obstacle(base: FolderBackend(path: place.folder.path))
        let report = AwaitedTask { await RemoteTest(remote, of: vault).run() }.wait()
        #expect(!report.isUsable)
        #expect(report.steps.first?.failure?.contains("/x; 1 more") == true)
    }

    @Test func noFolder() {
        let report = AwaitedTask { await RemoteTest(FolderBackend(path: "/does/not/exist"), of: nil).run() }
            .wait()
        #expect(!report.isUsable && report.steps.first?.failure != nil)
        #expect(report.steps.map(\.name) == ["begin"])
    }
}
