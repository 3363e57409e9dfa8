package import CofferRemote

/// An empty place of one kind of remote, for one case.
package struct RemotePlace: Sendable {
    /// What a case may need.
    package enum Kind: Sendable {
        /// The usual kind.
        case ordinary
        /// With room for a few MiB.
        case small
        /// Read-only, with the format object and the one at `readOnlyObject`.
        case readOnly
    }

    /// The object of a read-only place, with the bytes 1, 2, 3.
    package static func readOnlyObject(_ vault: RemoteLayout) -> RemoteName { vault.member(7) }

    /// A client of the place.
    package let remote: any RemoteBackend
    /// Another client of the same place, which shares nothing else with the first.
    package let other: any RemoteBackend
    /// The vault of the case, whose format object is there.
    package let vault: RemoteLayout
    /// The URL by which another process opens the place; nil if none can.
    package let url: String?
    /// Variables that the other process needs in addition to those of this one.
    package let environment: [String: String]
    /// Microseconds that another process needs before its first put.
    package var startMicroseconds: UInt32 = 0
    /// Removes the place.
    package let remove: @Sendable () -> Void

    package init(
        remote: any RemoteBackend, other: any RemoteBackend, vault: RemoteLayout, url: String?,
        environment: [String: String] = [:], remove: @escaping @Sendable () -> Void
    ) {
        self.remote = remote
        self.other = other
        self.vault = vault
        self.url = url
        self.environment = environment
        self.remove = remove
    }

    /// A name in the vault.
    package func name(_ rest: String) throws -> RemoteName {
        guard let name = RemoteName(vault.prefix.text + rest) else {
            throw ConformanceFailure("no name: \(rest)")
        }
        return name
    }

    /// A prefix in the vault.
    package func prefix(_ rest: String) throws -> RemotePrefix {
        guard let prefix = RemotePrefix(vault.prefix.text + rest) else {
            throw ConformanceFailure("no prefix: \(rest)")
        }
        return prefix
    }
}

/// Makes places of one kind of remote; each backend has one of these, and runs all cases with it.
package protocol RemotePlaces: Sendable {
    /// Makes an empty place; nil where this machine or this user cannot have one of that kind.
    func make(_ kind: RemotePlace.Kind) async throws -> RemotePlace?
}

extension RemotePlaces {
    /// The place that two clients share, once the vault's format object is there.
    package func place(
        _ remote: any RemoteBackend, _ other: any RemoteBackend, vault: RemoteLayout, url: String? = nil,
        environment: [String: String] = [:], remove: @escaping @Sendable () -> Void = {}
    ) async throws -> RemotePlace {
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        return RemotePlace(
            remote: remote, other: other, vault: vault, url: url, environment: environment,
            remove: remove)
    }
}
