import Foundation
import Testing

extension MountTests {
    /// `coffer check --remote`, with and without a mount.
    @Suite struct RemoteCheckCommandTests {
        @Test func aRemoteThatLosesThings() throws {
            try withMountedProfile { profile in
                profile.expectsProblems = true
                let remote = "\(profile.base)/remote"
                try Files.makeDirectory(remote)
                func check(_ options: String..., status: Int32) throws -> String {
                    var command = try profile.command("check")
                    command.arguments += options
                    return try status == 0 ? command.succeed().output : command.fail(with: status).output
                }
                _ = try check("--remote", "Personal", status: 66)
                #expect(try check("--remote", status: 0).contains("has none"))
                try Files.write(pattern(300_000, seed: 3), to: profile.path("large"), durably: true)
                try profile.command("remote", "add", "Personal", remote).succeed()
                try profile.command("sync").succeed()
                #expect(try check("--remote", "--read-all", status: 0).contains(" read: whole\n"))
                let packs = try Files.all(below: remote).filter { $0.contains("/packs/") }
                let pack = try #require(packs.first)
                try Files.flip(pack, at: 200_000)
                #expect(try check("--remote", status: 0).contains(": whole\n"))
                for isMounted in [true, false] {
                    if !isMounted {
                        try profile.command("unmount", profile.point, passphrase: false).succeed()
                        profile.expectEnded()
                    }
                    let damaged = try check("--read-all", status: 1)
                    #expect(damaged.contains("is damaged") && damaged.contains("\n    /large\n"))
                    #expect(damaged.contains(": 1 problem\n"))
                }
                try Files.flip(pack, at: 200_000)
                try Files.move(pack, to: "\(profile.base)/pack")
                #expect(try check("--remote", status: 1).contains("is missing"))
                try Files.move("\(profile.base)/pack", to: pack)
                try Files.move(remote, to: "\(profile.base)/away")
                #expect(try check("--remote", status: 74).contains("not everything could be checked\n"))
                try Files.move("\(profile.base)/away", to: remote)
                #expect(try check("--remote", status: 0).contains(": whole\n"))
            }
        }
    }
}
