import Foundation
import Testing

extension MountTests {
    /// Damage to the index is reported, and never served as valid content.
    @Suite struct IndexDamageTests {
        private static let count = 400

        private func withIndex(_ body: (MountedProfile, String) throws -> Void) throws {
            try withMountedProfile { profile in
                for index in 0..<Self.count {
                    try Files.write("content \(index)", to: profile.path("file-\(index)"))
                }
                try profile.unmount()
                profile.expectsProblems = true
                let index = try Files.all(below: profile.home).first { $0.hasSuffix("/index.sqlite") }
                try body(profile, try #require(index))
            }
        }

        /// Reads every file; content that can be read must be right.
        private func expectNothingWrong(_ profile: MountedProfile) throws {
            guard let names = try? Files.names(profile.vault) else { return }
            for name in names {
                guard let text = try? Files.text(profile.path(name)) else { continue }
                #expect(text == name.replacing("file-", with: "content "), "\(name)")
            }
        }

        @Test func flippedPages() throws {
            try withIndex { profile, index in
                let bytes = try Files.read(index)
                #expect(bytes.count % 4096 == 0)
                for page in stride(from: 0, to: bytes.count / 4096, by: 7) {
                    var damaged = bytes
                    damaged[page * 4096 + 1000] ^= 0x10
                    try Files.write(damaged, to: index)
                    let result = try profile.command("check", "--json").fail(with: 1)
                    let found = try result.decode(CheckReport.self).damage
                    #expect(!found.isEmpty, "page \(page)")
                }
                try Files.write(bytes, to: index)
                #expect(try profile.check().damage.isEmpty)
            }
        }

        @Test func mountWithAFlippedPage() throws {
            try withIndex { profile, index in
                let bytes = try Files.read(index)
                for page in [bytes.count / 4096 / 2, bytes.count / 4096 - 1] {
                    try Files.flip(index, at: page * 4096 + 77)
                    // Without access times nothing changes that could not be stored.
                    try profile.mount("noatime")
                    try expectNothingWrong(profile)
                    try profile.unmount()
                    try Files.write(bytes, to: index)
                }
                try profile.mount()
                #expect(try Files.names(profile.vault).count == Self.count)
            }
        }

        /// A vault that cannot be opened is reported, and the other vaults are mounted.
        @Test func otherVaultsAreServed() throws {
            try withIndex { profile, index in
                try profile.command("vault", "create", "Other").succeed()
                try Files.flip(index, at: 100)
                try profile.mount()
                #expect(try Files.names(profile.point).contains("Other"))
                try Files.write("fine", to: "\(profile.point)/Other/file")
                let status = try profile.status()
                #expect(status.vaults.map(\.name) == ["Personal", "Other"])
                #expect(status.problems.contains { $0.text.contains("Personal") })
                let found = try profile.command("check", "--json").fail(with: 1).decode(CheckReport.self)
                #expect(found.vaults.first { $0.vault == "Other" }?.damage.isEmpty == true)
                #expect(found.vaults.first { $0.vault == "Personal" }?.damage.isEmpty == false)
            }
        }

        /// An old index with today's packs: no file may read as anything that it never was.
        @Test func indexOfYesterday() throws {
            try withIndex { profile, index in
                let yesterday = try Files.read(index)
                try profile.mount()
                for number in 0..<Self.count { try Files.remove(profile.path("file-\(number)")) }
                try Files.write(pattern(300_000, seed: 4), to: profile.path("today"), durably: true)
                try profile.unmount()
                try Files.write(yesterday, to: index)
                try profile.mount()
                try expectNothingWrong(profile)
            }
        }

        @Test func pageOfYesterday() throws {
            try withIndex { profile, index in
                let yesterday = try Files.read(index)
                try profile.mount()
                for number in 0..<Self.count {
                    try Files.move(profile.path("file-\(number)"), to: profile.path("moved-\(number)"))
                }
                try profile.unmount()
                var mixed = try Files.read(index)
                let pages = (0..<min(mixed.count, yesterday.count) / 4096).filter {
                    mixed[$0 * 4096..<($0 + 1) * 4096] != yesterday[$0 * 4096..<($0 + 1) * 4096]
                }
                let page = pages[pages.count / 2]
                mixed.replaceSubrange(
                    page * 4096..<(page + 1) * 4096, with: yesterday[page * 4096..<(page + 1) * 4096])
                try Files.write(mixed, to: index)
                let found = try profile.command("check", "--json").fail(with: 1).decode(CheckReport.self)
                #expect(!found.damage.isEmpty, "page \(page) of yesterday")
            }
        }
    }
}
