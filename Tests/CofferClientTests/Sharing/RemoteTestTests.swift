import CofferRemote
import Foundation
import Testing

@testable import CofferClient

/// What `coffer remote test` does.
@Suite(.ownThread) struct RemoteTestTests {
    @Test func aFolder() throws {
        let folder = try TemporaryDirectory()
        let remote = FolderBackend(path: folder.path)
        let report = Waiting.run { await RemoteTest(remote).run() }
        #expect(report.isUsable, "\(report.steps)")
        #expect(
            report.steps.map(\.name) == [
                "begin", "put 4 MiB", "refuse what exists", "get a range", "list", "delete",
            ])
        // Nothing that has bytes is left.
        let left = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { path in
            var isDirectory: ObjCBool = false
            let isThere = FileManager.default.fileExists(
                atPath: "\(folder.path)/\(path)", isDirectory: &isDirectory)
            return isThere && !isDirectory.boolValue
        }
        #expect(left.isEmpty, "\(left)")
    }

    @Test func noFolder() {
        let report = Waiting.run { await RemoteTest(FolderBackend(path: "/does/not/exist")).run() }
        #expect(!report.isUsable && report.steps.first?.failure != nil)
        #expect(report.steps.map(\.name) == ["begin", "delete"])
    }
}
