internal import CofferFUSE
internal import CofferFacts
internal import CofferFormat
internal import CofferVault

// Requests about conflicts.
extension ControlHandler {
    func conflicts(of name: String?) throws(ClientError) -> [ConflictReport] {
        var reports: [ConflictReport] = []
        for mounted in vaults.vaults where name == nil || mounted.name.hasSameBytes(as: name ?? "") {
            do throws(FileSystemError) {
                if !vaults.isReadOnly { try mounted.vault.commit() }
                reports += try mounted.vault.incoming.conflicts().map { conflict in
                    ConflictReport(
                        vault: mounted.name, path: String(decoding: conflict.path, as: UTF8.self),
                        original: conflict.original.map { String(decoding: $0, as: UTF8.self) },
                        author: conflict.parts.label ?? vaults.profile.device, date: conflict.parts.date)
                }
            } catch {
                throw .vault(error)
            }
        }
        if let name { _ = try vaults.named(name) }
        return reports
    }

    func resolve(_ path: String, of name: String, _ choice: ConflictChoice) throws(ClientError) {
        let mounted = try vaults.named(name)
        do throws(FileSystemError) {
            try mounted.vault.incoming.resolveConflict(
                Array(path.utf8), keeping: choice == .copy ? .copy : .original)
        } catch {
            switch error {
            case .notFound, .invalidArgument: throw .content(.noSuchConflict(path: path))
            default: throw .vault(error)
            }
        }
    }
}
