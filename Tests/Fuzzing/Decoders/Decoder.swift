/// A decoder of untrusted bytes, and what must hold of it for every input.
struct Decoder: Sendable {
    /// What became of an input.
    enum Outcome {
        /// It was decoded.
        case taken
        /// It was refused by an error, as it should be.
        case refused
    }

    /// Names the directory of the corpus.
    let name: String
    /// The most bytes of an input that are worth a try.
    let byteCountMax: Int
    /// Inputs that the project's own encoders make; all of them are taken.
    let seeds: @Sendable () throws -> [[UInt8]]
    /// Decodes an input, and throws a `Violation` if the decoder broke a promise.
    let run: @Sendable ([UInt8]) throws -> Outcome

    /// Every decoder that is fuzzed.
    static let all: [Decoder] = [
        .profileRecord, .packHeader, .identifier, .facts, .registers, .profileBody, .controlRequest,
        .controlResponse,
        .attempts,
        .lockNote, .mountTable, .sealedRecord, .accessList, .attributes, .indexPages, .indexLog, .packs,
        .rows,
        .kernelRequest, .links, .trustRecords, .pasted, .contentValue, .contentPage, .remotePackHeader,
        .commits, .checkpoints, .sftpPackets,
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
