internal import ArgumentParser
internal import CCofferSystem
internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import Glibc

/// Where passphrases come from: a file, a descriptor, the environment's file, systemd's credentials, or
/// the terminal; never an argument.
struct Passphrase {
    /// The most bytes of a passphrase.
    private static let byteCountMax = 4096

    let options: ProfileOptions

    /// The passphrase of the profile.
    func ask(_ prompt: String = "Passphrase: ") throws(ProfileError) -> SecretBytes {
        if let given = try given() { return given }
        return try Self.prompt(prompt)
    }

    /// A new passphrase, asked for twice.
    func askForNew(_ prompt: String = "New passphrase: ") throws(ProfileError) -> SecretBytes {
        if let given = try given() { return given }
        return try Self.promptTwice(prompt)
    }

    static func promptTwice(_ prompt: String) throws(ProfileError) -> SecretBytes {
        let first = try self.prompt(prompt)
        guard first.count > 0 else { throw .emptyPassphrase }
        let second = try self.prompt("The same again: ")
        guard first.isEqual(to: second) else { throw .control("The two passphrases differ.") }
        return first
    }

    private func given() throws(ProfileError) -> SecretBytes? {
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

    static func read(file path: String) throws(ProfileError) -> SecretBytes {
        if path == "-" { return try read(descriptor: STDIN_FILENO, subject: "standard input") }
        let descriptor: Descriptor
        do throws(SystemError) { descriptor = try Descriptor.open(path, .readOnly) } catch {
            throw .system(error)
        }
        return try read(descriptor: descriptor.number, subject: path)
    }

    /// Reads to the end, into memory that does not move and is wiped.
    ///
    /// One newline at the end is not part of the passphrase.
    private static func read(descriptor: Int32, subject: String) throws(ProfileError) -> SecretBytes {
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
        guard count > 0 else { throw .emptyPassphrase }
        return unsafe SecretBytes(copying: bytes.span.bytes.extracting(0..<count))
    }

    private static func prompt(_ text: String) throws(ProfileError) -> SecretBytes {
        var buffer = [CChar](repeating: 0, count: byteCountMax)
        let count = unsafe coffer_read_secret(text, &buffer, buffer.count)
        if count == -Int(ENXIO) || count == -Int(ENOENT) || count == -Int(ENOTTY) {
            throw .control(
                "There is no terminal to ask for the passphrase. Use --passphrase-file, COFFER_PASSPHRASE_FILE, or the credential “coffer.passphrase” of a systemd unit."
            )
        }
        guard count >= 0 else { throw .control("No passphrase was given.") }
        var bytes = buffer.prefix(count).map { UInt8(bitPattern: $0) }
        for index in buffer.indices { buffer[index] = 0 }
        return SecretBytes(moving: &bytes)
    }
}

/// How long it takes to try a passphrase.
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
