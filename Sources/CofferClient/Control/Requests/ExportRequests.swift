internal import CofferCrypto

/// Writes a sealed archive of a vault to the stream that comes with the request.
///
/// The key crosses the socket, which only this user can reach, and never reaches a disk.
package struct ExportRequest: ControlRequest {
    let vault: String
    let header: [UInt8]
    let key: [UInt8]

    /// - Parameter seal: What opens the export.
    package init(vault: String, _ seal: ExportSeal) {
        self.vault = vault
        header = seal.header
        key = seal.key
    }

    package var changesVaults: Bool { false }
    /// A part of the stream may have been written.
    package var isRepeatable: Bool { false }
    package var message: RequestMessage { .export(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> ExportedReport {
        try handler.export(vault, header: header, try Self.key(key), client)
    }

    /// The key that came in a request.
    fileprivate static func key(_ bytes: [UInt8]) throws(ClientError) -> SymmetricKey<ExportRole> {
        guard bytes.count == SymmetricKey<ExportRole>.byteCount else { throw .control(.malformed) }
        var bytes = bytes
        return SymmetricKey(SecretBytes(moving: &bytes))
    }
}

/// Makes a vault of the export in the stream that comes with the request, which stands behind the header.
package struct ImportRequest: ControlRequest {
    let vault: String
    let header: [UInt8]
    /// Nil if the identity of the profile opens the export.
    let key: [UInt8]?
    let byteCount: Int

    /// - Parameters:
    ///   - vault: The name of the new vault.
    ///   - key: What `ExportOpening.key` returned; nil without a passphrase.
    ///   - byteCount: The size of the export; 0 if it is not known.
    package init(vault: String, _ opening: ExportOpening, key: [UInt8]?, byteCount: Int) {
        self.vault = vault
        header = opening.bytes
        self.key = key
        self.byteCount = byteCount
    }

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .importing(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> ImportedReport {
        let opened: SymmetricKey<ExportRole>
        if let key {
            opened = try ExportRequest.key(key)
        } else {
            opened = try handler.vaults.profile.openExport(header)
        }
        return try handler.makeVault(vault, header: header, opened, byteCount: byteCount, client)
    }
}

/// What an export has.
package struct ExportedReport: Codable, Sendable {
    /// The number of items.
    package let items: Int
    /// The bytes of content.
    package let bytes: Int64
    /// The bytes of the whole export.
    package let exportBytes: Int64
    /// The paths of sockets, which are not in the export.
    package let sockets: [String]
}

/// What an import has made.
package struct ImportedReport: Codable, Sendable {
    /// The number of items.
    package let items: Int
    /// The bytes of content.
    package let bytes: Int64
}
