package import CofferRemote
package import CofferStore
package import CofferSync
package import CofferSystem
package import CofferTrust
package import CofferVault

/// Why the profile, or something in it, could not be used; with what a user can do about it.
package enum ProfileError: Error {
    case noProfile(path: String)
    case profileExists(path: String)
    /// Others may enter the directory that a profile is to be made in, and it holds other files.
    case notPrivate(path: String)
    case damagedProfile(path: String)
    case newerProfile(path: String, found: UInt32, supported: UInt32)
    case wrongPassphrase(hint: String?)
    case tooManyAttempts(seconds: Int64)
    case emptyPassphrase
    /// Two passphrases that should be the same are not.
    case passphrasesDiffer
    /// The hint has the passphrase in it.
    case hintTellsPassphrase
    /// A name of a person or a machine that others could not be shown.
    case invalidName(String)
    /// Nobody can be asked for a passphrase.
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
    /// Changes that programs were told to be made are not on disk.
    case notStored(path: String, reason: String, isUnmounted: Bool)
    case system(SystemError)
    case store(StoreError)
    case vault(FileSystemError)
    /// Something about members or keys is not trusted, or not possible.
    case trust(TrustError)
    /// The mount answered something that this program does not understand.
    case control(String)
    /// A mount of a version that is asked in another way.
    case olderMount
    /// Sync of a vault does not go on.
    case sync(vault: String, SyncError)
    /// The remote does not do what it must.
    case remote(RemoteError)
    /// The text is no remote's URL.
    case remoteURL(RemoteURL.Mistake)
    case noRemote(vault: String)
    case hasRemote(vault: String, url: String)
    /// The vault was at another remote, and this one does not have it.
    case otherRemote(vault: String, url: String)
    /// The vault is at that place, but not all of it.
    case incompleteRemote(vault: String, url: String)
    /// Contents of a vault are at its remote only.
    case remoteOnly(vault: String, items: Int, bytes: Int64)
    /// A vault is not deleted at its remote while others use it there, nor by somebody who may not.
    case othersAreMembers(vault: String, count: Int)
    case notOwner(vault: String)
    /// Another command gives the vault a remote, or takes it away.
    case vaultBusy(name: String)
    /// The vault that is to be joined is there.
    case hasVault(name: String)
    /// Why somebody who was invited does not get in.
    case notJoined(JoinError)
    /// No vault is to be joined by this name; absent where an invite was given.
    case noSuchJoin(name: String?)
    /// A vault is not to be joined any more, but the remote still has the request.
    case requestStays(name: String, JoinError)
    /// The mount ends before somebody who waits was admitted.
    case joinInterrupted
    /// Nobody is meant by this name, or several are.
    case noSuchMember(name: String, vault: String)
    case ambiguousMember(name: String, vault: String)
    /// The words are not those of the identity; says which is the first that differs, if the number is right.
    case otherWords(first: Int?)
    /// No open invite of this person's is meant, or several are.
    case noSuchInvite(id: String)
    case noSuchConflict(path: String)
    case noSuchPath(path: String, vault: String)
    /// It is not pinned itself, whether or not a directory is that it lies in.
    case notPinned(path: String, vault: String)
    /// Contents are pinned, and not all here.
    case notFetched(vault: String, bytes: Int64, FileSystemError)

    /// The mount's answer is of another kind than was asked for.
    package static var otherAnswer: ProfileError {
        .control("The mount gave another answer than was asked for.")
    }

    /// What is wrong with a mount point.
    package enum MountPointProblem: Sendable, Equatable {
        case missing
        case notDirectory
        case notEmpty
        case notOurs
        case inUse
        case busy
        /// Programs use it at another place where it is mounted; says which.
        case busyHere(String)
        /// Programs use it in another mount namespace; says which.
        case busyElsewhere(String)
        /// It was unmounted lazily, and its process serves those who still use it.
        case detached(process: Int32)
        case inProfile
    }
}

extension ProfileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noProfile(let path): "There is no profile in \(path). Make one with: coffer init"
        case .profileExists(let path): "There is a profile in \(path) already."
        case .notPrivate(let path):
            "\(path) is open to other users, and not empty. Choose another folder, or close it: chmod 700 \(path)."
        case .damagedProfile(let path): "The profile file \(path) is damaged or not a profile."
        case .newerProfile(let path, let found, let supported):
            "The profile file \(path) has format \(found); this coffer reads up to \(supported). Update coffer."
        case .wrongPassphrase(let hint):
            "The passphrase is wrong." + (hint.map { " Your hint: \($0)" } ?? "")
                + " If you are sure of it, the profile's file may be damaged: try with a backup of it."
        case .tooManyAttempts(let seconds):
            "Too many wrong passphrases. Try again in \(seconds) second\(seconds == 1 ? "" : "s")."
        case .emptyPassphrase: "The passphrase is empty."
        case .passphrasesDiffer: "The two passphrases differ. Nothing was changed; try again."
        case .hintTellsPassphrase:
            """
            The hint has the passphrase in it, and whoever has the profile's file can read hints. Choose a hint that \
            only you understand, or none.
            """
        case .invalidName(let name):
            """
            “\(name)” cannot be the name of a person or a machine: use 1 to 255 bytes without control characters, and \
            without characters that turn the direction of writing. Say another with --name or --device.
            """
        case .noTerminal:
            """
            There is no terminal to ask for the passphrase. Use --passphrase-file, COFFER_PASSPHRASE_FILE, or the \
            credential “coffer.passphrase” of a systemd unit.
            """
        case .noMemory: "There is not enough memory to check the passphrase."
        case .locked(let note):
            if let note {
                "The profile is in use by process \(note.process)\(note.place)."
            } else {
                "The profile is in use by another process."
            }
        case .noSuchVault(let name): "There is no vault named “\(name)”. List them with: coffer vault list"
        case .vaultExists(let name): "There is a vault named “\(name)” already."
        case .invalidVaultName(let name):
            "“\(name)” cannot be the name of a vault: use 1 to 255 bytes without “/”, and no dot at the beginning."
        case .vaultNotEmpty(let name): "The vault “\(name)” is not empty. Remove it with: coffer vault delete"
        case .mountPoint(let path, let problem): "\(path): \(problem.text)"
        case .noFUSE(let error): "FUSE cannot be used: \(error)."
        case .notMounted(let path): "\(path): no vaults are mounted here."
        case .notStored(let path, let reason, false):
            """
            \(path) stays mounted, as the latest changes cannot be stored: \(reason). Make room for them and try \
            again, or give them up with: coffer unmount --force
            """
        case .notStored(let path, let reason, true):
            "\(path) is unmounted, but the latest changes could not be stored, and are lost: \(reason)."
        case .system(let error): "\(error)."
        case .store(let error): "\(error)."
        case .vault(let error): "\(error.summary)."
        case .trust(let error): "Not possible: \(error)."
        case .control(let text): text
        case .olderMount: "The mount is of an older version of Coffer: unmount it, and mount it anew."
        case .sync(let vault, .membership(let error)): "“\(vault)”: \(error)."
        case .sync(let vault, let error): "“\(vault)” cannot be synced: \(error)."
        case .remote(let error): "The remote: \(error)."
        case .remoteURL(let mistake): "\(mistake)"
        case .noRemote(let vault): "“\(vault)” has no remote. Give it one with: coffer remote add"
        case .hasRemote(let vault, let url): "“\(vault)” has a remote already, \(url)."
        case .otherRemote(let vault, let url):
            """
            “\(vault)” was synced to another remote, and \(url) does not have it. To move it, copy all that the other \
            remote has of it there first.
            """
        case .incompleteRemote(let vault, let url):
            """
            \(url) has “\(vault)”, but not all that was synced: commits, contents or changes of its members are \
            missing. Copy all that the present remote has of it there, while no device syncs it, and try again.
            """
        case .remoteOnly(let vault, let items, let bytes):
            """
            \(ByteText.of(bytes)) of \(items) file\(items == 1 ? "" : "s") in “\(vault)” are at the remote only, and could not be \
            read any more. Fetch them first, with --fetch, or give them up, with --force.
            """
        case .othersAreMembers(let vault, let count):
            """
            “\(vault)” has \(count) other member\(count == 1 ? "" : "s"), who would lose it. Remove them first, with \
            coffer member remove, or delete it on this device only.
            """
        case .notOwner(let vault):
            "Only an owner may delete “\(vault)” at its remote. Without --at-remote it goes from this device only."
        case .vaultBusy(let name):
            "Another command works on the remote of “\(name)”. Try again when it is done."
        case .hasVault(let name): "You have this vault already: it is “\(name)” here."
        case .notJoined(let error): "You cannot join: \(error)."
        case .noSuchJoin(let name?): "You have not asked to join a vault “\(name)”. See: coffer status"
        case .noSuchJoin(nil): "You have not asked to join by this invite. See: coffer status"
        case .requestStays(let name, let error):
            """
            “\(name)” is given up here, but the request is still at the remote, so that you may be made a member: \
            \(error).
            """
        case .joinInterrupted: "The mount ends. You have asked to join; the next mount goes on asking."
        case .noSuchMember(let name, let vault): "“\(vault)” has no member “\(name)”."
        case .ambiguousMember(let name, let vault):
            "Several members of “\(vault)” are called “\(name)”; name one by the beginning of its identity."
        case .otherWords(let first?): "The words are not the same: the first that differs is number \(first)."
        case .otherWords(nil): "The words are not the same: an identity has eight."
        case .noSuchInvite(let id):
            "No open invite begins with “\(id)”, or several do. List them with: coffer member list"
        case .noSuchPath(let path, let vault): "“\(vault)” has no “\(path)”."
        case .notPinned(let path, let vault):
            "“\(path)” in “\(vault)” is not pinned by itself. List what is with: coffer pin --list"
        case .notFetched(let vault, let bytes, .noSpace):
            """
            It is pinned, but \(ByteText.of(bytes)) of it in “\(vault)” are not here: the disk that holds the profile has \
            no room for them. A mount fetches them once it has.
            """
        case .notFetched(let vault, let bytes, let error):
            """
            It is pinned, but \(ByteText.of(bytes)) of it in “\(vault)” are not here: \(error.summary). A mount goes on \
            trying.
            """
        case .noSuchConflict(let path): "“\(path)” is no conflict copy. List them with: coffer conflicts"
        }
    }
}

extension ProfileError.MountPointProblem {
    var text: String {
        switch self {
        case .missing: "the mount point does not exist, nor does the directory above it."
        case .notDirectory: "the mount point is not a directory."
        case .notEmpty: "the mount point is not empty; what is in it would be hidden. Move it away first."
        case .notOurs: "the mount point belongs to another user."
        case .inUse: "something is mounted here already."
        case .inProfile:
            "the mount point is in the profile, of which the mount would hide a part. Choose a folder elsewhere."
        case .busy: "the mount is in use; close what is open in it and try again."
        case .busyHere(let users):
            """
            the mount is in use at another place where it is mounted, too, by \(users); end that and try again, or \
            unmount regardless with: coffer unmount --force
            """
        case .busyElsewhere(let users):
            """
            the mount is in use in another mount namespace, by \(users); end that and try again, or unmount regardless \
            with: coffer unmount --force
            """
        case .detached(let process):
            """
            the mount was taken away, and is still used; its process \(process) ends with its last user. End it now with: \
            coffer unmount --force
            """
        }
    }
}

/// What the holder of a profile's lock tells those who find it taken.
package struct LockNote: Sendable, Equatable {
    /// The process id of the holder.
    package let process: Int32
    /// Where the vaults are mounted; empty if they are not.
    package let mountPoint: String
    /// The path of the mount's control socket; empty without a mount.
    package let socket: String
    /// Why not everything could be stored at the end; empty if it was, or the end has not come.
    package let failure: String

    package init(process: Int32, mountPoint: String, socket: String, failure: String = "") {
        self.process = process
        self.mountPoint = mountPoint
        self.socket = socket
        self.failure = failure
    }

    /// Reads the lines of the lock file; nil if they make no sense.
    ///
    /// The mount point may itself have newlines in its name. By bytes: to Swift's text a carriage return at
    /// the end of the name is one character with the newline.
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

/// Runs system calls and turns what they throw into the profile's errors.
func systemCalls<Result: ~Copyable>(_ body: () throws(SystemError) -> Result) throws(ProfileError) -> Result {
    do throws(SystemError) { return try body() } catch { throw .system(error) }
}
