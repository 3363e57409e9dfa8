/// A decoder of untrusted bytes, and what must hold for every input.
struct Decoder: Sendable {
    /// The outcome of an input.
    enum Outcome {
        /// It was decoded.
        case taken
        /// It was refused by an error, as it should be.
        case refused
    }

    /// Names the directory of the corpus.
    let name: String
    /// The largest input that is worth a try, in bytes.
    let byteCountMax: Int
    /// Inputs that the project's own encoders make; the decoder accepts all of them.
    let seeds: @Sendable () throws -> [[UInt8]]
    /// Decodes an input, and throws a `Violation` if the decoder broke a promise.
    let run: @Sendable ([UInt8]) throws -> Outcome

    /// Every decoder that is fuzzed.
    static let all: [Decoder] = [
        .profileRecord, .packHeader, .identifier, .facts, .registers, .profileBody, .controlRequest,
        .controlResponse, .backupRecord, .backupBody, .exportHeader, .archive, .importing,
        .attempts,
        .lockNote, .mountTable, .sealedRecord, .accessList, .attributes, .indexPages, .indexLog, .packs,
        .rows,
        .kernelRequest, .links, .trustRecords, .pasted, .contentValue, .contentPage, .remotePackHeader,
        .commits, .checkpoints, .sftpPackets, .pairing,
    ]
}

/// A promise that a decoder broke.
struct Violation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Checks a promise.
func expect(_ holds: Bool, _ promise: @autoclosure () -> String) throws {
    if !holds { throw Violation(promise()) }
}
