internal import CFuse3
internal import CofferSystem
internal import Glibc
internal import Synchronization

/// The kernel's end of a mount: how requests are read, and what libfuse 3.14 does not say or ask.
///
/// Belongs to the thread that serves the mount.
@safe
final class Channel {
    private let waking: Descriptor
    private let wakeable: Descriptor

    init() throws(SystemError) {
        let ends = try ChildProcess.makePipe()
        wakeable = Descriptor(owning: ends.reading)
        waking = Descriptor(owning: ends.writing)
    }

    /// Makes `read` answer that the mount is gone: as soon as no request waits, or after some time.
    ///
    /// From any thread.
    func end() {
        _ = ending.compareExchange(expected: 0, desired: Clock.monotonic, ordering: .relaxed)
        _ = unsafe Glibc.write(waking.number, [0], 1)
    }

    /// Since when the end is wanted, as the monotonic clock says; 0 until then.
    private let ending = Atomic<Int64>(0)
    /// How long requests may keep coming then, in nanoseconds.
    private static let endingTimeMax: Int64 = 2_000_000_000

    /// How long to look for the next request before sleeping, in nanoseconds.
    private static let spin: Int64 = 40_000

    /// Whether the request at hand tells us to take privileges from the file (FUSE_WRITE_KILL_SUIDGID,
    /// FATTR_KILL_SUIDGID), which libfuse does not hand on.
    private(set) var dropsPrivileges = false
    /// Whether the kernel offers FUSE_HANDLE_KILLPRIV_V2, which spares a look for security.capability at
    /// each write, and which libfuse does not know.
    private let offersPrivilegeDropping = Atomic(false)

    private enum Wire {
        static let setAttributes: UInt32 = 4
        static let write: UInt32 = 16
        static let initialise: UInt32 = 26
        /// Bytes of the header in front of each request, and in front of each answer.
        static let requestHeader = 40, answerHeader = 16
        static let handlesPrivilegesV2: UInt32 = 1 << 28
        static let attributesKillPrivileges: UInt32 = 1 << 11
        static let writeKillsPrivileges: UInt32 = 1 << 2
    }

    /// Reads a request, as read(2); spins before it sleeps.
    func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
        var deadline: Int64 = 0
        while true {
            let since = ending.load(ordering: .relaxed)
            if since != 0, Clock.monotonic - since > Self.endingTimeMax {
                errno = ENODEV
                return -1
            }
            let result = unsafe Glibc.read(descriptor, buffer, count)
            if result > 0 {
                unsafe note(UnsafeRawBufferPointer(start: buffer, count: result))
                return result
            }
            if result == 0 || errno != EAGAIN { return result }
            let now = Clock.monotonic
            if deadline == 0 { deadline = now + Self.spin }
            if now < deadline { continue }
            var wanted = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wakeable.number, events: Int16(POLLIN), revents: 0),
            ]
            if unsafe poll(&wanted, 2, -1) < 0, errno != EINTR { return -1 }
            // A request that came meanwhile is answered yet.
            if wanted[1].revents != 0, wanted[0].revents == 0 {
                errno = ENODEV
                return -1
            }
        }
    }

    /// Looks at what libfuse will not show.
    private func note(_ request: UnsafeRawBufferPointer) {
        dropsPrivileges = false
        let request = unsafe request.bytes
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

    /// Writes an answer, as writev(2); the first, to INIT, takes the kernel's offer.
    func write(_ descriptor: Int32, _ parts: UnsafeMutablePointer<iovec>, _ count: Int32) -> Int {
        if offersPrivilegeDropping.load(ordering: .relaxed),
            offersPrivilegeDropping.exchange(false, ordering: .relaxed)
        {
            let flags = 12
            if count > 1, unsafe parts[1].iov_len >= flags + 4, let start = unsafe parts[1].iov_base {
                // SAFETY: libfuse's fuse_init_out, of the length that was checked; its flags stand at 12.
                let field = unsafe (start + flags).assumingMemoryBound(to: UInt32.self)
                unsafe field.pointee |= Wire.handlesPrivilegesV2
            }
        }
        return unsafe writev(descriptor, parts, count)
    }
}
