internal import CCofferSystem
internal import Glibc

/// Reads and writes of a pipe, a socket, or a file, that end when nobody waits for them any more.
///
/// A pipe may stay open for ever, with nobody at its other end who reads or writes.
package enum AwaitedStream {
    /// How long to wait at a time, in milliseconds.
    private static let step: Int32 = 250

    /// What a pipe that can be written takes without waiting, in bytes: PIPE_BUF.
    ///
    /// A write of more waits in the kernel, and asks nobody.
    private static let partByteCount = 4096

    /// Waits until there is something to read, or the other end is closed.
    ///
    /// - Parameters:
    ///   - milliseconds: How long to wait.
    ///   - isAwaited: Called while there is nothing; returns whether anybody still waits.
    /// - Throws: ECANCELED if nobody waits; ETIMEDOUT.
    package static func awaitInput(
        _ descriptor: Int32, milliseconds: Int64, subject: String, isAwaited: () -> Bool
    ) throws(SystemError) {
        let end = Clock.monotonic + milliseconds * 1_000_000
        var isLate = false
        do throws(SystemError) {
            try wait(for: POLLIN, descriptor, subject) {
                isLate = Clock.monotonic > end
                return !isLate && isAwaited()
            }
        } catch {
            throw isLate ? SystemError("poll", code: ETIMEDOUT, on: subject) : error
        }
    }

    /// Reads until `bytes` is full, or the stream ends.
    ///
    /// - Parameter isAwaited: Called while there is nothing to read; returns whether anybody still waits.
    /// - Returns: The number of bytes read.
    /// - Throws: ECANCELED if nobody waits.
    package static func read(
        _ descriptor: Int32, into bytes: inout MutableRawSpan, subject: String, isAwaited: () -> Bool
    ) throws(SystemError) -> Int {
        var done = 0
        while done < bytes.byteCount {
            try wait(for: POLLIN, descriptor, subject, isAwaited)
            let place = done
            let count = try unsafe bytes.withUnsafeMutableBytes { buffer throws(SystemError) in
                // SAFETY: `place` is less than the size of the buffer, which lives as long as the call.
                try retryingInterrupted("read", on: subject) {
                    unsafe Glibc.read(
                        descriptor, buffer.baseAddress?.advanced(by: place), buffer.count - place)
                }
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Writes all bytes.
    ///
    /// - Parameter isAwaited: Called while nothing can be written; returns whether anybody still waits.
    /// - Throws: ECANCELED if nobody waits; EPIPE, without the signal, if nobody reads.
    package static func write(
        _ bytes: RawSpan, to descriptor: Int32, subject: String, isAwaited: () -> Bool
    ) throws(SystemError) {
        let partMax = FileStatus.isRegular(descriptor) ? Int.max : partByteCount
        var done = 0
        while done < bytes.byteCount {
            try wait(for: POLLOUT, descriptor, subject, isAwaited)
            let rest = bytes.extracting(done..<done + min(bytes.byteCount - done, partMax))
            done += try unsafe rest.withUnsafeBytes { buffer throws(SystemError) in
                // SAFETY: the buffer lives as long as the call.
                try retryingInterrupted("write", on: subject) {
                    unsafe coffer_write_quietly(descriptor, buffer.baseAddress, buffer.count)
                }
            }
        }
    }

    private static func wait(
        for event: Int32, _ descriptor: Int32, _ subject: String, _ isAwaited: () -> Bool
    ) throws(SystemError) {
        while true {
            var polled = pollfd(fd: descriptor, events: Int16(event), revents: 0)
            let count = unsafe poll(&polled, 1, step)
            if count > 0 { return }
            if count < 0, errno != EINTR { throw SystemError("poll", code: errno, on: subject) }
            if !isAwaited() { throw SystemError("poll", code: ECANCELED, on: subject) }
        }
    }
}
