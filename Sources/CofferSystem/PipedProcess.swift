internal import CCofferSystem
internal import Glibc
internal import Synchronization

/// Another program, in a session of its own, with pipes as its standard streams.
///
/// It has no terminal that it could ask at, and its whole process group ends with it. One thread reads, writes,
/// and waits; any thread may wake it.
package final class PipedProcess: Sendable {
    /// What can be done without blocking.
    package struct Ready: Sendable {
        /// Its output has bytes, or has ended.
        package let output: Bool
        /// Its messages have bytes, or have ended.
        package let messages: Bool
        /// Its input takes bytes, or is closed.
        package let input: Bool
    }

    private let process: pid_t
    private let input: Mutex<Int32?>
    private let output: Descriptor
    private let messages: Descriptor
    private let alarm: Descriptor
    private let hasEnded = Mutex(false)

    /// Starts a program that is found in PATH.
    ///
    /// - Throws: ENOENT if it is not there.
    package init(_ command: [String], environment: [String: String]) throws(SystemError) {
        alarm = Descriptor(owning: try checkingNegative("eventfd") { coffer_open_event() })
        let toInput = try Self.pipe()
        let fromOutput = try Self.pipe()
        let fromMessages = try Self.pipe()
        let streams = [toInput.reading.number, fromOutput.writing.number, fromMessages.writing.number]
        let variables = environment.map { "\($0.key)=\($0.value)" }
        process = try unsafe ChildProcess.withArguments(command) { arguments throws(SystemError) in
            try unsafe ChildProcess.withArguments(variables) { environment throws(SystemError) in
                try checkingNegative("spawn", on: command[0]) {
                    unsafe coffer_spawn_piped(command[0], arguments, environment, streams)
                }
            }
        }
        for end in [toInput.writing.number, fromOutput.reading.number, fromMessages.reading.number] {
            _ = coffer_set_nonblocking(end, 1)
        }
        input = Mutex(toInput.writing.release())
        output = fromOutput.reading
        messages = fromMessages.reading
    }

    private struct Pipe: ~Copyable {
        let reading: Descriptor
        let writing: Descriptor
    }

    private static func pipe() throws(SystemError) -> Pipe {
        let ends = try ChildProcess.makePipe()
        return Pipe(reading: Descriptor(owning: ends.reading), writing: Descriptor(owning: ends.writing))
    }

    deinit {
        closeInput()
        kill()
        // A process that SIGKILL has reached is gone in a moment, unless the kernel keeps it.
        for _ in 0..<5000 where !isEnded { usleep(1000) }
    }

    /// Waits until something can be done, `wake` is called, or the time has passed.
    ///
    /// - Parameters:
    ///   - wantsOutput: Whether its output matters.
    ///   - writing: Whether there is something to write.
    ///   - wantsMessages: Whether its messages matter, and have not ended yet.
    package func wait(
        output wantsOutput: Bool = true, writing: Bool, messages wantsMessages: Bool, milliseconds: Int32
    ) throws(SystemError) -> Ready {
        var polled = [
            pollfd(fd: wantsOutput ? output.number : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wantsMessages ? messages.number : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: alarm.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: writing ? input.withLock { $0 ?? -1 } : -1, events: Int16(POLLOUT), revents: 0),
        ]
        if unsafe poll(&polled, 4, milliseconds) < 0 {
            guard errno == EINTR else { throw .last("poll") }
            return Ready(output: false, messages: false, input: false)
        }
        var count: UInt64 = 0
        _ = unsafe Glibc.read(alarm.number, &count, 8)
        return Ready(
            output: polled[0].revents != 0, messages: polled[1].revents != 0, input: polled[3].revents != 0)
    }

    /// Ends the current wait, or the next one.
    package func wake() {
        var one: UInt64 = 1
        _ = unsafe Glibc.write(alarm.number, &one, 8)
    }

    /// Reads from its output; nil if there is nothing now, and 0 at the end.
    package func readOutput(into bytes: inout [UInt8]) throws(SystemError) -> Int? {
        try Self.read(output.number, &bytes)
    }

    /// Reads from its messages; nil if there is nothing now, and 0 at the end.
    package func readMessages(into bytes: inout [UInt8]) throws(SystemError) -> Int? {
        try Self.read(messages.number, &bytes)
    }

    private static func read(_ number: Int32, _ bytes: inout [UInt8]) throws(SystemError) -> Int? {
        let count = unsafe Glibc.read(number, &bytes, bytes.count)
        if count >= 0 { return count }
        if errno == EAGAIN || errno == EINTR { return nil }
        throw .last("read", on: "a pipe")
    }

    /// Writes some of the bytes to its input; returns how many.
    ///
    /// For threads that block SIGPIPE, as all of `Thread` do.
    ///
    /// - Throws: EPIPE if it does not read any more.
    package func write(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        guard let number = input.withLock({ $0 }) else { throw SystemError("write", code: EPIPE) }
        let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
        if count >= 0 { return count }
        if errno == EAGAIN || errno == EINTR { return 0 }
        throw .last("write", on: "a pipe")
    }

    /// Tells it that no more input comes.
    package func closeInput() {
        input.withLock { number in
            if let number { close(number) }
            number = nil
        }
    }

    /// Whether it has ended; then the rest of its process group has, too.
    package var isEnded: Bool { end(atOnce: false) }

    /// Ends it and its whole process group at once.
    package func kill() { _ = end(atOnce: true) }

    private func end(atOnce: Bool) -> Bool {
        hasEnded.withLock { hasEnded in
            if !hasEnded { hasEnded = coffer_end_group(process, atOnce ? 1 : 0) != 0 }
            return hasEnded
        }
    }
}
