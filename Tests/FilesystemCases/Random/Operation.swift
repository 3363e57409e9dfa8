internal import Glibc

/// The kinds of random operations, so that a caller can leave some out.
package enum OperationKind: String, Sendable, CaseIterable {
    case create, write, append, rewrite, truncate, allocate, rename, exchange, link, unlink, makeDirectory
    case removeDirectory, symbolicLink, fifo, changeMode, changeOwner, setTimes, setAttribute, removeAttribute
    case read, list, status, readLink, copy, map, synchronise
    case hold, heldWrite, heldRead, heldTruncate, heldStatus, heldMode, release
}

/// One operation with everything it needs; the names are relative to either directory.
enum Operation: Sendable {
    case create(String, mode: mode_t, exclusive: Bool)
    case write(String, offset: Int64, count: Int, seed: Int)
    case append(String, count: Int, seed: Int)
    case rewrite(String, count: Int, seed: Int)
    case truncate(String, size: Int64)
    case allocate(String, mode: Int32, offset: Int64, length: Int64)
    case rename(String, to: String, flags: UInt32)
    case link(String, to: String)
    case unlink(String)
    case makeDirectory(String, mode: mode_t)
    case removeDirectory(String)
    case symbolicLink(String, target: String)
    case fifo(String, mode: mode_t)
    case changeMode(String, mode: mode_t)
    case changeOwner(String, owner: uid_t, group: gid_t, following: Bool)
    case setTimes(String, accessed: Timestamp, modified: Timestamp, following: Bool)
    case setAttribute(String, attribute: String, count: Int, seed: Int, flags: Int32)
    case removeAttribute(String, attribute: String)
    case read(String, offset: Int64, count: Int)
    case list(String)
    case status(String)
    case readLink(String)
    case copy(String, offset: Int64, to: String, targetOffset: Int64, count: Int)
    case map(String, offset: Int64, count: Int, seed: Int)
    case synchronise(String)
    case hold(slot: Int, String, flags: Int32)
    case heldWrite(slot: Int, offset: Int64, count: Int, seed: Int)
    case heldRead(slot: Int, offset: Int64, count: Int)
    case heldTruncate(slot: Int, size: Int64)
    case heldStatus(slot: Int)
    case heldMode(slot: Int, mode: mode_t)
    case release(slot: Int)
}

/// What an operation did: an error number, or 0 and what it yielded.
struct OperationResult: Equatable, CustomStringConvertible {
    let code: Int32
    let detail: String

    var description: String {
        guard code == 0 else { return PosixError.name(of: code) }
        return detail.isEmpty ? "ok" : detail
    }
}

/// A difference between the two directories, with what it takes to reproduce it.
package struct Mismatch: Error, Sendable, CustomStringConvertible {
    /// The seed of the sequence.
    package let seed: UInt64
    /// The number of the operation, counted from 0 across all runs.
    package let index: Int
    /// The difference.
    package let difference: String
    /// The last operations up to this one, with the result in the reference.
    package let script: [String]

    package var description: String {
        "seed \(seed), operation \(index): \(difference)\nlast operations:\n"
            + script.map { "  \($0)\n" }.joined()
    }
}
