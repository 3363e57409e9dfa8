import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferVault

// Short forms of a vault's calls, for tests.
extension Vault {
    static let directoryMode: UInt32 = 0o040755
    static let fileMode: UInt32 = 0o100644

    /// Makes an empty file.
    func makeFile(_ name: String, in parent: Int64 = rootNumber) throws -> Int64 {
        try create(NewItem(mode: Self.fileMode), named: Array(name.utf8), in: parent, by: TestVault.owner)
            .number
    }

    /// Makes a file with content.
    func makeFile(_ name: String, in parent: Int64 = rootNumber, _ bytes: [UInt8]) throws -> Int64 {
        let number = try makeFile(name, in: parent)
        try put(bytes, to: number)
        return number
    }

    @discardableResult
    func makeDirectory(_ name: String, in parent: Int64 = rootNumber) throws -> Int64 {
        try create(
            NewItem(mode: Self.directoryMode), named: Array(name.utf8), in: parent, by: TestVault.owner
        )
        .number
    }

    func put(_ bytes: [UInt8], to number: Int64, at offset: Int = 0) throws {
        try contents.write(
            bytes.span.bytes, to: number, at: Int64(offset), touches: true, dropsPrivileges: false)
    }

    func get(_ number: Int64, at offset: Int = 0, count: Int) throws -> [UInt8] {
        let buffer = AlignedBuffer(count: count)
        let done = try contents.read(number, at: Int64(offset), count: count, into: buffer)
        return buffer.withBytes(0..<done) { $0.array }
    }

    /// All bytes of a file.
    func content(of number: Int64) throws -> [UInt8] {
        let size = Int(try attributes(of: number).size)
        return try get(number, count: max(size, 1))
    }

    func truncate(_ number: Int64, to size: Int) throws {
        var changes = AttributeChanges()
        changes.size = Int64(size)
        _ = try setAttributes(of: number, changes)
    }

    func number(of name: String, in parent: Int64 = rootNumber) throws -> Int64 {
        try lookup(Array(name.utf8), in: parent).number
    }

    func remove(_ name: String, in parent: Int64 = rootNumber) throws {
        release(try unlink(Array(name.utf8), in: parent).number)
    }

    func move(
        _ name: String, in parent: Int64 = rootNumber, to newName: String, into newParent: Int64 = rootNumber,
        mode: RenameMode = .replace
    ) throws -> Int64? {
        try rename(Array(name.utf8), in: parent, to: Array(newName.utf8), in: newParent, mode)
    }

    /// The names in a directory, in the order of reading, without "." and "..".
    func names(in directory: Int64 = rootNumber) throws -> [String] {
        try readDirectory(directory, after: 2, limit: 100_000, attributes: false)
            .map { String(decoding: $0.name, as: UTF8.self) }
    }

    /// The contents of all files in the root, by name.
    func files() throws -> [String: [UInt8]] {
        Dictionary(uniqueKeysWithValues: try names().map { ($0, try content(of: try number(of: $0))) })
    }

    /// The findings of a whole check.
    func damage() throws -> [CheckResult.Damage] {
        try check { _, _ in }.damage
    }
}

// What tests do inside of a vault; those that need no more of it do not import it with @testable.
extension Vault {
    /// The intent log; for tests without concurrent commits.
    var intents: IntentLog { committing.withLock { $0 } }
    /// The problems that were reported so far.
    var reported: [ProblemLog.Problem] { problems.all }

    /// Commits to the index, however small the changes are.
    func commitWhole() throws { try commitIndex() }

    /// Does the compaction that is due.
    ///
    /// - Returns: Whether there is more to do later.
    @discardableResult
    func compact() throws -> Bool { try repacking.compact() }

    /// Tells the next compaction that a file is fragmented.
    func noteFragmented(_ number: Int64) {
        state.withLock { state in _ = state.fragmented.insert(number) }
    }

    /// The number of extents in which the content of a file is.
    func extentCount(of number: Int64) throws -> Int {
        try state.withLock { try $0.index.extents(of: number, overlapping: 0..<Int64.max).count }
    }

    /// Moves pages from the index's log into its database.
    ///
    /// - Returns: The number of pages that are left.
    @discardableResult
    func moveLog() throws -> Int { try log.checkpoint() }

    /// Makes the next commit move the rest of the log, and begin it again.
    func expectLogToBeMoved() { state.withLock { $0.logIsNearlyMoved = true } }

    /// The file of the newest pack.
    var newestPack: String? {
        state.withLock { $0.packs.rows }.max { $0.number < $1.number }.map { "packs/\($0.id.description)" }
    }

    /// Whether an extended attribute of this name reaches other devices.
    static func isSent(attribute name: [UInt8]) -> Bool { ExtendedAttributeName.isSent(name) }

    /// Ends the thread that commits and compacts.
    func stopUpkeep() { upkeep.stop() }

    /// Tells that thread that a pause has begun.
    func pauseUpkeep() { upkeep.pause() }
}

/// Whether a call fails with a given error of a vault.
func fails(_ name: String, _ body: () throws -> Void) -> Bool {
    do {
        try body()
        return false
    } catch {
        guard let error = error as? FileSystemError else { return false }
        return "\(error)".prefix { $0 != "(" } == name
    }
}
