internal import CofferFormat
internal import CofferSystem
internal import CofferVault

// Requests about the past of vaults (docs/adr/0049-the-past-in-the-mount.md).
extension Session {
    /// Answers a lookup in `.coffer/history`, where names are times.
    func lookUpState(_ name: [UInt8], in history: Node, _ request: HeldRequest) {
        // The present state begins with a commit.
        pastRequests.perform { [self] in
            guard let reply = request.reply else { return }
            let found: (root: Node, isPresent: Bool), attributes: Attributes
            do throws(FileSystemError) {
                guard let time = Self.time(of: name) else {
                    let (node, attributes) = try fileSystem.past.lookup(name, in: history)
                    return reply.entry(attributes, of: node, lookups)
                }
                found = try fileSystem.past.pin(time, of: history.slot)
            } catch {
                return reply.failure(error)
            }
            defer { fileSystem.past.unpin(found.root) }
            forgetPastIfMany()
            do throws(FileSystemError) {
                attributes = try fileSystem.past.attributes(of: found.root)
            } catch {
                return reply.failure(error)
            }
            reply.entry(
                attributes, of: found.root, lookups,
                nameTimeout: found.isPresent ? 0 : StatusRecord.shortTimeout)
        }
    }

    /// Makes the kernel forget what it knows of the past, if that is very much and no program uses it.
    private func forgetPastIfMany() {
        guard fileSystem.past.isDueToForget() else { return }
        // Not here: the kernel may make it wait for requests.
        _ = seekThread.enqueue { [self] in
            for mounted in fileSystem.root.vaults { forgetHidden(in: mounted.slot) }
        }
    }

    /// Makes the kernel look up the hidden directory of a vault again, and forget what it knows of its past and no
    /// program uses.
    private func forgetHidden(in slot: UInt16) {
        kernelCache?.forgetEntry(Node.hiddenName, in: Node(slot: slot, item: Vault.rootNumber))
    }

    /// What a name of a state means, in nanoseconds since 1970; nil if it is no time.
    private static func time(of name: [UInt8]) -> Int64? {
        guard let text = String(validating: name, as: UTF8.self) else { return nil }
        if text == "now" { return .max }
        return PastTime(text, now: Clock.realTime / 1_000_000_000)?.end
    }

    /// Answers a read of a past file.
    func readPast(_ node: Node, at offset: Int64, count: Int, _ request: HeldRequest) {
        let read = deferred.add(request)
        pastRequests.perform { [self] in
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
    func notePastChange(_ node: Node) {
        failedWrites.noteRefusal()
        guard spoilt.add(node) else { return }
        // The serving thread cannot wait for pages whose requests it has to answer.
        _ = seekThread.enqueue { [self] in
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
