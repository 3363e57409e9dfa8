import Foundation

/// docs/values.json: records and examples to check other programs with, computed from the documents alone.
package struct DocumentedValues {
    private let file: Data

    /// A field that the file does not have.
    package struct Missing: Error, CustomStringConvertible {
        /// The names that lead to the field.
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

    /// The bytes of hexadecimal digits; nil for any other text.
    package static func bytes(hexadecimal text: String) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    // MARK: Examples

    /// Names by rule.
    package func ruleNames() throws -> [RuleName] { try JSONDecoder().decode(Lists.self, from: file).names }

    /// Examples of commits and the tree that is shown.
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

    /// A name for a file that lost another one.
    package struct RuleName: Decodable, Sendable {
        /// The name that it wants.
        package let name: String
        /// The label of its author's device.
        package let label: String
        /// Its number among the files that want the same name.
        package let number: Int
        /// The name that it gets.
        package let found: String
    }

    /// Some commits, and the hash of the tree that is shown then.
    package struct MergeExample: Decodable, Sendable {
        /// The subject of the example.
        package let title: String
        /// The commits, in an order in which they can be applied.
        package let commits: [Commit]
        /// The hash, in hexadecimal.
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
            /// The label of the device.
            package let label: String
            /// The last applied commit of each other log.
            package let versions: [String: UInt64]
            /// The body of facts.
            package let facts: String
        }
    }
}
