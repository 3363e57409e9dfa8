package import CofferSystem

/// A failure to mount or unmount.
package enum MountError: Error {
    case mountPoint(path: String, MountPointProblem)
    case noFUSE(SystemError)
    case notMounted(path: String)
    /// Changes that programs take for done are not on disk.
    case notStored(path: String, reason: String, isUnmounted: Bool)
    /// The process in the background ended without a reason.
    case endedEarly

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
        /// It belongs to this user, and was to be unmounted as another one.
        case otherUsers(String)
        /// The process that serves it cannot be found.
        case unknownServer
    }
}

extension MountError: CustomStringConvertible {
    package var description: String {
        switch self {
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
        case .endedEarly:
            "The mount ended before it was ready. To see why, use: coffer mount --foreground"
        }
    }

    var exitCode: Int32 {
        switch self {
        case .mountPoint(_, let problem): problem.exitCode
        case .noFUSE: 69  // EX_UNAVAILABLE
        case .notMounted: 72  // EX_OSFILE
        case .notStored: 74  // EX_IOERR
        case .endedEarly: 76  // EX_PROTOCOL
        }
    }
}

extension MountError.MountPointProblem {
    fileprivate var exitCode: Int32 {
        switch self {
        case .busy, .inUse, .busyHere, .busyElsewhere, .detached: 75  // EX_TEMPFAIL
        case .missing, .notDirectory, .notEmpty, .notOurs, .inProfile: 72  // EX_OSFILE
        case .otherUsers: 77  // EX_NOPERM
        case .unknownServer: 76  // EX_PROTOCOL
        }
    }

    fileprivate var text: String {
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
        case .otherUsers(let user):
            """
            the mount is served by a profile of \(user). Unmount it as \(user), so that everything is stored \
            first, or regardless with: coffer unmount --force
            """
        case .unknownServer:
            """
            the process that serves this mount cannot be found, so nobody can tell when everything is stored. \
            Name its profile with --home, or unmount without waiting with: coffer unmount --force
            """
        case .detached(let process):
            """
            the mount was detached, but is still in use; its process \(process) ends with its last user. End \
            it now with: coffer unmount --force
            """
        }
    }
}
