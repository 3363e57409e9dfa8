import CofferFormat
import CofferTrust

@testable import CofferSync

/// A log for tests of values.
func log(_ number: UInt64) -> LogID { LogID(low: number, high: 0) }

func dot(_ log: UInt64, _ sequence: UInt64) -> Dot { Dot(log: CofferSyncTests.log(log), sequence: sequence) }

func versions(_ sequences: [UInt64: UInt64]) -> VersionVector {
    var versions = VersionVector()
    for (number, sequence) in sequences { versions[log(number)] = sequence }
    return versions
}

func identity(_ number: UInt8) -> IdentityID { IdentityID([UInt8](repeating: number, count: 32)) }

/// A hash that differs for each commit.
func commitHash(_ dot: Dot, salt: UInt8 = 0) -> CommitHash {
    let start = [UInt8(truncatingIfNeeded: dot.log.low), UInt8(truncatingIfNeeded: dot.sequence), salt]
    return CommitHash(start + [UInt8](repeating: 7, count: 29))
}

/// A commit as if it had been verified; logs with the same number are of the same author.
func commit(
    _ number: UInt64, _ sequence: UInt64, by author: UInt8? = nil, heads: [UInt64: UInt64] = [:],
    headSalt: UInt8 = 0, notices: [CommitNotice] = [], writes: Bool = true, clock: UInt64 = 0
) throws -> VerifiedCommit {
    let dot = dot(number, sequence)
    let bounds = heads.map { number, sequence in
        let head = CofferSyncTests.dot(number, sequence)
        return LogBound(log: head.log, sequence: sequence, hash: commitHash(head, salt: headSalt))
    }
    let point = CommitPoint(
        sequence: sequence, hash: commitHash(dot), members: LinkHead(sequence: 0, hash: .zero), writes: writes
    )
    let introduction = sequence == 1 ? try LogIntroduction(name: "N\(number)", label: "L\(number)") : nil
    let facts = writes ? try fileFacts(number << 32 | sequence, "\(number) \(sequence)") : []
    return VerifiedCommit(
        dot: dot, author: identity(author ?? UInt8(truncatingIfNeeded: number)), point: point,
        body: CommitBody(
            previous: .zero, clock: clock, stateHash: .zero, heads: try LogBounds(bounds),
            introduction: introduction, notices: notices, facts: facts),
        byteCount: 100)
}

/// The state of a log after some commits.
func summary(_ number: UInt64, _ sequence: UInt64, by author: UInt8? = nil) throws -> LogSummary? {
    let first = LogSummary(try commit(number, 1, by: author), after: nil)
    return LogSummary(try commit(number, sequence, by: author), after: first)
}
