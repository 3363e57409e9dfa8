internal import CofferRemote
internal import CofferSync
internal import CofferSystem

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
        if name == nil { shared.tryJoins() }
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
}
