import CofferCrypto
import CofferFacts
import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import MergeCases
import Testing

@testable import CofferVault

/// What all devices of a test share: the sent commits, and the time.
final class CommitHub: Sendable {
    struct State: Sendable {
        var commits: [LogID: [FactCommit]] = [:]
        var milliseconds: UInt64 = 1_795_000_000_000
    }

    let state: Condition<State>

    init(_ state: State = State()) {
        self.state = Condition(state)
    }

    /// A time one second after the previous one.
    func now() -> UInt64 {
        state.withLock { state in
            state.milliseconds += 1000
            return state.milliseconds
        }
    }

    func copy() -> CommitHub { CommitHub(state.withLock { $0 }) }
}

/// A device with a vault of its own on a simulated disk, which sends commits to a hub.
final class ExchangeDevice {
    let name: String
    let label: String
    let test: TestVault
    let vault: Vault
    let hub: CommitHub
    let participant: Participant

    init(_ name: String, number: UInt64, _ test: TestVault, _ hub: CommitHub) throws {
        self.name = name
        label = "\(name)'s laptop"
        self.test = test
        self.hub = hub
        participant = Participant(
            log: LogID(low: number, high: 7), label: label,
            hashKey: StateHashKey(SymmetricKey<StateHashRole>.zero()), contents: InlineContents(),
            milliseconds: { hub.now() })
        vault = try test.open()
        try vault.outgoing.beginTracking()
    }

    /// Devices of one vault, each with an empty store.
    static func make(_ count: Int) throws -> [ExchangeDevice] {
        let hub = CommitHub()
        let first = try TestVault.create()
        let names = ["owner", "member", "guest"]
        return try (0..<count).map { number in
            let test = number == 0 ? first : try first.onAnotherDevice()
            return try ExchangeDevice(names[number], number: UInt64(number) + 1, test, hub)
        }
    }

    // MARK: Sync

    /// Makes commits of all changes.
    func collect() throws {
        while try vault.outgoing.collectChanges(as: participant, takesAll: true, recorder: PlainRecorder())
            != nil
        {}
    }

    /// Sends the kept commits.
    @discardableResult
    func send() throws -> Bool {
        let sent = hub.state.withLock { $0.commits[participant.log]?.count ?? 0 }
        let kept = try vault.keptCommits()
        let commits = kept.filter { $0.stamp.dot.sequence > sent }
        hub.state.withLock { $0.commits[participant.log, default: []] += commits }
        let gone = kept.map {
            KeptChange(
                KeptRow.Key(PlainRecorder.kind, id: participant.log.bytes, number: $0.stamp.dot.sequence), nil
            )
        }
        if !gone.isEmpty { try vault.facts.keep(gone) }
        return !commits.isEmpty
    }

    /// Applies the commits of others.
    ///
    /// - Parameter isAlone: Whether this device can make no commits of its own.
    func fetch(isAlone: Bool = false) throws -> Bool {
        let logs = hub.state.withLock { $0.commits }
        var hasAny = false
        for (log, commits) in logs.sorted(by: { $0.key < $1.key }) where log != participant.log {
            let have = Int(try versions()[log])
            guard have < commits.count else { continue }
            let applied = try vault.incoming.apply(
                commits[have...].map { IncomingCommit($0) }, as: participant,
                recorder: isAlone ? nil : PlainRecorder())
            if applied.count > 0 { hasAny = true }
        }
        return hasAny
    }

    func versions() throws -> VersionVector {
        try vault.state.withLock { state in
            let tree = try state.factTree(participant.hashKey)
            defer { state.facts = nil }
            return tree.store.versions()
        }
    }

    func stateHash() throws -> StateHash {
        try vault.state.withLock { state in
            let tree = try state.factTree(participant.hashKey)
            defer { state.facts = nil }
            return tree.store.stateHash()
        }
    }

    /// All devices send and apply until nothing is left.
    static func meet(_ devices: [ExchangeDevice]) throws {
        for _ in 0..<100 {
            var isQuiet = true
            for device in devices where try device.sync() { isQuiet = false }
            if isQuiet { return }
        }
        throw Restless()
    }

    struct Restless: Error {}

    // MARK: State

    /// All paths from the root, with the item of each.
    func tree() throws -> [String: String] {
        var found: [String: String] = [:]
        var directories = [(Vault.rootNumber, "")]
        while let (number, path) = directories.popLast() {
            for entry in try vault.readDirectory(number, after: 2, limit: .max - 1, attributes: true) {
                let name = path + String(decoding: entry.name, as: UTF8.self)
                guard let attributes = entry.attributes else {
                    found[name] = "nothing"
                    continue
                }
                var text = String(attributes.mode, radix: 8)
                switch attributes.type {
                case .directory: directories.append((entry.item, name + "/"))
                case .regular:
                    text += " " + String(decoding: try vault.content(of: entry.item), as: UTF8.self)
                case .symbolicLink:
                    text += " " + String(decoding: try vault.readLink(entry.item), as: UTF8.self)
                default: text += " \(attributes.device)"
                }
                if attributes.type != .directory { text += " \(attributes.links)" }
                for attribute in try vault.extendedAttributeNames(of: entry.item).sorted(by: {
                    $0.lexicographicallyPrecedes($1)
                }) {
                    let value = try vault.extendedAttribute(attribute, of: entry.item)
                    text += " \(String(decoding: attribute, as: UTF8.self))=\(value)"
                }
                found[name] = text + " \(attributes.modified)"
            }
        }
        return found
    }

    /// Differences between the tree of items and the tree of the facts, and damage.
    func flaws() throws -> [String] {
        let vault = vault
        let differences = try vault.facts.differencesFromFacts(as: participant) {
            number, content throws(FileSystemError) in
            try InlineContents.compare(number, content, in: vault)
        }
        return differences + (try vault.damage().map(\.text))
    }
}

extension ExchangeDevice: VaultUser, OpenVaultUser {
    func sync() throws -> Bool {
        try collect()
        var isBusy = try send()
        while try fetch() { isBusy = true }
        if try send() { isBusy = true }
        return isBusy
    }
}
