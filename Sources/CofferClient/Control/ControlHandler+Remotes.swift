internal import CofferFUSE
internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferSync
internal import CofferSystem
internal import CofferVault

// Remotes, and what is synced with them.
extension ControlHandler {
    func answerOnRemotes(
        _ request: ControlRequest, progress: @escaping @Sendable (Progress) -> Void
    ) throws(ProfileError) -> ControlResponse {
        switch request {
        case .addRemote(let name, let url): try shared.publish(name, at: url)
        case .removeRemote(let name, let contents): try shared.giveUp(name, contents, progress)
        case .testRemote(let target): return .remoteTest(try test(target))
        case .sync(let name): return .sync(try sync(name, progress))
        default: throw .otherAnswer
        }
        return .done
    }

    private func sync(
        _ name: String?, _ progress: @escaping @Sendable (Progress) -> Void
    ) throws(ProfileError) -> [SyncReport] {
        let wanted = if let name { [try shared.named(name)] } else { shared.all }
        var reports: [SyncReport] = []
        for one in wanted {
            // What is written and not closed yet belongs to it, too.
            try vaults.store()
            do throws(ProfileError) { try one.sync(progress) } catch {
                // Of one vault alone that is the answer; of several it stands in its report. Where the mount ends,
                // the others are not tried any more.
                if name != nil || shared.isEnding { throw error }
            }
            reports.append(one.report)
        }
        if name == nil { try shared.tryJoins() }
        return reports
    }

    // MARK: Trying a remote

    private func test(_ target: RemoteTarget) throws(ProfileError) -> RemoteTestReport {
        let remote: any RemoteBackend
        switch target {
        case .vault(let name): remote = try shared.named(name).remote
        case .url(let url): remote = try SharedVault.backend(url)
        }
        return Waiting.run { await RemoteTest(remote).run() }
    }

    // MARK: Conflicts

    func conflicts(of name: String?) throws(ProfileError) -> [ConflictReport] {
        var reports: [ConflictReport] = []
        for mounted in vaults.vaults where name == nil || mounted.name.hasSameBytes(as: name ?? "") {
            do throws(FileSystemError) {
                if !vaults.isReadOnly { try mounted.vault.commit() }
                reports += try mounted.vault.conflicts().map { conflict in
                    ConflictReport(
                        vault: mounted.name, path: String(decoding: conflict.path, as: UTF8.self),
                        original: conflict.original.map { String(decoding: $0, as: UTF8.self) },
                        author: conflict.parts.label ?? vaults.profile.device, date: conflict.parts.date)
                }
            } catch {
                throw .vault(error)
            }
        }
        if let name, vaults.vault(named: Array(name.utf8)) == nil { throw .noSuchVault(name: name) }
        return reports
    }

    func resolve(_ path: String, of name: String, _ choice: ConflictChoice) throws(ProfileError) {
        guard let mounted = vaults.vault(named: Array(name.utf8)) else { throw .noSuchVault(name: name) }
        do throws(FileSystemError) {
            try mounted.vault.resolveConflict(
                Array(path.utf8), keeping: choice == .copy ? .copy : .original)
        } catch {
            switch error {
            case .notFound, .invalidArgument: throw .noSuchConflict(path: path)
            default: throw .vault(error)
            }
        }
    }
}
