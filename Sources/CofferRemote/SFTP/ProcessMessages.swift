internal import CofferSystem

/// What a program says on its standard error: the first and the last of it.
struct ProcessMessages {
    private static let byteCountMax = 8 << 10

    private var first: [UInt8] = []
    private var last: [UInt8] = []
    /// Whether no more can come.
    private(set) var isAtEnd = false

    /// Reads what is there.
    mutating func read(from process: PipedProcess) throws(SystemError) {
        var chunk = [UInt8](repeating: 0, count: 4096)
        guard let count = try process.readMessages(into: &chunk) else { return }
        if count == 0 { return isAtEnd = true }
        let room = Self.byteCountMax - first.count
        first += chunk.prefix(min(count, room))
        last += chunk.prefix(count).dropFirst(room)
        if last.count > Self.byteCountMax { last.removeFirst(last.count - Self.byteCountMax) }
    }

    /// Reads until the end, for a moment.
    mutating func readRest(from process: PipedProcess) {
        for _ in 0..<40 where !isAtEnd {
            let ready = try? process.wait(output: false, writing: false, messages: true, milliseconds: 50)
            guard let ready else { return }
            if ready.messages { do throws(SystemError) { try read(from: process) } catch { return } }
        }
    }

    /// The lines, fit for a terminal.
    var lines: [String] {
        (first + last).split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            .map { PrintableText.of($0) }
    }
}
