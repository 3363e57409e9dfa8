import CofferCrypto
import CofferFacts
import CofferFormat
import CofferRemote
import CofferSystem
import CofferTestSupport
import MergeCases
import Synchronization
import SyncTestSupport

@testable import CofferClient
@testable import CofferSync
@testable import CofferVault

/// A person's device: a vault on a simulated disk, and an engine that syncs it.
final class ReplicaDevice: Sendable {
    let name: String
    let label: String
    let world: ReplicaWorld
    let test: TestVault
    let vault: Vault
    let engine: SyncEngine
    let replica: VaultReplica
    /// The vault that receives what is set aside from this one.
    let aside: Vault
    let problems = ProblemLog()
    /// Whether each change becomes a commit at once.
    var commitsAtOnce: Bool {
        get { commits.withLock { $0 } }
        set { commits.withLock { $0 = newValue } }
    }
    private let commits = Mutex(false)

    init(
        _ person: Int, number: UInt64? = nil, in world: ReplicaWorld, on test: TestVault? = nil,
        commitsPerCheckpoint: UInt64 = 1000, retiresAll: Bool = false, moves: Bool = false
    ) throws {
        let number = number ?? UInt64(person) + 1
        name = world.people[person].name
        label = "\(name)'s laptop"
        self.world = world
        self.test = try test ?? (number == 1 ? world.first : world.first.onAnotherDevice())
        vault = try self.test.open(problems: problems)
        let log = LogID(low: number, high: 7)
        replica = VaultReplica(
            vault, log: log, label: label, hashKey: StateHashKey(SymmetricKey<StateHashRole>.zero()),
            remote: world.remote, layout: world.layout, milliseconds: { world.milliseconds() })
        replica.sendEverything(true)
        aside = try TestVault.create().open(problems: problems)
        replica.setAsidePlace { [aside] in aside }
        var setup = SyncSetup(
            vault: world.first.id, root: ItemID(low: world.first.id.low, high: world.first.id.high), log: log,
            introduction: try LogIntroduction(name: name, label: label),
            keys: PersonKeys(world.people[person]), milliseconds: { world.milliseconds() })
        setup.commitsPerCheckpoint = commitsPerCheckpoint
        if retiresAll { (setup.retiredByteCountMin, setup.retiredFraction) = (1, .max) }
        setup.smallPackCountMin = 4
        if !moves { setup.movedByteCountMax = 0 }
        setup.newLog = { LogID(low: number, high: world.milliseconds()) }
        engine = SyncEngine(setup, remote: world.remote, replica: replica)
    }

    /// Makes commits of the changes, and sends nothing.
    func collect() throws {
        guard commitsAtOnce else { return }
        try AwaitedTask { () -> Result<Void, any Error> in
            do {
                while try await self.engine.makeCommit(isNeeded: false) {}
                return .success(())
            } catch {
                return .failure(error)
            }
        }.wait().get()
    }

    /// Runs one round; returns whether anything was received or sent.
    func round() async throws -> Bool {
        let before = await engine.status.progress
        try await engine.round()
        let after = await engine.status.progress
        return before.commitsApplied != after.commitsApplied || before.commitsSent != after.commitsSent
    }

    /// Sends the changes that can be sent at once, and receives nothing.
    func send() async throws {
        while try await engine.makeCommit(isNeeded: false) {}
        try await engine.push()
    }

    /// Rebuilds all facts, whether or not that is needed.
    func rebuild() async throws { try await engine.rebuild() }

    struct Restless: Error {}

    /// Runs rounds on all devices until none has an effect.
    static func meet(_ devices: [ReplicaDevice]) async throws {
        for _ in 0..<60 {
            var isBusy = false
            for device in devices where try await device.round() { isBusy = true }
            if !isBusy { return }
        }
        throw Restless()
    }

    /// Damage, and differences between the tree of items and the one that the facts describe.
    func flaws() throws -> [String] {
        let participant = Participant(
            log: LogID(low: 0, high: 0), label: "", hashKey: StateHashKey(SymmetricKey<StateHashRole>.zero()),
            contents: RemoteContents { _ in Sending.Delivery {} }, milliseconds: { 0 })
        let differences = try vault.facts.differencesFromFacts(as: participant) {
            _, _ throws(FileSystemError) in
            true
        }
        return differences + (try vault.check { _, _ in }.damage.map(\.text))
    }
}

extension ReplicaDevice: VaultUser, OpenVaultUser {
    func sync() throws -> Bool {
        let result = AwaitedTask { () -> Result<Bool, any Error> in
            do { return .success(try await self.round()) } catch { return .failure(error) }
        }
        return try result.wait().get()
    }

    /// A hash of some bytes, the same within one run; faster than that of an array, which takes each byte by itself.
    private static func hash(_ bytes: [UInt8]) -> Int {
        var hasher = Hasher()
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    /// All paths from the root, with what is there; for a file, a hash of its bytes.
    func tree(withContents: Bool = true) throws -> [String: String] {
        var found: [String: String] = [:]
        var directories = [""]
        while let directory = directories.popLast() {
            for name in try names(in: directory) {
                let path = directory + name
                let attributes = try vault.attributes(of: try number(path))
                var text = "\(String(attributes.mode, radix: 8)) \(attributes.modified)"
                switch attributes.type {
                case .directory: directories.append(path)
                case .regular where !withContents: text += " \(attributes.links)"
                case .regular:
                    let bytes = try bytes(path)
                    text += " \(attributes.links) " + (bytes.count < 100 ? "\(bytes)" : "\(Self.hash(bytes))")
                case .symbolicLink:
                    text += " " + String(decoding: try vault.readLink(number(path)), as: UTF8.self)
                default: text += " \(attributes.device)"
                }
                for name in try vault.extendedAttributeNames(of: number(path)) {
                    let name = String(decoding: name, as: UTF8.self)
                    text += " \(name)=\(try attribute(name, of: path) ?? "")"
                }
                found[path] = text
            }
        }
        return found
    }
}

/// Runs blocking code on a thread of its own, not on one of the pool.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await BlockingCalls("test", max: 1).run { () throws(any Error) in try body() }
}

extension Vault {
    /// Does the compaction that is due.
    func compact() throws { _ = try repacking.compact() }
}
