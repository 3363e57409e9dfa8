import CFilesystemCalls
import CofferSystem
import Foundation
import Testing

@testable import CofferFUSE
@testable import CofferVault

extension LiveMountTests {
    /// The kernel lets programs write to past files, in its cache.
    @Suite struct PastWriteTests {
        private static let text = String(repeating: "as it was ", count: 1000)

        /// Runs a body with the path of a past file.
        private func run(_ body: (PastStory, String) throws -> Void) throws {
            try PastStory.run { story in
                try story.writes(Self.text, to: "file")
                let past = try story.keeps()
                try story.writes("present", to: "file")
                let before = try Program.status("\(past)/file")
                try body(story, "\(past)/file")
                let after = try Program.status("\(past)/file")
                #expect(after.st_size == before.st_size && after.st_ino == before.st_ino)
                #expect(
                    after.st_mtim.tv_sec == before.st_mtim.tv_sec
                        && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
                #expect(try Program.reads("\(past)/file", count: 100_000) == Self.text)
                #expect(try Program.reads(story.mount.path("file")) == "present")
                // Nothing is missing, so nothing keeps the profile unlocked.
                #expect(story.mount.session.failedWrites.isEmpty)
            }
        }

        @Test(arguments: [0, 5000, 9_990, 50_000])
        func fsyncReportsIt(offset: Int) throws {
            try run { story, path in
                let file = try Program.opens(path)
                try Program.writes("as it never was, with some length", to: file, at: offset)
                #expect(code(fsync(file)) == EROFS)
                #expect(story.mount.session.failedWrites.takeNews())
                // Others see the file as it was, while this one is open.
                #expect(try Program.reads(path, count: 100_000) == Self.text)
                #expect(try Program.status(path).st_size == Self.text.utf8.count)
                close(file)
            }
        }

        @Test(arguments: [0, 50_000])
        func closeReportsIt(offset: Int) throws {
            try run { _, path in
                let file = try Program.opens(path)
                try Program.writes("as it never was", to: file, at: offset)
                #expect(try code { try Program.closes(file) } != 0)
            }
        }

        /// Whoever looks the file up gets the true bytes, though the kernel has not stored the others yet.
        @Test(arguments: [false, true])
        func beforeTheKernelStoresIt(isMapped: Bool) throws {
            try run { _, path in
                let file = try Program.opens(path)
                let memory = try #require(mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
                if isMapped {
                    memory.storeBytes(of: UInt8(ascii: "X"), as: UInt8.self)
                } else {
                    try Program.writes("as it never was", to: file, at: 500)
                }
                #expect(try Program.reads(path, count: 100_000) == Self.text)
                // The kernel stores a mapping when it ends.
                munmap(memory, 4096)
                close(file)
            }
        }

        /// A program that has the file open sees the true bytes soon.
        @Test func otherProgramsThatHaveTheFileOpen() throws {
            try run { story, path in
                let reader = try Program.opens(path, O_RDONLY)
                #expect(try Program.reads(reader, count: 100_000) == Self.text)
                let file = try Program.opens(path)
                try Program.writes("as it never was", to: file)
                #expect(code(fsync(file)) == EROFS)
                #expect(eventually { (try? Program.reads(reader, count: 100_000)) == Self.text })
                #expect(eventually { (try? Program.reads(file, count: 100_000)) == Self.text })
                close(file)
                close(reader)
            }
        }

        @Test func mappings() throws {
            try run { story, path in
                let file = try Program.opens(path)
                let memory = try #require(mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
                memory.storeBytes(of: UInt8(ascii: "X"), as: UInt8.self)
                #expect(code(msync(memory, 4096, MS_SYNC)) == EROFS)
                #expect(eventually { memory.load(as: UInt8.self) == UInt8(ascii: "a") })
                munmap(memory, 4096)
                close(file)
            }
        }

        @Test func directWrites() throws {
            try run { story, path in
                let file = try Program.opens(path, O_RDWR | LINUX_O_DIRECT)
                let buffer = AlignedBuffer(count: 4096)
                let result = buffer.withMutableBytes(0..<4096) { bytes in
                    bytes.withUnsafeMutableBytes { pwrite(file, $0.baseAddress, 4096, 0) }
                }
                #expect(code(result) == EROFS)
                // The kernel has nothing to report later.
                #expect(!story.mount.session.failedWrites.takeNews())
                #expect(try Program.reads(path, count: 100_000) == Self.text)
                close(file)
            }
        }

        /// A program that goes on writing is refused each time.
        @Test func againAndAgain() throws {
            try run { story, path in
                for round in 0..<5 {
                    let file = try Program.opens(path)
                    try Program.writes("as it never was \(round)", to: file, at: round * 4000)
                    #expect(code(fsync(file)) == EROFS)
                    close(file)
                    #expect(try Program.reads(path, count: 100_000) == Self.text)
                }
            }
        }
    }

    @Suite struct SpoiltFileTests {
        @Test func generations() {
            let files = SpoiltFiles()
            let node = Node(slot: 0xFFFF, item: 7)
            #expect(files.changes(of: node) == 0)
            #expect(files.add(node))
            // More pages of the same file.
            #expect(!files.add(node))
            files.noteDropping(node)
            #expect(files.add(node))
            #expect(files.changes(of: node) == 1)
            #expect(files.changes(of: node) == 1)
            files.noteDropping(node)
            #expect(files.add(node))
            #expect(files.changes(of: node) == 2)
            files.remove(node)
            #expect(files.changes(of: node) == 0)
        }
    }
}
