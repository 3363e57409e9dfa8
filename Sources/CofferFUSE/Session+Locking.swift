internal import CofferFormat
internal import CofferSystem
internal import CofferVault

// Locking: a mount whose keys go stays in place, and another process serves it from then on.
extension Session {
    /// How long requests may wait that were received before the mount is to be locked, in nanoseconds.
    private static let answersTimeMax: Int64 = 30_000_000_000

    /// Refuses the requests of programs from now on, and waits for those in progress; `openAgain` undoes it.
    ///
    /// The kernel may still write what it has cached. The mount must be served meanwhile, and no lock of a request may
    /// be held.
    ///
    /// - Returns: False if some did not end.
    package func closeGate() -> Bool {
        gate.close()
        // They may wait for contents of a remote.
        deferred.setLocking(true)
        // Answers to requests that were let in before could make attributes valid again.
        guard awaitAnswers() else { return false }
        endWrites()
        return true
    }

    /// Waits until everything is answered that the kernel has sent: after syncfs(2), all pages that were dirty before.
    ///
    /// For use behind the closed gate.
    ///
    /// - Returns: False if that took too long, or the mount has ended.
    package func awaitAnswers() -> Bool { channel.awaitAnswers(nanoseconds: Self.answersTimeMax) }

    /// Makes the next write(2) to each node ask, so that the gate refuses it, and waits for those in progress.
    package func endWrites() {
        guard let cache = kernelCache else { return }
        let nodes = lookups.nodes
        for node in nodes { cache.forgetAttributes(of: node) }
        // Writes and lookups that were let in before hold the item's lock until they end.
        for node in nodes { cache.awaitRequests(in: node) }
    }

    /// Empties the kernel's caches of this mount: names, attributes, listings, and contents, also where programs have
    /// them mapped.
    ///
    /// For use behind the closed gate, when all is stored. Names stay in the kernel where a program has the item open,
    /// or its working directory in it.
    package func dropCaches() {
        guard let cache = kernelCache else { return }
        // Takes all names below along that nothing uses, and also those that do not exist.
        for mounted in fileSystem.root.vaults { cache.forgetEntry(Array(mounted.name.utf8), in: .root) }
        endWrites()
        for node in lookups.nodes { cache.forgetContent(of: node, from: 0) }
        cache.forgetListing(of: .root)
    }

    /// The number of requests so far that stored pages or times through the closed gate.
    package var storeCount: Int { gate.storeCount }

    /// The files for which the kernel has the only copy of something that the vaults could not take.
    ///
    /// The serving thread may not ask.
    package var failedFiles: [Node] {
        failedWrites.nodes.filter { node in
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

    /// Tries to store what the vaults could not take when it was written, from the kernel's copy.
    ///
    /// For use behind the closed gate.
    package func storeFailedWrites() {
        guard let cache = kernelCache else { return }
        for (node, range) in failedWrites.pieces(of: Int64(Self.requestByteCountMax)) {
            cache.requestContent(of: node, range)
        }
        _ = awaitAnswers()
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
        ConnectionState(initialisation: channel.initialisation, lookups: lookups.counts)
    }
}
