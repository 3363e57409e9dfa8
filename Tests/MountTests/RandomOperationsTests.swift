import FilesystemCases
import Foundation
import Testing

extension MountTests {
    /// Random operations give the same results in a mount and in a plain directory, across remounts.
    @Suite struct RandomOperationsTests {
        /// Seeds of every run; one more is new each time, and printed.
        static let seeds: [UInt64] = [1, 2, 3] + [UInt64.random(in: 1...1_000_000)]

        @Test(.enabled(if: Machine.isRoot, "devices and owners take root"), arguments: seeds)
        func nothingDiffers(seed: UInt64) throws {
            print("random operations, seed \(seed)")
            try withProfile(mounted: MountedProfile.catalogueOptions) { profile in
                let (reference, subject) = ("\(profile.base)/reference", profile.path("subject"))
                try Files.makeDirectory(reference)
                try Files.makeDirectory(subject)
                let random = RandomOperations(seed: seed, reference: reference, subject: subject)
                for _ in 0..<3 {
                    try random.run(operations: 600)
                    random.closeAll()
                    try profile.remount(MountedProfile.catalogueOptions)
                    try random.compareTrees()
                }
                #expect(random.successes > 300, "seed \(seed)")
                #expect(try profile.check().damage.isEmpty, "seed \(seed)")
            }
        }
    }
}
