internal import CofferFormat
internal import CofferSystem
internal import CofferVault

// Requests about the past of vaults (docs/adr/0049-the-past-in-the-mount.md).
extension Session {
    /// Answers a lookup in a directory of the past.
    func lookUpPast(_ name: [UInt8], in parent: Node, _ request: HeldRequest) {
        pastRequests.perform { [self] in
            if parent.isHistory, let place = Self.place(of: name) {
                return lookUpState(place, in: parent, request)
            }
            let node: Node, attributes: Attributes
            do throws(FileSystemError) {
                (node, attributes) = try fileSystem.past.lookup(name, in: parent)
            } catch {
                guard let reply = request.reply else { return }
                guard case .notFound = error, !fileSystem.mayAppear(name, in: parent) else {
                    return reply.failure(error)
                }
                return reply.noEntry()
            }
            let answer: @Sendable () -> Void = { [self] in
                request.reply?.entry(
                    attributes, of: node, lookups, generation: fileSystem.generation(of: node, spoilt))
            }
            guard attributes.type == .regular, lookups.isKnown(node) else { return answer() }
            // A program may have written to it. Then it becomes another file for the program that asks.
            let isTaken = pastFlushes(of: node).enqueue { [self] in
                notifier.flush(node)
                answer()
            }
            if !isTaken { answer() }
        }
    }

    /// Which state a name means.
    private enum Place {
        /// That of a time, in nanoseconds since 1970.
        case time(Int64)
        case snapshot([UInt8])
    }

    /// Answers a lookup of a state; the present one may begin with a commit.
    private func lookUpState(_ place: Place, in history: Node, _ request: HeldRequest) {
        guard let reply = request.reply else { return }
        let root: Node, mayBeAnother: Bool, attributes: Attributes
        do throws(FileSystemError) {
            switch place {
            case .time(let time): (root, mayBeAnother) = try fileSystem.past.pin(time, of: history.slot)
            case .snapshot(let name):
                // Any time, it may be removed, and its name be given to another state.
                (root, mayBeAnother) = (try fileSystem.past.pin(snapshot: name, of: history.slot), true)
            }
        } catch {
            return reply.failure(error)
        }
        defer { fileSystem.past.unpin(root) }
        if fileSystem.past.isDueToForget() { forgetPast() }
        do throws(FileSystemError) {
            attributes = try fileSystem.past.attributes(of: root)
        } catch {
            return reply.failure(error)
        }
        reply.entry(
            attributes, of: root, lookups, nameTimeout: mayBeAnother ? 0 : StatusRecord.shortTimeout,
            generation: fileSystem.generation(of: root, spoilt))
    }

    /// Makes the kernel forget what it knows of the past of all vaults and no program uses.
    ///
    /// The kernel waits for requests in the roots of the vaults, and so for every thread on which these depend.
    func forgetPast() {
        for mounted in fileSystem.root.vaults {
            let name = Vault.Name(Node.hiddenName, in: Vault.rootNumber)
            notifier.enqueueAtOnce(.entry(name), in: mounted.vault, mounted.slot)
        }
    }

    /// Makes the kernel look up the hidden directory of a vault again, and forget what it knows of its past and no
    /// program uses.
    ///
    /// No request may call this, and no caller may hold a lock that requests take.
    private func forgetHidden(in slot: UInt16) {
        let vault = Node(slot: slot, item: Vault.rootNumber)
        kernelCache?.forgetEntry(Node.hiddenName, in: vault)
        // The vault may have an entry of that name, which shows again.
        kernelCache?.forgetListing(of: vault)
    }

    /// The thread that makes the kernel store, and refuse, what programs have written to a past file.
    ///
    /// The kernel waits until other threads have answered reads of the file, which may wait for the remote.
    private func pastFlushes(of node: Node) -> RequestThread {
        pastFlushThreads[Int(node.item) % pastFlushThreads.count]
    }

    /// What a name of a state means; nil if it can be none.
    ///
    /// No name of a snapshot reads as a time.
    private static func place(of name: [UInt8]) -> Place? {
        guard let text = String(validating: name, as: UTF8.self) else { return nil }
        if text == SnapshotName.present { return .time(.max) }
        if let time = PastTime(text, now: Clock.realTime / 1_000_000_000) { return .time(time.end) }
        return SnapshotName(text).map { .snapshot($0.bytes) }
    }

    /// Answers a read of a past file.
    func readPast(_ node: Node, at offset: Int64, count: Int, _ request: HeldRequest) {
        let read = deferred.add(request)
        pastReads.perform { [self] in
            if read.isInterrupted { return read.fail(.stale) }
            let buffer = AlignedBuffer(count: max(1, min(count, Self.requestByteCountMax)))
            let got: Int
            do throws(FileSystemError) {
                got = try fileSystem.past.read(
                    node, at: offset, count: min(count, buffer.count), into: buffer,
                    isInterrupted: { read.isInterrupted })
            } catch {
                return read.fail(error)
            }
            read.answer([ReadPart(buffer: buffer, range: 0..<got)])
        }
    }

    /// Notes that a program has tried to change the content of a past file; for use before that is refused.
    ///
    /// The kernel has changed the file's times before, and perhaps its pages and its size. It reports the error to whoever
    /// asks, and then forgets what was written.
    ///
    /// - Parameter isCached: Whether nobody waits for the answer, so that the kernel reports the error later.
    func notePastChange(_ node: Node, isCached: Bool) {
        if isCached { failedWrites.noteRefusal() }
        guard spoilt.add(node) else { return }
        // The serving thread cannot wait for pages whose requests it has to answer.
        _ = pastFlushes(of: node).enqueue { [self] in
            spoilt.noteDropping(node)
            notifier.flush(node)
        }
    }

    /// Runs `body` while no program looks at the past of the vault in a slot.
    ///
    /// Requests that use it fail with ESTALE meanwhile. The kernel then asks again whether the vault has a past.
    package func withoutPast<Result, Failure: Error>(
        of slot: UInt16, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { forgetHidden(in: slot) }
        return try fileSystem.past.withoutViews(of: slot, body)
    }
}
