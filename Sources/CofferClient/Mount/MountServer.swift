/// The process that serves a mount, and its profile.
struct MountServer {
    let location: ProfileLocation
    /// What it left in the profile's lock.
    let note: LockNote

    /// Finds the server of the mount at a path.
    ///
    /// The mount decides, not the profile that a command was told to use: the records of mounts lead from the
    /// filesystem's device number to the profile. Without a record, the given profile counts if its lock
    /// names this path.
    ///
    /// - Parameters:
    ///   - mount: What is mounted there; nil if it was detached earlier, and its process still runs.
    ///   - path: The mount point, without symbolic links.
    ///   - given: The profile that the user named, or the default one.
    ///   - records: The records of all living mounts.
    static func find(
        _ mount: MountTable.Mount?, at path: String, _ given: ProfileLocation, _ records: [MountRecord]
    ) -> MountServer? {
        if let mount, let record = records.first(where: { $0.device == mount.device }) {
            return MountServer(record.location)
        }
        if let server = MountServer(given), server.note.mountPoint == path, given.isLocked {
            // Its own mount was detached, and this is another one.
            let isOther = records.contains { $0.process == server.note.process && $0.device != nil }
            if mount == nil || !isOther { return server }
        }
        guard mount == nil else { return nil }
        return records.lazy.compactMap { MountServer($0.location) }.first { $0.note.mountPoint == path }
    }

    private init?(_ location: ProfileLocation) {
        guard let note = location.lockNote else { return nil }
        self.location = location
        self.note = note
    }
}
