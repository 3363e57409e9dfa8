package import CofferFormat

/// A commit of this device in the form in which it is stored at the remote.
package struct SealedCommit: Equatable, Sendable {
    /// The sealed record.
    package let bytes: [UInt8]
    /// The device's log, up to this commit.
    package let summary: LogSummary

    package init(bytes: [UInt8], summary: LogSummary) {
        self.bytes = bytes
        self.summary = summary
    }

    /// The rows to save in the transaction that applies the commit.
    package var rows: [KeptChange] {
        [
            KeptChange(KeptRow.Key(.log, id: summary.log.bytes), summary.bytes),
            KeptChange(KeptRow.Key(.outgoing, number: summary.head.sequence), bytes),
        ]
    }
}
