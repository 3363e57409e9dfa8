internal import CofferFormat
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

/// What the store of a vault begins with that other devices already have.
struct JoinedStore: Sendable {
    let share: VaultShare
    let keys: [EpochKey]
    /// Keys of epochs on lost sides of forks of the member chain.
    var lost: [EpochKey] = []
    /// What is known of the remote, such as verified links of the members.
    var rows: [KeptRow] = []

    /// Fills the new store of a vault, before the profile lists that vault.
    ///
    /// So no crash leaves a vault that knows less of its remote than it should.
    func fill(_ directory: POSIXStorageDirectory, of record: VaultRecord) throws(ClientError) {
        guard let keys = ContentKeys(vault: record.id, record.keys, lost: record.lost) else {
            throw .trust(.wrongPlace)
        }
        do throws(FileSystemError) {
            let vault = try Vault(
                in: directory, id: record.id, store: record.store, keys: keys, problems: ProblemLog(),
                isReadOnly: false)
            do throws(FileSystemError) {
                try vault.start()
                // As long as a vault is empty, it has nothing to send about its root.
                try vault.outgoing.beginTracking()
                try vault.facts.keep(rows.map { KeptChange($0.key, $0.value) })
            } catch {
                try? vault.close()
                throw error
            }
            try vault.close()
        } catch {
            throw .vault(error)
        }
    }
}
