import CofferFormat
import Foundation
import Testing

import CofferTrust

@Suite struct PermissionTests {
    /// The rows of the table in docs/trust.md: an action, and whether each role may do it.
    private func documented() throws -> [String: [Role: Bool]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/trust.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let header = "| may | owner | admin | writer | reader |"
        let start = try #require(lines.firstIndex { $0 == header })
        var rows: [String: [Role: Bool]] = [:]
        for line in lines[(start + 2)...].prefix(while: { $0.hasPrefix("|") }) {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            try #require(cells.count == 5)
            let roles: [Role] = [.owner, .admin, .writer, .reader]
            rows[cells[0]] = Dictionary(
                uniqueKeysWithValues: try zip(roles, cells.dropFirst()).map { role, cell in
                    try #require(cell == "yes" || cell == "no")
                    return (role, cell == "yes")
                })
        }
        return rows
    }

    @Test func theDocumentShowsTheTableOfTheCode() throws {
        let rows = try documented()
        #expect(Set(rows.keys) == Set(Permission.allCases.map(\.rawValue)))
        for permission in Permission.allCases {
            for role in Role.allCases {
                #expect(
                    rows[permission.rawValue]?[role] == role.may(permission), "\(permission), \(role)")
            }
        }
    }

    /// A member who becomes an owner keeps every right.
    @Test func ownersMayDoEverything() {
        for permission in Permission.allCases {
            #expect(permission.roles.contains(.owner))
            if permission.roles.contains(.reader) { #expect(permission.roles.count == 4) }
        }
    }
}
