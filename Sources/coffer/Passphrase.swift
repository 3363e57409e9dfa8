internal import ArgumentParser
internal import CLibBSD
internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import Glibc

/// Reads passphrases from a descriptor, a file, the environment's file, a systemd credential, or the
/// terminal.
///
/// A passphrase is never an argument.
struct Passphrase {
    /// The maximum length of a passphrase, in bytes.
    private static let byteCountMax = 4096

    let options: ProfileOptions

    /// Reads the passphrase of the profile.
    func ask(_ prompt: String = "Passphrase: ") throws(ClientError) -> SecretBytes {
        if let given = try given() { return given }
        return try Self.prompt(prompt)
    }

    /// Reads a new passphrase, at the terminal twice; warns if it is short.
    func askForNew(_ prompt: String = "New passphrase: ") throws -> SecretBytes {
        guard let given = try given() else { return try Self.promptTwice(prompt) }
        Self.remark(on: given)
        return given
    }

    /// Asks for a new passphrase twice, and for confirmation if it is short.
    ///
    /// - Parameter subject: What it opens, for the warning.
    /// - Throws: `.passphrasesDiffer`.
    static func promptTwice(_ prompt: String, of subject: String = "the profile") throws -> SecretBytes {
        let first = try self.prompt(prompt)
        if isatty(STDIN_FILENO) == 1, NewPassphrase.isShort(first) {
            try Question.ask("\(shortness(of: subject)) Use it anyway?", false)
        } else {
            remark(on: first, of: subject)
        }
        let second = try self.prompt("Repeat it: ")
        guard first.isEqual(to: second) else { throw ClientError.profile(.passphrasesDiffer) }
        return first
    }

    /// Warns if a passphrase is short.
    static func remark(on passphrase: borrowing SecretBytes, of subject: String = "the profile") {
        if NewPassphrase.isShort(passphrase) { Output.error("coffer: \(shortness(of: subject))") }
    }

    private static func shortness(of subject: String) -> String {
        "The passphrase is short: anyone who gets a copy of \(subject) can try all passphrases of this length. Several words are better."
    }

    private func given() throws(ClientError) -> SecretBytes? {
        if let number = options.passphraseDescriptor {
            return try Self.read(descriptor: number, subject: "descriptor \(number)")
        }
        if let path = options.passphraseFile { return try Self.read(file: path) }
        if let path = Environment.value("COFFER_PASSPHRASE_FILE"), !path.isEmpty {
            return try Self.read(file: path)
        }
        if let directory = Environment.value("CREDENTIALS_DIRECTORY"),
            Directory.exists("\(directory)/coffer.passphrase")
        {
            return try Self.read(file: "\(directory)/coffer.passphrase")
        }
        return nil
    }

    static func read(file path: String) throws(ClientError) -> SecretBytes {
        if path == "-" { return try read(descriptor: STDIN_FILENO, subject: "standard input") }
        let descriptor: Descriptor
        do throws(SystemError) { descriptor = try Descriptor.open(path, .readOnly) } catch {
            throw .system(error)
        }
        return try read(descriptor: descriptor.number, subject: path)
    }

    /// Reads to the end, into a buffer that is not reallocated and is wiped.
    ///
    /// One newline at the end is not part of the passphrase.
    static func read(descriptor: Int32, subject: String) throws(ClientError) -> SecretBytes {
        var bytes = [UInt8](repeating: 0, count: byteCountMax + 1)
        defer { SecretBytes.wipe(&bytes) }
        var count = 0
        while count < bytes.count {
            let room = bytes.count - count
            let place = count
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress?.advanced(by: place), room)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw .system(SystemError("read", code: errno, on: subject)) }
            if got == 0 { break }
            count += got
        }
        guard count <= byteCountMax else { throw .system(SystemError("read", code: EFBIG, on: subject)) }
        if count > 0, bytes[count - 1] == UInt8(ascii: "\n") { count -= 1 }
        guard count > 0 else { throw .profile(.emptyPassphrase) }
        return unsafe SecretBytes(copying: bytes.span.bytes.extracting(0..<count))
    }

    /// Asks at the terminal.
    ///
    /// Uses readpassphrase(3): Ctrl-C ends the program, Ctrl-Z stops it until it is continued, and the
    /// terminal's settings are restored in both cases and at the end.
    static func prompt(_ text: String, echoes: Bool = false) throws(ClientError) -> SecretBytes {
        // Space for one byte too many, and for the NUL after it.
        var buffer = [UInt8](repeating: 0, count: byteCountMax + 2)
        defer { SecretBytes.wipe(&buffer) }
        let flags = RPP_REQUIRE_TTY | (echoes ? RPP_ECHO_ON : RPP_ECHO_OFF)
        let count: Int? = unsafe buffer.withUnsafeMutableBytes { bytes in
            // SAFETY: readpassphrase writes at most `characters.count` bytes, including the final NUL.
            unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
                let line = unsafe readpassphrase(
                    text, characters.baseAddress, characters.count, flags)
                return unsafe line.map { unsafe strlen($0) }
            }
        }
        guard let count else {
            if [ENXIO, ENOENT, ENOTTY].contains(errno) { throw .profile(.noTerminal) }
            throw .system(SystemError("readpassphrase", code: errno, on: "terminal"))
        }
        guard count <= byteCountMax else {
            throw .system(SystemError("read", code: EFBIG, on: "the passphrase"))
        }
        guard count > 0 else { throw .profile(.emptyPassphrase) }
        return unsafe SecretBytes(copying: buffer.span.bytes.extracting(0..<count))
    }
}

/// The cost of an attempt at a passphrase.
enum Strength: String, CaseIterable, ExpressibleByArgument {
    case interactive, moderate, sensitive

    var hash: PasswordHash {
        switch self {
        case .interactive: .interactive
        case .moderate: .moderate
        case .sensitive: .sensitive
        }
    }
}
