import CofferFacts
import CofferFormat
import FactHistories
import MergeCases

/// What all devices of a world share: the sent commits, and the time.
final class Remote {
    var commits: [LogID: [FactCommit]] = [:]
    private var milliseconds: UInt64 = 1_795_000_000_000
    private var nextNumber: UInt64 = 0

    /// A number that was never used.
    func number() -> UInt64 {
        nextNumber += 1
        return nextNumber
    }

    /// A time one second after the previous one.
    func now() -> UInt64 {
        milliseconds += 1000
        return milliseconds
    }
}

/// A user whose device is a replica in memory.
final class ReplicaUser: VaultUser {
    let name: String
    let label: String
    private var replica: Replica
    private let remote: Remote
    private var sent = 0

    /// Why a call fails.
    enum Failure: Error {
        case notFound(String)
    }

    init(_ name: String, label: String, number: UInt64, _ remote: Remote) {
        self.name = name
        self.label = label
        self.remote = remote
        replica = Replica(number: number, label: label)
    }

    // MARK: Paths

    private func place(_ path: String) throws -> Place {
        var parent = rootID
        let parts = path.split(separator: "/")
        for part in parts.dropLast() {
            parent = try state(at: Place(parent: parent, name: Self.name(part)), path).item
        }
        return Place(parent: parent, name: try Self.name(parts.last ?? ""))
    }

    private static func name(_ part: Substring) throws -> EntryName {
        guard let name = EntryName(part.utf8) else { throw Failure.notFound(String(part)) }
        return name
    }

    private func state(at place: Place, _ path: String) throws -> EntryState {
        guard let id = replica.tree.store.entry(shownAt: place), let state = replica.tree.store.entry(id)
        else {
            throw Failure.notFound(path)
        }
        return state
    }

    private func entry(_ path: String) throws -> EntryID {
        guard let id = replica.tree.store.entry(shownAt: try place(path)) else {
            throw Failure.notFound(path)
        }
        return id
    }

    private func item(_ path: String) throws -> ItemID { try state(at: place(path), path).item }

    private func shown(_ path: String) throws -> ShownItem {
        guard let item = replica.tree.shownItem(try item(path)) else { throw Failure.notFound(path) }
        return item
    }

    // MARK: Calls

    private func perform(_ change: LocalChange) throws {
        try replica.perform(change, milliseconds: remote.now())
    }

    private func make(_ kind: Fact.Kind, _ path: String) throws -> ItemID {
        let item = ItemID(low: remote.number(), high: 1)
        let entry = EntryID(low: remote.number(), high: 2)
        try perform(.create(item, kind, mode: 0o644, modified: 1, entry, at: place(path)))
        return item
    }

    func write(_ text: String, to path: String) throws {
        let item = try replica.tree.store.entry(shownAt: place(path)) == nil ? make(.file, path) : item(path)
        let content = Fact.Content(bytes: Array(text.utf8), size: UInt64(text.utf8.count))
        try perform(.setContent(item, content))
    }

    func read(_ path: String) throws -> String {
        String(decoding: try shown(path).content?.bytes ?? [], as: UTF8.self)
    }

    func makeDirectory(_ path: String) throws { _ = try make(.directory, path) }
    func remove(_ path: String) throws { try perform(.remove(entry(path))) }
    func move(_ path: String, to other: String) throws { try perform(.move(entry(path), to: place(other))) }

    func link(_ path: String, as other: String) throws {
        try perform(.link(item(path), EntryID(low: remote.number(), high: 2), at: place(other)))
    }

    func setMode(_ mode: UInt16, of path: String) throws { try perform(.setMode(item(path), mode)) }
    func mode(of path: String) throws -> UInt16 { try shown(path).mode ?? 0 }

    func setAttribute(_ name: String, to value: String, of path: String) throws {
        try perform(
            .setExtendedAttribute(item(path), name: Array(name.utf8), value: Array(value.utf8)))
    }

    func attribute(_ name: String, of path: String) throws -> String? {
        let attributes = try shown(path).extendedAttributes
        return attributes.first { $0.name == Array(name.utf8) }.map {
            String(decoding: $0.value, as: UTF8.self)
        }
    }

    func names(in path: String) throws -> [String] {
        let parent = path.isEmpty ? rootID : try item(path)
        return replica.tree.store.entries(shownIn: parent, after: nil, limit: .max).compactMap { id in
            guard let state = replica.tree.store.entry(id), let name = state.shown?.name else { return nil }
            return name.description + (state.isDirectory ? "/" : "")
        }
    }

    func sync() throws -> Bool {
        replica.commit()
        var isBusy = replica.commits.count > sent
        sent = replica.commits.count
        // Encodes and decodes, as sending and receiving do.
        remote.commits[replica.log] = try replica.commits.map { commit in
            var commit = commit
            commit.facts = try FactRecord.facts(FactRecord.bytes(commit.facts).span.bytes)
            return commit
        }
        while try fetch() { isBusy = true }
        return isBusy
    }

    private func fetch() throws -> Bool {
        var applied = false
        for (log, commits) in remote.commits where log != replica.log {
            for commit in commits.dropFirst(Int(replica.tree.store.versions()[log])) {
                guard case .applied = replica.apply(commit) else { break }
                applied = true
            }
        }
        return applied
    }
}
