internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// The objects of a vault at its remote; throws this layer's errors.
struct RemoteObjects: Sendable {
    let remote: any RemoteBackend
    let layout: RemoteLayout
    /// What sync is doing, for errors.
    let phase: SyncPhase

    /// Runs a call of the remote.
    func reaching<Value: Sendable>(
        _ body: () async throws(RemoteError) -> Value
    ) async throws(SyncError) -> Value {
        do throws(RemoteError) { return try await body() } catch { throw SyncError(error, during: phase) }
    }

    // MARK: Any objects

    /// Reads a whole object, unless it is too long.
    func fetch(_ name: RemoteName, byteCountMax: Int) async throws(SyncError) -> Fetched {
        try await reaching { () async throws(RemoteError) in
            try await remote.fetch(name, byteCountMax: byteCountMax)
        }
    }

    /// Reads several objects; those that are absent or too long are left out.
    func fetchAll(_ names: [RemoteName], byteCountMax: Int) async throws(SyncError) -> [RemoteName: [UInt8]] {
        let results = await remote.fetchAll(names, named: { $0 }, byteCountMax: byteCountMax)
        var fetched: [RemoteName: [UInt8]] = [:]
        for (name, result) in results {
            if let bytes = try content(result).bytes { fetched[name] = bytes }
        }
        return fetched
    }

    /// What a fetch brought.
    func content(_ result: Result<Fetched, RemoteError>) throws(SyncError) -> Fetched {
        do throws(RemoteError) { return try result.get() } catch { throw SyncError(error, during: phase) }
    }

    /// Whether an object exists.
    func has(_ name: RemoteName) async throws(SyncError) -> Bool {
        try await reaching { () async throws(RemoteError) in try await remote.has(name) }
    }

    /// Lists the objects below a prefix, page by page.
    func list(
        _ prefix: RemotePrefix, isolation: isolated (any Actor)? = #isolation,
        _ body: ([RemotePage.Entry]) -> ListingStep
    ) async throws(SyncError) {
        do throws(RemoteError) { try await remote.list(prefix, body) } catch {
            throw SyncError(error, during: phase)
        }
    }

    /// The sizes of objects below a prefix, by name.
    func sizes(
        below prefix: RemotePrefix, countMax: Int, isolation: isolated (any Actor)? = #isolation,
        where isWanted: (RemoteName) -> Bool
    ) async throws(SyncError) -> [RemoteName: Int] {
        var sizes: [RemoteName: Int] = [:]
        try await list(prefix) { entries in
            for entry in entries where isWanted(entry.name) { sizes[entry.name] = entry.byteCount }
            return sizes.count < countMax ? .next : .enough
        }
        return sizes
    }

    /// Puts an object, over whatever is in its place.
    func put(_ name: RemoteName, _ bytes: [UInt8]) async throws(SyncError) {
        try await reaching { () async throws(RemoteError) in
            try await remote.put(name, .memory(bytes), ifAbsent: false)
        }
    }

    /// Puts an object; returns false if the name is taken.
    func putNew(_ name: RemoteName, _ bytes: [UInt8]) async throws(SyncError) -> Bool {
        try await reaching { () async throws(RemoteError) in
            do throws(RemoteError) {
                try await remote.put(name, .memory(bytes), ifAbsent: true)
                return true
            } catch {
                guard error == .exists else { throw error }
                return false
            }
        }
    }

    /// Deletes an object, if it exists.
    func delete(_ name: RemoteName) async throws(SyncError) {
        try await reaching { () async throws(RemoteError) in try await remote.delete(name) }
    }

    // MARK: Commits

    /// Reads a commit.
    func commit(_ dot: Dot) async throws(SyncError) -> Fetched {
        try await fetch(layout.commit(dot.log, dot.sequence), byteCountMax: SignedRecord.byteCountMax)
    }

    /// Reads several commits, as many in parallel as the remote allows.
    func commits(_ dots: [Dot]) async -> [Dot: Result<Fetched, RemoteError>] {
        let layout = layout
        return await remote.fetchAll(
            dots, named: { layout.commit($0.log, $0.sequence) }, byteCountMax: SignedRecord.byteCountMax)
    }

    /// Whether a commit exists.
    func hasCommit(_ dot: Dot) async throws(SyncError) -> Bool {
        try await has(layout.commit(dot.log, dot.sequence))
    }

    // MARK: Links

    /// The most links after a gap that are examined.
    private static let linkCountMax = 16

    /// Reads a link; nil if there is none.
    func link(_ name: RemoteName) async throws(SyncError) -> [UInt8]? {
        try await fetch(name, byteCountMax: LinkRecord.byteCountMax).bytes
    }

    /// Whether the remote lacks the next link of a member chain but has later ones.
    ///
    /// Only links by members who, as far as the chain is known, may change members count.
    func hasLinks(behind chain: MemberChain) async throws(SyncError) -> Bool {
        let next = chain.nextSequence
        var later: [UInt64] = []
        try await list(layout.members) { entries in
            later += entries.compactMap { RemoteLayout.sequence(of: $0.name) }.filter { $0 > next }
            return later.count < Self.linkCountMax ? .next : .enough
        }
        for sequence in later.prefix(Self.linkCountMax) {
            guard let bytes = try await link(layout.member(sequence)),
                chain.mayHaveLink(bytes, at: sequence)
            else { continue }
            // The missing link may have arrived by now.
            return try await !has(layout.member(next))
        }
        return false
    }
}
