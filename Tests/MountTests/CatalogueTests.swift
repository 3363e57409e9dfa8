import FilesystemCases
import Foundation
import Testing

extension MountTests {
    /// The POSIX catalogue, here and on a plain directory.
    @Suite struct CatalogueTests {
        /// Runs all cases in a process of its own, and names those that fail or cannot run on this machine.
        private func run(in directory: String) throws {
            let result = try Command(try Programs.workload(), ["run-catalogue", directory]).run(seconds: 500)
            for line in result.lines where line.hasPrefix("FAILED") {
                Issue.record("\(line.dropFirst(7))")
            }
            let passed = result.lines.count { $0.hasPrefix("ok ") }
            #expect(result.status == 0, "\(result.error)")
            let skipped = result.lines.filter { $0.hasPrefix("skipped ") }
            for line in skipped { Issue.record("\(line)", severity: .warning) }
            #expect(passed + skipped.count == PosixCatalogue.all.count)
        }

        @Test(.enabled(if: Machine.isRoot, "other users and devices take root"))
        func mountKeepsEveryRule() throws {
            try withProfile(mounted: MountedProfile.catalogueOptions) { profile in
                try Files.makeDirectory(profile.path("cases"))
                try run(in: profile.path("cases"))
                #expect(try Files.names(profile.path("cases")) == [])
                try profile.remount(MountedProfile.catalogueOptions)
                #expect(try profile.check().damage.isEmpty)
            }
        }

        /// A rule that ordinary filesystems break would be no rule.
        @Test(.enabled(if: Machine.isRoot, "other users and devices take root"))
        func plainDirectoryKeepsEveryRule() throws {
            let directory = "\(NSTemporaryDirectory())/coffer-cases-\(getpid())"
            try Files.makeDirectory(directory)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try run(in: directory)
        }

        @Test(.enabled(if: Machine.isRoot, "acting as other users takes root"))
        func usersWorkInParallel() throws {
            try withProfile(mounted: MountedProfile.catalogueOptions) { profile in
                try Command(try Programs.workload(), ["parallel-users", profile.vault]).succeed()
            }
        }

        @Test func manyFilesStayOpen() throws {
            try withMountedProfile { profile in
                try Command(try Programs.workload(), ["open-files", profile.vault, "2000", "1"]).succeed()
            }
        }
    }
}
