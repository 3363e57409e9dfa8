internal import CofferFormat
internal import CofferRemote
internal import CofferSync
internal import CofferSystem
internal import CofferTrust

// Whether a place is the one at which a vault is to be synced.
extension SharedVault {
    private var layout: RemoteLayout { RemoteLayout(share.vault) }

    /// Checks that the remote can be reached; it need not have anything of this vault yet.
    func reach() throws(ProfileError) { _ = try start(of: layout.format, at: try Self.backend(share.url)) }

    /// Checks that the remote has this vault's beginning: one that was elsewhere before is not sent anew.
    ///
    /// - Throws: `.otherRemote`.
    func checkFirstLink() throws(ProfileError) {
        let known = try asking { engine async throws(SyncError) in await engine.chain.links.first?.bytes }
        guard let known, try start(of: layout.member(0), at: remote) == known else {
            throw .otherRemote(vault: self.name, url: share.url)
        }
    }

    /// Checks, before anything is put there, that the remote has the members' links that this device has seen.
    ///
    /// A device that has seen none takes any place.
    ///
    /// - Throws: `.otherRemote` where it is not this vault's; `.incompleteRemote` where the newest link is missing.
    func checkKnownLinks() throws(ProfileError) {
        let replica = replica
        let rows: [SyncRow]
        do throws(ReplicaError) {
            rows = try Waiting.run { () async throws(ReplicaError) in try await replica.rows() }
        } catch {
            throw .sync(vault: name, .replica("\(error)"))
        }
        let links = rows.filter { $0.key.kind == .memberLink }.sorted { $0.key.number < $1.key.number }
        guard let first = links.first, let last = links.last else { return }
        func has(_ link: SyncRow) throws(ProfileError) -> Bool {
            try start(of: layout.member(link.key.number), at: remote) == link.value
        }
        guard try start(of: layout.format, at: remote) != nil, try has(first) else {
            throw .otherRemote(vault: name, url: share.url)
        }
        guard try has(last) else { throw .incompleteRemote(vault: name, url: share.url) }
    }

    /// The bytes of an object, as many as a link has; nil where there is none.
    private func start(
        of name: RemoteName, at remote: any RemoteBackend
    ) throws(ProfileError) -> [UInt8]? {
        do throws(RemoteError) {
            return try Waiting.run { () async throws(RemoteError) in
                try await remote.get(name, 0..<LinkRecord.byteCountMax).bytes
            }
        } catch {
            if case .absent = error { return nil }
            throw .remote(error)
        }
    }
}
