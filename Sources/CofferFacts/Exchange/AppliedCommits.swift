package import CofferFormat

/// The result of applying commits.
package struct AppliedCommits: Equatable, Sendable {
    /// How many commits are applied now, counted from the first; some may have been applied before.
    package var count: Int
    /// If the next commit cannot be applied yet: the log whose commits must come first.
    package var missing: LogID?
    /// Anomalies of the applied commits.
    package var findings: [CommitFinding]
    /// Commits of this device that were made before them, in order.
    package var made: [SealedCommit]

    package init(
        count: Int = 0, missing: LogID? = nil, findings: [CommitFinding] = [], made: [SealedCommit] = []
    ) {
        self.count = count
        self.missing = missing
        self.findings = findings
        self.made = made
    }
}

/// An anomaly of a commit that was applied all the same.
package enum CommitFinding: Hashable, Sendable {
    /// It states something that no conforming device states.
    case complaint(Dot, FactComplaint)
    /// Its author had applied the same commits as this device, and showed something else.
    case otherState(Dot)
}
