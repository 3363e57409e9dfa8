internal import CofferCrypto
internal import CofferFUSE
internal import CofferFormat
internal import CofferRemote
internal import CofferSync
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

// Vaults of others that this person becomes a member of.
extension SharedVaults {
    /// After how long it is first looked again whether one was admitted, and how long that grows, in nanoseconds.
    private static let pause: Int64 = 300_000_000, pauseMax: Int64 = 2_000_000_000

    /// Asks for membership by an invite.
    ///
    /// - Parameters:
    ///   - name: What the vault is to be called here; nil for a name that is free.
    ///   - remote: This person's own way to the remote; nil for the one that the invite names.
    ///   - waits: Whether to return only once one is a member.
    ///   - isHeard: Whether somebody waits still; else one's mount goes on asking.
    ///   - progress: Called now and then; tells that somebody waits.
    func join(
        _ text: String, as name: String?, at remote: String? = nil, waits: Bool,
        isHeard: () -> Bool = { true },
        _ progress: (Progress) -> Void
    ) throws(ProfileError) -> JoinReport {
        let invite: Invite
        do throws(TrustError) { invite = try Invite(text: text) } catch { throw .trust(error) }
        if let record = profile.vaults.first(where: { $0.id == invite.vault }) {
            throw .hasVault(name: record.name)
        }
        var url: String?
        if let remote { url = try SharedVault.url(remote).text }
        let join = PendingJoin(
            invite, name: try freeName(name, for: invite.vault, called: invite.name), url: url)
        let joining = try joining(join)
        var pause = Self.pause
        while let delay = try Self.ask(joining) {
            guard invite.expires > Clock.realTime else { throw .notJoined(.expired) }
            guard waits, isHeard(), !isEnding else { throw .notJoined(delay) }
            progress(Progress(done: 0, total: 0, note: "\(delay)"))
            Self.wait(&pause)
        }
        try profile.add(join)
        beginJoining()
        pause = Self.pause
        while true {
            if let report = try finish(join, progress) { return report }
            if isEnding { throw .joinInterrupted }
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

    /// Puts the request.
    ///
    /// - Returns: What has not arrived at the remote, without which it cannot be known whom one asks; nil if one has asked.
    private static func ask(_ joining: Joining) throws(ProfileError) -> JoinError? {
        do throws(JoinError) {
            try Waiting.run { () async throws(JoinError) in
                do throws(JoinError) { try await joining.join() } catch {
                    // As who was added by a card is.
                    if case .alreadyMember = error { return }
                    throw error
                }
            }
            return nil
        } catch {
            guard error.isNotArrived else { throw .notJoined(error) }
            return error
        }
    }

    /// Gives up a vault that is to be joined, and takes the request back.
    ///
    /// - Parameter text: What the vault was to be called here, or the invite.
    /// - Throws: `.noSuchJoin`; `.requestStays` where the remote cannot be reached: it is given up all the same.
    func cancelJoin(_ text: String) throws(ProfileError) {
        let invited = (try? Invite(text: text))?.vault
        let join = profile.joins.first { $0.name.hasSameBytes(as: text) || $0.invite.vault == invited }
        guard let join else { throw .noSuchJoin(name: invited == nil ? text : nil) }
        let joining = try joining(join)
        try alone(join.invite.vault, join.name) { () throws(ProfileError) in
            try endJoin(of: join.invite.vault, .cancelled)
        }
        do throws(JoinError) {
            try Waiting.run { () async throws(JoinError) in try await joining.withdraw() }
        } catch {
            throw .requestStays(name: join.name, error)
        }
    }

    /// Looks whether one was admitted to vaults that were asked for, and opens them.
    func tryJoins() {
        for join in profile.joins where !isEnding {
            do throws(ProfileError) { _ = try finish(join) { _ in } } catch {
                noteNotJoined(join, error)
            }
        }
    }

    /// Tells once why a vault was not joined.
    private func noteNotJoined(_ join: PendingJoin, _ error: ProfileError) {
        let text = "The vault “\(join.name)” was not joined: \(error)"
        if !problems.all.contains(where: { $0.text == text }) { problems.add(text) }
    }

    /// Asks until all vaults that are to be joined are, or the sharing ends.
    func keepJoining() async {
        let thread = BlockingThread("coffer-join")
        while !Task.isCancelled {
            if !profile.joins.isEmpty { await thread.run { self.tryJoins() } }
            guard (try? await Task.sleep(for: .seconds(2))) != nil else { return }
        }
    }

    /// A name that no vault has, nor one that is to be joined.
    ///
    /// - Parameter called: What who invites calls it, where nothing is wanted.
    private func freeName(
        _ wanted: String?, for vault: VaultID, called: String? = nil
    ) throws(ProfileError) -> String {
        let joins = profile.joins
        let others = joins.filter { $0.invite.vault != vault }.map(\.name)
        let taken = Set((profile.vaults.map(\.name) + others).map { Array($0.utf8) })
        if let wanted {
            try Profile.validate(vaultName: wanted)
            guard !taken.contains(Array(wanted.utf8)) else { throw .vaultExists(name: wanted) }
            return wanted
        }
        // Who asks once more may have given a name before.
        let start = joins.first { $0.invite.vault == vault }?.name ?? Self.usable(called) ?? "Shared"
        var name = start
        var number = 1
        while taken.contains(Array(name.utf8)) {
            number += 1
            name = "\(start) \(number)"
        }
        return name
    }

    /// A name that somebody else chose, if it may be that of a vault and shows what it is.
    private static func usable(_ name: String?) -> String? {
        guard let name, TrustLimits.isName(name), (try? Profile.validate(vaultName: name)) != nil else {
            return nil
        }
        return name
    }

    private func joining(_ join: PendingJoin) throws(ProfileError) -> Joining {
        Joining(
            join.invite, card: try profile.identityCard(),
            keys: try ProfileKeys(of: join.invite.vault, in: profile) { _ in },
            remote: SharedVault.patient(try SharedVault.backend(join.url)),
            milliseconds: SharedVault.milliseconds)
    }

    /// Opens the vault if one was admitted.
    ///
    /// - Returns: Nil if one was not yet.
    private func finish(
        _ join: PendingJoin, _ progress: (Progress) -> Void
    ) throws(ProfileError) -> JoinReport? {
        let vault = join.invite.vault
        guard let joining = try pending(join) else {
            let record = profile.vaults.first { $0.id == vault }
            guard let record else { throw .notJoined(endOfJoin(of: vault) ?? .cancelled) }
            return JoinReport(vault: record.name, isMember: true, role: "\(join.invite.role)")
        }
        guard let joined = try poll(joining, join) else { return nil }
        let shared: SharedVault?
        do throws(ProfileError) {
            shared = try alone(vault, join.name) { () throws(ProfileError) in try open(joined, join) }
        } catch {
            // Another thread is at it.
            if case .vaultBusy = error { return nil }
            throw error
        }
        guard let shared else { return nil }
        rootChanged(shared.name)
        // The vault is there; what it holds may come later.
        do throws(ProfileError) { try shared.sync(progress) } catch { problems.add("\(error)") }
        return JoinReport(vault: shared.name, isMember: true, role: "\(joined.role)")
    }

    /// What asks for a vault; nil if that is not to be joined any more.
    private func pending(_ join: PendingJoin) throws(ProfileError) -> Joining? {
        guard profile.joins.contains(where: { $0.invite.vault == join.invite.vault }) else { return nil }
        return try joining(join)
    }

    /// Looks at the remote whether one was admitted, and asks again if need be.
    private func poll(_ joining: Joining, _ join: PendingJoin) throws(ProfileError) -> JoinedVault? {
        do throws(JoinError) {
            let answer = try Waiting.run { () async throws(JoinError) -> JoinAnswer in
                let answer = try await joining.poll()
                if case .unasked = answer { try await joining.join() }
                return answer
            }
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
                // Nobody needs the answer any more; what lies there tells nothing to others.
                try? Waiting.run { () async throws(JoinError) in try await joining.withdraw() }
            // A folder may not be mounted, or not be replicated to its end: that may be mended.
            case .noVault, .otherVault, .newerVersion, .identityForked, .members:
                if join.invite.expires < Clock.realTime { try endJoin(of: join.invite.vault, error) }
            case .linkMissing, .linkCut, .identityMissing:
                guard join.invite.expires < Clock.realTime else { return nil }
                try endJoin(of: join.invite.vault, error)
            }
            throw .notJoined(error)
        }
    }

    /// Makes the vault that one is a member of; nil if the mount ends, or that was done meanwhile.
    private func open(_ joined: JoinedVault, _ join: PendingJoin) throws(ProfileError) -> SharedVault? {
        let vault = join.invite.vault
        guard !isEnding, profile.joins.contains(where: { $0.invite.vault == vault }) else { return nil }
        let log = LogID(low: Random.number(), high: Random.number())
        let share = VaultShare(vault: vault, url: join.url, log: log)
        try profile.changeUse(of: vault) { $0.isForReading = !joined.role.may(.write) }
        // The name may have been taken since.
        let name = try freeName(nil, for: vault)
        let mounted = try vaults.create(name, joined: (share, joined.keyring.all), owner: .current)
        do throws(FileSystemError) { try mounted.vault.beginTracking() } catch { throw .vault(error) }
        return try open(mounted, share)
    }
}
