import CofferTestSupport
import CofferVault
import Foundation
import Glibc
import Testing

@testable import CofferFUSE

@Suite struct ListingEndsTests {
    @Test func onlyTheNewestDirectoriesAreRemembered() {
        var ends = ListingEnds()
        for number in 0...Int64(ListingEnds.countMax) {
            ends.begin(Node(slot: 1, item: number + 1), endingBefore: number)
        }
        #expect(ends.end(of: Node(slot: 1, item: 1)) == nil)
        #expect(ends.end(of: Node(slot: 1, item: 2)) == 1)
        ends.begin(Node(slot: 1, item: 2), endingBefore: 9)
        #expect(ends.end(of: Node(slot: 1, item: 2)) == 9)
        #expect(ends.end(of: Node(slot: 2, item: 2)) == nil)
    }
}

extension LiveMountTests {
    /// A listing ends, whatever a program does with each entry that it reads.
    @Suite struct ListingTests {
        private static let count = 2000

        enum Action: String, CaseIterable, Sendable {
            case movesOutAndIn, replaces, savesWithABackup, linksAndUnlinks

            func perform(_ name: String, in directory: String, _ number: Int) throws {
                let path = "\(directory)/\(name)"
                func make() throws { try Program.closes(try Program.opens(path, O_CREAT | O_WRONLY)) }
                switch self {
                case .movesOutAndIn:
                    try #require(rename(path, "\(directory)/../other") == 0)
                    try #require(rename("\(directory)/../other", path) == 0)
                case .replaces:
                    try #require(unlink(path) == 0)
                    try make()
                case .savesWithABackup:
                    try #require(rename(path, "\(path)~") == 0)
                    try make()
                    try #require(unlink("\(path)~") == 0)
                case .linksAndUnlinks:
                    try #require(link(path, "\(directory)/new\(number)") == 0)
                    try #require(unlink(path) == 0)
                }
            }
        }

        @Test(arguments: Action.allCases) func aListingEnds(action: Action) throws {
            try LiveMount.run { mount in
                let directory = mount.path("d")
                try #require(mkdir(directory, 0o755) == 0)
                for number in 0..<Self.count {
                    try Program.closes(try Program.opens("\(directory)/f\(number)", O_CREAT | O_WRONLY))
                }
                let stream = try #require(opendir(directory))
                defer { closedir(stream) }
                var names: [String] = []
                while names.count < 3 * Self.count, let entry = readdir(stream) {
                    let name = withUnsafeBytes(of: entry.pointee.d_name) {
                        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                    }
                    if name == "." || name == ".." { continue }
                    names.append(name)
                    try action.perform(name, in: directory, names.count)
                }
                #expect(names.count == Self.count)
                #expect(Set(names).count == Self.count)
                // A new listing shows all there is.
                #expect(try Program.lists(directory).count == Self.count)
            }
        }

        /// Two listings of one directory at a time do not cut each other off.
        @Test func twoListings() throws {
            try LiveMount.run { mount in
                let directory = mount.path("d")
                try #require(mkdir(directory, 0o755) == 0)
                func make(_ names: Range<Int>) throws {
                    for number in names {
                        try Program.closes(try Program.opens("\(directory)/f\(number)", O_CREAT | O_WRONLY))
                    }
                }
                func read(_ stream: OpaquePointer, atMost count: Int) -> Int {
                    var found = 0
                    while found < count, readdir(stream) != nil { found += 1 }
                    return found
                }
                try make(0..<Self.count)
                let one = try #require(opendir(directory))
                #expect(read(one, atMost: 10) == 10)
                try make(Self.count..<2 * Self.count)
                let other = try #require(opendir(directory))
                #expect(read(other, atMost: .max) == 2 * Self.count + 2)
                #expect(read(one, atMost: .max) >= Self.count - 8)
                rewinddir(one)
                #expect(read(one, atMost: .max) == 2 * Self.count + 2)
                closedir(one)
                closedir(other)
            }
        }
    }
}
