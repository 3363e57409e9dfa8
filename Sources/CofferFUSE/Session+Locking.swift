internal import CofferFormat
package import CofferSystem
internal import CofferVault

// Locking: a mount whose keys go stays in place, and another process serves it from then on.
extension Session {
    /// How long requests may wait that were received before the mount is to be locked, in nanoseconds.
    private static let answersTimeMax: Int64 = 30_000_000_000

    /// How long it may take until all pages are written, in nanoseconds.
    private static let pagesTimeMax: Int64 = 60_000_000_000
    /// How many times in a row too few pages must have been left for the kernel to hold others back.
    private static let quietRounds = 2

    /// How many requests of the kernel's own may be under way before it holds others back.
    static let congestionThreshold = 48
    /// Where an administrator may choose a lower one for users other than root.
    private static let thresholdSetting = "/sys/module/fuse/parameters/max_user_congthresh"
    /// The kernel's threshold if nobody chooses one.
    private static let congestionThresholdMin = 9

    /// How many pages must be under way at least before the kernel holds others back.
    package static var heldBackMin: Int {
        let bytes = (try? WholeFile.read(thresholdSetting, limit: 64)) ?? []
        let digits = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        return max(1, min(Int(digits) ?? congestionThresholdMin, congestionThreshold))
    }

    /// Refuses the requests of programs from now on, and waits for those in progress; `openAgain` undoes it.
    ///
    /// The kernel may still write what it has cached. The mount must be served meanwhile, and no lock of a request may
    /// be held.
    ///
    /// - Parameter mayGoOn: Asked before each step of what follows; if it says no, the rest is left out. It is the same
    ///   for the other functions: a thread that has waited too long must not go on when programs are served again.
    /// - Returns: False if some did not end.
    package func closeGate(while mayGoOn: () -> Bool = { true }) -> Bool {
        guard mayGoOn() else { return false }
        gate.close()
        // They may wait for contents of a remote.
        deferred.setLocking(true)
        // Answers to requests that were let in before could make attributes valid again.
        guard awaitAnswers() else { return false }
        endWrites(while: mayGoOn)
        return true
    }

    /// Waits until everything is answered that the kernel has sent.
    ///
    /// For use behind the closed gate.
    ///
    /// - Returns: False if that took too long, or the mount has ended.
    package func awaitAnswers() -> Bool { channel.awaitAnswers(nanoseconds: Self.answersTimeMax) }

    /// Makes the kernel write all pages that it has cached, and waits until each is stored or refused.
    ///
    /// For use behind the closed gate. syncfs(2) does not wait for pages of FUSE, and leaves pages out while many are under
    /// way. So it is repeated, each time with none under way, until it has sent too few for that; and until none was
    /// refused, as only the next one tells of the error.
    ///
    /// - Parameter sync: Makes the kernel write pages, by syncfs(2), and returns its error.
    /// - Returns: Whether all pages were sent and answered in time, and an error of the kernel.
    package func storePages(
        while mayGoOn: () -> Bool = { true }, _ sync: () -> SystemError?
    ) -> (areAllAnswered: Bool, failure: SystemError?) {
        let (deadline, heldBackMin) = (Clock.monotonic + Self.pagesTimeMax, Self.heldBackMin)
        var failure: SystemError?
        guard awaitAnswers() else { return (false, nil) }
        var quietRounds = 0
        while quietRounds < Self.quietRounds {
            guard Clock.monotonic < deadline, mayGoOn() else { return (false, failure) }
            let (before, failed) = (channel.pageStoreCount, failedWrites.count)
            failure = sync() ?? failure
            guard awaitAnswers() else { return (false, failure) }
            let isQuiet = channel.pageStoreCount - before < heldBackMin && failedWrites.count == failed
            quietRounds = isQuiet ? quietRounds + 1 : 0
        }
        return (true, failure)
    }

    /// Whether the kernel says when a write(2) is done that it has let in.
    package static var kernelAwaitsWrites: Bool { KernelCache.awaitsRequests }

    /// Makes the next write(2) to each node ask, so that the gate refuses it, and waits for those in progress.
    package func endWrites(while mayGoOn: () -> Bool = { true }) {
        guard let cache = kernelCache else { return }
        let nodes = lookups.nodes
        for node in nodes where mayGoOn() { cache.forgetAttributes(of: node) }
        // Writes and lookups that were let in before hold the item's lock until they end.
        for node in nodes where mayGoOn() { cache.awaitRequests(in: node) }
    }

    /// Makes the kernel forget the names of the mount, with all items that nothing uses.
    ///
    /// For use behind the closed gate, when all is stored. Names stay in the kernel where a program has the item open,
    /// or its working directory in it.
    package func dropNames(while mayGoOn: () -> Bool = { true }) {
        guard let cache = kernelCache else { return }
        // Takes all names below along that nothing uses, and also those that do not exist.
        for mounted in fileSystem.root.vaults where mayGoOn() {
            cache.forgetEntry(Array(mounted.name.utf8), in: .root)
        }
        if mayGoOn() { cache.forgetEntry(fileSystem.trash.name, in: .root) }
        endWrites(while: mayGoOn)
    }

    /// Empties the kernel's caches of this mount: names, attributes, listings, and contents, also where programs have
    /// them mapped.
    ///
    /// For use after `dropNames`, when all is stored again.
    package func dropCaches(while mayGoOn: () -> Bool = { true }) {
        dropNames(while: mayGoOn)
        guard let cache = kernelCache else { return }
        for node in lookups.nodes where mayGoOn() { cache.forgetContent(of: node, from: 0) }
        if mayGoOn() { cache.forgetListing(of: .root) }
    }

    /// The number of requests so far by which the kernel stored pages or times of its cache.
    package var storeCount: Int { channel.pageStoreCount + channel.timeStoreCount }

    /// The number of requests so far by which the kernel stored pages of its cache.
    package var pageStoreCount: Int { channel.pageStoreCount }

    /// The files for which the kernel has the only copy of something that the vaults could not take.
    ///
    /// A vault that has stopped takes nothing any more: what only the kernel has of it is lost. The serving thread may not
    /// ask.
    package var failedFiles: [Node] {
        failedWrites.nodes.filter { node in
            if let vault = fileSystem.root.vault(slot: node.slot)?.vault, vault.stoppedReason != nil {
                failedWrites.lose(0..<Int64.max, of: node)
                return false
            }
            do throws(FileSystemError) {
                _ = try fileSystem.attributes(of: node)
            } catch {
                switch error {
                case .notFound, .stale:
                    // Nobody misses what a deleted vault could not take.
                    failedWrites.removeAll(of: node)
                    return false
                default: break
                }
            }
            return true
        }
    }

    /// Whether the error that the kernel has just reported is about a write that the vaults could not take, which may
    /// have been stored meanwhile; true once for each.
    package func explainsError() -> Bool { failedWrites.takeNews() }

    /// Whether the disks are too full for what the vaults could not take, as far as that can be told without an attempt.
    package var lacksRoom: Bool {
        failedFiles.contains { node in
            guard let vault = fileSystem.root.vault(slot: node.slot)?.vault,
                let space = try? vault.contents.space()
            else { return false }
            return Int64(space.available) < failedWrites.byteCount(of: node)
        }
    }

    /// The files of which changes are lost: the vaults could not take them, and the kernel does not have them any more.
    ///
    /// Names each file once.
    package func takeLostFiles() -> [Node] { failedWrites.takeLost() }

    /// Tries to store what the vaults could not take when it was written, from the kernel's copy.
    ///
    /// For use behind the closed gate.
    package func storeFailedWrites(while mayGoOn: () -> Bool = { true }) {
        guard let cache = kernelCache else { return }
        let deadline = Clock.monotonic + Self.answersTimeMax
        var wanted = failedWrites.pieces(of: Int64(Self.requestByteCountMax))
        while !wanted.isEmpty, Clock.monotonic < deadline, mayGoOn() {
            retrievedPages.removeAll()
            for (node, range) in wanted where !cache.requestContent(of: node, range) {
                failedWrites.lose(range, of: node)
            }
            guard awaitAnswers() else { return }
            wanted = wanted.compactMap { node, range in
                let rest = retrievedPages.rest(of: range, of: node)
                if let missing = rest.missing { failedWrites.lose(missing, of: node) }
                return rest.next.map { (node, $0) }
            }
        }
    }

    /// Stores a part of the kernel's copy of a file.
    func storeAgain(_ bytes: RawSpan, to node: Node, at offset: Int64) {
        if bytes.isEmpty { return }
        do throws(FileSystemError) {
            try fileSystem.vault(node).contents.write(
                bytes, to: node.item, at: offset, touches: false, dropsPrivileges: false)
            failedWrites.remove(offset..<offset + Int64(bytes.byteCount), of: node)
        } catch {
            DebugLog.log(.info, .mount, "a cached write could still not be stored: \(kindOf: error)")
        }
    }

    /// Serves programs again after `closeGate`.
    package func openAgain() {
        deferred.setLocking(false)
        gate.open()
    }

    /// Makes the kernel request the root's attributes and listing again.
    package func forgetRootAttributes() { kernelCache?.forgetListing(of: .root) }

    /// Makes `run` return once all requests are answered, while the mount stays.
    ///
    /// Any thread but the serving one may call this, once nothing waits for a remote any more.
    package func leave() {
        endNotifications { [self] in
            notifications.end()
            channel.leave()
        }
    }

    /// Whether `leave` was called, so that another process has to serve the mount.
    package var hasLeft: Bool { channel.hasLeft }

    /// What the next process needs; for use after `run`.
    package var state: ConnectionState {
        ConnectionState(
            initialisation: channel.initialisation, lookups: lookups.counts,
            upperVaults: Set(fileSystem.root.vaults.map(\.slot).filter { $0 >= Node.firstPastSlot }))
    }
}
