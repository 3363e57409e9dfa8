import Foundation
import Testing

extension MountTests {
    /// A mount that fails says why: once, and to whoever asked for it.
    @Suite struct MessageTests {
        /// The background process fails after the foreground process has checked all that it can.
        @Test func backgroundFailureIsReportedOnce() throws {
            try withProfile(mounted: nil) { profile in
                // The name of the mount's socket becomes too long.
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
