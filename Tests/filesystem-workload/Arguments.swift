let usage = """
    usage: filesystem-workload COMMAND

      run-catalogue DIR [--without REQUIREMENT]... [--only TEXT]
          runs the POSIX cases in DIR; prints a line for each and "N passed, N failed"
      random REFERENCE SUBJECT [--seed N] [--operations N] [--without KIND]...
          does the same random operations in two equal directories and compares them
      write-manifest DIR MANIFEST [--seed N] [--changes N] [--load mixed|small|large|rewriting]
          changes files in the empty DIR until an error, and records in MANIFEST what is durable
      check-manifest DIR MANIFEST
          checks DIR against MANIFEST after a crash
      open-files DIR COUNT SECONDS
          holds COUNT files open for SECONDS; prints "holding COUNT" once they are open
      parallel-users DIR
          lets four users create files at the same time (takes root)
      shut-down DIR
          makes the ext4 filesystem of DIR lose what is not durable, as when the power goes (takes root)

    exit status: 0 all is well; 1 something failed, differs or is lost; 2 wrong usage;
    3 write-manifest was stopped by an error of the filesystem
    """

enum ExitStatus {
    static let success: Int32 = 0
    static let failure: Int32 = 1
    static let usage: Int32 = 2
    static let stopped: Int32 = 3
}

struct UsageError: Error {
    let message: String
}

/// The words of the command line: those by position, and the options with their values.
struct Arguments {
    private(set) var words: [String] = []
    private var options: [(name: String, value: String)] = []

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else {
                words.append(word)
                continue
            }
            guard let value = rest.popFirst() else { throw UsageError(message: "\(word) needs a value") }
            options.append((word, value))
        }
    }

    /// The words after the command; there must be exactly as many as there are names.
    func positions(_ names: String...) throws -> [String] {
        let values = Array(words.dropFirst())
        guard values.count == names.count else {
            throw UsageError(message: "expected \(names.joined(separator: " "))")
        }
        return values
    }

    func values(_ name: String) -> [String] {
        options.filter { $0.name == name }.map(\.value)
    }

    func number<Number: FixedWidthInteger>(_ name: String) throws -> Number? {
        try values(name).last.map { try Self.number($0) }
    }

    func allow(_ names: String...) throws {
        if let unknown = options.first(where: { !names.contains($0.name) }) {
            throw UsageError(message: "unknown option \(unknown.name)")
        }
    }

    static func number<Number: FixedWidthInteger>(_ text: String) throws -> Number {
        guard let number = Number(text) else { throw UsageError(message: "\(text) is not a number") }
        return number
    }
}
