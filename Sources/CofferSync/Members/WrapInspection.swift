internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// Compares the sets of wraps of the current epoch with the members.
///
/// Remembers what it has seen, so each set is fetched once. Of a set that no link names it keeps only the
/// hash, because anybody can put such sets.
struct WrapInspection: Sendable {
    /// The most sets that are fetched in one round.
    private static let setCountMax = 256

    /// An object among the sets of wraps.
    private enum Seen {
        /// A set that a link names, as stored.
        case granted([UInt8])
        /// The hash of a set that no link names.
        case stray(WrapSetHash)
        /// Not a set.
        case other
    }

    private var epoch: Epoch?
    private var seen: [RemoteName: Seen] = [:]
    private var granted: Set<RemoteName> = []
    private var names: Set<RemoteName> = []
    /// Sets that no link named at the last inspection.
    private var strays: Set<WrapSetHash> = []

    /// Begins an inspection.
    ///
    /// - Parameters:
    ///   - granted: The sets that links name; a listing may lag, so they are fetched even if it lacks them.
    ///   - listed: The names in a listing.
    /// - Returns: What to fetch, and whether that is everything.
    mutating func begin(
        _ epoch: Epoch, granted: Set<RemoteName>, listed: some Sequence<RemoteName>
    ) -> (wanted: [RemoteName], isAll: Bool) {
        if self.epoch != epoch { self = WrapInspection() }
        (self.epoch, self.granted) = (epoch, granted)
        names = granted.union(listed)
        let new = names.filter { name in
            guard let seen = seen[name] else { return true }
            if case .granted = seen { return false }
            return granted.contains(name)
        }
        return (Array(new.sorted().prefix(Self.setCountMax)), new.count <= Self.setCountMax)
    }

    /// Adds an object that was fetched.
    ///
    /// - Returns: The set, if a link names it.
    mutating func add(_ bytes: [UInt8], at name: RemoteName, _ layout: RemoteLayout) -> WrapSet? {
        guard let epoch else { return nil }
        let found = try? WrapSet(bytes)
        let set = found.map { layout.wraps($0.hash, of: epoch) } == name ? found : nil
        guard granted.contains(name) else {
            seen[name] = set.map { .stray($0.hash) } ?? .other
            return nil
        }
        // A set that links name may become complete later.
        guard let set else { return nil }
        seen[name] = .granted(bytes)
        return set
    }

    /// What is wrong with the wraps, in a fixed order.
    ///
    /// A set that no link names is reported once two inspections have found it: its link may be on its way.
    mutating func findings(_ chain: MemberChain) -> [WrapAudit.Finding] {
        var (sets, found): ([[UInt8]], Set<WrapSetHash>) = ([], [])
        for name in names {
            switch seen[name] {
            case .granted(let bytes): sets.append(bytes)
            case .stray(let hash): found.insert(hash)
            case .other, nil: continue
            }
        }
        // A set that a link named until its side of a fork was left is a stray, too.
        let findings = WrapAudit.findings(chain, sets: sets).union(found.map { .setWithoutLink($0) })
        let known = strays
        strays = Set(findings.compactMap { if case .setWithoutLink(let hash) = $0 { hash } else { nil } })
        return findings.filter { finding in
            if case .setWithoutLink(let hash) = finding { known.contains(hash) } else { true }
        }.sorted { "\($0)" < "\($1)" }
    }
}
