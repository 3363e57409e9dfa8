import Foundation
import Testing

/// One test vector: the lines `key: value` between two empty lines of a file in Vectors/.
struct Vector {
    let file: String
    let line: Int
    private var values: [String: String] = [:]

    init(file: String, line: Int) {
        self.file = file
        self.line = line
    }

    var isEmpty: Bool { values.isEmpty }

    /// Where to look when a test fails.
    var place: Comment { "\(file), line \(line)" }

    mutating func add(_ line: Substring) throws {
        let colon = try #require(line.firstIndex(of: ":"))
        let value = line[line.index(after: colon)...].drop { $0 == " " }
        values[String(line[..<colon])] = String(value)
    }

    func text(_ key: String) throws -> String {
        try #require(values[key], "\(file), line \(line) has no \(key)")
    }

    func number(_ key: String) throws -> Int {
        try #require(Int(try text(key)))
    }

    func bytes(_ key: String) throws -> [UInt8] {
        try Hex.bytes(try text(key))
    }
}

/// A file of test vectors.
enum VectorFile {
    /// Reads Vectors/`name`.txt: vectors separated by empty lines, comments after `#`.
    static func read(_ name: String) throws -> [Vector] {
        let url = try #require(Bundle.module.url(forResource: "Vectors/\(name)", withExtension: "txt"))
        let text = try String(contentsOf: url, encoding: .utf8)
        var vectors: [Vector] = []
        var current = Vector(file: name, line: 1)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("#") { continue }
            if !line.isEmpty {
                try current.add(line)
                continue
            }
            if !current.isEmpty { vectors.append(current) }
            current = Vector(file: name, line: index + 2)
        }
        try #require(!vectors.isEmpty)
        return vectors
    }
}

/// Hexadecimal digits.
enum Hex {
    static func bytes(_ text: String) throws -> [UInt8] {
        let digits = try text.map { try #require($0.hexDigitValue) }
        try #require(digits.count % 2 == 0)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }
}
