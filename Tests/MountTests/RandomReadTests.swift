import Foundation
import Testing

extension MountTests {
    /// Many programs read at random, so that many reads are in flight.
    @Suite struct RandomReadTests {
        /// Readers verify every byte while others write, truncate, and remove the files.
        @Test func readersDuringChanges() throws {
            try withMountedProfile { profile in
                let still = NumberedFile(profile.path("still"), tag: 1, pages: 4096)
                let written = NumberedFile(profile.path("written"), tag: 2, pages: 1024)
                let cut = NumberedFile(profile.path("cut"), tag: 3, pages: 1024)
                for file in [still, written, cut] { try file.write(0..<file.pageCount) }
                try profile.remount()
                let gonePath = profile.path("gone")
                let crew = Crew()
                for reader in 0..<4 { crew.add { try still.readAtRandom(1_500, seed: reader) } }
                for reader in 0..<2 { crew.add { try written.readAtRandom(1_500, seed: reader) } }
                for reader in 0..<2 { crew.add { try cut.readAtRandom(1_500, seed: reader, maySee: .cuts) } }
                crew.addUntilOthersEnd { round in
                    let chunk = round * 5 % 32 * 32
                    try written.write(chunk..<chunk + 32)
                }
                crew.addUntilOthersEnd { round in
                    let left = 1 + round * 7 % 30
                    try Files.check(truncate(cut.path, left * 32 * 4096), cut.path)
                    try cut.write(left * 32..<cut.pageCount)
                }
                crew.addUntilOthersEnd { round in
                    let gone = NumberedFile("\(gonePath)-\(round)", tag: 4 + round, pages: 256)
                    try gone.write(0..<gone.pageCount)
                    let file = open(gone.path, O_RDONLY | O_CLOEXEC)
                    try Files.check(file, gone.path)
                    defer { close(file) }
                    try gone.readAtRandom(20, seed: round, from: file)
                    try Files.remove(gone.path)
                    try gone.readAtRandom(20, seed: round + 1, from: file)
                }
                try crew.run()
                try profile.remount()
                for file in [still, written, cut] { try file.readAll() }
            }
        }

        /// Among many reads in flight, only the read of a damaged block fails.
        @Test func damageAmongManyReads() throws {
            try withMountedProfile { profile in
                let file = NumberedFile(profile.path("large"), tag: 9, pages: 2048)
                try file.write(0..<file.pageCount)
                try profile.unmount()
                profile.expectsProblems = true
                let packs = try Files.all(below: "\(profile.home)/vaults").filter { $0.contains("/packs/") }
                let sized = try packs.map { ($0, try Files.read($0).count) }
                try Files.flip(try #require(sized.max { $0.1 < $1.1 }).0, at: 3 << 20)
                try profile.mount()
                let crew = Crew()
                let failures = (0..<8).map { _ in Shared<Set<Int>>([]) }
                for reader in 0..<8 {
                    crew.add {
                        for index in 0..<file.pageCount {
                            // All pages, each reader in an order of its own.
                            let page = (index * 769 + reader * 257) % file.pageCount
                            do {
                                try file.readAtRandom(1, seed: 0, page: page)
                            } catch let error as CallError where error.code == EIO {
                                failures[reader].change { $0.insert(page) }
                            }
                        }
                    }
                }
                try crew.run()
                let hurt = failures.map(\.value)
                #expect(Set(hurt).count == 1 && hurt.first?.count == 1, "\(hurt)")
                #expect(try !profile.status().problems.isEmpty)
            }
        }
    }
}
