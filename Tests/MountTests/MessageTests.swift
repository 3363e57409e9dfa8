import Foundation
import Testing

extension MountTests {
    /// What is said when a mount fails: once, and to the one who asked.
    @Suite struct MessageTests {
        /// The process in the background fails where the one in front of it cannot know.
        @Test func failureInTheBackgroundIsToldOnce() throws {
            try withProfile(mounted: nil) { profile in
                // The name of the mount's socket gets too long.
                let runtime = "\(profile.base)/\(String(repeating: "r", count: 80))"
                try Files.makeDirectory(runtime, mode: 0o700)
                var mount = try profile.command("mount", profile.point)
                mount.environment["XDG_RUNTIME_DIR"] = runtime
                let result = try mount.run()
                if result.status == 0 { return try profile.noteMounted() }
                let lines = result.error.split(separator: "\n").filter { $0.hasPrefix("coffer: ") }
                #expect(lines.count == 1, "\(result.error)")
                // Nothing is left of it, and the next try works.
                #expect(Mounts.below(profile.base) == [])
                try profile.mount()
            }
        }
    }
}
