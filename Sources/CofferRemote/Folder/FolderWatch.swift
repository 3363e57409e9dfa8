internal import CofferSystem

/// Watches a folder for changes below a prefix, on a thread of its own.
///
/// The kernel reports changes that this machine makes (inotify). On file systems that other machines change,
/// the thread also polls on a schedule. If the kernel cannot report changes, the thread only polls.
final class FolderWatch: Sendable {
    /// The interval at which a silent watch checks whether its folder is still the same, in milliseconds.
    ///
    /// The kernel does not report that something was mounted on it.
    private static let recheck: Int32 = 60_000

    private let tree: FolderTree
    private let prefix: RemotePrefix
    private let mailbox: ChangeMailbox
    private let watch: DirectoryWatch
    private let usesNotifications: Bool

    private init(
        _ tree: FolderTree, below prefix: RemotePrefix, _ mailbox: ChangeMailbox, _ watch: DirectoryWatch,
        usesNotifications: Bool
    ) {
        self.tree = tree
        self.prefix = prefix
        self.mailbox = mailbox
        self.watch = watch
        self.usesNotifications = usesNotifications
    }

    /// The changes below a prefix.
    ///
    /// The thread ends when the sequence does.
    static func changes(
        of tree: FolderTree, below prefix: RemotePrefix, polling: PollSchedule, usesNotifications: Bool = true
    ) -> RemoteChanges {
        let mailbox = ChangeMailbox(below: prefix)
        // The reader has to find out about changes before the watch began.
        mailbox.post(prefix)
        do throws(SystemError) {
            let watch = try DirectoryWatch()
            let folder = FolderWatch(
                tree, below: prefix, mailbox, watch, usesNotifications: usesNotifications)
            try Thread.startDetached("coffer-watch") { folder.run(polling) }
            return mailbox.changes { watch.wake() }
        } catch {
            // No descriptors or threads are left. Changes are only hints, so silence is allowed.
            return mailbox.changes {}
        }
    }

    private func run(_ polling: PollSchedule) {
        var polling = polling
        var watched = WatchedDirectories(tree, below: prefix)
        var isWatched = usesNotifications && watched.scan(watch)
        var fingerprint =
            watched.needsPolling || !isWatched ? FolderFingerprint(of: tree, below: prefix) : nil
        // Covers changes that happened until the watch was in place.
        mailbox.post(prefix)
        var lookTime = Clock.monotonic
        while !mailbox.isEnded {
            let pause = fingerprint == nil ? Self.recheck : polling.pause
            let left = lookTime + Int64(pause) * 1_000_000 - Clock.monotonic
            guard let events = try? watch.wait(milliseconds: Int32(max(0, left / 1_000_000))) else { return }
            if mailbox.isEnded { return }
            if watched.handle(events, mailbox) { isWatched = rescan(&watched) }
            guard left <= 1_000_000 else { continue }
            lookTime = Clock.monotonic
            if isWatched, watched.isElsewhere {
                mailbox.post(prefix)
                isWatched = rescan(&watched)
            }
            guard watched.needsPolling || !isWatched else {
                fingerprint = nil
                continue
            }
            let now = FolderFingerprint(of: tree, below: prefix)
            let hasChanged = now != fingerprint
            if hasChanged { mailbox.post(prefix) }
            polling.looked(hasChanged: hasChanged)
            fingerprint = now
        }
    }

    /// Watches new directories, and posts a change for each, as something may be in them already.
    private func rescan(_ watched: inout WatchedDirectories) -> Bool {
        let before = watched.prefixes
        let isComplete = watched.scan(watch)
        for prefix in watched.prefixes.subtracting(before) { mailbox.post(prefix) }
        return isComplete
    }
}
