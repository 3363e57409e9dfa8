internal import CCofferSystem
internal import CFuse3
internal import CofferSystem
internal import Glibc
internal import Synchronization

/// The kernel's end of a mount: reads requests, and handles what libfuse 3.14 does not report or request.
///
/// Belongs to the serving thread, except that any thread may write answers and notifications, wait for answers, ask for
/// the counts of requests, and end the mount or leave it: these use atomics, `owed`, and a pipe. `write` keeps the first
/// answer, before which there is no other.
@safe
final class Channel {
    private let waking: Descriptor
    private let wakeable: Descriptor
    /// The reads that the disk works on; they end while `read` waits for requests.
    private let reads: ReadsInFlight

    private let gate: Gate
    private let failedWrites: FailedWrites
    private let owed = OwedAnswers()
    private var passedQueue = PassedQueue()
    private let pages = Atomic(0), times = Atomic(0)
    /// The first request of the connection, INIT, and libfuse's answer; empty before they come.
    private(set) var initialisation = Initialisation()
    /// The answer that the kernel has had; libfuse is to see the first request again, and the kernel not its answer.
    private var expected: Initialisation?

    /// - Parameter failedWrites: Learns which pages the kernel does not have.
    init(_ reads: ReadsInFlight, _ gate: Gate, _ failedWrites: FailedWrites = FailedWrites())
        throws(SystemError)
    {
        self.reads = reads
        self.gate = gate
        self.failedWrites = failedWrites
        let ends = try ChildProcess.makePipe()
        wakeable = Descriptor(owning: ends.reading)
        waking = Descriptor(owning: ends.writing)
        // A full pipe wakes, too, and the serving thread may be the one that writes.
        _ = coffer_set_nonblocking(waking.number, 1)
    }

    /// Makes `read` report that the mount is gone as soon as no request is waiting, or after two seconds at
    /// most.
    ///
    /// Any thread may call this.
    func end() {
        _ = ending.compareExchange(expected: 0, desired: Clock.monotonic, ordering: .relaxed)
        wake()
    }

    /// Makes `read` report that the mount is gone, which it is not, as another process is to serve it: as soon as no
    /// request is waiting and none is unanswered, or after ten seconds at most.
    ///
    /// Any thread may call this.
    func leave() {
        _ = leaving.compareExchange(expected: 0, desired: Clock.monotonic, ordering: .sequentiallyConsistent)
        wake()
    }

    /// Whether `leave` was called.
    var hasLeft: Bool { leaving.load(ordering: .sequentiallyConsistent) != 0 }

    /// Waits until all requests that the kernel has sent are answered.
    ///
    /// - Returns: False if that took too long, or the mount has ended.
    func awaitAnswers(nanoseconds: Int64) -> Bool {
        owed.wait(nanoseconds: nanoseconds) { wake() }
    }

    /// The number of requests so far by which the kernel stored pages of its cache.
    var pageStoreCount: Int { pages.load(ordering: .relaxed) }

    /// The number of requests so far by which the kernel stored times that it had kept, or a program set the same.
    var timeStoreCount: Int { times.load(ordering: .relaxed) }

    /// Lets nobody wait for answers any more.
    func endWaits() { owed.end() }

    private func wake() { _ = unsafe Glibc.write(waking.number, [0], 1) }

    /// Continues a connection that another process has begun: libfuse gets its first request again.
    ///
    /// For use before the first `read`.
    func resume(after initialisation: Initialisation) { expected = initialisation }

    /// Whether libfuse has answered the first request as it did in the process that began the connection.
    var hasResumed: Bool { expected == nil }

    /// When `end` and `leave` were called, by the monotonic clock; 0 until then.
    private let ending = Atomic<Int64>(0), leaving = Atomic<Int64>(0)
    /// How long requests may still arrive after that, in nanoseconds.
    private static let endingTimeMax: Int64 = 2_000_000_000, leavingTimeMax: Int64 = 10_000_000_000

    /// How long to sleep at a time while the mount is left, in milliseconds.
    private static let leavingPause: Int32 = 500

    /// How long to poll for the next request before sleeping, in nanoseconds.
    private static let spin: Int64 = 40_000
    /// How long to poll while reads are in flight (docs/adr/0019-polled-reads.md).
    private static let readSpin: Int64 = 100_000

    /// Whether the current request asks to drop the file's privileges (FUSE_WRITE_KILL_SUIDGID,
    /// FATTR_KILL_SUIDGID).
    ///
    /// libfuse does not pass this on.
    private(set) var dropsPrivileges = false
    /// The threads that made the latest requests.
    private(set) var callers = RecentCallers()
    /// Whether the kernel offers FUSE_HANDLE_KILLPRIV_V2, which saves a lookup of security.capability for
    /// each write.
    ///
    /// libfuse does not know this flag.
    private let offersPrivilegeDropping = Atomic(false)

    /// The flag of the first request, and of its answer (FUSE_HANDLE_KILLPRIV_V2).
    private static let handlesPrivilegesV2: UInt32 = 1 << 28

    /// Reads a request, like read(2); spins before it sleeps.
    ///
    /// Answers reads that have ended, before and while it waits.
    func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
        if let expected {
            let count = min(count, expected.request.count)
            unsafe expected.request.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress else { return }
                unsafe buffer.copyMemory(from: start, byteCount: count)
            }
            let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: count)
            if let request = unsafe WireRequest(bytes.bytes) { unsafe note(request, bytes) }
            return count
        }
        var deadline: Int64 = 0
        while true {
            let (ended, left) = (ending.load(ordering: .relaxed), leaving.load(ordering: .relaxed))
            if isLong(since: ended, Self.endingTimeMax) || isLong(since: left, Self.leavingTimeMax) {
                errno = ENODEV
                return -1
            }
            if reads.count > 0 {
                while reads.endNext() { deadline = 0 }
            }
            // Both before the read: what is answered meanwhile may make the kernel send what it held back.
            let fence = owed.fence
            let isLast = ended != 0 || left != 0 && owed.isEmpty
            let result = unsafe Glibc.read(descriptor, buffer, count)
            if result > 0 {
                let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: result)
                guard let request = unsafe WireRequest(bytes.bytes) else { return result }
                if !failedWrites.isEmpty, let missing = unsafe WireRequest.missingContent(bytes.bytes) {
                    failedWrites.lose(missing.range, of: missing.node)
                }
                if gate.isWatching, let refusal = gate.refusal(of: request) {
                    if let fence, passedQueue.isPassed(by: request, fence) { owed.pass(fence) }
                    // Fails if the program has been killed meanwhile.
                    _ = unsafe Glibc.write(descriptor, refusal, refusal.count)
                    continue
                }
                unsafe note(request, bytes)
                return result
            }
            if result == 0 || errno != EAGAIN { return result }
            if let fence { owed.pass(fence) }
            if isLast {
                errno = ENODEV
                return -1
            }
            let now = Clock.monotonic
            if deadline == 0 { deadline = now + (reads.isWorthPolling ? Self.readSpin : Self.spin) }
            if now < deadline { continue }
            if sleep(until: descriptor) { continue }
            errno = ENODEV
            return -1
        }
    }

    private func isLong(since time: Int64, _ limit: Int64) -> Bool {
        time != 0 && Clock.monotonic - time > limit
    }

    /// Sleeps until a request is waiting, a read has ended, or another thread wakes this one; false if poll(2) fails.
    private func sleep(until descriptor: Int32) -> Bool {
        var wanted = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeable.number, events: Int16(POLLIN), revents: 0),
        ]
        if reads.count > 0 {
            reads.clearEvent()
            // One that ended before the event was cleared makes it readable no more.
            if reads.endNext() { return true }
            reads.noteSleep()
            wanted.append(pollfd(fd: reads.event, events: Int16(POLLIN), revents: 0))
        }
        let timeout = hasLeft ? Self.leavingPause : -1
        if unsafe poll(&wanted, nfds_t(wanted.count), timeout) < 0 { return errno == EINTR }
        if wanted[1].revents != 0 {
            var bytes: (UInt64, UInt64) = (0, 0)
            unsafe withUnsafeMutableBytes(of: &bytes) {
                _ = unsafe Glibc.read(wakeable.number, $0.baseAddress, $0.count)
            }
        }
        return true
    }

    /// Notes a request that libfuse gets: who makes it, and its flags that libfuse does not pass on.
    private func note(_ request: WireRequest, _ bytes: UnsafeRawBufferPointer) {
        if request.needsAnswer { owed.add() }
        passedQueue.restart()
        callers.recordRequest(of: request.thread)
        dropsPrivileges = request.dropsPrivileges
        switch request.kind {
        case WireRequest.Kind.write where request.storesPages: pages.add(1, ordering: .relaxed)
        case WireRequest.Kind.setAttributes where request.storesEarlierChanges:
            times.add(1, ordering: .relaxed)
        case WireRequest.Kind.initialise: noteOffer(request, unsafe bytes.bytes)
        default: break
        }
    }

    /// Keeps the first request.
    private func noteOffer(_ request: WireRequest, _ bytes: RawSpan) {
        initialisation.request = bytes.array
        offersPrivilegeDropping.store(
            request.offeredFeatures & Self.handlesPrivilegesV2 != 0, ordering: .relaxed)
    }

    /// Writes an answer, like writev(2); the answer to INIT accepts the kernel's offer.
    func write(_ descriptor: Int32, _ parts: UnsafeMutablePointer<iovec>, _ count: Int32) -> Int {
        if offersPrivilegeDropping.load(ordering: .relaxed),
            offersPrivilegeDropping.exchange(false, ordering: .relaxed)
        {
            let flags = 12
            if count > 1, unsafe parts[1].iov_len >= flags + 4, let start = unsafe parts[1].iov_base {
                // SAFETY: libfuse's fuse_init_out, whose length was checked; its flags are at offset 12.
                let field = unsafe (start + flags).assumingMemoryBound(to: UInt32.self)
                unsafe field.pointee |= Self.handlesPrivilegesV2
            }
        }
        if initialisation.answer.isEmpty, unsafe noteInitialisation(parts, count) {
            return (0..<Int(count)).reduce(0) { unsafe $0 + parts[$1].iov_len }
        }
        let result = unsafe writev(descriptor, parts, count)
        let code = errno
        // The serving thread may sleep, and nothing is left to wait for.
        if unsafe isAnswer(parts, count), owed.remove(), owed.hasWaiters || hasLeft { wake() }
        // A file has no names that could be forgotten (`KernelCache.awaitRequests`). libfuse would print the error.
        errno = code == ENOTDIR ? ENOENT : code
        return result
    }

    /// Keeps libfuse's first answer.
    ///
    /// - Returns: Whether the kernel has had it from another process, so that it must not be sent.
    private func noteInitialisation(_ parts: UnsafeMutablePointer<iovec>, _ count: Int32) -> Bool {
        initialisation.answer = (0..<Int(count)).flatMap { index in
            unsafe Array(UnsafeRawBufferPointer(start: parts[index].iov_base, count: parts[index].iov_len))
        }
        guard let expected else { return false }
        if initialisation == expected { self.expected = nil }
        _ = owed.remove()
        return true
    }

    /// Whether libfuse writes the answer to a request.
    private func isAnswer(_ parts: UnsafeMutablePointer<iovec>, _ count: Int32) -> Bool {
        guard count > 0, unsafe parts[0].iov_len >= WireRequest.answerHeaderByteCount,
            let header = unsafe parts[0].iov_base
        else { return false }
        return WireRequest.isAnswer(unsafe header.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
}
