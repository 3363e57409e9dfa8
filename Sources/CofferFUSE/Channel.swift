internal import CFuse3
internal import CofferSystem
internal import Glibc
internal import Synchronization

/// The kernel's end of a mount: reads requests, and handles what libfuse 3.14 does not report or request.
///
/// Belongs to the serving thread.
@safe
final class Channel {
    private let waking: Descriptor
    private let wakeable: Descriptor
    /// The reads that the disk works on; they end while `read` waits for requests.
    private let reads: ReadsInFlight

    init(_ reads: ReadsInFlight) throws(SystemError) {
        self.reads = reads
        let ends = try ChildProcess.makePipe()
        wakeable = Descriptor(owning: ends.reading)
        waking = Descriptor(owning: ends.writing)
    }

    /// Makes `read` report that the mount is gone as soon as no request is waiting, or after two seconds at
    /// most.
    ///
    /// Any thread may call this.
    func end() {
        _ = ending.compareExchange(expected: 0, desired: Clock.monotonic, ordering: .relaxed)
        _ = unsafe Glibc.write(waking.number, [0], 1)
    }

    /// When `end` was called, by the monotonic clock; 0 until then.
    private let ending = Atomic<Int64>(0)
    /// How long requests may still arrive after that, in nanoseconds.
    private static let endingTimeMax: Int64 = 2_000_000_000

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

    private enum Wire {
        static let setAttributes: UInt32 = 4
        static let write: UInt32 = 16
        static let initialise: UInt32 = 26
        /// The bytes of the header before each request, and before each answer.
        static let requestHeader = 40, answerHeader = 16
        static let handlesPrivilegesV2: UInt32 = 1 << 28
        static let attributesKillPrivileges: UInt32 = 1 << 11
        static let writeKillsPrivileges: UInt32 = 1 << 2
    }

    /// Reads a request, like read(2); spins before it sleeps.
    ///
    /// Answers reads that have ended, before and while it waits.
    func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
        var deadline: Int64 = 0
        while true {
            let since = ending.load(ordering: .relaxed)
            if since != 0, Clock.monotonic - since > Self.endingTimeMax {
                errno = ENODEV
                return -1
            }
            if reads.count > 0 {
                while reads.endNext() { deadline = 0 }
            }
            let result = unsafe Glibc.read(descriptor, buffer, count)
            if result > 0 {
                unsafe readHeader(UnsafeRawBufferPointer(start: buffer, count: result))
                return result
            }
            if result == 0 || errno != EAGAIN { return result }
            let now = Clock.monotonic
            if deadline == 0 { deadline = now + (reads.isWorthPolling ? Self.readSpin : Self.spin) }
            if now < deadline { continue }
            if sleep(until: descriptor) { continue }
            errno = ENODEV
            return -1
        }
    }

    /// Sleeps until a request is waiting, or a read has ended; false once the mount is to end, or poll(2)
    /// fails.
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
        if unsafe poll(&wanted, nfds_t(wanted.count), -1) < 0 { return errno == EINTR }
        // A request that arrived in the meantime is still answered.
        return wanted[1].revents == 0 || wanted[0].revents != 0
    }

    /// Reads who makes a request, and its flags that libfuse does not pass on.
    private func readHeader(_ request: UnsafeRawBufferPointer) {
        dropsPrivileges = false
        let request = unsafe request.bytes
        guard request.byteCount >= Wire.requestHeader else { return }
        callers.recordRequest(of: request.littleEndian(at: 32, as: UInt32.self))
        guard request.byteCount >= Wire.requestHeader + 24 else { return }
        func word(_ offset: Int) -> UInt32 {
            request.littleEndian(at: Wire.requestHeader + offset, as: UInt32.self)
        }
        switch request.littleEndian(at: 4, as: UInt32.self) {
        case Wire.write: dropsPrivileges = word(20) & Wire.writeKillsPrivileges != 0
        case Wire.setAttributes: dropsPrivileges = word(0) & Wire.attributesKillPrivileges != 0
        case Wire.initialise:
            offersPrivilegeDropping.store(word(12) & Wire.handlesPrivilegesV2 != 0, ordering: .relaxed)
        default: break
        }
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
                unsafe field.pointee |= Wire.handlesPrivilegesV2
            }
        }
        return unsafe writev(descriptor, parts, count)
    }
}
