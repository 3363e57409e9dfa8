package import CofferCrypto
package import CofferFormat
package import CofferStore
package import CofferSystem
internal import Synchronization

/// A vault that is unlocked on this device: its tree of items, with the semantics of POSIX.
///
/// All operations may be called from any thread; they block on local disk only. Numbers of items are
/// inode numbers inside the vault; the root's is `rootNumber`. Changes are seen at once, and reach the disk
/// within a second, or when `sync` returns.
package final class Vault: Sendable {
    /// The number of a vault's root directory.
    package static let rootNumber: Int64 = 1
    /// The most bytes of a name.
    package static let nameByteCountMax = 255
    /// The most bytes of a file.
    package static let fileByteCountMax = Int64(1) << 62

    /// Names the vault, for all its members.
    package let id: VaultID
    let directory: any StorageDirectory
    let adopted: AdoptedKeys
    let state: Condition<VaultState>
    /// Taken before `state`, for as long as a commit lasts; with it comes the intent log.
    let committing: Condition<IntentLog>
    /// Taken before `committing`: one at a time sends changes, or takes those of others in.
    let exchanging = Condition(())
    let log: IndexLog
    let buffers = BufferPool()
    let upkeep = Upkeep()
    let writer: PackWriter
    let readAhead = ReadAhead()
    let remoteReads = RemoteReads()
    /// Help whoever sends to get extents ready.
    let packFillers = PackFillers()
    /// Under no other lock.
    let cache = Condition(CacheLimit())
    /// One at a time gives up contents; taken under no other lock, before `committing`.
    let evicting = Condition(())
    /// Where sealing anew under the newest epoch goes on.
    let resealing = Condition(Reencryption.Place())
    let problems: ProblemLog
    /// Who shows the vault to programs; may be taken under `state`.
    let sink = Condition<(any ChangeSink)?>(nil)
    /// For a full disk; may be taken and used under `committing`.
    let reserve = Condition<(any DiskReserve)?>(nil)
    /// Whether nothing may be changed through this mount.
    package let isReadOnly: Bool
    /// Whether programs may change nothing, as the person may only read the vault.
    private let isForReading = Atomic(false)

    /// Makes the local store of a new vault in `directory`, with an empty root.
    ///
    /// - Parameter owner: User and group of the root directory.
    package static func create(
        in directory: any StorageDirectory, id: VaultID, store: borrowing SymmetricKey<StoreRole>,
        owner: Caller
    ) throws(StoreError) {
        do throws(SystemError) {
            _ = try directory.subdirectory("packs")
        } catch {
            throw StoreError.system(error)
        }
        try Index.create(in: directory, vault: id, key: store)
        let index = try Index(in: directory, vault: id, key: store)
        // The same on all devices.
        var root = ItemRow(
            number: index.nextItemNumber(), id: ItemID(low: id.low, high: id.high),
            mode: FileType.directory.modeBits | 0o755, user: owner.user, group: owner.group,
            time: Clock.fileTime)
        root.links = 2
        root.parent = root.number
        _ = try index.put(root, replacing: nil)
        try index.close()
    }

    /// Opens the local store of a vault.
    ///
    /// - Parameters:
    ///   - keys: Those of all epochs that this device has; new data is sealed under the newest.
    ///   - problems: Hears of damage that is met.
    package init(
        in directory: any StorageDirectory, id: VaultID, store: borrowing SymmetricKey<StoreRole>,
        keys: ContentKeys, problems: ProblemLog, isReadOnly: Bool = false
    ) throws(StoreError) {
        self.id = id
        self.directory = directory
        adopted = AdoptedKeys(keys)
        self.problems = problems
        self.isReadOnly = isReadOnly
        let index = try Index(in: directory, vault: id, key: store)
        let packDirectory: any StorageDirectory
        do throws(SystemError) {
            packDirectory = try directory.subdirectory("packs")
        } catch {
            throw StoreError.system(error)
        }
        let packs = try PackStore(
            in: packDirectory, vault: id, rows: index.packs(), isReadOnly: isReadOnly,
            keepsOthers: index.droppedFrameCount > 0)
        writer = packs.writer
        log = try index.makeLog()
        committing = Condition(IntentLog(in: directory, vault: id, key: store))
        let vaultState = VaultState(index: index, packs: packs, orphans: try index.orphans())
        if try index.tracking() == .on { vaultState.journal = JournalWriter() }
        state = Condition(vaultState)
        if index.droppedFrameCount > 0 {
            problems.add(
                """
                \(index.droppedFrameCount) pages of the latest changes were dropped, as the index's log is \
                damaged before them. If the machine lost power, they were not on disk yet; else they are lost. \
                Packs that only they name are kept until the next mount.
                """)
        }
        try committing.withLock { intents throws(StoreError) in try replay(intents) }
    }

    /// Runs an operation that changes nothing.
    func reading<Result>(
        _ body: (VaultState) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        do throws(FileSystemError) {
            return try state.withLock { state throws(FileSystemError) in
                do throws(FileSystemError) {
                    return try body(state)
                } catch {
                    noticeRollback(state)
                    throw error
                }
            }
        } catch {
            report(error)
            throw error
        }
    }

    /// Runs an operation that changes something.
    ///
    /// If it fails half-way, which only a damaged index can make it do, nothing is committed any more: the
    /// last commit is whole.
    func changing<Result>(
        _ body: (VaultState) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        if isReadOnly { throw .readOnly }
        do throws(FileSystemError) {
            return try state.withLock { state throws(FileSystemError) in
                try state.ensureWritable()
                state.forgetCleanItems()
                defer { upkeep.note(changes: state.changeCount) }
                let changes = state.index.changes
                do throws(FileSystemError) {
                    return try body(state)
                } catch {
                    if state.index.changes != changes {
                        state.stopped = "a change failed half-way (\(error.summary))"
                    }
                    noticeRollback(state)
                    throw error
                }
            }
        } catch {
            report(error)
            throw error
        }
    }

    /// Says whether programs may change anything; what comes from elsewhere is taken in all the same.
    package func setForReading(_ isForReading: Bool) {
        self.isForReading.store(isForReading, ordering: .relaxed)
    }

    /// Whether programs may change nothing, as their user may only read.
    package var isOnlyForReading: Bool { isForReading.load(ordering: .relaxed) }

    /// Refuses what a program wants to change where it may not.
    func ensureChangeable() throws(FileSystemError) {
        if isReadOnly || isForReading.load(ordering: .relaxed) { throw .readOnly }
    }

    /// Says what to give up where a full disk keeps removals from being stored.
    package func setReserve(_ reserve: any DiskReserve) {
        self.reserve.withLock { $0 = reserve }
    }

    /// Has somebody told, soon, whenever there is something new to be sent; nil for nobody.
    ///
    /// - Parameter listener: Called often, under the vault's lock: it only wakes somebody.
    package func setNewsListener(_ listener: (@Sendable () -> Void)?) {
        state.withLock { $0.listener = listener }
    }

    /// As `changing`, for what changes names; waits while changes from elsewhere are half made.
    func changingNames<Result>(
        _ body: (VaultState) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        try ensureChangeable()
        while true {
            let result = try changing { state throws(FileSystemError) in
                state.holdsNames ? nil : Optional(try body(state))
            }
            if let result { return result }
            state.wait { $0.holdsNames ? nil : () }
        }
    }

    /// Runs what changes names for a program, unless that would wait for changes from elsewhere.
    ///
    /// Those who want to hold the names wait until it is done.
    ///
    /// - Returns: Whether it was run.
    package func performUnlessNamesAreHeld(_ body: () -> Void) -> Bool {
        let mayGo = state.withLock { state in
            guard !state.holdsNames, !state.wantsNames else { return false }
            state.nameChanges += 1
            return true
        }
        guard mayGo else { return false }
        body()
        let isWanted = state.withLock { state in
            state.nameChanges -= 1
            return state.wantsNames
        }
        if isWanted { state.update { _ in } }
        return true
    }

    /// Keeps programs from changing names until `releaseNames`.
    func holdNames() {
        state.withLock { $0.wantsNames = true }
        state.wait { state -> Void? in
            guard state.nameChanges == 0 else { return nil }
            state.holdsNames = true
            state.wantsNames = false
            return ()
        }
    }

    func releaseNames() {
        state.update { $0.holdsNames = false }
    }

    /// Stops writing if the index went back to its last commit, and forgets what was read of later ones.
    func noticeRollback(_ state: VaultState) {
        state.noticeRollback()
        if state.stopped != nil { readAhead.endAll() }
    }

    /// Puts damage that an operation met into the problem log.
    private func report(_ error: FileSystemError) {
        switch error {
        case .damaged(let place): problems.add("\(place) is damaged; what it holds cannot be read.")
        case .store: break
        default: return
        }
        if let reason = stoppedReason {
            problems.add("The vault can only be read until it is mounted anew: \(reason)")
        }
    }

    /// Checks a name that is to be made.
    static func validate(_ name: [UInt8]) throws(FileSystemError) {
        guard name.count <= nameByteCountMax else { throw .nameTooLong }
        guard !name.isEmpty, !name.contains(0), !name.contains(UInt8(ascii: "/")) else {
            throw .invalidArgument
        }
        guard name != [46], name != [46, 46] else { throw .alreadyExists }
    }
}
