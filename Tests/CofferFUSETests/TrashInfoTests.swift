import Foundation
import Testing

@testable import CofferFUSE

@Suite struct TrashInfoTests {
    private let date = "2026-11-29T08:28:03"

    private func text(_ path: String) -> [UInt8] {
        Array("[Trash Info]\nPath=\(path)\nDeletionDate=\(date)\n".utf8)
    }

    private func shown(_ kept: [UInt8], _ vault: String = "Taxes") -> String {
        let shown = TrashInfo.shown(kept, item: 7, vault: Array(vault.utf8))
        #expect(
            shown.count
                == TrashInfo.shownByteCount(kept: Int64(kept.count), item: 7, vault: Array(vault.utf8)))
        return String(decoding: shown, as: UTF8.self)
    }

    private let fallback = "[Trash Info]\nPath=Taxes/trash-7\n"

    @Test func thePathIsThatInTheVault() {
        let names = ["2025", "ü x%", "a"].map { Array($0.utf8) } + [[0xFF]]
        let info = TrashInfo(path: names, draft: text("Other/secret"))
        #expect(info.kept == text("2025/%C3%BC%20x%25/a/%FF"))
        #expect(TrashInfo(kept: info.kept) == info)
        #expect(shown(info.kept) == String(decoding: text("Taxes/2025/%C3%BC%20x%25/a/%FF"), as: UTF8.self))
        #expect(shown(info.kept, "ü").contains("\nPath=%C3%BC/2025/"))
    }

    @Test(arguments: [
        "", "DeletionDate=", "DeletionDate=2026-11-29T08:28:0x", "DeletionDate=2026-11-29T08:28:03+01",
        "DeletionDate=2026-11-29 08:28:03", "deletiondate=2026-11-29T08:28:03",
    ])
    func aFalseTimeIsReplacedByThePresentOne(line: String) throws {
        let info = TrashInfo(path: [[97]], draft: Array("[Trash Info]\n\(line)\n".utf8))
        let date = try #require(info.date)
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd'T'HH:mm:ss"
        let time = try #require(formatter.date(from: String(decoding: date, as: UTF8.self)))
        #expect(abs(time.timeIntervalSinceNow) < 60)
    }

    /// A program that restores an item would follow the path out of the vault.
    @Test(arguments: [
        "/home/ann/.config/autostart/x", "../x", "a/../../x", "..", ".", "a/./b", "a//b", "a/", "",
        "%2E%2E/x",
        "a%2F..%2F..%2Fx", "%2Fetc/x", "a%00b", "a%", "a%4", "%zz", "%+a", "a b", "ü",
    ])
    func forgedPathsAreNotShown(path: String) {
        #expect(TrashInfo(kept: text(path)) == nil)
        let lines = shown(text(path)).split(separator: "\n", omittingEmptySubsequences: true)
        #expect(lines == ["[Trash Info]", "Path=Taxes/trash-7"])
    }

    /// The first path counts, and nothing else is passed on.
    @Test(arguments: [
        "Path=a\nPath=/etc/x\n", "Path=a\nPath = /etc/x\n", "[Other]\nPath=a\n[Trash Info]\nPath=/etc/x\n",
    ])
    func onlyOnePathIsShown(kept: String) {
        let lines = shown(Array(kept.utf8)).split(separator: "\n", omittingEmptySubsequences: true)
        #expect(
            lines == ["[Trash Info]", "Path=Taxes/a"] || lines == ["[Trash Info]", "Path=Taxes/trash-7"])
    }

    @Test func aTextOfAnySizeHasTheSizeThatWasTold() {
        for count in 0..<200 {
            _ = shown(Array(repeating: 0x61, count: count))
            _ = shown(Array("Path=".utf8) + Array(repeating: 0x61, count: count))
        }
        #expect(shown([]) == fallback)
        #expect(
            TrashInfo.shownByteCount(kept: nil, item: 7, vault: Array("Taxes".utf8)) == fallback.utf8.count)
    }
}
