/// What a command asks of a profile, whether that is mounted or opened for the command alone.
package enum ControlRequest: Codable, Sendable {
    case status
    /// The names of vaults, and of the members of one, for a shell to complete: nothing is stored or counted for it.
    case names(vault: String?)
    /// Brings all that was changed to disk, before an unmount.
    case store
    /// Ends a mount that has been unmounted, also where copies of it are left in other mount namespaces; nothing happens
    /// if another process has mounted the profile meanwhile.
    case end(process: Int32)
    case createVault(name: String)
    case renameVault(name: String, newName: String)
    /// Deletes a vault on this device, and at its remote as well, if that is wanted.
    case deleteVault(name: String, atRemote: Bool = false)
    case check(vault: String?)
    /// Passphrases cross the socket, which only this user can reach, and no disk.
    case changePassphrase(old: [UInt8], new: [UInt8], hint: String?, passes: UInt32, memory: UInt32)
    /// Publishes a vault at a place that others, or other devices, can reach.
    case addRemote(vault: String, url: String)
    /// Goes on syncing a vault at another place, to which all that the present one has was copied.
    case moveRemote(vault: String, url: String)
    /// Stops syncing a vault; what is at the remote stays there.
    case removeRemote(vault: String, contents: RemoteOnly = .refuse)
    /// Bounds what stays here of contents that are at the vault's remote, too, in bytes; nil to keep all.
    case setCacheLimit(vault: String, Int64?)
    /// Tries what a remote must be able to do: that of a vault, or one by its URL.
    case testRemote(RemoteTarget)
    /// Sends and fetches all there is, of one vault or of all that have a remote.
    case sync(vault: String?)
    case invite(vault: String, role: String, seconds: Int64)
    case withdrawInvite(vault: String, id: String)
    /// Adds somebody by the text of an identity card.
    case addMember(vault: String, card: String, role: String)
    case members(vault: String)
    case setRole(vault: String, member: String, role: String)
    case removeMember(vault: String, member: String)
    /// Gives up a change of a member that waits for the remote.
    case cancelMemberChange(vault: String, member: String)
    /// Who was removed, and what they can still read.
    case removals(vault: String)
    case leave(vault: String, successor: String?)
    /// Asks for membership by an invite, which is a secret, and waits for it, as long as somebody waits here; at the
    /// remote that the invite names, or at another way to it.
    case join(invite: String, name: String?, remote: String? = nil, waits: Bool)
    /// Gives up a vault that is to be joined: by what it was to be called, or by the invite.
    case cancelJoin(String)
    case identity
    /// Makes a new transient key now.
    case rollIdentity
    /// The words of a member's identity, or of a card; with words, compares them and remembers the result.
    case verify(IdentityTarget, words: String?)
    /// Keeps the contents of files, and of all files in directories, on this device; fetches them now, or leaves that to
    /// a mount.
    case pin(vault: String, paths: [String], waits: Bool)
    case unpin(vault: String, paths: [String])
    case pins(vault: String?)
    /// Gives up contents that are at the remote, too.
    case evict(vault: String, paths: [String])
    case conflicts(vault: String?)
    case resolveConflict(vault: String, path: String, keeps: ConflictChoice)

    /// Whether it changes vaults, or who has them: not where they are mounted read-only.
    var changesVaults: Bool {
        switch self {
        case .status, .names, .store, .end, .check, .changePassphrase, .testRemote, .members, .removals,
            .identity,
            .verify, .pins,
            .conflicts:
            false
        case .createVault, .renameVault, .deleteVault, .setCacheLimit, .rollIdentity, .addRemote,
            .moveRemote, .removeRemote, .sync, .invite,
            .withdrawInvite, .addMember, .setRole, .removeMember, .cancelMemberChange, .leave, .join,
            .cancelJoin, .pin, .unpin, .evict,
            .resolveConflict:
            true
        }
    }
}

/// A remote that is to be tried.
package enum RemoteTarget: Codable, Sendable {
    case vault(String)
    case url(String)
}

/// What becomes of contents that are at a remote only, when that is given up.
package enum RemoteOnly: String, Codable, Sendable {
    /// It is not given up then.
    case refuse
    /// They are fetched first.
    case fetch
    /// They cannot be read any more.
    case lose
}

/// Whose identity is meant.
package enum IdentityTarget: Codable, Sendable {
    /// A member, by name or by the beginning of the identity's id.
    case member(vault: String, member: String)
    /// Whoever the text of an identity card says.
    case card(String)
}

/// Which of two versions stays.
package enum ConflictChoice: String, Codable, Sendable, CaseIterable {
    /// The one that has the name; the copy is removed.
    case original
    /// The copy, which takes the name; what had it is removed.
    case copy
}

/// What comes back, one after the other; the last is not `progress`.
package enum ControlResponse: Codable, Sendable {
    case progress(Progress)
    case done
    case status(StatusReport)
    case names(vaults: [String], members: [String])
    case check(CheckReport)
    case remoteTest(RemoteTestReport)
    case sync([SyncReport])
    /// A line that is for people or programs to take along, as an invite.
    case text(String)
    case members(MembersReport)
    case removals([RemovalReport])
    case joined(JoinReport)
    case identity(IdentityReport)
    case pins([PinReport])
    case evicted(EvictReport)
    case conflicts([ConflictReport])
    case failure(code: Int32, message: String)
}

/// How far long work has come.
package struct Progress: Codable, Sendable {
    /// How much is done, in the unit of `total`: for a check, bytes of content.
    package let done: Int
    /// How much there is to do.
    ///
    /// May grow meanwhile; 0 where it is not known, as where somebody is waited for.
    package let total: Int
    /// Whether both are bytes.
    package var isBytes = false
    /// What goes to a remote and comes from it; absent for other work.
    package let transfer: Transfer?
    /// What is waited for, for people; absent where that is plain.
    package var note: String?

    /// Work that has come so far.
    package init(
        done: Int, total: Int, isBytes: Bool = false, transfer: Transfer? = nil, note: String? = nil
    ) {
        self.note = note
        self.done = done
        self.total = total
        self.isBytes = isBytes
        self.transfer = transfer
    }

    /// What went to a remote and came from it since a command asked, and what is left.
    package struct Transfer: Codable, Sendable, Equatable {
        /// Bytes of objects that were sent, and that were fetched.
        package let sent: Int64, received: Int64
        /// Items and names with changes that are still to be sent, as far as they are known.
        package let items: Int
        /// Commits of others that are known and not applied.
        package let commits: Int
        /// Bytes of contents that are still to be sent, as far as they are known.
        package let left: Int64

        /// What was counted.
        package init(sent: Int64, received: Int64, items: Int, commits: Int, left: Int64 = 0) {
            self.left = left
            self.sent = sent
            self.received = received
            self.items = items
            self.commits = commits
        }
    }
}
