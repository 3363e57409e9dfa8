import Foundation

/// docs/values.json: records and examples that others check their programs with, computed from the documents alone.
package struct DocumentedValues {
    private let file: Data

    /// A field that the file does not have.
    package struct Missing: Error, CustomStringConvertible {
        /// Which.
        package let description: String
    }

    /// Reads the file.
    package init() throws {
        let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        file = try Data(contentsOf: directory.appending(path: "docs/values.json"))
    }

    /// The bytes of a field, by the names that lead to it.
    package func bytes(_ path: String...) throws -> [UInt8] {
        var value = try JSONSerialization.jsonObject(with: file)
        for name in path {
            guard let fields = value as? [String: Any], let next = fields[name] else {
                throw Missing(description: path.joined(separator: ", "))
            }
            value = next
        }
        guard let text = value as? String, let bytes = Self.bytes(hexadecimal: text) else {
            throw Missing(description: path.joined(separator: ", "))
        }
        return bytes
    }

    /// The bytes that hexadecimal digits stand for; nil for anything else.
    package static func bytes(hexadecimal text: String) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    // MARK: Examples

    /// Names by rule.
    package func ruleNames() throws -> [RuleName] { try JSONDecoder().decode(Lists.self, from: file).names }

    /// Examples of what is shown of some commits.
    package func mergeExamples() throws -> [MergeExample] {
        try JSONDecoder().decode(Lists.self, from: file).merge
    }

    private struct Lists: Decodable {
        let names: [RuleName]
        let merge: [MergeExample]

        enum CodingKeys: String, CodingKey {
            case names = "names by rule"
            case merge
        }
    }

    /// A name that a file gets which lost another one.
    package struct RuleName: Decodable, Sendable {
        /// What it wants.
        package let name: String
        /// What the device is called of who made it.
        package let label: String
        /// Its number among those who want the same.
        package let number: Int
        /// What it gets.
        package let found: String
    }

    /// Some commits, and the hash of what is shown then.
    package struct MergeExample: Decodable, Sendable {
        /// What it shows.
        package let title: String
        /// In an order in which they can be applied.
        package let commits: [Commit]
        /// In hexadecimal.
        package let stateHash: String

        enum CodingKeys: String, CodingKey {
            case title
            case commits
            case stateHash = "state hash"
        }

        /// A commit of an example; bytes are in hexadecimal.
        package struct Commit: Decodable, Sendable {
            /// The log id.
            package let log: String
            /// The number in the log.
            package let sequence: UInt64
            /// The hybrid logical clock.
            package let clock: UInt64
            /// What the device is called.
            package let label: String
            /// Of each other log the last commit that was applied.
            package let versions: [String: UInt64]
            /// The body of facts.
            package let facts: String
        }
    }
}
