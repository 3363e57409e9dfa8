internal import CofferClient
internal import CofferSystem

/// The file to which a profile backup is written.
struct BackupFile {
    let path: String

    /// Checks that nothing else is lost: an existing file must be an earlier backup of the same profile, and
    /// the backup must not be in a vault.
    ///
    /// - Throws: `.fileExists`, `.inVault`.
    func check(profile: String, at location: ProfileLocation) throws(ClientError) {
        try Self.checkPlace(path, at: location)
        guard Directory.exists(path) else { return }
        let earlier = try? ProfileBackup(file: path)
        guard earlier?.profile == profile else { throw .recovery(.fileExists(path: path)) }
    }

    /// Checks that a path is not in a mounted vault of the profile.
    ///
    /// - Parameter error: Makes the error for a path that is in one.
    static func checkPlace(
        _ path: String, at location: ProfileLocation,
        _ error: (String) -> ClientError = { .recovery(.inVault(path: $0)) }
    ) throws(ClientError) {
        let directory = Directory.parent(of: Directory.absolute(path))
        let place = (try? Directory.resolve(directory)) ?? directory
        if location.isLocked, let point = location.lockNote?.mountPoint, !point.isEmpty,
            "\(place)/".hasPrefix("\(point)/")
        {
            throw error(path)
        }
    }

    /// Makes a backup, writes it, and says what it lacks.
    ///
    /// - Throws: as `check`, too: the place may have changed since.
    func write(_ access: ProfileAccess, profile: String, at location: ProfileLocation) throws {
        guard let bytes = try access.perform(BackupRequest()).bytes else {
            throw ClientError.control(.malformed)
        }
        let new = try systemCalls { () throws(SystemError) in
            try WholeFile.writeNew(beside: path, bytes)
        }
        do throws(ClientError) {
            try check(profile: profile, at: location)
            try systemCalls { () throws(SystemError) in try WholeFile.move(new, to: path) }
        } catch {
            try? Directory.removeFile(new)
            throw error
        }
        let report = try access.perform(try ProfileBackup(file: path).note)
        Output.error(
            "\(path) is a backup of your profile: who you are, and the keys and the remotes of your vaults. It has no files of vaults. Keep a copy away from this machine, for example in your mail."
        )
        GapText.warn(of: report)
    }
}

/// What a backup does not bring back, as text.
enum GapText {
    static func of(_ gap: BackupGap) -> String {
        switch gap.reason {
        case .noRemote:
            "“\(gap.vault)” has no remote: its files are on this device only. Give it one with: coffer remote add"
        case .notInBackup:
            "“\(gap.vault)” is not in the last backup. Make a new one with: coffer recovery backup"
        case .newerKey:
            "“\(gap.vault)” got a new key after the last backup. Make a new one with: coffer recovery backup"
        }
    }

    static func warn(of report: RecoveryReport) {
        for gap in report.gaps { Output.error("Note: \(of(gap))") }
    }
}
