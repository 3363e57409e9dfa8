import CFilesystemCalls
import Foundation
import Testing

extension MountTests {
    /// stat(2) shows the stored times.
    @Suite struct TimesTests {
        private struct Times: Equatable {
            let modified: Int64
            let changed: Int64

            init(_ path: String) throws {
                var status = linux_status()
                try Files.check(linux_status_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status), path)
                modified = status.modified * 1_000_000_000 + status.modified_nanoseconds
                changed = status.changed * 1_000_000_000 + status.changed_nanoseconds
            }
        }

        /// All kinds of content changes, each right after the kernel has sent the file's times.
        private func change(_ path: String, _ way: Int) throws {
            try Files.write(pattern(16_384), to: path, durably: true)
            let file = open(path, O_RDWR | O_CLOEXEC | (way == 0 ? LINUX_O_DIRECT : 0))
            try Files.check(file, path)
            defer { close(file) }
            switch way {
            case 0:
                var memory: UnsafeMutableRawPointer?
                try #require(posix_memalign(&memory, 4096, 4096) == 0)
                defer { free(memory) }
                for _ in 0..<3 {
                    try Files.check(pwrite(file, memory, 4096, 4096), path)
                    try Files.check(fdatasync(file), path)
                }
                try Files.check(pwrite(file, memory, 4096, 4096), path)
            case 1:
                let mode = LINUX_FALLOCATE_PUNCH_HOLE | LINUX_FALLOCATE_KEEP_SIZE
                try Files.check(linux_fallocate(file, mode, 0, 4096), path)
            case 2:
                var (from, to): (Int64, Int64) = (0, 8192)
                try Files.check(linux_copy_file_range(file, &from, file, &to, 4096), path)
            case 3: try Files.check(link(path, "\(path)-link"), path)
            case 4: try Files.move(path, to: "\(path)-moved")
            case 5: try Files.check(chmod(path, 0o600), path)
            case 6: try Files.check(utimensat(AT_FDCWD, path, nil, 0), path)
            default: try Files.check(truncate(path, 16_384), path)
            }
        }

        @Test func outliveTheMount() throws {
            try withMountedProfile { profile in
                for round in 0..<10 {
                    for way in 0...7 { try change(profile.path("\(round)-\(way)"), way) }
                    try Files.makeDirectory(profile.path("directory-\(round)"))
                }
                let names = try Files.names(profile.vault)
                let before = try names.map { try Times(profile.path($0)) }
                try profile.remount()
                for (name, times) in zip(names, before) {
                    #expect(try Times(profile.path(name)) == times, "\(name)")
                }
            }
        }
    }
}
