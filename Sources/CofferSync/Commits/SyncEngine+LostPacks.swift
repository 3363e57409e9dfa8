internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// What is known of the packs that contents refer to.
struct LookedAtPacks: Sendable {
    /// The interval between looks at them, in milliseconds: 10 minutes.
    private static let shortestPause: UInt64 = 600_000
    /// The longest interval, in milliseconds, if the remote loses the contents again each time: a day.
    private static let longestPause: UInt64 = 86_400_000
    /// The most lost packs that are dealt with at a time.
    static let packCountMax = 64
    /// The approximate number of bytes that are sent again at a time.
    static let byteCountMax = 256 << 20

    /// The time of the last look, in milliseconds.
    var comparedAt: UInt64 = 0
    /// How many looks in a row had to send something again.
    var repairs = 0
    /// The interval until the next look, in milliseconds.
    var pause: UInt64 { min(Self.longestPause, Self.shortestPause << UInt64(min(repairs, 16))) }
    /// The last pack that was asked for because the listing lacked it.
    var turn: RemoteName?
    /// Bytes that this device has written, and that are lost.
    var lostByteCount = 0
}

// Sends contents of lost packs again, if this device has written them and still has them.
extension SyncEngine {
    /// Sends contents again whose packs the remote has lost, if it is time to look.
    func putContentsAgain(_ scope: RoundScope) async throws(SyncError) {
        let now = setup.milliseconds()
        let isRecent = now >= lookedAtPacks.comparedAt && now - lookedAtPacks.comparedAt < lookedAtPacks.pause
        guard scope.asksAllLogs, !isRecent || lookedAtPacks.lostByteCount > 0, pullFailure == nil,
            !isOlderState, try ownRole()?.may(.write) == true
        else { return }
        // While a commit is missing, the content here may be older than that of a peer: sent again under a newer
        // clock, it would replace the newer content.
        guard missing.isEmpty, queue.missing.isEmpty else { return }
        lookedAtPacks.comparedAt = now
        let lost = try await lostPacks()
        var result = ContentsPutAgain()
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
        // The next round that looks everywhere deals with the rest.
        if result.isPart || lost.count == LookedAtPacks.packCountMax { lookedAtPacks.comparedAt = 0 }
        note(.contentsPutAgain(byteCount: result.byteCount))
        try await push(scope)
    }

    /// Packs that contents refer to and that the remote lacks; if there are many, some of them, so that each
    /// gets its turn.
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
            // The listing may be old.
            let isThere = try await reaching { () async throws(RemoteError) in try await remote.has(name) }
            if !isThere, let pack = names[name] { lost.append(pack) }
            lookedAtPacks.turn = name
        }
        return lost
    }
}
