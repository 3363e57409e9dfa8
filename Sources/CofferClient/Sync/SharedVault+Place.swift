internal import CofferFUSE
internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferSync
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

// Checks whether a remote holds this vault.
extension SharedVault {
    private var layout: RemoteLayout { RemoteLayout(share.vault) }

    /// Checks that the remote can be reached; it need not have the vault yet.
    func reach() throws(ClientError) { _ = try start(of: layout.format, at: try backend()) }

    /// Checks that the remote has this vault's first member link: a vault from another remote is not sent
    /// again.
    ///
    /// - Throws: `.otherRemote`.
    func checkFirstLink() throws(ClientError) {
        let known = try asking { engine async throws(SyncError) in await engine.chain.links.first?.bytes }
        guard let known, try start(of: layout.member(0), at: remote) == known else {
            throw .remoteSetting(.otherRemote(vault: self.name, url: share.url))
        }
    }

    /// Checks, before anything is put there, that the remote has the first and the newest member link of this
    /// device.
    ///
    /// A device that has no links accepts any remote.
    ///
    /// - Returns: Whether this device has any links.
    /// - Throws: `.otherRemote` if it does not have this vault; `.incompleteRemote` if the newest link is
    ///   missing.
    func checkKnownLinks() throws(ClientError) -> Bool {
        let replica = replica
        let rows: [KeptRow]
        do throws(ReplicaError) {
            rows = try AwaitedTask { () async throws(ReplicaError) in try await replica.rows() }.wait()
        } catch {
            throw .sync(vault: name, .replica("\(error)"))
        }
        let links = rows.filter { $0.key.kind == .memberLink }.sorted { $0.key.number < $1.key.number }
        guard let first = links.first, let last = links.last else { return false }
        func has(_ link: KeptRow) throws(ClientError) -> Bool {
            try start(of: layout.member(link.key.number), at: remote) == link.value
        }
        guard try start(of: layout.format, at: remote) != nil, try has(first) else {
            throw .remoteSetting(.otherRemote(vault: name, url: share.url))
        }
        guard try has(last) else { throw .remoteSetting(.incompleteRemote(vault: name, url: share.url)) }
        return true
    }

    /// Checks that the remote has the newest commits that this device knows, and the packs that contents
    /// refer to.
    ///
    /// A copy without them would have a gap in a log, at which all other devices would stop for good.
    ///
    /// - Throws: `.incompleteRemote`.
    func checkKnownCommits() throws(ClientError) {
        let commits = try asking { engine async throws(SyncError) in try await engine.lastCommits() }
        let packs: Set<PackID>
        do throws(FileSystemError) { packs = try mounted.vault.cache.remotePacks().packs } catch {
            throw .vault(error)
        }
        let (remote, layout) = (remote, layout)
        let isComplete: Bool
        do throws(RemoteError) {
            isComplete = try AwaitedTask { () async throws(RemoteError) in
                for commit in commits where try await !remote.hasObject(commit) { return false }
                if packs.isEmpty { return true }
                let listed = Set(try await remote.names(below: layout.packs))
                for pack in packs.map(layout.pack) where !listed.contains(pack) {
                    guard try await remote.hasObject(pack) else { return false }
                }
                return true
            }.wait()
        } catch {
            throw .remoteSetting(.failed(url: share.url, error))
        }
        guard isComplete else { throw .remoteSetting(.incompleteRemote(vault: name, url: share.url)) }
    }

    /// Reads the first bytes of an object, up to the size of a link; nil if it does not exist.
    private func start(
        of name: RemoteName, at remote: any RemoteBackend
    ) throws(ClientError) -> [UInt8]? {
        do throws(RemoteError) {
            return try AwaitedTask { () async throws(RemoteError) in
                try await remote.get(name, 0..<LinkRecord.byteCountMax).bytes
            }.wait()
        } catch {
            if case .absent = error { return nil }
            throw .remoteSetting(.failed(url: share.url, error))
        }
    }
}

extension RemoteBackend {
    /// Whether an object exists.
    func hasObject(_ name: RemoteName) async throws(RemoteError) -> Bool {
        do throws(RemoteError) {
            _ = try await get(name, 0..<1)
            return true
        } catch {
            guard case .absent = error else { throw error }
            return false
        }
    }
}
