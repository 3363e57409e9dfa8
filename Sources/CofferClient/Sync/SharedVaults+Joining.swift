internal import CofferCrypto
internal import CofferFUSE
internal import CofferFormat
internal import CofferRemote
internal import CofferSync
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

// Joins vaults of others.
extension SharedVaults {
    /// The first pause between polls for admission, and the longest, in nanoseconds; the pause doubles each
    /// time.
    private static let pause: Int64 = 300_000_000, pauseMax: Int64 = 2_000_000_000

    /// Asks to join a vault by an invite.
    ///
    /// - Parameters:
    ///   - name: The name of the vault on this device; nil for any free name.
    ///   - remote: The URL by which this person reaches the remote; nil for the one in the invite.
    ///   - waits: Whether to return only after admission.
    ///   - isHeard: Whether the caller still waits; if not, the mount continues to poll.
    ///   - progress: Called after each poll.
    /// - Throws: `.hasVault`, `.vaultExists`, `.notJoined`, `.joinInterrupted`.
    func join(
        _ text: String, as name: String?, at remote: String? = nil, waits: Bool,
        isHeard: () -> Bool = { true },
        _ progress: (Progress) -> Void
    ) throws(ClientError) -> JoinReport {
        let invite: Invite
        do throws(TrustError) { invite = try Invite(text: text) } catch { throw .trust(error) }
        if let record = profile.vaults.first(where: { $0.id == invite.vault }) {
            throw .joining(.hasVault(name: record.name))
        }
        var url: String?
        if let remote { url = try SharedVault.url(remote).text }
        let join = PendingJoin(
            invite, name: try freeName(name, for: invite.vault, called: invite.name), url: url)
        _ = try SharedVault.newURL(join.url)
        let joining = try joining(join)
        var pause = Self.pause
        while let delay = try Self.ask(joining) {
            guard invite.expires > Clock.realTime else { throw .joining(.notJoined(.expired)) }
            guard waits, isHeard(), !isEnding else { throw .joining(.notJoined(delay)) }
            progress(Progress(done: 0, total: 0, note: "\(delay)"))
            Self.wait(&pause)
        }
        try profile.add(join)
        beginJoining()
        pause = Self.pause
        while true {
            if let report = try finish(join, progress) { return report }
            if isEnding { throw .joining(.joinInterrupted) }
            guard waits, isHeard() else {
                return JoinReport(vault: join.name, isMember: false, role: "\(invite.role)")
            }
            progress(
                Progress(done: 0, total: 0, note: joinDelay(of: join.invite.vault).map { "\($0)" }))
            Self.wait(&pause)
        }
    }

    private static func wait(_ pause: inout Int64) {
        _ = Condition(()).wait(nanoseconds: pause) { _ in nil as Void? }
        pause = min(pause * 2, pauseMax)
    }

    /// Puts the request at the remote.
    ///
    /// - Returns: What is still missing at the remote to verify the vault before asking; nil if the request
    ///   was put.
    private static func ask(_ joining: Joining) throws(ClientError) -> JoinError? {
        do throws(JoinError) {
            try AwaitedTask { () async throws(JoinError) in
                do throws(JoinError) { try await joining.join() } catch {
                    // A person who was added by card is a member already.
                    if case .alreadyMember = error { return }
                    throw error
                }
            }.wait()
            return nil
        } catch {
            guard error.isNotArrived else { throw .joining(.notJoined(error)) }
            return error
        }
    }

    /// Gives up a pending join, and deletes the request at the remote.
    ///
    /// - Parameter text: The name that the vault was to have here, or the invite.
    /// - Throws: `.noSuchJoin`; `.requestStays` if the request could not be deleted; the join is given up
    ///   anyway.
    func cancelJoin(_ text: String) throws(ClientError) {
        let invited = (try? Invite(text: text))?.vault
        let join = profile.joins.first { $0.name.hasSameBytes(as: text) || $0.invite.vault == invited }
        guard let join else { throw .joining(.noSuchJoin(name: invited == nil ? text : nil)) }
        let joining = try joining(join)
        try alone(join.invite.vault, join.name) { () throws(ClientError) in
            try endJoin(of: join.invite.vault, .cancelled)
        }
        do throws(JoinError) {
            try AwaitedTask { () async throws(JoinError) in try await joining.withdraw() }.wait()
        } catch {
            throw .joining(.requestStays(name: join.name, error))
        }
    }

    /// Polls all pending joins once, and opens the vaults that admitted this person.
    func tryJoins() {
        for join in profile.joins where !isEnding {
            do throws(ClientError) { _ = try finish(join) { _ in } } catch {
                reportNotJoined(join, error)
            }
        }
    }

    /// Logs once why a vault was not joined.
    private func reportNotJoined(_ join: PendingJoin, _ error: ClientError) {
        let text = "The vault “\(join.name)” was not joined: \(error)"
        if !problems.all.contains(where: { $0.text == text }) { problems.add(text) }
    }

    /// Polls all pending joins every 2 s until the task is cancelled.
    func keepJoining() async {
        let thread = BlockingCalls("coffer-join", max: 1)
        while !Task.isCancelled {
            if !profile.joins.isEmpty { await thread.run { self.tryJoins() } }
            guard (try? await Task.sleep(for: .seconds(2))) != nil else { return }
        }
    }

    /// Returns a name that no other vault or pending join has.
    ///
    /// - Parameters:
    ///   - wanted: The name that the user chose; nil for any.
    ///   - called: The inviter's name of the vault, which is used if `wanted` is nil.
    /// - Throws: `.invalidVaultName`, `.vaultExists`.
    func freeName(
        _ wanted: String?, for vault: VaultID, called: String? = nil
    ) throws(ClientError) -> String {
        let joins = profile.joins
        let others = joins.filter { $0.invite.vault != vault }.map(\.name)
        let taken = Set((profile.vaults.map(\.name) + others).map { Array($0.utf8) })
        if let wanted {
            try Profile.validate(vaultName: wanted)
            guard !taken.contains(Array(wanted.utf8)) else { throw .vaultName(.vaultExists(name: wanted)) }
            return wanted
        }
        // An earlier request for this vault may have a name.
        let start = joins.first { $0.invite.vault == vault }?.name ?? Self.usable(called) ?? "Shared"
        var name = start
        var number = 1
        while taken.contains(Array(name.utf8)) {
            number += 1
            name = "\(start) \(number)"
        }
        return name
    }

    /// Returns a name that another person chose, if it is valid for a vault and safe to display.
    private static func usable(_ name: String?) -> String? {
        guard let name, TrustLimits.isName(name), (try? Profile.validate(vaultName: name)) != nil else {
            return nil
        }
        return name
    }

    private func joining(_ join: PendingJoin) throws(ClientError) -> Joining {
        Joining(
            join.invite, card: try profile.identityCard(),
            keys: try ProfileKeys(of: join.invite.vault, in: profile) { _ in },
            remote: SharedVault.patient(try SharedVault.backend(join.url, profile.logins)),
            milliseconds: SharedVault.milliseconds)
    }

    /// Polls a join, and opens the vault after admission.
    ///
    /// - Returns: Nil before admission.
    private func finish(
        _ join: PendingJoin, _ progress: (Progress) -> Void
    ) throws(ClientError) -> JoinReport? {
        let vault = join.invite.vault
        guard let joining = try pending(join) else {
            let record = profile.vaults.first { $0.id == vault }
            guard let record else { throw .joining(.notJoined(endOfJoin(of: vault) ?? .cancelled)) }
            return JoinReport(vault: record.name, isMember: true, role: "\(join.invite.role)")
        }
        guard let joined = try poll(joining, join) else { return nil }
        let shared: SharedVault?
        do throws(ClientError) {
            shared = try alone(vault, join.name) { () throws(ClientError) in try open(joined, join) }
        } catch {
            // Another thread is opening it.
            if case .remoteSetting(.vaultBusy) = error { return nil }
            throw error
        }
        guard let shared else { return nil }
        rootChanged(shared.name)
        // The vault is open; its contents may come later.
        do throws(ClientError) { try shared.sync(progress) } catch { problems.add("\(error)") }
        return JoinReport(vault: shared.name, isMember: true, role: "\(joined.role)")
    }

    /// Returns the protocol of a join; nil if the join has ended.
    private func pending(_ join: PendingJoin) throws(ClientError) -> Joining? {
        guard profile.joins.contains(where: { $0.invite.vault == join.invite.vault }) else { return nil }
        return try joining(join)
    }

    /// Polls the remote for admission, and puts the request again if it is missing.
    ///
    /// - Returns: The vault after admission; nil if the join goes on.
    private func poll(_ joining: Joining, _ join: PendingJoin) throws(ClientError) -> JoinedVault? {
        do throws(JoinError) {
            let answer = try AwaitedTask { () async throws(JoinError) -> JoinAnswer in
                let answer = try await joining.poll()
                if case .unasked = answer { try await joining.join() }
                return answer
            }.wait()
            setJoinDelay(of: join.invite.vault, nil)
            guard case .admitted(let joined) = answer else { return nil }
            return joined
        } catch {
            setJoinDelay(of: join.invite.vault, error.isNotArrived ? error : nil)
            switch error {
            case .remote, .alreadyMember: return nil
            case .expired, .used, .ended, .cancelled: try endJoin(of: join.invite.vault, error)
            case .refused:
                try endJoin(of: join.invite.vault, error)
                // The answer is no longer needed; if it stays at the remote, it tells nothing to others.
                try? AwaitedTask { () async throws(JoinError) in try await joining.withdraw() }.wait()
            // A folder may not be mounted or fully replicated yet, so this may pass.
            case .noVault, .otherVault, .newerVersion, .identityForked, .members:
                if join.invite.expires < Clock.realTime { try endJoin(of: join.invite.vault, error) }
            case .linkMissing, .linkCut, .identityMissing:
                guard join.invite.expires < Clock.realTime else { return nil }
                try endJoin(of: join.invite.vault, error)
            }
            throw .joining(.notJoined(error))
        }
    }

    /// Creates and opens the joined vault; nil if the mount is ending, or if the join has ended meanwhile.
    private func open(_ joined: JoinedVault, _ join: PendingJoin) throws(ClientError) -> SharedVault? {
        let vault = join.invite.vault
        guard !isEnding, profile.joins.contains(where: { $0.invite.vault == vault }) else { return nil }
        let log = LogID(low: Random.number(), high: Random.number())
        let share = VaultShare(vault: vault, url: join.url, log: log)
        try profile.changeUse(of: vault) { $0.isForReading = !joined.role.may(.write) }
        // Another vault may have taken the name meanwhile.
        let name = try freeName(nil, for: vault)
        let store = JoinedStore(share: share, keys: joined.keyring.all)
        let mounted = try vaults.create(name, joined: store, owner: .current)
        return try open(mounted, share)
    }
}
