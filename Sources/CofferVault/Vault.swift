package import CofferCrypto
package import CofferFormat
internal import CofferStore
package import CofferSystem
internal import Synchronization

/// An unlocked vault on this device: its tree of items, with POSIX semantics.
///
/// All operations may be called from any thread. They may block on the local disk; those that need contents
/// which are only on a remote also block on the remote, and say so. Item numbers are inode numbers inside the
/// vault; the root's is `rootNumber`. Changes are visible at once. They reach the disk within about a second,
/// or when `commit` returns.
package final class Vault: Sendable {
    /// The number of a vault's root directory.
    package static let rootNumber: Int64 = 1
    /// The maximum length of a name, in bytes.
    package static let nameByteCountMax = 255
    /// The maximum size of a file, in bytes.
    package static let fileByteCountMax = Int64(1) << 62

    /// The vault's id, the same for all members.
    package let id: VaultID
    let directory: any StorageDirectory
    let adopted: AdoptedKeys
    let state: Condition<VaultState>
    /// Protects the intent log.
    ///
    /// Taken before `state`, for as long as a commit lasts.
    let committing: RankedMutex<IntentLog>
    /// Held while sending changes or applying those of other devices.
    ///
    /// Taken before `committing`.
    let exchanging = RankedMutex((), rank: .exchange)
    let log: IndexLog
    let buffers = BufferPool(
        sealedByteCount: ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax), keeping: 4)
    /// The buffers of reads in flight, which are small.
    let scatteredBuffers = BufferPool(sealedByteCount: ScatteredRead.sealedByteCountMax, keeping: 32)
    let waitingReads = WaitingReads()
    let pace = DiskPace()
    let upkeep = Upkeep()
    let writer: PackWriter
    let readAhead = ReadAhead()
    let remoteReads = RemoteReads()
    /// Threads that help prepare extents for sending.
    let packFillers = PackFillers()
    /// How much content may stay on this device, and how much does.
    ///
    /// No other lock is taken inside.
    let cacheLimit = RankedMutex(CacheLimit(), rank: .leaf)
    /// Held during eviction.
    ///
    /// Taken before `committing`, while no other lock is held.
    let evicting = RankedMutex((), rank: .eviction)
    /// The place where re-encryption under the newest epoch continues.
    let resealing = RankedMutex(Reencryption.Place(), rank: .leaf)
    /// When states whose time has come were last looked for, in nanoseconds since 1970.
    let thinned = RankedMutex<Int64>(0, rank: .leaf)
    /// Contents with new places at the remote that no commit states yet.
    let moves = RankedMutex<[ContentMove]>([], rank: .leaf)
    /// Where the vault reports damage.
    package let problems: ProblemLog
    /// Shows changes to programs; may be taken under `state`.
    let sink = RankedMutex<(any ChangeSink)?>(nil, rank: .leaf)
    /// Gives space back when the disk is full; may be taken and used under `committing`.
    let reserve = RankedMutex<(any DiskReserve)?>(nil, rank: .leaf)
    /// Whether this mount is read-only.
    package let isReadOnly: Bool
    /// Whether programs may change nothing because their user is a reader of the vault.
    private let isForReading = Atomic(false)

    /// Creates the local store of a new vault in `directory`, with an empty root.
    ///
    /// - Parameter owner: The user and group of the root directory.
    package static func create(
        in directory: any StorageDirectory, id: VaultID, store: borrowing SymmetricKey<StoreRole>,
        owner: Caller
    ) throws(FileSystemError) {
        do throws(SystemError) {
            _ = try directory.subdirectory("packs")
        } catch {
            throw .system(error)
        }
        try Index.create(in: directory, vault: id, key: store)
        let index = try Index(in: directory, vault: id, key: store)
        // All devices use the same id.
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
    ///   - keys: The keys of all epochs that this device has; the newest seals new data.
    ///   - problems: Receives damage that operations find.
    package init(
        in directory: any StorageDirectory, id: VaultID, store: borrowing SymmetricKey<StoreRole>,
        keys: ContentKeys, problems: ProblemLog, isReadOnly: Bool = false
    ) throws(FileSystemError) {
        self.id = id
        self.directory = directory
        adopted = AdoptedKeys(keys)
        self.problems = problems
        self.isReadOnly = isReadOnly
        let index = try Index(in: directory, vault: id, key: store, pace: pace)
        let packDirectory: any StorageDirectory
        do throws(SystemError) {
            packDirectory = try directory.subdirectory("packs")
        } catch {
            throw .system(error)
        }
        let packs = try PackStore(
            in: packDirectory, vault: id, rows: index.packs(), isReadOnly: isReadOnly,
            keepsOthers: index.droppedFrameCount > 0)
        writer = packs.writer
        log = try index.makeLog()
        committing = RankedMutex(IntentLog(in: directory, vault: id, key: store), rank: .commit)
        var vaultState = VaultState(
            index: index, packs: packs, orphans: try index.orphans(),
            space: FreeSpace(in: directory, log: log, packs: packs), readAhead: readAhead)
        if try index.tracking() == .on { vaultState.tree.journal = JournalWriter() }
        if index.hasHistory, try index.history().kept != 0 {
            vaultState.tree.history = try HistoryRecorder(index)
        }
        state = Condition(vaultState, rank: .vaultState)
        if index.droppedFrameCount > 0 {
            problems.add(
                """
                \(index.droppedFrameCount) pages of the latest changes were dropped, as the write-ahead log \
                is damaged before them. If the machine lost power, they were not on disk yet; otherwise they \
                are lost. Packs that only they refer to are kept until the next mount.
                """)
        }
        try committing.withLock { intents throws(FileSystemError) in try replay(intents) }
    }

    /// Runs an operation that changes nothing.
    ///
    /// - Parameter failsForAbsentPages: As in `bringingPages`.
    func reading<Result>(
        failsForAbsentPages: Bool = false, _ body: (inout VaultState) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        do throws(FileSystemError) {
            return try state.withLock { state throws(FileSystemError) in
                state.index.failsForAbsentPages = failsForAbsentPages
                let index = state.index
                defer { index.failsForAbsentPages = false }
                do throws(FileSystemError) {
                    return try body(&state)
                } catch {
                    state.noticeRollback()
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
    /// Only a damaged index can make it fail half-way. Then the vault commits nothing more, so that the last
    /// commit stays intact.
    ///
    /// - Parameters:
    ///   - failsForAbsentPages: As in `bringingPages`.
    ///   - author: Whose changes these are.
    func changing<Result>(
        failsForAbsentPages: Bool = false, as author: History.Author = .thisDevice,
        _ body: (inout VaultState) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        if isReadOnly { throw .readOnly }
        do throws(FileSystemError) {
            return try state.withLock { state throws(FileSystemError) in
                state.index.failsForAbsentPages = failsForAbsentPages
                let index = state.index
                defer { index.failsForAbsentPages = false }
                try state.ensureWritable()
                state.tree.forgetCleanItems()
                defer { upkeep.noteChanges(isUrgent: state.isCommitUrgent) }
                var changes = state.index.changes
                do throws(FileSystemError) {
                    if author == .thisDevice { return try body(&state) }
                    try state.tree.beginActing(as: author)
                    // What has been stored so far is whole.
                    changes = state.index.changes
                    let result = try body(&state)
                    try state.tree.endActing()
                    return result
                } catch {
                    if state.index.changes != changes {
                        state.stopped = "a change failed half-way (\(error.summary))"
                    }
                    state.noticeRollback()
                    state.tree.history?.author = .thisDevice
                    throw error
                }
            }
        } catch {
            report(error)
            throw error
        }
    }

    /// Whether the vault tracks changes for a remote.
    package var isTracking: Bool { state.withLock { $0.tree.isTracking } }

    /// Why nothing can be written; nil if writing is possible.
    package var stoppedReason: String? { state.withLock { $0.stopped } }

    /// Sets whether programs may change anything; changes from other devices are applied in any case.
    package func setForReading(_ isForReading: Bool) {
        self.isForReading.store(isForReading, ordering: .relaxed)
    }

    /// Whether programs may change nothing because their user is a reader.
    package var isOnlyForReading: Bool { isForReading.load(ordering: .relaxed) }

    /// Throws `.readOnly` where programs may not change anything.
    func ensureChangeable() throws(FileSystemError) {
        if isReadOnly || isForReading.load(ordering: .relaxed) { throw .readOnly }
    }

    /// Sets the reserve to release when a full disk keeps removals from being committed.
    package func setReserve(_ reserve: any DiskReserve) {
        self.reserve.withLock { $0 = reserve }
    }

    /// Sets the listener that is called when there is something new to send; nil removes it.
    ///
    /// - Parameter listener: Called often, under the vault's lock, so it may only wake a thread.
    package func setNewsListener(_ listener: (@Sendable () -> Void)?) {
        state.withLock { $0.tree.listener = listener }
    }

    /// Like `changing`, for operations that change names; waits while changes from other devices are half
    /// applied.
    ///
    /// - Parameter isShort: Whether `body` changes nothing before it has read all it needs, and can be run again.
    func changingNames<Result>(
        isShort: Bool = true, _ body: (inout VaultState) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        try ensureChangeable()
        while true {
            let result = try bringingPages { fails throws(FileSystemError) in
                try changing(failsForAbsentPages: fails && isShort) { state throws(FileSystemError) in
                    state.holdsNames ? nil : Optional(try body(&state))
                }
            }
            if let result { return result }
            DebugLog.waiting(for: .names) { state.wait { $0.holdsNames ? nil : () } }
        }
    }

    /// Runs an operation of a program that changes names, unless it would have to wait for changes from other
    /// devices.
    ///
    /// `holdNames` waits until it has finished.
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

    /// Reports damage that an operation found to the problem log.
    private func report(_ error: FileSystemError) {
        switch error {
        case .damaged(let place): problems.add("\(place) is damaged; its contents cannot be read.")
        case .system, .format, .index, .stopped: break
        default: return
        }
        if let reason = stoppedReason {
            problems.add("The vault is read-only until remounted: \(reason)")
        }
    }

    /// Checks a new name.
    static func validate(_ name: [UInt8]) throws(FileSystemError) {
        guard name.count <= nameByteCountMax else { throw .nameTooLong }
        guard !name.isEmpty, !name.contains(0), !name.contains(UInt8(ascii: "/")) else {
            throw .invalidArgument
        }
        guard name != [46], name != [46, 46] else { throw .alreadyExists }
    }
}
