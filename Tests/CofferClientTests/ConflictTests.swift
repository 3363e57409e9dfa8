import CofferFUSE
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// Conflict copies, as commands list and resolve them.
@Suite(.serialized) struct ConflictTests {
    private static let copy = "report (conflict, Bob's laptop, 2026-11-20).txt"

    /// A vault with a folder "d" that has a file, a copy of it, a copy of no file, and a name that is no conflict name.
    private func withVault(_ body: (ControlHandler, Vault, Int64) throws -> Void) throws {
        let test = try TestProfile()
        let vaults = try test.open()
        defer { vaults.close() }
        let vault = try #require(vaults.vaults.first).vault
        let folder = try make("d", 0o040755, in: Vault.rootNumber, vault)
        for name in ["report.txt", Self.copy, "x (conflict, y, 2026-11-21) 2", "x (conflict, y, tomorrow)"] {
            _ = try make(name, 0o100644, in: folder, vault)
        }
        try body(ControlHandler(vaults, SharedVaults(vaults), mountPoint: nil) { _ in }, vault, folder)
    }

    private func make(_ name: String, _ mode: UInt32, in parent: Int64, _ vault: Vault) throws -> Int64 {
        try vault.create(Vault.NewItem(mode: mode), named: Array(name.utf8), in: parent, by: .current).number
    }

    private func number(_ name: String, in folder: Int64, _ vault: Vault) -> Int64? {
        try? vault.lookup(Array(name.utf8), in: folder).number
    }

    @Test func listed() throws {
        try withVault { handler, _, _ in
            let reports = try handler.conflicts(of: nil).sorted { $0.path < $1.path }
            #expect(reports.map(\.path) == ["d/\(Self.copy)", "d/x (conflict, y, 2026-11-21) 2"])
            #expect(reports.map(\.original) == ["d/report.txt", nil])
            #expect(
                reports.map(\.author) == ["Bob's laptop", "y"]
                    && reports.map(\.date) == ["2026-11-20", "2026-11-21"])
            #expect(try handler.conflicts(of: "Personal").count == 2)
            #expect(
                clientError { () throws(ClientError) in try handler.conflicts(of: "None") }?.caseName
                    == "noSuchVault")
        }
    }

    @Test func originalStays() throws {
        try withVault { handler, vault, folder in
            let original = number("report.txt", in: folder, vault)
            try handler.resolve("d/\(Self.copy)", of: "Personal", .original)
            #expect(
                number("report.txt", in: folder, vault) == original
                    && number(Self.copy, in: folder, vault) == nil)
            #expect(try handler.conflicts(of: nil).count == 1)
        }
    }

    @Test func copyStays() throws {
        try withVault { handler, vault, folder in
            let copy = number(Self.copy, in: folder, vault)
            try handler.resolve("d/\(Self.copy)", of: "Personal", .copy)
            #expect(
                number("report.txt", in: folder, vault) == copy && number(Self.copy, in: folder, vault) == nil
            )
        }
    }

    /// The last version is not removed, and a file that is no copy is not touched.
    @Test(arguments: ["d/x (conflict, y, 2026-11-21) 2", "d/report.txt", "none/\(copy)", "d/none", "", "/"])
    func refused(path: String) throws {
        try withVault { handler, vault, folder in
            let error = clientError { () throws(ClientError) in
                try handler.resolve(path, of: "Personal", .original)
            }
            #expect(error?.caseName == "noSuchConflict")
            #expect(number("report.txt", in: folder, vault) != nil)
            let count = try handler.conflicts(of: nil).count
            #expect(count == 2)
        }
    }
}
