internal import CCofferSystem
internal import Glibc

/// Receives changes of directories from the kernel.
///
/// Uses inotify(7), which reports what this machine does; on a network file system, it does not report what
/// other machines do. One thread waits; any thread may wake it.
package final class DirectoryWatch: Sendable {
    /// A change in, or of, a watched directory.
    package struct Event: Equatable, Sendable {
        /// What kind of change it is.
        package enum Kind: Sendable {
            /// A file's name was added or removed, or a file that was open for writing was closed.
            case file
            /// A directory's name was added or removed.
            case directory
            /// The watched directory itself was moved or removed, or its file system was unmounted.
            case gone
            /// The kernel dropped events; `watch` has no meaning.
            case overflow
        }

        /// The directory, as returned by `add`.
        package let watch: Int32
        /// What happened.
        package let kind: Kind
        /// The name in the directory; empty if the event is about the directory itself.
        package let name: String
    }

    private let notifications: Descriptor
    private let alarm: Descriptor
    private static let bufferByteCount = 64 << 10

    /// Begins without any directory.
    ///
    /// - Throws: EMFILE if the user has too many inotify instances.
    package init() throws(SystemError) {
        let number = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard number >= 0 else { throw .last("inotify_init1") }
        notifications = Descriptor(owning: number)
        alarm = Descriptor(owning: try checkingNegative("eventfd") { coffer_open_event() })
    }

    /// Watches a directory, and returns the number of the watch; a second call for it returns the same
    /// number.
    ///
    /// - Throws: ENOSPC if the user has too many watches.
    package func add(_ directory: OpenDirectory) throws(SystemError) -> Int32 {
        let mask =
            IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF
            | IN_MOVE_SELF | IN_ONLYDIR
        return try retryingInterrupted("inotify_add_watch", on: directory.path) {
            unsafe inotify_add_watch(notifications.number, directory.descriptorPath, UInt32(mask))
        }
    }

    /// Stops watching a directory; one more event of kind `gone` follows for it.
    package func remove(_ watch: Int32) {
        inotify_rm_watch(notifications.number, watch)
    }

    /// Ends the current wait, or the next one if no thread is waiting.
    package func wake() {
        var one: UInt64 = 1
        _ = unsafe write(alarm.number, &one, 8)
    }

    /// Waits for events, for `wake`, or until the time has passed; in the last two cases there may be no
    /// events.
    package func wait(milliseconds: Int32) throws(SystemError) -> [Event] {
        var polled = [
            pollfd(fd: notifications.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: alarm.number, events: Int16(POLLIN), revents: 0),
        ]
        if unsafe poll(&polled, 2, milliseconds) < 0, errno != EINTR { throw .last("poll") }
        var count: UInt64 = 0
        _ = unsafe read(alarm.number, &count, 8)
        return try pending()
    }

    private func pending() throws(SystemError) -> [Event] {
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        let count = unsafe read(notifications.number, &buffer, buffer.count)
        if count < 0 {
            if errno == EAGAIN || errno == EINTR { return [] }
            throw .last("read", on: "inotify")
        }
        // SAFETY: bytes have no padding.
        return Self.events(unsafe buffer.span.bytes.extracting(first: count))
    }

    /// Decodes records of struct inotify_event: watch, mask, cookie, length (32 bits each), then a name
    /// padded with NULs.
    private static func events(_ bytes: RawSpan) -> [Event] {
        var events: [Event] = []
        var offset = 0
        while offset + 16 <= bytes.byteCount {
            let length = Int(bytes.littleEndian(at: offset + 12, as: UInt32.self))
            guard length <= bytes.byteCount - offset - 16 else { break }
            let mask = Int(bytes.littleEndian(at: offset + 4, as: UInt32.self))
            let name = bytes.extracting(offset + 16..<offset + 16 + length).array.prefix { $0 != 0 }
            events.append(
                Event(
                    watch: bytes.littleEndian(at: offset, as: Int32.self), kind: kind(mask),
                    name: String(decoding: name, as: UTF8.self)))
            offset += 16 + length
        }
        return events
    }

    private static func kind(_ mask: Int) -> Event.Kind {
        if mask & Int(IN_Q_OVERFLOW) != 0 { return .overflow }
        let gone = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED
        if mask & Int(gone) != 0 { return .gone }
        return mask & Int(IN_ISDIR) != 0 ? .directory : .file
    }
}
