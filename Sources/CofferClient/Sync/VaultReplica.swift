package import CofferFacts
package import CofferFormat
package import CofferRemote
package import CofferSync
package import CofferVault
internal import CofferStore
internal import CofferSystem
internal import Synchronization

/// A vault of this device as the sync engine's replica.
///
/// The vault's calls block, so they are made on a thread of their own, one at a time.
package final class VaultReplica: LocalReplica {
    /// How long to wait for files that are being written, until they are looked at again.
    private static let pause = Duration.seconds(1)

    private let vault: Vault
    private let log: LogID
    private let label: String
    private let hashKey: StateHashKey
    private let milliseconds: @Sendable () -> UInt64
    private let packs: RemotePacks
    private let contents: RemoteContents
    private let thread = BlockingCalls("coffer-sync", max: 1)
    private let state = Mutex(State())

    private struct State {
        var wake: (@Sendable () -> Void)?
        var isWaking = false
        /// How many want all to be sent, also files that are being written.
        var impatient = 0
        /// Calls that gathered facts for a rebuild.
        var gathered: UInt64 = 0
        /// Opens the vault for what this device alone has and may not send.
        var asidePlace: (@Sendable () throws(FileSystemError) -> Vault)?
    }

    /// A vault, which keeps track of its changes from the first call on.
    ///
    /// Contents that are not on this device are fetched from the remote from now on.
    ///
    /// - Parameters:
    ///   - log: This device's log in the vault.
    ///   - label: What the device is called.
    ///   - hashKey: Keys the hash of what is shown; the same for all members.
    ///   - milliseconds: The device's clock, since 1970.
    package init(
        _ vault: Vault, log: LogID, label: String, hashKey: StateHashKey, remote: any RemoteBackend,
        layout: RemoteLayout, milliseconds: @escaping @Sendable () -> UInt64
    ) {
        self.vault = vault
        self.log = log
        self.label = label
        self.hashKey = hashKey
        self.milliseconds = milliseconds
        let packs = RemotePacks(remote, layout)
        self.packs = packs
        contents = RemoteContents { packs.deliver($0) }
        vault.contents.attach(packs)
    }

    /// Has `wake` called when files that were being written may be ready to be sent.
    package func whenReadyToSend(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
    }

    /// Has nobody wait for the remote's packs any more.
    package func stopTransfers() { packs.stop() }

    /// Says where to copy what this device alone has and may not send, before it goes from the vault.
    ///
    /// - Parameter open: Opens a vault for it; called once for each time that something is to be copied.
    package func setAsidePlace(_ open: @escaping @Sendable () throws(FileSystemError) -> Vault) {
        state.withLock { $0.asidePlace = open }
    }

    /// Begins, or ends, to send files that are being written, too.
    package func sendEverything(_ isBegun: Bool) {
        state.withLock { $0.impatient += isBegun ? 1 : -1 }
    }

    /// Puts contents in place that had not arrived at the remote when they were taken in.
    package func placeArrivedContents() async throws(ReplicaError) {
        guard contents.mayOwe else { return }
        try await call { replica throws(FileSystemError) in
            try replica.vault.incoming.placeArrived(replica.contents)
        }
    }

    /// Records that the remote answers again after a failure, so that contents that are missing may be there.
    func noteRemoteAnswers() { contents.noteRemoteAnswers() }

    // MARK: Rows, and what was applied

    package func rows() async throws(ReplicaError) -> [KeptRow] {
        try await call { replica throws(FileSystemError) in
            try replica.vault.outgoing.beginTracking()
            return try replica.vault.facts.keptRows()
        }
    }

    package func row(_ key: KeptRow.Key) async throws(ReplicaError) -> [UInt8]? {
        try await call { replica throws(FileSystemError) in try replica.vault.facts.keptRow(key) }
    }

    package func save(_ rows: [KeptChange]) async throws(ReplicaError) {
        try await call { replica throws(FileSystemError) in
            try replica.vault.facts.keep(rows)
        }
    }

    package func versions() async throws(ReplicaError) -> VersionVector {
        try await call { replica throws(FileSystemError) in try replica.vault.facts.versions() }
    }

    package func stateHash() async throws(ReplicaError) -> StateHash {
        try await call { replica throws(FileSystemError) in
            try replica.vault.facts.stateHash()
        }
    }

    package func values(
        after register: Register?, limit: Int
    ) async throws(ReplicaError) -> [RegisterValues] {
        try await call { replica throws(FileSystemError) in
            try replica.vault.facts.values(after: register, limit: limit)
        }
    }

    // MARK: Commits

    package func apply(
        _ commits: [IncomingCommit], draft: CommitDraft?
    ) async throws(ReplicaError) -> AppliedCommits {
        try await committing(draft) { replica, participant, recorder throws(FileSystemError) in
            var applied = try replica.vault.incoming.apply(commits, as: participant, recorder: recorder)
            applied.made = recorder?.made ?? []
            return applied
        }
    }

    package func makeCommit(_ draft: CommitDraft) async throws(ReplicaError) -> SealedCommit? {
        let sealed = try await committing(draft) { replica, participant, recorder throws(FileSystemError) in
            guard let recorder else { return SealedCommit?.none }
            let commit = try replica.vault.outgoing.collectChanges(
                as: participant, takesAll: replica.state.withLock { $0.impatient > 0 },
                recorder: recorder)
            if commit == nil, draft.takesChanges, try replica.vault.outgoing.hasUnsent() {
                replica.wakeLater()
            }
            return recorder.made.last
        }
        return sealed
    }

    package func sealAnew(_ items: [ItemID]) async throws(ReplicaError) {
        try await call { replica throws(FileSystemError) in try replica.vault.repacking.sealAnew(items) }
    }

    package func contentPacks() async throws(ReplicaError) -> ContentPacks {
        try await call { replica throws(FileSystemError) in
            try replica.vault.cache.remotePacks()
        }
    }

    package func putAgain(
        contentsOf packs: Set<PackID>, writtenIn log: LogID, byteCountMax: Int
    ) async throws(ReplicaError) -> ContentsPutAgain {
        try await call { replica throws(FileSystemError) in
            try replica.vault.outgoing.sendAgain(from: packs, writtenIn: log, byteCountMax: byteCountMax)
        }
    }

    package func packUse() async throws(ReplicaError) -> [PackID: RemotePackUse] {
        try await call { replica throws(FileSystemError) in try replica.vault.cache.remotePackUse() }
    }

    package func moveContents(
        from packs: Set<PackID>, byteCountMax: Int
    ) async throws(ReplicaError) -> Int {
        try await committing(nil) { replica, participant, _ throws(FileSystemError) in
            try replica.vault.outgoing.move(
                from: packs, byteCountMax: byteCountMax, as: participant
            ) { replica.packs.deliver($0) }
        }
    }

    package func hasUnsent() async throws(ReplicaError) -> Bool {
        try await call { replica throws(FileSystemError) in try replica.vault.outgoing.hasUnsent() }
    }

    package func setAside(_ items: [ItemID], andUnsent unsent: Bool) async throws(ReplicaError) {
        try await call { replica throws(FileSystemError) in
            // What a program wrote from here on would go without a copy.
            if unsent {
                if !replica.vault.isOnlyForReading { try replica.vault.flushAll() }
                replica.vault.setForReading(true)
            }
            guard let place = replica.state.withLock({ $0.asidePlace }) else { throw .notPermitted }
            _ = try replica.vault.incoming.setAside(items, andUnsent: unsent, in: place)
        }
    }

    /// Runs a call that may make commits of what was changed.
    private func committing<Value: Sendable>(
        _ draft: CommitDraft?,
        _ body:
            @escaping @Sendable (VaultReplica, Participant, DraftRecorder?) throws(FileSystemError) -> Value
    ) async throws(ReplicaError) -> Value {
        try await thread.run { [self] () throws(ReplicaError) in
            packs.begin(draft?.progress)
            let recorder = draft.map { DraftRecorder($0) }
            do throws(FileSystemError) {
                return try body(self, participant(draft), recorder)
            } catch {
                if case .notSealed(let failure) = error { throw .notSealed(failure) }
                if let failure = packs.failure { throw .remote(failure) }
                throw .failed(error.summary)
            }
        }
    }

    private func participant(_ draft: CommitDraft? = nil) -> Participant {
        var participant = Participant(
            log: log, label: label, hashKey: hashKey, contents: contents, milliseconds: milliseconds)
        if let draft {
            participant.log = draft.log
            participant.label = draft.label
            let milliseconds = draft.milliseconds
            participant.milliseconds = { milliseconds }
        }
        return participant
    }

    private func wakeLater() {
        let wake = state.withLock { state in
            defer { state.isWaking = state.wake != nil }
            return state.isWaking ? nil : state.wake
        }
        guard let wake else { return }
        Task.detached { [weak self] in
            try? await Task.sleep(for: Self.pause)
            self?.state.withLock { $0.isWaking = false }
            wake()
        }
    }

    // MARK: All facts anew

    package func beginRebuild() async throws(ReplicaError) {
        state.withLock { $0.gathered = 0 }
        try await call { replica throws(FileSystemError) in
            try replica.vault.outgoing.beginTracking()
            try replica.vault.incoming.beginRebuild()
        }
    }

    package func addToRebuild(_ groups: [CheckpointPiece.Group]) async throws(ReplicaError) {
        let number = nextGathered()
        try await call { replica throws(FileSystemError) in
            try replica.vault.incoming.gather(groups, number: number)
        }
    }

    package func addToRebuild(_ commits: [FactCommit]) async throws(ReplicaError) {
        let number = nextGathered()
        try await call { replica throws(FileSystemError) in
            try replica.vault.incoming.gather(commits, number: number)
        }
    }

    private func nextGathered() -> UInt64 {
        state.withLock { state in
            state.gathered += 1
            return state.gathered
        }
    }

    package func finishRebuild(_ facts: RebuiltFacts) async throws(ReplicaError) -> StateHash {
        try await call { replica throws(FileSystemError) in
            try replica.vault.incoming.finishRebuild(facts, as: replica.participant())
        }
    }

    /// Runs a call of the vault.
    private func call<Value: Sendable>(
        _ body: @escaping @Sendable (VaultReplica) throws(FileSystemError) -> Value
    ) async throws(ReplicaError) -> Value {
        try await thread.run { [self] () throws(ReplicaError) in
            do throws(FileSystemError) { return try body(self) } catch { throw .failed(error.summary) }
        }
    }
}
