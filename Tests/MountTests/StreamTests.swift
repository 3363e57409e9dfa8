import Foundation
import Testing

extension MountTests {
    /// Sequential reads of large files; several threads answer the requests.
    @Suite struct StreamTests {
        private static let size = 40 << 20

        /// A cold file reads as it was written while others are overwritten and truncated (checked with cmp(1)).
        @Test func aColdFileReadsRightWhileOthersChange() throws {
            try withMountedProfile { profile in
                let bytes = pattern(Self.size, seed: 3)
                let plain = "\(profile.base)/plain"
                let compare = try #require(Machine.path("cmp"))
                try Files.write(bytes, to: plain)
                try Files.write(bytes, to: profile.path("read"), durably: true)
                try Files.write(bytes, to: profile.path("cut"), durably: true)
                let changed = profile.path("changed")
                try Files.write(bytes, to: changed, durably: true)
                try profile.remount()
                // Rewrites every second piece of one file, and shortens and extends another, as long as needed.
                let changes = """
                    while [ ! -e "$3/over" ]; do
                        for part in 1 5 9 13 17 21 25 29 33 37; do
                            dd if="$3/plain" of="$1" bs=1M count=1 skip=$part seek=$part conv=notrunc 2>"$3/dd" || exit 1
                            truncate -s ${part}500K "$2" || exit 1
                        done
                        truncate -s 40M "$2" || exit 1
                    done
                    """
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/bin/sh")
                process.arguments = [
                    "-c", changes, "sh", changed, profile.path("cut"), profile.base,
                ]
                try process.run()
                defer {
                    try? Files.write("", to: "\(profile.base)/over")
                    process.waitUntilExit()
                }
                for _ in 0..<3 {
                    try Command(compare, [plain, profile.path("read")]).succeed()
                    // The rewritten bytes are the old ones, so this file never changes.
                    try Command(compare, [plain, changed]).succeed()
                    try Self.forgetPages(of: profile.path("read"))
                    try Self.forgetPages(of: changed)
                }
                try Files.write("", to: "\(profile.base)/over")
                process.waitUntilExit()
                #expect(process.terminationStatus == 0)
                try profile.remount()
                for name in ["read", "changed"] {
                    try Command(compare, [plain, profile.path(name)]).succeed()
                }
                let cut = try Files.read(profile.path("cut"))
                #expect(cut.count == Self.size)
                // The last truncation left the first 500 KB of it, or a little more.
                let isSame = cut[..<1_500_000] == bytes[..<1_500_000] || cut[..<500_000] == bytes[..<500_000]
                #expect(isSame)
            }
        }

        /// Makes the kernel drop its cached pages of a file, so that it reads them again.
        private static func forgetPages(of path: String) throws {
            let file = open(path, O_RDONLY | O_CLOEXEC)
            try Files.check(file, path)
            defer { close(file) }
            #expect(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0)
        }

        /// Flipped bytes in the middle of a large file: EIO there; everything else reads as it was written.
        @Test func flippedBytesInTheMiddle() throws {
            try withMountedProfile { profile in
                let bytes = pattern(Self.size, seed: 4)
                try Files.write(bytes, to: profile.path("large"), durably: true)
                try profile.unmount()
                profile.expectsProblems = true
                let packs = try Files.all(below: "\(profile.home)/vaults").filter { $0.contains("/packs/") }
                let sized = try packs.map { ($0, try Files.read($0).count) }
                let middle = try #require(sized.filter { $0.1 > 15 << 20 }.first).0
                try Files.flip(middle, at: 8 << 20)
                try profile.mount()
                let file = open(profile.path("large"), O_RDONLY | O_CLOEXEC)
                try Files.check(file, "large")
                defer { close(file) }
                let step = 64 << 10
                var buffer = [UInt8](repeating: 0, count: step)
                var hurt: [Int] = [], wrong = 0
                for offset in stride(from: 0, to: Self.size, by: step) {
                    let count = pread(file, &buffer, step, offset)
                    if count == step {
                        if buffer[...] != bytes[offset..<offset + step] { wrong += 1 }
                    } else if count < 0 {
                        #expect(errno == EIO)
                        hurt.append(offset)
                    } else {
                        // Up to the first byte that cannot be read.
                        if buffer[..<count] != bytes[offset..<offset + count] { wrong += 1 }
                        #expect(pread(file, &buffer, 1, offset + count) < 0 && errno == EIO)
                        hurt.append(offset)
                    }
                }
                #expect(wrong == 0)
                #expect(hurt.count == 1, "a block is within one step: \(hurt)")
                #expect(try !profile.status().problems.isEmpty)
            }
        }
    }
}
