package import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust

/// The header of a new export, and the key that it holds.
package struct ExportSeal: Sendable {
    let header: [UInt8]
    let key: [UInt8]

    private init(_ header: ExportHeader, _ key: borrowing SymmetricKey<ExportRole>) {
        self.header = header.bytes
        self.key = key.bytes.withBytes { $0.array }
    }

    /// Makes one that a passphrase opens; takes the time that the strength requires.
    package init(passphrase: borrowing SecretBytes, strength: PasswordHash) throws(ClientError) {
        guard passphrase.count > 0 else { throw .profile(.emptyPassphrase) }
        let key = SymmetricKey<ExportRole>.random()
        do throws(TrustError) {
            self.init(try ExportKey.header(for: passphrase, strength, sealing: key), key)
        } catch {
            throw .profile(.noMemory)
        }
    }

    /// Makes one that the owners of identity cards open.
    ///
    /// - Throws: `.recipientCount`; `.trust` for a text that is no card.
    package init(cards: [String]) throws(ClientError) {
        let max = ExportHeader.recipientCountMax
        guard (1...max).contains(cards.count) else {
            throw .export(.recipientCount(cards.count, max: max))
        }
        let key = SymmetricKey<ExportRole>.random()
        do throws(TrustError) {
            var recipients: [IdentityChain] = []
            for card in cards { recipients.append(try IdentityCard(text: card).identity) }
            self.init(try ExportKey.header(for: recipients, sealing: key), key)
        } catch {
            throw .trust(error)
        }
    }
}

/// The header of an export that is to be imported.
package struct ExportOpening: Sendable {
    let bytes: [UInt8]
    let header: ExportHeader

    /// Reads the header, and not a byte more.
    ///
    /// - Throws: `.noExport`, `.newerExport`, `.damagedHeader`, `.cut`.
    package init(from descriptor: Int32) throws(ClientError) {
        var bytes = try Self.read(ExportHeader.startByteCount, from: descriptor)
        do throws(FormatError) {
            for _ in 0..<(try unsafe ExportHeader.entryCount(bytes.span.bytes)) {
                let start = try Self.readWhole(ExportHeader.entryStartByteCount, from: descriptor)
                bytes += start + (try Self.readEntry(start, from: descriptor))
            }
            header = try unsafe ExportHeader(bytes.span.bytes)
            self.bytes = bytes
        } catch {
            switch error {
            case .notThisKind: throw .export(.noExport)
            case .newerVersion(let found, let supported):
                throw .export(.newerExport(found: found, supported: supported))
            case .truncated: throw .export(.cut(bytes: Int64(bytes.count)))
            default: throw .export(.damagedHeader)
            }
        }
    }

    private static func readEntry(_ start: [UInt8], from descriptor: Int32) throws(FormatError) -> [UInt8] {
        try readWhole(try unsafe ExportHeader.entryByteCount(start.span.bytes), from: descriptor)
    }

    private static func readWhole(_ count: Int, from descriptor: Int32) throws(FormatError) -> [UInt8] {
        let bytes = (try? read(count, from: descriptor)) ?? []
        guard bytes.count == count else { throw .truncated }
        return bytes
    }

    private static func read(_ count: Int, from descriptor: Int32) throws(ClientError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = try systemCalls { () throws(SystemError) in
            try bytes.withMutableRawSpan { (span: inout MutableRawSpan) throws(SystemError) in
                try AwaitedStream.read(descriptor, into: &span, subject: "the export") { true }
            }
        }
        return Array(bytes.prefix(got))
    }

    /// Whether a passphrase opens it; otherwise the identity of a recipient does.
    package var needsPassphrase: Bool { header.passphrase != nil }

    /// Opens it by its passphrase; takes the time that the export requires.
    ///
    /// - Returns: The key, for `ImportRequest`.
    /// - Throws: `.wrongPassphrase`, `.recipientNeeded`, `.damagedHeader`.
    package func key(passphrase: borrowing SecretBytes) throws(ClientError) -> [UInt8] {
        guard let entry = header.passphrase else { throw .export(.recipientNeeded) }
        do throws(TrustError) {
            return try ExportKey.open(entry, passphrase: passphrase).bytes.withBytes { $0.array }
        } catch {
            switch error {
            case .crypto(.outOfMemory): throw .profile(.noMemory)
            case .crypto(.parametersOutOfRange): throw .export(.damagedHeader)
            default: throw .export(.wrongPassphrase)
            }
        }
    }
}
