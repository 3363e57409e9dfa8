import Foundation
import Testing

extension MountTests {
    /// Bytes on disk that differ from what was written: `coffer check` finds them, and programs get EIO.
    @Suite struct DamageTests {
        private static let size = 2 << 20
        /// The number of bytes that are sealed together (docs/format.md).
        private static let block = 4_096

        /// A vault with one large file and some small ones; the body gets the largest pack, unmounted.
        private func withPack(_ body: (MountedProfile, String) throws -> Void) throws {
            try withMountedProfile { profile in
                try Files.write(pattern(Self.size, seed: 5), to: profile.path("large"), durably: true)
                try Files.makeDirectory(profile.path("directory"))
                for index in 0..<20 {
                    try Files.write("small \(index)", to: profile.path("directory/file-\(index)"))
                }
                try profile.unmount()
                profile.expectsProblems = true
                let packs = try Files.all(below: "\(profile.home)/vaults").filter { $0.contains("/packs/") }
                let sized = try packs.map { ($0, try Files.read($0).count) }
                let largest = try #require(sized.max { $0.1 < $1.1 })
                #expect(largest.1 >= Self.size)
                try body(profile, largest.0)
            }
        }

        /// The damage that `coffer check` reports, mounted or not; the test fails if there is none.
        private func damage(_ profile: MountedProfile) throws -> [CheckReport.Damage] {
            let text = try profile.command("check").fail(with: 1)
            #expect(text.output.contains("damaged"))
            let json = try profile.command("check", "--json").fail(with: 1)
            return try json.decode(CheckReport.self).damage
        }

        /// Small files must read as they were written, and no file may read as anything else.
        private func expectRest(_ profile: MountedProfile) throws {
            for index in 0..<20 {
                #expect(try Files.text(profile.path("directory/file-\(index)")) == "small \(index)")
            }
        }

        @Test func flippedByteInAPack() throws {
            try withPack { profile, pack in
                try Files.flip(pack, at: Self.size / 2)
                let found = try damage(profile)
                #expect(found.count == 1, "\(found)")
                let hurt = try #require(found.first)
                #expect(hurt.path == "large")
                let (from, to) = (Int(try #require(hurt.from)), Int(try #require(hurt.to)))
                #expect(to - from == Self.block && from % Self.block == 0 && to <= Self.size)
                try profile.mount()
                #expect(try damage(profile).first?.from == hurt.from)
                let expected = pattern(Self.size, seed: 5)
                let path = profile.path("large")
                let (window, end) = (128 << 10, Self.size)
                #expect(
                    try Files.read(path, count: max(0, from - window))
                        == Array(expected.prefix(max(0, from - window))))
                let behind = min(end, to + window)
                #expect(try Files.read(path, at: behind) == Array(expected.dropFirst(behind)))
                #expect(try errorNumber { _ = try Files.read(path, at: from, count: 1) } == EIO)
                #expect(try errorNumber { _ = try Files.read(path) } == EIO)
                try expectRest(profile)
                #expect(try !profile.status().problems.isEmpty)
            }
        }

        /// Page by page, without read-ahead, exactly the damaged block fails.
        @Test func onlyTheDamagedBlockFails() throws {
            try withPack { profile, pack in
                try Files.flip(pack, at: Self.size / 2)
                try profile.mount()
                let path = profile.path("large")
                let file = open(path, O_RDONLY | O_CLOEXEC)
                defer { close(file) }
                #expect(posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM) == 0)
                let expected = pattern(Self.size, seed: 5)
                var failures = 0
                var buffer = [UInt8](repeating: 0, count: 4096)
                for offset in stride(from: 0, to: Self.size, by: 4096) {
                    let count = pread(file, &buffer, 4096, offset)
                    if count < 0 {
                        #expect(errno == EIO)
                        failures += 1
                    } else {
                        #expect(buffer == Array(expected[offset..<offset + 4096]), "at \(offset)")
                    }
                }
                #expect(failures * 4096 == Self.block)
            }
        }

        @Test func truncatedPack() throws {
            try withPack { profile, pack in
                try Files.check(truncate(pack, 1 << 20), pack)
                let found = try damage(profile)
                #expect(found.contains { $0.path == "large" && ($0.from ?? 0) > 0 }, "\(found)")
                try profile.mount()
                let half = 512 << 10
                #expect(
                    try Files.read(profile.path("large"), count: half)
                        == Array(pattern(Self.size, seed: 5).prefix(half)))
                #expect(try errorNumber { _ = try Files.read(profile.path("large")) } == EIO)
            }
        }

        @Test func missingPack() throws {
            try withPack { profile, pack in
                try Files.remove(pack)
                #expect(try damage(profile).contains { $0.path == "large" && $0.from == 0 })
                try profile.mount()
                #expect(try errorNumber { _ = try Files.read(profile.path("large")) } == EIO)
                // The vault still accepts changes.
                try Files.write("new", to: profile.path("new"), durably: true)
                try Files.remove(profile.path("large"))
                try profile.remount()
                #expect(try Files.text(profile.path("new")) == "new")
            }
        }

        @Test func packFromAnotherPlace() throws {
            try withPack { profile, pack in
                let bytes = try Files.read(pack)
                // Swaps two sealed blocks.
                var swapped = bytes
                let (first, second) = (1 << 20..<(1 << 20) + 65_536, 1_200_000..<1_265_536)
                swapped.replaceSubrange(first, with: bytes[second])
                swapped.replaceSubrange(second, with: bytes[first])
                try Files.write(swapped, to: pack)
                #expect(try damage(profile).contains { $0.path == "large" })
            }
        }
    }
}
