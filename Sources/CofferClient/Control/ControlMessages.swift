/// A request of a command to a profile, which is mounted or was opened for the command.
package enum ControlRequest: Codable, Sendable {
    case status
    /// Lists the names of vaults, and of one vault's members, for shell completion; quick, without storing
    /// anything.
    case names(vault: String?)
    /// Writes all changes to disk, before an unmount.
    case store
    /// Ends the process of a mount that has been unmounted, even if copies are left in other mount
    /// namespaces.
    ///
    /// Does nothing if another process has mounted the profile meanwhile.
    case end(process: Int32)
    case createVault(name: String)
    case renameVault(name: String, newName: String)
    /// Deletes a vault on this device, and optionally at its remote.
    case deleteVault(name: String, atRemote: Bool = false)
    case check(vault: String?)
    /// Changes the passphrase; both cross the socket, which only this user can reach, and never reach a disk.
    case changePassphrase(old: [UInt8], new: [UInt8], hint: String?, passes: UInt32, memory: UInt32)
    /// Publishes a vault at a place that other devices can reach.
    case addRemote(vault: String, url: String)
    /// Moves the sync of a vault to another place, to which the current remote was copied.
    case moveRemote(vault: String, url: String)
    /// Stops syncing a vault; its objects stay at the remote.
    case removeRemote(vault: String, contents: RemoteOnly = .refuse)
    /// Limits how many bytes of content stay here that are also at the remote; nil for no limit.
    case setCacheLimit(vault: String, Int64?)
    /// Tests the remote of a vault, or one by its URL.
    case testRemote(RemoteTarget)
    /// Sends and fetches everything, for one vault or for all that have a remote.
    case sync(vault: String?)
    case invite(vault: String, role: String, seconds: Int64)
    case withdrawInvite(vault: String, id: String)
    /// Adds the person of an identity card, given as text.
    case addMember(vault: String, card: String, role: String)
    case members(vault: String)
    case setRole(vault: String, member: String, role: String)
    case removeMember(vault: String, member: String)
    /// Cancels a change of a member that waits for the remote.
    case cancelMemberChange(vault: String, member: String)
    /// Lists the removed members, and what they can still read.
    case removals(vault: String)
    case leave(vault: String, successor: String?)
    /// Asks to join by an invite, which is a secret, and optionally waits while the client is connected.
    ///
    /// `remote` is another URL by which this person reaches the remote; nil for the one in the invite.
    case join(invite: String, name: String?, remote: String? = nil, waits: Bool)
    /// Gives up a pending join, given by the name that the vault was to have, or by the invite.
    case cancelJoin(String)
    case identity
    /// Makes a new transient key now.
    case rollIdentity
    /// Returns the words of a member's identity or of a card; if words are given, compares them and stores a
    /// match.
    case verify(IdentityTarget, words: String?)
    /// Pins files, and directories with all files in them; fetches the content now, or leaves that to a
    /// mount.
    case pin(vault: String, paths: [String], waits: Bool)
    case unpin(vault: String, paths: [String])
    case pins(vault: String?)
    /// Evicts content that is also at the remote.
    case evict(vault: String, paths: [String])
    case conflicts(vault: String?)
    case resolveConflict(vault: String, path: String, keeps: ConflictChoice)

    /// Whether it changes vaults or their members; such requests are refused on a read-only mount.
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

/// A remote to test.
package enum RemoteTarget: Codable, Sendable {
    case vault(String)
    case url(String)
}

/// How to treat content that is only at the remote, when a vault gives up its remote.
package enum RemoteOnly: String, Codable, Sendable {
    /// Keep the remote, and fail.
    case refuse
    /// Fetch the content first.
    case fetch
    /// Give up the content.
    case lose
}

/// The identity that a request concerns.
package enum IdentityTarget: Codable, Sendable {
    /// A member, by name or by the beginning of the identity's id.
    case member(vault: String, member: String)
    /// The identity of an identity card, given as text.
    case card(String)
}

/// The version of a conflict to keep.
package enum ConflictChoice: String, Codable, Sendable, CaseIterable {
    /// The item with the original name; the copy is removed.
    case original
    /// The copy, which takes the original name; the item that had it is removed.
    case copy
}

/// The answer to a request: any number of `progress`, then one of another case.
package enum ControlResponse: Codable, Sendable {
    case progress(Progress)
    case done
    case status(StatusReport)
    case names(vaults: [String], members: [String])
    case check(CheckReport)
    case remoteTest(RemoteTestReport)
    case sync([SyncReport])
    /// A line to pass on, such as an invite.
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

/// The progress of long work.
package struct Progress: Codable, Sendable {
    /// The work that is done, in the unit of `total`; for a check, bytes of content.
    package let done: Int
    /// The whole work.
    ///
    /// It may grow; 0 if unknown, such as while waiting for another person.
    package let total: Int
    /// Whether `done` and `total` are bytes.
    package var isBytes = false
    /// The traffic with a remote; absent for other work.
    package let transfer: Transfer?
    /// A text about what the work waits for; absent if that is obvious.
    package var note: String?

    /// Makes a report of progress.
    package init(
        done: Int, total: Int, isBytes: Bool = false, transfer: Transfer? = nil, note: String? = nil
    ) {
        self.note = note
        self.done = done
        self.total = total
        self.isBytes = isBytes
        self.transfer = transfer
    }

    /// The traffic with a remote since the request, and the work that is left.
    package struct Transfer: Codable, Sendable, Equatable {
        /// Bytes of objects sent and fetched.
        package let sent: Int64, received: Int64
        /// The number of items and names with unsent changes, as far as known.
        package let items: Int
        /// The number of known commits of others that are not applied yet.
        package let commits: Int
        /// Bytes of content still to send, as far as known.
        package let left: Int64

        /// Makes a report of traffic.
        package init(sent: Int64, received: Int64, items: Int, commits: Int, left: Int64 = 0) {
            self.left = left
            self.sent = sent
            self.received = received
            self.items = items
            self.commits = commits
        }
    }
}
