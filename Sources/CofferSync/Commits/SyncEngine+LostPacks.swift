internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// What came of sending contents again that the remote had lost.
package struct ContentsPutAgain: Equatable, Sendable {
    /// Bytes that are sent with the next commits.
    package let byteCount: Int
    /// Bytes that are neither on this device nor at the remote.
    package let lostByteCount: Int
    /// Whether there are more to be sent.
    package let isPart: Bool

    /// What a replica did.
    package init(byteCount: Int, lostByteCount: Int, isPart: Bool) {
        (self.byteCount, self.lostByteCount, self.isPart) = (byteCount, lostByteCount, isPart)
    }
}

/// What is known of the packs that contents refer to.
struct LookedAtPacks: Sendable {
    /// How often they are looked at, in milliseconds: 10 minutes.
    private static let shortestPause: UInt64 = 600_000
    /// How often at least, in milliseconds, where the remote loses again what is sent again: once a day.
    private static let longestPause: UInt64 = 86_400_000
    /// The most lost packs that are looked after at a time.
    static let packCountMax = 64
    /// About how many bytes are sent again at a time.
    static let byteCountMax = 256 << 20

    /// When that was last done, in milliseconds.
    var comparedAt: UInt64 = 0
    /// How often in a row something had to be sent again.
    var repairs = 0
    /// How long it is not done again, in milliseconds.
    var pause: UInt64 { min(Self.longestPause, Self.shortestPause << UInt64(min(repairs, 16))) }
    /// The last one of those that were missing in the listing and were asked for.
    var turn: RemoteName?
    /// Bytes that this device has written, and that are lost.
    var lostByteCount = 0
}

// Packs that the remote has lost: contents of theirs which this device has written and still has are sent once more.
extension SyncEngine {
    /// Has contents sent again whose packs the remote has lost, if it is time to look.
    func putContentsAgain(_ scope: RoundScope) async throws(SyncError) {
        let now = setup.milliseconds()
        let isRecent = now >= lookedAtPacks.comparedAt && now - lookedAtPacks.comparedAt < lookedAtPacks.pause
        guard scope.asksAllLogs, !isRecent || lookedAtPacks.lostByteCount > 0, pullFailure == nil,
            !isOlderState, try ownRole()?.may(.write) == true
        else { return }
        // Where a commit is missing, the content here may be older than what others have written since: sent again under a
        // newer clock, it would take the place of theirs.
        guard missing.isEmpty, queue.missing.isEmpty else { return }
        lookedAtPacks.comparedAt = now
        let lost = try await lostPacks()
        var result = ContentsPutAgain(byteCount: 0, lostByteCount: 0, isPart: false)
        if !lost.isEmpty {
            publish(.sending)
            let log = setup.log
            result = try await asking { () async throws(ReplicaError) in
                try await replica.putAgain(
                    contentsOf: Set(lost), saidIn: log, byteCountMax: LookedAtPacks.byteCountMax)
            }
        }
        lookedAtPacks.lostByteCount = result.lostByteCount
        if lost.isEmpty { lookedAtPacks.repairs = 0 }
        guard result.byteCount > 0 else { return }
        lookedAtPacks.repairs += 1
        // The rest has its turn in the next round that looks everywhere.
        if result.isPart || lost.count == LookedAtPacks.packCountMax { lookedAtPacks.comparedAt = 0 }
        note(.contentsPutAgain(byteCount: result.byteCount))
        try await push(scope)
    }

    /// Packs that contents refer to and that are not at the remote; of many some, so that all have their turn.
    private func lostPacks() async throws(SyncError) -> [PackID] {
        let packs = try await asking { () async throws(ReplicaError) in try await replica.contentPacks() }
        guard !packs.isEmpty else { return [] }
        var names: [RemoteName: PackID] = [:]
        for pack in packs { names[layout.pack(pack)] = pack }
        try await list(layout.packs) { entries in
            for entry in entries { names[entry.name] = nil }
            return .next
        }
        let missing = names.keys.sorted()
        let start = lookedAtPacks.turn.flatMap { turn in missing.firstIndex { $0 > turn } } ?? 0
        var lost: [PackID] = []
        for name in missing[start...] + missing[..<start] where lost.count < LookedAtPacks.packCountMax {
            // A listing may be old.
            let isThere = try await reaching { () async throws(RemoteError) in try await remote.has(name) }
            if !isThere, let pack = names[name] { lost.append(pack) }
            lookedAtPacks.turn = name
        }
        return lost
    }
}
