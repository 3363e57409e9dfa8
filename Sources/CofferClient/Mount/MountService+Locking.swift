internal import CofferFUSE
internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Glibc

// Locking the profile of a mount (docs/adr/0043-locking.md).
extension MountService {
    /// How often the idle time is checked, in nanoseconds.
    private static let idlePoll: Int64 = 2_000_000_000
    /// How long to wait after a failure before the profile is locked automatically, in nanoseconds.
    private static let retry: Int64 = 60_000_000_000

    /// How long programs may go on writing when the profile is to be locked, in nanoseconds.
    private static let quietTimeMax: Int64 = 30_000_000_000
    /// How many times nothing must have been left to write.
    private static let quietRounds = 2
    /// How long a write(2) that was let in may take until it holds its file's lock, in microseconds.
    private static let writePause: UInt32 = 20_000

    /// How many files to name that could not be stored.
    private static let namedFilesMax = 3

    /// Stores everything, empties the kernel's caches, and makes `serve` return for the next process.
    ///
    /// Until the last step, a failure leaves everything as it was.
    ///
    /// - Parameter force: Whether to go on if changes cannot be stored.
    func lock(_ force: Bool, for client: Int32?) throws(ClientError) {
        let timer = LogTimer(.info)
        guard ChildProcess.canStartAgain else { throw .locking(.replaced) }
        do throws(ClientError) {
            guard server.holdChanges() || force else { throw .locking(.commandUnderWay) }
            // While programs are served, so that they need not wait for the bulk of it.
            try store(force)
            guard session.closeGate() || force else { throw .locking(.inUse) }
            // Before anything is dropped that could not be written.
            try storeForCertain(force)
            try dropCaches(force)
            try locking.beginLeaving()
        } catch {
            session.openAgain()
            server.allowChanges()
            throw error
        }
        DebugLog.log(.info, .mount, "everything is stored, and the kernel's caches are empty, \(timer)")
        limitEnd()
        // While the mount is still served: what comes from a remote is shown to the kernel, which waits for requests.
        shared.stop()
        session.leave()
    }

    /// Stores what the kernel has cached, files' times too, and what the vaults have in memory.
    private func store(_ force: Bool) throws(ClientError) {
        try allow(force, syncMount())
        try storeVaults(force)
    }

    /// Stores all that programs have written; for use behind the closed gate.
    private func storeForCertain(_ force: Bool) throws(ClientError) {
        let failure = syncMount()
        // The pages are on their way, and are answered, or refused, only now.
        guard session.awaitAnswers() || force else { throw .locking(.inUse) }
        try allow(force, failure ?? syncMount())
        // There may be room by now.
        if !session.failedFiles.isEmpty { session.storeFailedWrites() }
        try storeVaults(force)
        let failed = session.failedFiles
        if failed.isEmpty || force { return }
        let named = failed.prefix(Self.namedFilesMax)
        let names = named.compactMap { node in
            vaults.vault(slot: node.slot).map { "\($0.name)/\($0.vault.path(of: node.item))" }
        }
        throw .locking(.failedWrites(files: names.sorted(), others: failed.count - named.count))
    }

    private func storeVaults(_ force: Bool) throws(ClientError) {
        do throws(FileSystemError) {
            try vaults.storeAll()
        } catch {
            if !force { throw .locking(.notStored(reason: error.summary)) }
        }
    }

    private func allow(_ force: Bool, _ failure: SystemError?) throws(ClientError) {
        guard let failure, !session.explainsError(), !force else { return }
        throw .locking(.notStored(reason: FileSystemError(failure).summary))
    }

    /// Empties the kernel's caches, until nothing is left that it would write.
    private func dropCaches(_ force: Bool) throws(ClientError) {
        let deadline = Clock.monotonic + Self.quietTimeMax
        var quietRounds = 0
        while quietRounds < Self.quietRounds {
            guard Clock.monotonic < deadline else {
                if force { return }
                throw .locking(.inUse)
            }
            let before = session.storeCount
            session.dropCaches()
            usleep(Self.writePause)
            try storeForCertain(force)
            quietRounds = session.storeCount == before ? quietRounds + 1 : 0
        }
    }

    /// Makes the kernel write what it has cached, wherever the mount is.
    private func syncMount() -> SystemError? {
        guard let device, (try? MountPoint.mount(of: point.path))?.device != device else {
            return MountPoint.sync(point.path)
        }
        return MountCopies(of: device).sync()
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
                idle.postpone(Self.retry)
                session.openAgain()
                vaults.problems.add("The profile could not be locked automatically: \(error)")
            }
        }
    }

    /// What the next process needs; for use after the session's `run`.
    func makeHandover(
        _ server: ControlServer, _ directory: BareDirectory?, _ client: Int32?
    ) throws(SystemError) -> Handover {
        let state = session.state
        func copy(_ descriptor: Int32?) throws(SystemError) -> Int32? {
            guard let descriptor else { return nil }
            return try Handover.copy(descriptor)
        }
        return Handover(
            connection: try session.copyConnection().release(),
            lock: try Handover.copy(vaults.profile.lockDescriptor), directory: try copy(directory?.number),
            socket: try Handover.copy(server.number), client: try copy(client), key: nil,
            socketPath: server.path, mountPoint: point.path, device: device, state: state,
            inUse: ItemsInUse(state.nodes, in: vaults.vaults), locked: Clock.realTime, failure: nil)
    }

    /// Makes a session continue the mount of another process.
    ///
    /// - Returns: The directory under the mount.
    static func resume(
        _ session: Session, _ handover: Handover, _ options: Options
    ) throws(ClientError) -> BareDirectory? {
        let isContinued = try systemCalls { () throws(SystemError) in
            let connection = Descriptor(owning: try Handover.copy(handover.connection))
            return try session.resume(connection, handover.state, options: options.mount)
        }
        guard isContinued else { throw .locking(.replaced) }
        guard let number = handover.directory else { return nil }
        return BareDirectory(
            owning: try systemCalls { () throws(SystemError) in
                Descriptor(owning: try Handover.copy(number))
            })
    }

    /// Answers the command that unlocked the profile once the mount serves, and makes the kernel look up the vaults.
    ///
    /// Where a program has its working directory in a vault, getcwd(3) works again after that.
    func showVaultsAgain(answering handover: Handover) throws(SystemError) {
        try Thread.startDetached("coffer-unlock") { [self] in
            session.forgetRootAttributes()
            var status = stat()
            for mounted in vaults.vaults { _ = unsafe lstat("\(point.path)/\(mounted.name)", &status) }
            var handover = handover
            handover.answerClient()
            handover.close()
        }
    }
}
