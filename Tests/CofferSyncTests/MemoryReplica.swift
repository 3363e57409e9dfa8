import CofferCrypto
import CofferFacts
import CofferFormat
import CofferRemote
import CofferSync
import SyncTestSupport

/// The root directory of every vault in these tests.
let rootID = ItemID(low: 0xF0, high: 0xF0)
/// The one key that all members share.
let hashKey = StateHashKey(SymmetricKey<StateHashRole>.zero())

/// The sync side of a vault, in memory.
///
/// Its contents survive a crash; each call is one transaction.
actor MemoryReplica: LocalReplica {
    private var tree = FactTree(store: MemoryFactStore(), root: rootID, hashKey: hashKey)
    private var saved: [KeptRow.Key: [UInt8]] = [:]
    private var changes: [LocalChange] = []
    private var gathered: [CheckpointPiece.Group] = []
    private var replayed: [FactCommit] = []
    /// The number of calls that changed something.
    private(set) var transactions = 0
    /// The most changes in one commit.
    private let changeCountMax: Int
    /// The number of calls that applied commits.
    private var applyCount = 0
    private var crash: CrashPoint?
    private var isRestless = false

    init(changeCountMax: Int = 200) { self.changeCountMax = changeCountMax }

    /// From now on, each new commit causes another change.
    func changesWithEachCommit() { isRestless = true }

    func crashes(at point: CrashPoint?) { crash = point }

    /// Makes a change as the user would.
    func perform(_ change: LocalChange) { changes.append(change) }

    var hasChanges: Bool { !changes.isEmpty }

    /// The names in the root, with their contents.
    func files() -> [String: String] {
        var files: [String: String] = [:]
        for id in tree.store.entries(shownIn: rootID, after: nil, limit: .max) {
            guard let showing = tree.store.entry(id)?.showing else { continue }
            let content = tree.shownItem(showing.item)?.content?.bytes ?? []
            files[showing.place.name.description] = String(decoding: content, as: UTF8.self)
        }
        return files
    }

    /// The item shown in the root under a name.
    func item(_ name: String) -> ItemID? {
        entry(name).flatMap { tree.store.entry($0)?.item }
    }

    /// The entry shown in the root under a name.
    func entry(_ name: String) -> EntryID? {
        EntryName(name.utf8).flatMap { tree.store.entry(shownAt: Place(parent: rootID, name: $0)) }
    }

    func shownState() -> StateHash { tree.stateHash() }

    private func step<Value>(_ body: () throws(ReplicaError) -> Value) throws(ReplicaError) -> Value {
        if crash?.strikes() == true { throw .failed("crash before") }
        transactions += 1
        let value = try body()
        if crash?.strikes() == true { throw .failed("crash after") }
        return value
    }

    private func keep(_ rows: [KeptChange]) {
        for row in rows { saved[row.key] = row.value }
    }

    func rows() throws(ReplicaError) -> [KeptRow] { saved.map { KeptRow($0.key, $0.value) } }

    func row(_ key: KeptRow.Key) -> [UInt8]? { saved[key] }

    func save(_ rows: [KeptChange]) throws(ReplicaError) {
        try step { () throws(ReplicaError) in keep(rows) }
    }

    func versions() throws(ReplicaError) -> VersionVector { tree.store.versions() }

    func apply(
        _ commits: [IncomingCommit], draft: CommitDraft?
    ) throws(ReplicaError) -> AppliedCommits {
        try step { () throws(ReplicaError) in
            var (tree, changes, made) = (self.tree, self.changes, [SealedCommit]())
            var draft = draft
            while let next = draft, !changes.isEmpty {
                guard let sealed = try Self.commit(next, &tree, &changes, changeCountMax) else { continue }
                made.append(sealed)
                draft = next.following(sealed)
            }
            // As replicas may, it sometimes applies only the first commits.
            applyCount += 1
            let commits = commits.prefix(applyCount % 8 == 0 ? 3 : commits.count)
            let findings = try Self.apply(commits, to: &tree)
            (self.tree, self.changes) = (tree, changes)
            for sealed in made { keep(sealed.rows) }
            for commit in commits { keep(commit.rows) }
            return AppliedCommits(count: commits.count, findings: findings, made: made)
        }
    }

    private static func apply(
        _ commits: ArraySlice<IncomingCommit>, to tree: inout FactTree<MemoryFactStore>
    ) throws(ReplicaError) -> [CommitFinding] {
        var findings: [CommitFinding] = []
        for incoming in commits {
            let dot = incoming.commit.stamp.dot
            if let state = incoming.claimedState, tree.store.versions() == incoming.claimedVersions,
                tree.stateHash() != state
            {
                findings.append(.otherState(dot))
            }
            findings += tree.complaints(about: incoming.commit).map { .complaint(dot, $0) }
            guard case .applied = tree.apply(incoming.commit) else {
                throw .failed("commit \(dot.sequence) was not to be applied")
            }
        }
        return findings
    }

    func makeCommit(_ draft: CommitDraft) throws(ReplicaError) -> SealedCommit? {
        try step { () throws(ReplicaError) in
            var (tree, changes) = (self.tree, self.changes)
            var sealed = try Self.commit(draft, &tree, &changes, changeCountMax)
            while sealed == nil, draft.takesChanges, !changes.isEmpty {
                sealed = try Self.commit(draft, &tree, &changes, changeCountMax)
            }
            (self.tree, self.changes) = (tree, changes)
            if let sealed { keep(sealed.rows) }
            if isRestless, sealed != nil, let item = item("o") {
                let bytes = Array("\(transactions)".utf8)
                self.changes.append(.setContent(item, .init(bytes: bytes, size: UInt64(bytes.count))))
            }
            return sealed
        }
    }

    /// The items whose content was to be re-encrypted.
    private(set) var sealedAnew: [ItemID] = []

    func contentPacks() -> ContentPacks { ContentPacks() }
    func putAgain(contentsOf packs: Set<PackID>, writtenIn log: LogID, byteCountMax: Int) -> ContentsPutAgain
    {
        ContentsPutAgain()
    }

    func packUse() -> [PackID: RemotePackUse] { [:] }

    func moveContents(from packs: Set<PackID>, byteCountMax: Int) -> Int { 0 }

    func hasUnsent() -> Bool { !changes.isEmpty }

    /// The items that were to be set aside, one element for each call.
    private(set) var setAside: [(items: [ItemID], unsent: Bool)] = []

    func setAside(_ items: [ItemID], andUnsent unsent: Bool) { setAside.append((items, unsent)) }

    func sealAnew(_ items: [ItemID]) throws(ReplicaError) { sealedAnew += items }

    /// Makes a commit of the first changes; nil if they have no effect.
    private static func commit(
        _ draft: CommitDraft, _ tree: inout FactTree<MemoryFactStore>, _ changes: inout [LocalChange],
        _ countMax: Int
    ) throws(ReplicaError) -> SealedCommit? {
        let state = tree.stateHash()
        tree.beginCommit(log: draft.log, milliseconds: draft.milliseconds, label: draft.label)
        if draft.takesChanges {
            for change in changes.prefix(countMax) {
                // A change that the current tree no longer permits has been overtaken.
                try? tree.perform(change)
            }
            changes.removeFirst(min(countMax, changes.count))
        }
        let made = tree.finishCommit() ?? (draft.isNeeded ? emptyCommit(of: &tree, draft) : nil)
        guard let commit = made else { return nil }
        do throws(SealingError) { return try draft.seal(commit, stateHash: state) } catch {
            throw .notSealed(error)
        }
    }

    private static func emptyCommit(
        of tree: inout FactTree<MemoryFactStore>, _ draft: CommitDraft
    ) -> FactCommit {
        let versions = tree.store.versions()
        let clock = Stamp.clock(milliseconds: draft.milliseconds, after: tree.store.clock())
        let dot = Dot(log: draft.log, sequence: versions[draft.log] + 1)
        let commit = FactCommit(
            stamp: Stamp(clock: clock, dot: dot), versions: versions,
            label: dot.sequence == 1 ? draft.label : nil, facts: [])
        _ = tree.apply(commit)
        return commit
    }

    func values(after register: Register?, limit: Int) throws(ReplicaError) -> [RegisterValues] {
        let all = tree.store.allValues.sorted { $0.key.precedes($1.key) }
        let rest = all.drop { pair in register.map { !$0.precedes(pair.key) } ?? false }
        return rest.prefix(limit).map { RegisterValues(register: $0.key, values: $0.value) }
    }

    func stateHash() throws(ReplicaError) -> StateHash { tree.stateHash() }

    func beginRebuild() throws(ReplicaError) {
        try step { () throws(ReplicaError) in (gathered, replayed) = ([], []) }
    }

    func addToRebuild(_ groups: [CheckpointPiece.Group]) throws(ReplicaError) {
        try step { () throws(ReplicaError) in gathered += groups }
    }

    func addToRebuild(_ commits: [FactCommit]) throws(ReplicaError) {
        try step { () throws(ReplicaError) in replayed += commits }
    }

    func finishRebuild(_ result: RebuiltFacts) throws(ReplicaError) -> StateHash {
        try step { () throws(ReplicaError) in
            var tree = FactTree(store: MemoryFactStore(), root: rootID, hashKey: hashKey)
            tree.beginCheckpoint(result.versions, clock: result.clock, labels: result.labels)
            for group in gathered { _ = tree.add(group) }
            let hash = tree.stateHash()
            for commit in replayed {
                guard case .applied = tree.apply(commit) else { throw .failed("a commit out of turn") }
            }
            self.tree = tree
            (gathered, replayed) = ([], [])
            if result.givesUpUnsent { changes = [] }
            saved = [:]
            keep(result.rows)
            return hash
        }
    }
}
