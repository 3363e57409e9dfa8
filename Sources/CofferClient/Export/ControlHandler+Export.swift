internal import CofferCrypto
internal import CofferFormat
internal import CofferFUSE
internal import CofferSystem
internal import CofferTrust
internal import CofferVault
internal import Synchronization

// Exports of vaults, and vaults made from them.
extension ControlHandler {
    func export(
        _ name: String, header: [UInt8], _ key: borrowing SymmetricKey<ExportRole>, _ client: RequestClient
    ) throws(ClientError) -> ExportedReport {
        let stream = try takeStream(of: client)
        let mounted = try vaults.named(name)
        let view: HistoryView
        do throws(FileSystemError) {
            // What cannot be stored is among the problems of the mount.
            if !vaults.isReadOnly { try mounted.vault.flushAll() }
            view = try mounted.vault.export.hold()
        } catch {
            throw .vault(error)
        }
        defer { mounted.vault.export.release(view) }
        let pulse = ExportPulse(client, total: (try? mounted.vault.size().content) ?? 0)
        var sealing = try SealingStream(to: stream.number, header: header, key) { pulse.isAwaited() }
        var export = VaultExport(of: view, named: mounted.name, pulse)
        try export.run(into: &sealing)
        try sealing.finish()
        return ExportedReport(
            items: export.items, bytes: export.bytes, exportBytes: sealing.written, sockets: export.sockets)
    }

    func makeVault(
        _ name: String, header: [UInt8], _ key: borrowing SymmetricKey<ExportRole>, byteCount: Int,
        _ client: RequestClient
    ) throws(ClientError) -> ImportedReport {
        if vaults.isReadOnly { throw .vault(.readOnly) }
        let stream = try takeStream(of: client)
        let profile = vaults.profile
        let pulse = ExportPulse(client, total: Int64(byteCount))
        let record = try profile.beginImport(named: name, owner: .current)
        let report: ImportedReport
        do throws(ClientError) {
            var opening = OpeningStream(from: stream.number, header: header, key) { pulse.isAwaited() }
            report = try VaultImport(profile, record, pulse).run(from: &opening)
            _ = try vaults.add(imported: record)
        } catch {
            if profile.vaults.contains(where: { $0.id == record.id }) {
                throw .export(.notOpened(vault: name, reason: "\(error)"))
            }
            profile.abandonImport(of: record)
            // A full disk may have taken the reserve, and has room again.
            profile.reserve.restore()
            throw error
        }
        rootChanged(name)
        return report
    }

    /// Takes the stream that the command sent, which must not lead back to this mount.
    ///
    /// - Throws: `.inVault` for a file in a vault: each piece would wait for the mount that makes it.
    private func takeStream(of client: RequestClient) throws(ClientError) -> Descriptor {
        let stream = try client.takeStream()
        let number = stream.number
        let place = try systemCalls { () throws(SystemError) in try FileIdentity(ofOpen: number) }
        guard place.deviceText == device.withLock({ $0 }) else { return stream }
        let path = Directory.linkTarget("/proc/self/fd/\(number)")
        throw .export(.inVault(path: path ?? "The file"))
    }
}

extension Profile {
    /// Opens an export for the identity of this profile.
    ///
    /// - Throws: `.passphraseNeeded`, `.notRecipient`.
    func openExport(_ header: [UInt8]) throws(ClientError) -> SymmetricKey<ExportRole> {
        guard let header = try? unsafe ExportHeader(header.span.bytes) else {
            throw .export(.damagedHeader)
        }
        if header.passphrase != nil { throw .export(.passphraseNeeded) }
        if let key = ExportKey.open(header.recipients, agreement: identityKeys.agreement) { return key }
        for former in state.withLock({ $0.body.former }) {
            if let key = former.open(header.recipients) { return key }
        }
        throw .export(.notRecipient)
    }
}

/// Tells the command how far the work is, not too often, and learns from that whether it still waits.
final class ExportPulse {
    private static let spacing: Int64 = 100_000_000

    private let client: RequestClient
    private let total: Int64
    private var last: Int64 = 0
    /// The bytes that are done.
    var done: Int64 = 0

    init(_ client: RequestClient, total: Int64) {
        self.client = client
        self.total = total
    }

    /// Whether the command still waits.
    func isAwaited() -> Bool {
        let now = Clock.monotonic
        if now - last > Self.spacing {
            last = now
            client.progress(
                Progress(done: Int(done), total: total > 0 ? Int(max(total, done)) : 0, isBytes: true))
        }
        return client.isHeard()
    }

    /// - Throws: `.interrupted` if the command does not wait any more.
    func beat() throws(ClientError) {
        if !isAwaited() { throw .export(.interrupted) }
    }
}
