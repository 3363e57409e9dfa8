internal import CofferFUSE
internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Glibc

// Locking the profile of a mount (docs/adr/0043-locking.md).
extension MountService {
    /// How often the idle time is checked, in nanoseconds.
    private static let idlePoll: Int64 = 2_000_000_000

    /// How long the kernel may take to write the bulk of what it has cached while programs are served, in nanoseconds.
    private static let bulkTimeMax: Int64 = 5_000_000_000
    /// How long programs may go on writing when the profile is to be locked, in nanoseconds.
    private static let quietTimeMax: Int64 = 10_000_000_000
    /// How many times their caches must have been emptied until then.
    private static let roundsMin = 10
    /// How many times nothing must have been left to write.
    private static let quietRounds = 2
    /// How long a write(2) that was let in may take until it holds its file's lock, in microseconds.
    private static let writePause: UInt32 = 20_000
    /// How long it may take until it has filled its pages, where a notification does not wait for that: the kernel slows
    /// each writer down by 200 ms at a time.
    private static let longWritePause: UInt32 = 300_000
    /// How long all may take until programs are refused, and again from then on, in nanoseconds.
    ///
    /// A program may hold a lock of the kernel for as long as it likes, and nothing ends the wait for it.
    private static let lockTimeMax: Int64 = 300_000_000_000

    /// How many files to name that could not be stored.
    private static let namedFilesMax = 3

    /// Stores everything, empties the kernel's caches, and makes `serve` return for the next process.
    ///
    /// Until the last step, a failure leaves everything as it was.
    ///
    /// - Parameters:
    ///   - force: Whether to go on if changes cannot be stored.
    ///   - client: The connection of the command; nil if the profile locks itself.
    func lock(_ force: Bool, for client: Int32?) throws(ClientError) {
        let timer = LogTimer(.info)
        guard ChildProcess.canStartAgain else { throw .locking(.replaced) }
        let limit = try limitLock(client)
        defer { limit.reach(.end) }
        var isEmptied = false
        do throws(ClientError) {
            guard server.holdChanges() || force else { throw .locking(.commandUnderWay) }
            // While programs are served, so that they need not wait for the bulk of it.
            let failure = storeBulk()
            try locking.check()
            try storeVaults(force)
            try locking.check()
            // Programs are not refused time and again in vain.
            if client == nil, !force, session.lacksRoom { throw failedWrites }
            limit.reach(.gate)
            let isQuiet = session.closeGate { locking.mayGoOn }
            try locking.check()
            guard isQuiet || force else { throw .locking(.inUse) }
            // Before anything is dropped that could not be written.
            try storeForCertain(force, failure)
            isEmptied = true
            try dropCaches(force)
            // execve(2) would wait for the thread, which may never end.
            guard MountCopies.areSynced else { throw .locking(.inUse) }
            try locking.beginLeaving()
        } catch {
            session.openAgain()
            server.allowChanges()
            if isEmptied, !locking.isEnding {
                try? Thread.startDetached("coffer-unlock") { [self] in showVaultsAgain() }
            }
            throw error
        }
        DebugLog.log(.info, .mount, "everything is stored, and the kernel's caches are empty, \(timer)")
        limitEnd()
        // While the mount is still served: what comes from a remote is shown to the kernel, which waits for requests.
        shared.stop()
        session.leave()
    }

    /// Serves programs again, and answers the command, if locking takes too long.
    private func limitLock(_ client: Int32?) throws(ClientError) -> LockLimit {
        try systemCalls { () throws(SystemError) in
            // A profile that locks itself may have refused programs before.
            try LockLimit(nanoseconds: Self.lockTimeMax, startsAtGate: client == nil) { [self] in
                guard locking.giveUp() else { return }
                DebugLog.log(.error, .mount, "locking takes too long, and is given up")
                idle?.postpone()
                session.openAgain()
                server.allowChanges()
                if let client { server.refuse(client, .locking(.inUse)) }
            }
        }
    }

    // MARK: Storing

    /// Makes the kernel write most of what it has cached, while programs are served.
    ///
    /// - Returns: An error of the kernel.
    private func storeBulk() -> SystemError? {
        let (deadline, heldBackMin) = (Clock.monotonic + Self.bulkTimeMax, Session.heldBackMin)
        var failure: SystemError?
        var before: Int
        repeat {
            before = session.pageStoreCount
            // Whether the mount can be reached shows again when it matters.
            failure = syncMount().flatMap { MountCopies.isOfStorage($0) ? $0 : nil } ?? failure
        } while session.pageStoreCount - before >= heldBackMin && Clock.monotonic < deadline
            && locking.mayGoOn
        return failure
    }

    /// Stores all that programs have written; for use behind the closed gate.
    ///
    /// - Parameter earlier: An error that the kernel has reported before.
    private func storeForCertain(_ force: Bool, _ earlier: SystemError? = nil) throws(ClientError) {
        let (areAllStored, failure) = session.storePages(while: { locking.mayGoOn }) { syncMount() }
        try locking.check()
        guard areAllStored || force else { throw .locking(.inUse) }
        // There may be room by now.
        if !session.failedFiles.isEmpty { session.storeFailedWrites { locking.mayGoOn } }
        try locking.check()
        try storeVaults(force)
        try locking.check()
        // All requests are answered, so each failure of one is known.
        let hasFailed = !session.failedFiles.isEmpty
        reportLosses()
        if force { return }
        if hasFailed { throw failedWrites }
        guard let failure = failure ?? earlier else { return }
        guard MountCopies.isOfStorage(failure) else {
            throw .locking(.notWritten(reason: failure.description))
        }
        if !session.explainsError() {
            throw .locking(.notStored(reason: FileSystemError(failure).summary))
        }
    }

    private func storeVaults(_ force: Bool) throws(ClientError) {
        do throws(FileSystemError) {
            try vaults.storeAll()
        } catch {
            if !force { throw .locking(.notStored(reason: error.summary)) }
        }
    }

    /// Why the profile stays unlocked while only the kernel has changes.
    private var failedWrites: ClientError {
        let (files, others) = names(of: session.failedFiles)
        return .locking(.failedWrites(files: files, others: others))
    }

    /// The names of some files, by vault, and the number of the others.
    private func names(of nodes: [Node]) -> (files: [String], others: Int) {
        let names = nodes.prefix(Self.namedFilesMax).compactMap { node in
            vaults.vault(slot: node.slot).map { "\($0.name)/\($0.vault.path(of: node.item))" }
        }
        return (names.sorted(), nodes.count - names.count)
    }

    /// Records what is lost, since neither the vaults nor the kernel have it.
    ///
    /// - Parameter others: Files that the next process loses.
    func reportLosses(_ others: [Node] = []) {
        let nodes = Set(session.takeLostFiles()).union(others)
        if nodes.isEmpty { return }
        locking.noteLosses(nodes.count)
        let (files, rest) = names(of: Array(nodes))
        vaults.problems.add(
            "Changes of \(LockingError.list(files, rest)) could not be stored when a program wrote them, and are lost."
        )
    }

    /// Records what the kernel has tried to store while the profile was locked, and nobody could take.
    func reportRefused(_ nodes: [Node]) {
        if nodes.isEmpty { return }
        let (files, rest) = names(of: nodes)
        vaults.problems.add(
            "Changes of \(LockingError.list(files, rest)) came too late to be stored before the lock, and are lost."
        )
    }

    // MARK: The kernel's caches

    /// Waits for what was let in, and for what no lock shows.
    private func awaitWrites() {
        usleep(Session.kernelAwaitsWrites ? Self.writePause : Self.longWritePause)
    }

    /// Empties the kernel's caches, until nothing is left that it would write.
    private func dropCaches(_ force: Bool) throws(ClientError) {
        // What was let in last is stored before a page is dropped that could not be.
        session.dropNames { locking.mayGoOn }
        awaitWrites()
        try storeForCertain(force)
        let deadline = Clock.monotonic + Self.quietTimeMax
        var (rounds, quietRounds) = (0, 0)
        while quietRounds < Self.quietRounds {
            guard rounds < Self.roundsMin || Clock.monotonic < deadline else {
                if force { return }
                throw .locking(.inUse)
            }
            let before = session.storeCount
            session.dropCaches { locking.mayGoOn }
            awaitWrites()
            try storeForCertain(force)
            rounds += 1
            quietRounds = session.storeCount == before ? quietRounds + 1 : 0
        }
    }

    /// Makes the kernel write what it has cached, wherever the mount is.
    func syncMount() -> SystemError? {
        guard let device, (try? MountPoint.mount(of: point.path))?.device != device else {
            return MountPoint.sync(point.path)
        }
        let failure = MountCopies(of: device).sync()
        guard let failure, !MountCopies.isOfStorage(failure) else { return failure }
        return DetachedMount.sync()
    }

    /// Locks the profile when the idle time is over; tries again if that fails.
    func lockWhenDue(_ idle: IdleTime) {
        while true {
            if ended.wait(nanoseconds: Self.idlePoll, for: { $0 ? true : nil }) != nil { return }
            guard idle.isDue else { continue }
            do throws(ClientError) {
                try locking.lock(false, nil)
                return
            } catch {
                // A command locks it, and opens the gate if that fails.
                if case .locking(.underWay) = error { continue }
                // Giving up has postponed it before.
                if !locking.isGivenUp { idle.postpone() }
                session.openAgain()
                vaults.problems.add("The profile could not be locked automatically: \(error)")
            }
        }
    }

    /// What the next process needs; for use after the session's `run`.
    func makeHandover() throws(SystemError) -> Handover {
        let state = session.state
        // What was refused since the mount is left.
        reportLosses(session.failedFiles)
        func copy(_ descriptor: Int32?) throws(SystemError) -> Int32? {
            guard let descriptor else { return nil }
            return try Descriptor.copy(of: descriptor).release()
        }
        return Handover(
            connection: try session.copyConnection().release(),
            lock: try Descriptor.copy(of: vaults.profile.lockDescriptor).release(),
            directory: try copy(directory?.number), socket: try Descriptor.copy(of: server.number).release(),
            client: try copy(locking.client), key: nil,
            socketPath: server.path, mountPoint: point.path, device: device, state: state,
            inUse: ItemsInUse(state.nodes, in: vaults.vaults), locked: Clock.realTime,
            isStored: locking.hasStored, failure: locking.failure.map { Handover.Failure($0) })
    }

    /// Makes a session continue the mount of another process.
    ///
    /// - Returns: The directory under the mount.
    static func resume(
        _ session: Session, _ handover: Handover, _ options: Options
    ) throws(ClientError) -> BareDirectory? {
        let isContinued = try systemCalls { () throws(SystemError) in
            let connection = try Descriptor.copy(of: handover.connection)
            return try session.resume(connection, handover.state, options: options.mount)
        }
        guard isContinued else { throw .locking(.replaced) }
        guard let number = handover.directory else { return nil }
        return BareDirectory(
            owning: try systemCalls { () throws(SystemError) in
                try Descriptor.copy(of: number)
            })
    }

    /// Makes the kernel look up the vaults, so that getcwd(3) works again where a program has its working directory in one.
    private func showVaultsAgain() {
        session.forgetRootAttributes()
        var status = stat()
        for mounted in vaults.vaults { _ = unsafe lstat("\(point.path)/\(mounted.name)", &status) }
    }

    /// Shows the vaults to the kernel, and answers the command that unlocked the profile.
    func takeOver(_ handover: Handover) throws(SystemError) {
        try Thread.startDetached("coffer-unlock") { [self] in
            showVaultsAgain()
            var handover = handover
            handover.answerClient()
            handover.close()
        }
    }
}
