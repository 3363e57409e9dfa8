package import CofferFormat
package import CofferRemote
package import CofferSync
package import CofferSystem
package import CofferTrust

/// A failure of a command or of the mount; its description tells a user what happened and what to do next.
package enum ProfileError: Error {
    case noProfile(path: String)
    case profileExists(path: String)
    /// Other users may enter the directory that was chosen for a new profile, and it is not empty.
    case notPrivate(path: String)
    case damagedProfile(path: String)
    case newerProfile(path: String, found: UInt32, supported: UInt32)
    case wrongPassphrase(hint: String?)
    case tooManyAttempts(seconds: Int64)
    case emptyPassphrase
    /// The new passphrase and its repetition differ.
    case passphrasesDiffer
    /// The hint contains the passphrase.
    case hintTellsPassphrase
    /// The name of a person or a machine is not safe to show to other members.
    case invalidName(String)
    /// A passphrase is needed, and there is no terminal to ask for it.
    case noTerminal
    case noMemory
    case locked(LockNote?)
    case noSuchVault(name: String)
    case vaultExists(name: String)
    case invalidVaultName(name: String)
    case vaultNotEmpty(name: String)
    case mountPoint(path: String, MountPointProblem)
    case noFUSE(SystemError)
    case notMounted(path: String)
    /// Changes that programs take for done are not on disk.
    case notStored(path: String, reason: String, isUnmounted: Bool)
    case system(SystemError)
    case vault(FileSystemError)
    /// A key or a change of members is not trusted or not allowed.
    case trust(TrustError)
    /// A failure with no case of its own, such as the text of a mount's error; a full sentence.
    case control(String)
    /// The mount is of an older version, whose control protocol differs.
    case olderMount
    /// A vault cannot be synced.
    case sync(vault: String, SyncError)
    /// The remote failed.
    case remote(RemoteError)
    /// The text is not the URL of a remote.
    case remoteURL(RemoteURL.Mistake)
    case noRemote(vault: String)
    case hasRemote(vault: String, url: String)
    /// The vault was synced to another remote, and this remote does not have it.
    case otherRemote(vault: String, url: String)
    /// The remote has the vault, but some objects are missing.
    case incompleteRemote(vault: String, url: String)
    /// Content of the vault is only at its remote.
    case remoteOnly(vault: String, items: Int, bytes: Int64)
    /// The vault cannot be deleted at its remote while it has other members.
    case othersAreMembers(vault: String, count: Int)
    /// Only an owner may delete the vault at its remote.
    case notOwner(vault: String)
    /// Another command is adding, moving or removing the vault's remote.
    case vaultBusy(name: String)
    /// This profile already has the vault that the invite names.
    case hasVault(name: String)
    /// Joining by an invite failed.
    case notJoined(JoinError)
    /// No vault of this name is waiting to be joined; nil if an invite was given instead of a name.
    case noSuchJoin(name: String?)
    /// The join was given up here, but the request is still at the remote.
    case requestStays(name: String, JoinError)
    /// The mount ended while a command waited to be admitted to a vault.
    case joinInterrupted
    /// No member has this name.
    case noSuchMember(name: String, vault: String)
    /// Several members have this name.
    case ambiguousMember(name: String, vault: String)
    /// The words are not those of the identity.
    ///
    /// `first` is the position of the first word that differs, counted from 1; nil if the number of words is
    /// wrong.
    case otherWords(first: Int?)
    /// No open invite of this person begins with the id, or several do.
    case noSuchInvite(id: String)
    case noSuchConflict(path: String)
    case noSuchPath(path: String, vault: String)
    /// The item has no pin of its own; a directory above it may have one.
    case notPinned(path: String, vault: String)
    /// Content is pinned, but not all of it could be fetched.
    case notFetched(vault: String, bytes: Int64, FileSystemError)

    /// The answer of the mount does not fit the request.
    package static var otherAnswer: ProfileError {
        .control("The mount sent an answer that does not fit the request. Update coffer, and remount.")
    }

    /// Why a path cannot be mounted or unmounted.
    package enum MountPointProblem: Sendable, Equatable {
        case missing
        case notDirectory
        case notEmpty
        case notOurs
        case inUse
        case busy
        /// These programs use another mount of the same filesystem.
        case busyHere(String)
        /// These programs use it in another mount namespace.
        case busyElsewhere(String)
        /// It was unmounted lazily; its process still serves programs that have files open.
        case detached(process: Int32)
        case inProfile
    }
}

extension ProfileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noProfile(let path): "There is no profile in \(path). Make one with: coffer init"
        case .profileExists(let path):
            """
            There is already a profile in \(path). Choose another directory with --home, or use this profile \
            with: coffer mount
            """
        case .notPrivate(let path):
            """
            \(path) is not empty, and other users can access it. Choose another folder, or make this one \
            private with “chmod 700 \(path)”.
            """
        case .damagedProfile(let path):
            "The profile file \(path) is damaged, or is not a profile. Restore it from a backup."
        case .newerProfile(let path, let found, let supported):
            """
            The profile file \(path) has format \(found), but this version of coffer reads only formats up \
            to \(supported). Update coffer.
            """
        case .wrongPassphrase(let hint):
            "The passphrase is wrong." + (hint.map { " Your hint: \($0)" } ?? "")
                + " If you are sure that it is right, the profile file may be damaged: restore it from a backup."
        case .tooManyAttempts(let seconds):
            "Too many wrong passphrases. Try again in \(seconds) second\(seconds == 1 ? "" : "s")."
        case .emptyPassphrase: "The passphrase is empty. Enter at least one character."
        case .passphrasesDiffer: "The two passphrases differ. Nothing was changed; try again."
        case .hintTellsPassphrase:
            """
            The hint contains the passphrase, and anyone who has the profile file can read the hint. Choose \
            a hint that only you understand, or none.
            """
        case .invalidName(let name):
            """
            “\(name)” cannot be the name of a person or a machine: use 1 to 255 bytes without control \
            characters, and without characters that change the direction of text. Choose another with --name \
            or --device.
            """
        case .noTerminal:
            """
            There is no terminal to ask for the passphrase. Use --passphrase-file, COFFER_PASSPHRASE_FILE, \
            or the credential “coffer.passphrase” of a systemd unit.
            """
        case .noMemory:
            "There is not enough memory to check the passphrase. Close other programs, and try again."
        case .locked(let note):
            if let note {
                "The profile is in use by process \(note.process)\(note.place). Try again when it has ended."
            } else {
                "The profile is in use by another process. Try again when it has ended."
            }
        case .noSuchVault(let name): "There is no vault named “\(name)”. List them with: coffer vault list"
        case .vaultExists(let name): "There is already a vault named “\(name)”. Choose another name."
        case .invalidVaultName(let name):
            """
            “\(name)” cannot be the name of a vault: use 1 to 255 bytes without “/”, and no dot at the \
            beginning.
            """
        case .vaultNotEmpty(let name):
            "The vault “\(name)” is not empty. To delete it with its contents, use: coffer vault delete"
        case .mountPoint(let path, let problem): "\(path): \(problem.text)"
        case .noFUSE(let error): "FUSE cannot be used: \(error)."
        case .notMounted(let path): "\(path): no vaults are mounted here."
        case .notStored(let path, let reason, false):
            """
            \(path) stays mounted, because the latest changes cannot be stored: \(reason). Fix this and try \
            again, or discard the changes with: coffer unmount --force
            """
        case .notStored(let path, let reason, true):
            "\(path) is unmounted, but the latest changes could not be stored, and are lost: \(reason)."
        case .system(let error): "\(error)."
        case .vault(let error): "\(error.summary)."
        case .trust(let error): "Not possible: \(error)."
        case .control(let text): text
        case .olderMount: "The mount is of an older version of Coffer. Unmount it, and mount again."
        case .sync(let vault, .membership(let error)): "“\(vault)”: \(error)."
        case .sync(let vault, let error): "“\(vault)” cannot be synced: \(error)."
        case .remote(let error): "Remote error: \(error)."
        case .remoteURL(let mistake): "\(mistake)"
        case .noRemote(let vault): "“\(vault)” has no remote. Give it one with: coffer remote add"
        case .hasRemote(let vault, let url):
            "“\(vault)” already has a remote, \(url). To use another one, see: coffer remote move --help"
        case .otherRemote(let vault, let url):
            """
            “\(vault)” was synced to another remote, and \(url) does not have it. To move the vault, first \
            copy everything that the other remote has of it to \(url).
            """
        case .incompleteRemote(let vault, let url):
            """
            \(url) has only a part of “\(vault)”: commits, contents, or changes of its members are missing. \
            Copy everything that the current remote has of it there while no device syncs it, and try again.
            """
        case .remoteOnly(let vault, let items, let bytes):
            """
            \(ByteText.of(bytes)) of \(items) file\(items == 1 ? "" : "s") in “\(vault)” are only at the \
            remote, and would no longer be readable. Fetch them first with --fetch, or give them up with \
            --force.
            """
        case .othersAreMembers(let vault, let count):
            """
            “\(vault)” has \(count) other member\(count == 1 ? "" : "s"), who would lose it. Remove them \
            first with coffer member remove, or delete the vault on this device only.
            """
        case .notOwner(let vault):
            """
            Only an owner may delete “\(vault)” at its remote. To delete it on this device only, omit \
            --at-remote.
            """
        case .vaultBusy(let name):
            "Another command is changing the remote of “\(name)”. Try again when it has ended."
        case .hasVault(let name): "You already have this vault: on this device, its name is “\(name)”."
        case .notJoined(let error): "You cannot join: \(error)."
        case .noSuchJoin(let name?):
            "You have not asked to join a vault named “\(name)”. List your requests with: coffer status"
        case .noSuchJoin(nil):
            "You have not asked to join with this invite. List your requests with: coffer status"
        case .requestStays(let name, let error):
            """
            You no longer ask to join “\(name)”, but your request could not be deleted at the remote, so you \
            may still become a member: \(error).
            """
        case .joinInterrupted:
            "The mount ended before you were admitted. Your request stays; the next mount continues to wait."
        case .noSuchMember(let name, let vault):
            "“\(vault)” has no member “\(name)”. List the members with: coffer member list"
        case .ambiguousMember(let name, let vault):
            """
            Several members of “\(vault)” are called “\(name)”. Use the beginning of the member's identity \
            instead.
            """
        case .otherWords(let first?): "The words do not match: word \(first) is the first that differs."
        case .otherWords(nil): "The words do not match: an identity has eight words."
        case .noSuchInvite(let id):
            "No open invite begins with “\(id)”, or several do. List them with: coffer member list"
        case .noSuchPath(let path, let vault): "“\(vault)” has no “\(path)”."
        case .notPinned(let path, let vault):
            "“\(path)” in “\(vault)” has no pin of its own. List the pins with: coffer pin --list"
        case .notFetched(let vault, let bytes, .noSpace):
            """
            The pin is set, but \(ByteText.of(bytes)) in “\(vault)” could not be fetched: the disk that \
            holds the profile is full. A mount fetches the rest once there is space.
            """
        case .notFetched(let vault, let bytes, let error):
            """
            The pin is set, but \(ByteText.of(bytes)) in “\(vault)” could not be fetched: \(error.summary). \
            A mount keeps trying.
            """
        case .noSuchConflict(let path): "“\(path)” is not a conflict copy. List them with: coffer conflicts"
        }
    }
}

extension ProfileError.MountPointProblem {
    var text: String {
        switch self {
        case .missing:
            """
            the mount point does not exist, and neither does its parent directory. Create the parent first.
            """
        case .notDirectory: "the mount point is not a directory. Choose a directory."
        case .notEmpty:
            """
            the mount point is not empty, and a mount would hide its contents. Move them away first.
            """
        case .notOurs: "the mount point belongs to another user. Choose a directory of your own."
        case .inUse: "something is already mounted here. Unmount it first, or choose another directory."
        case .inProfile:
            """
            the mount point is inside the profile, and a mount would hide part of it. Choose another \
            directory.
            """
        case .busy: "the mount is in use. Close the files that are open in it, and try again."
        case .busyHere(let users):
            """
            the mount is also mounted at another place, and in use there by \(users). End these programs and \
            try again, or unmount regardless with: coffer unmount --force
            """
        case .busyElsewhere(let users):
            """
            the mount is in use in another mount namespace by \(users). End these programs and try again, or \
            unmount regardless with: coffer unmount --force
            """
        case .detached(let process):
            """
            the mount was detached, but is still in use; its process \(process) ends with its last user. End \
            it now with: coffer unmount --force
            """
        }
    }
}

/// The note that the holder of a profile's lock leaves in the lock file for other processes.
package struct LockNote: Sendable, Equatable {
    /// The process id of the holder.
    package let process: Int32
    /// The path where the vaults are mounted; empty if they are not.
    package let mountPoint: String
    /// The path of the mount's control socket; empty without a mount.
    package let socket: String
    /// Why the latest changes could not be stored when the mount ended; empty if they were, or if it has not
    /// ended.
    package let failure: String

    package init(process: Int32, mountPoint: String, socket: String, failure: String = "") {
        self.process = process
        self.mountPoint = mountPoint
        self.socket = socket
        self.failure = failure
    }

    /// Parses the lock file; nil if it is malformed.
    ///
    /// The path of the mount point may contain newlines. The lines are split by bytes, because a Swift string
    /// treats a carriage return at the end of the path and the newline after it as one character.
    init?(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count >= 4, let last = lines.last, last.isEmpty,
            let first = lines[0].split(separator: UInt8(ascii: " "), maxSplits: 1).first,
            let process = Int32(String(decoding: first, as: UTF8.self))
        else { return nil }
        let mountPoint = Array(lines[1..<lines.count - 2].joined(separator: [UInt8(ascii: "\n")]))
        self.init(
            process: process, mountPoint: String(decoding: mountPoint, as: UTF8.self),
            socket: String(decoding: lines[lines.count - 2], as: UTF8.self),
            failure: String(decoding: lines[0].dropFirst(first.count + 1), as: UTF8.self))
    }

    var text: String {
        let failure = failure.split(separator: "\n").joined(separator: " ")
        return "\(process)\(failure.isEmpty ? "" : " \(failure)")\n\(mountPoint)\n\(socket)\n"
    }

    var place: String { mountPoint.isEmpty ? "" : ", mounted at \(mountPoint)" }
}

/// Runs system calls, and wraps an error that they throw in `.system`.
package func systemCalls<Result: ~Copyable>(
    _ body: () throws(SystemError) -> Result
) throws(ProfileError) -> Result {
    do throws(SystemError) { return try body() } catch { throw .system(error) }
}
