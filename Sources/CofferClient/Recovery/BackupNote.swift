internal import CofferFormat
internal import CofferTrust

/// What the last backup of a profile can bring back, so that the profile can say when it needs a new one.
struct BackupNote: Equatable, Sendable {
    /// When the backup was made, in nanoseconds since 1970.
    let made: Int64
    /// The vaults whose remotes and keys it has, each with its newest epoch.
    let epochs: [VaultID: Epoch]

    init(of backup: BackupBody, made: Int64) {
        self.made = made
        let known = backup.vaults.filter(\.hasRemote).map { ($0.id, $0.keys.map(\.epoch).max() ?? .first) }
        epochs = Dictionary(known, uniquingKeysWith: max)
    }

    func write(into writer: inout ByteWriter) {
        writer.number(made)
        writer.number(UInt32(epochs.count))
        for (vault, epoch) in epochs.sorted(by: { $0.key < $1.key }) {
            writer.identifier(vault)
            writer.number(epoch.number)
        }
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        made = try cursor.number(Int64.self, from: bytes)
        let count = try cursor.number(UInt32.self, from: bytes)
        var epochs: [VaultID: Epoch] = [:]
        for _ in 0..<count {
            let vault = try cursor.identifier(VaultID.self, from: bytes)
            guard epochs.updateValue(Epoch(try cursor.number(UInt32.self, from: bytes)), forKey: vault) == nil
            else { throw .invalid(field: "vault of a backup") }
        }
        self.epochs = epochs
        try cursor.expectEnd(of: bytes)
    }
}
