/// The users of one vault, some of whom may be offline.
///
/// A script reads like this:
///
///     try world.owner.writes("a.txt", "1")
///     try world.sync()
///     world.member.goesOffline()
///     try world.member.writes("a.txt", "2")
///     …
///     try world.member.comesBack()
///     try world.expect(["a.txt": "2"])
public final class World {
    private let people: [Person]
    /// Syncs the users who are online.
    private let syncing: (_ people: [Person]) throws -> Void

    /// - Parameters:
    ///   - users: At least two; the first is the owner, the second the member, the third the guest.
    ///   - isReversed: Whether the last one syncs first.
    public init(_ users: [any VaultUser], isReversed: Bool = false) {
        people = users.map { Person($0) }
        syncing = { people in
            let present = users.filter { user in people.contains { $0.user === user } }
            try Self.sync(isReversed ? present.reversed() : present)
        }
    }

    /// Makes a world of users who sync together with other worlds.
    ///
    /// - Parameter syncing: Syncs all of them; they learn nothing before.
    init(_ users: [any VaultFiles], syncing: @escaping () throws -> Void) {
        people = users.map { Person($0) }
        self.syncing = { _ in try syncing() }
    }

    public var owner: Person { people[0] }
    public var member: Person { people[1] }
    public var guest: Person { people[2] }

    /// Syncs everybody who is online until nothing is left to send or to apply.
    public func sync() throws { try syncing(people.filter(\.isOnline)) }

    private static func sync(_ users: [any VaultUser]) throws {
        for _ in 0..<100 {
            var isQuiet = true
            for user in users where try user.sync() { isQuiet = false }
            if isQuiet { return }
        }
        throw Disappointment("syncing does not end")
    }

    /// Takes all users offline until `meet`.
    public func part() { for person in people { person.goesOffline() } }

    /// Takes all users online again, and syncs.
    public func meet() throws {
        for person in people { person.isOnline = true }
        try sync()
    }

    /// Checks that every user who is online sees exactly these files with their texts, and these directories.
    ///
    /// - Parameter files: By path; directories end with a slash and have no text. Days are written as “DATE”.
    public func expect(_ files: [String: String]) throws {
        for person in people where person.isOnline {
            let found = try person.everything()
            guard found == files else {
                throw Disappointment(
                    "\(person.user.name) sees \(Self.text(found)), and should see \(Self.text(files))")
            }
        }
    }

    private static func text(_ files: [String: String]) -> String {
        files.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
    }

    /// The conflict name of the losing version, in the form that `expect` takes.
    public static func conflict(_ path: String, _ person: Person, _ number: Int = 1) -> String {
        let dot = path.lastIndex(of: ".") ?? path.endIndex
        let digits = number > 1 ? " \(number)" : ""
        return "\(path[..<dot]) (conflict, \(person.user.label), DATE)\(digits)\(path[dot...])"
    }
}

/// A user in a script.
public final class Person {
    let user: any VaultFiles
    var isOnline = true

    init(_ user: any VaultFiles) {
        self.user = user
    }

    public func goesOffline() { isOnline = false }

    public func writes(_ path: String, _ text: String) throws { try user.write(text, to: path) }
    public func makesDirectory(_ path: String) throws { try user.makeDirectory(path) }
    public func removes(_ path: String) throws { try user.remove(try real(path)) }
    public func moves(_ path: String, _ other: String) throws { try user.move(try real(path), to: other) }
    public func links(_ path: String, _ other: String) throws { try user.link(path, as: other) }
    public func setsMode(_ path: String, _ mode: UInt16) throws { try user.setMode(mode, of: path) }
    public func setsAttribute(_ path: String, _ name: String, _ value: String) throws {
        try user.setAttribute(name, to: value, of: path)
    }
    /// Writes a file whose name may have “DATE” in it.
    public func rewrites(_ path: String, _ text: String) throws { try user.write(text, to: try real(path)) }

    public func expectsMode(_ path: String, _ mode: UInt16) throws {
        let found = try user.mode(of: path)
        if found != mode { throw Disappointment("\(user.name) sees mode \(found) of \(path), not \(mode)") }
    }

    public func expectsAttribute(_ path: String, _ name: String, _ value: String?) throws {
        let found = try user.attribute(name, of: path)
        guard found == value else {
            throw Disappointment(
                "\(user.name) sees \(found ?? "no \(name)") on \(path), not \(value ?? "none")")
        }
    }

    /// All files with their texts, and directories without a text; days as “DATE”.
    func everything() throws -> [String: String] {
        var found: [String: String] = [:]
        var directories = [""]
        while let directory = directories.popLast() {
            for name in try user.names(in: directory) {
                let path = directory + name
                if name.hasSuffix("/") { directories.append(path) }
                let text = name.hasSuffix("/") ? "" : try user.read(path)
                guard found.updateValue(text, forKey: Self.withoutDays(path)) == nil else {
                    throw Disappointment("\(user.name) sees \(path) twice")
                }
            }
        }
        return found
    }

    /// The path in which “DATE” stands for a day.
    private func real(_ path: String) throws -> String {
        guard path.contains("DATE") else { return path }
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        for name in try user.names(in: directory) where Self.withoutDays(directory + name) == path {
            return directory + name
        }
        throw Disappointment("\(user.name) sees no \(path)")
    }

    private static func withoutDays(_ path: String) -> String {
        path.replacing(#/\d{4}-\d{2}-\d{2}/#, with: "DATE")
    }
}
