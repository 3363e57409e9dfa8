internal import CofferCrypto
internal import CofferSystem

/// Reports changes of a storage that reports none itself, by listing it on a schedule.
///
/// A listing that fails counts as no change. One that finds the storage overloaded is repeated no earlier than
/// the storage asks for.
enum PolledChanges {
    /// The changes below a prefix.
    ///
    /// The polling ends with the sequence.
    ///
    /// - Parameter digest: Lists the prefix, and hashes what it finds, in an order of its own.
    static func changes(
        below prefix: RemotePrefix, _ schedule: PollSchedule,
        digest: @escaping @Sendable () async throws(RemoteError) -> [UInt8]
    ) -> RemoteChanges {
        let mailbox = ChangeMailbox(below: prefix)
        // The reader has to find out about changes before the first listing began.
        mailbox.post(prefix)
        let task = Task {
            var schedule = schedule
            var last: [UInt8]?
            while !Task.isCancelled {
                var (found, quiet): ([UInt8]?, Duration) = (nil, .zero)
                do throws(RemoteError) { found = try await digest() } catch {
                    if case .busy(let after?) = error { quiet = after }
                }
                let hasChanged = found != nil && found != last
                if hasChanged { mailbox.post(prefix) }
                last = found ?? last
                schedule.looked(hasChanged: hasChanged)
                let pause = max(.milliseconds(schedule.pause), quiet)
                do { try await Task.sleep(for: pause) } catch { return }
            }
        }
        return mailbox.changes { task.cancel() }
    }
}

/// A digest of a listing, for `PolledChanges`.
struct ListingDigest: ~Copyable {
    private var hash = SHA256()

    /// Adds an object, with whatever shows that it was replaced.
    mutating func add(_ name: RemoteName, byteCount: Int, tag: String) {
        Array("\(name) \(byteCount) \(tag)\n".utf8).withRawSpan { hash.add($0) }
    }

    consuming func finish() -> [UInt8] { hash.finish() }
}
