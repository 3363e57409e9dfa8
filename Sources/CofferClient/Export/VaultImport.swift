internal import CofferFormat
internal import CofferSystem
internal import CofferVault

/// Fills the store of a new vault from a sealed stream.
struct VaultImport {
    private let profile: Profile
    private let record: VaultRecord
    private let pulse: ExportPulse

    init(_ profile: Profile, _ record: VaultRecord, _ pulse: ExportPulse) {
        self.profile = profile
        self.record = record
        self.pulse = pulse
    }

    /// Returns once all has been verified, and is on disk.
    func run(from stream: inout OpeningStream) throws(ClientError) -> ImportedReport {
        guard let keys = ContentKeys(vault: record.id, record.keys) else { throw .cipherFailed }
        let directory = try systemCalls { () throws(SystemError) in
            try POSIXStorageDirectory(path: profile.directory(of: record))
        }
        let vault: Vault
        do throws(FileSystemError) {
            vault = try Vault(
                in: directory, id: record.id, store: record.store, keys: keys, problems: ProblemLog(),
                isReadOnly: false)
            vault.setReserve(profile.reserve)
            try vault.start()
        } catch {
            throw .vault(error)
        }
        let report: ImportedReport
        do throws(ClientError) {
            report = try fill(vault, from: &stream)
        } catch {
            vault.abandon()
            throw error
        }
        do throws(FileSystemError) { try vault.close() } catch { throw .vault(error) }
        return report
    }

    private func fill(
        _ vault: Vault, from stream: inout OpeningStream
    ) throws(ClientError) -> ImportedReport {
        var reader = ArchiveReader()
        var tree = TreeImport(vault, owner: .current)
        var path = "/"
        var buffer = AlignedBuffer(count: ArchiveLimits.pieceByteCount)
        while true {
            let needed = reader.needed
            // The records of an entry may be larger than a piece of content.
            if needed > buffer.count { buffer = AlignedBuffer(count: needed) }
            guard try stream.read(needed, into: buffer) == needed else {
                throw .export(.badArchive(.truncated, offset: reader.offset))
            }
            pulse.done = stream.position
            try pulse.beat()
            let event: ArchiveReader.Event
            do throws(FormatError) {
                event = try buffer.withBytes(0..<needed) { bytes throws(FormatError) in try reader.take(bytes)
                }
            } catch {
                throw .export(.badArchive(error, offset: reader.offset))
            }
            if event == .end { try expectEnd(of: &stream, reader) }
            do throws(ImportProblem) {
                switch event {
                case .nothing: continue
                case .entry(let entry):
                    path = entry.text
                    try tree.begin(entry)
                case .data(let range):
                    try buffer.withBytes(0..<needed) { bytes throws(ImportProblem) in
                        try tree.write(bytes, at: range.lowerBound)
                    }
                case .end:
                    try tree.finish()
                    return ImportedReport(items: tree.items, bytes: tree.bytes)
                }
            } catch {
                throw .export(.badEntry(path: path, error))
            }
        }
    }

    private func expectEnd(
        of stream: inout OpeningStream, _ reader: ArchiveReader
    ) throws(ClientError) {
        guard try stream.expectEnd() else {
            throw .export(.badArchive(.trailingBytes, offset: reader.offset))
        }
    }
}
