/// Rules about types: how far one spreads, and which rooms of a vault know which.
enum TypeRules {
    /// The number of files that may extend a type of their own target.
    static let extensionCountMax = 12

    static func spread(_ files: [SourceFile]) -> [Violation] {
        var extensions: [String: [(file: SourceFile, line: Int)]] = [:]
        var declared: Set<String> = []
        for file in files {
            var here: Set<String> = []
            for (index, line) in file.code.enumerated() where line.first?.isLetter == true {
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
                if let keyword = words.firstIndex(where: {
                    ["class", "struct", "enum", "actor"].contains($0)
                }),
                    keyword + 1 < words.count
                {
                    declared.insert("\(file.target).\(words[keyword + 1])")
                } else if let keyword = words.firstIndex(of: "extension"), keyword + 1 < words.count {
                    let name = "\(file.target).\(words[keyword + 1])"
                    if here.insert(name).inserted { extensions[name, default: []].append((file, index + 1)) }
                }
            }
        }
        return extensions.sorted { $0.key < $1.key }.filter {
            declared.contains($0.key) && $0.value.count > extensionCountMax
        }.map { name, places in
            Violation(
                places[extensionCountMax].file, line: places[extensionCountMax].line,
                "\(places.count) files extend \(name); at most \(extensionCountMax)")
        }
    }

    /// The rooms of a vault, by folder, each with the property that leads to it.
    ///
    /// A room calls only rooms before it.
    static let rooms: [(folder: String, property: String)] = [
        ("Contents", "contents"), ("Cache", "cache"), ("History", "history"), ("Export", "export"),
        ("Facts", "facts"), ("Undo", "undo"), ("Repacking", "repacking"), ("Outgoing", "outgoing"),
        ("Incoming", "incoming"), ("Check", "check"),
    ]
    /// The one call that goes up; docs/architecture.md gives the reason.
    static let callsUp: Set<String> = ["Contents/Contents+Remote.swift cache"]

    /// Whether a line has a call through a property without anything before it, as the vault's own files may.
    private static func startsCall(to property: String, in line: String) -> Bool {
        line.ranges(of: property + ".").contains { range in
            guard let before = line[..<range.lowerBound].last else { return true }
            return !before.isLetter && !before.isNumber && before != "." && before != "_"
        }
    }

    static func rooms(_ files: [SourceFile]) -> [Violation] {
        files.filter { $0.target == "CofferVault" && !$0.path.hasSuffix("/Rooms.swift") }.flatMap { file in
            let place = file.path.split(separator: "/").dropFirst(2).joined(separator: "/")
            let own = rooms.firstIndex { place.hasPrefix($0.folder + "/") } ?? -1
            let above = rooms[(own + 1)...].map(\.property)
            return file.code.enumerated().flatMap { index, line in
                above.filter { property in
                    (line.contains("vault.\(property).") || own == -1 && startsCall(to: property, in: line))
                        && !callsUp.contains("\(place) \(property)")
                }.map { Violation(file, line: index + 1, "calls “\($0)”, which is built on this room") }
            }
        }
    }
}
