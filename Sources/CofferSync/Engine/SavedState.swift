internal import CofferFormat

/// The state that a replica has saved for an engine, as it is read from rows.
struct SavedState: Sendable {
    /// What was applied of each log.
    private(set) var logs: [LogSummary] = []
    /// Commits of this device, by number.
    private(set) var commits: [UInt64: [UInt8]] = [:]
    /// The hashes of those that were put.
    private(set) var put: [UInt64: [UInt8]] = [:]
    /// The links of the member chain, by number.
    private(set) var memberLinks: [UInt64: [UInt8]] = [:]
    /// The links of identities, by number.
    private(set) var identityLinks: [UserID: [UInt64: [UInt8]]] = [:]
    private(set) var checkpoints = KnownCheckpoints()
    private(set) var retirements = PackRetirements()
    private(set) var duties: MemberDuties

    /// Reads rows; those of other kinds are left out.
    ///
    /// - Parameter duties: What the engine remembers of its duties in addition to what is saved.
    /// - Throws: any `FormatError` for a damaged row.
    init(_ rows: [KeptRow], duties: MemberDuties) throws(FormatError) {
        self.duties = duties
        self.duties.beginRestore()
        for row in rows {
            switch row.key.kind {
            case .log: logs.append(try LogSummary(row.value))
            case .outgoing: commits[row.key.number] = row.value
            case .put: put[row.key.number] = row.value
            case .memberLink: memberLinks[row.key.number] = row.value
            case .identityLink:
                guard let user = UserID(bytes: row.key.id) else { throw .invalid(field: "user") }
                identityLinks[user, default: [:]][row.key.number] = row.value
            case .pendingLink, .memberCard, .wraps: try self.duties.restore(row)
            case .checkpoint: try checkpoints.restore(row)
            case .retirement: try retirements.restore(row)
            default: continue
            }
        }
    }
}
