internal import ArgumentParser
internal import CCofferSystem
internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import Glibc

struct MountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount", abstract: "Mount all vaults as directories in a folder.",
        discussion: """
            Returns as soon as the vaults can be used. A background process serves them until “coffer unmount”, umount(8), \
            SIGTERM or logout. A mount point that does not exist is created.

            While nothing is mounted, files written into the folder would be stored unencrypted. To prevent that, mount \
            removes write permission from the empty folder. Root ignores permissions: if root mounts on an existing \
            folder, that also becomes immutable until “chattr -i”. A folder that mount creates for root is immutable only \
            during the mount, so root can write into it afterwards. “-o noprotect” leaves the folder alone.

            “-o upload=500K,download=2M” limits how many bytes per second go to all remotes together, and come from \
            them, averaged over the objects of up to 16 MiB that are sent as a whole.

            “-o lock-after=15m” locks the profile after 15 minutes without use, and “-o lock-on-sleep” when the machine has \
            slept; see “coffer lock --help”.

            Examples:
              coffer mount ~/Coffer
              coffer mount -o ro,allow_other /srv/coffer
              coffer mount -o upload=500K ~/Coffer
              coffer mount --log-level debug --log-file ~/coffer.log ~/Coffer
            """)

    @OptionGroup var profile: ProfileOptions

    @Argument(help: ArgumentHelp("The folder.", valueName: "mountpoint"), completion: .directory)
    var mountPoint: String

    @Flag(name: [.customShort("f"), .long], help: "Stay in the foreground.")
    var foreground = false

    @Option(
        name: [.customShort("o")],
        help: ArgumentHelp(
            "Options of mount(8), separated by commas: ro, noatime, allow_other, suid, dev, nodev, noexec, noprotect, upload=500K, download=2M, lock-after=15m, lock-on-sleep, …",
            valueName: "options"))
    var options: [String] = []

    @OptionGroup var log: LogOptions

    @Flag(help: .hidden)
    var takesOver = false

    /// The descriptor with what the process left that served this mount until now.
    @Option(help: .hidden)
    var handover: Int32?

    func run() throws {
        let location = try profile.location()
        let options = try MountOptions(parsing: self.options)
        if let handover { return try continueMount(try Handover(from: handover), location, options) }
        if takesOver { return try serveTakenOver(location, options) }
        // The process that serves logs; a mistake in the options is reported at once.
        _ = try log.level(Environment.value)
        try Profile.check(location)
        do throws(SystemError) {
            _ = try Descriptor.open("/dev/fuse", .readWrite)
        } catch {
            throw ClientError.mount(.noFUSE(error))
        }
        if !options.service.isReadOnly, location.isOnReadOnlyDisk {
            throw ClientError.profile(.readOnlyDisk(path: location.path))
        }
        // First, as it frees a mount point on which a killed process left requests unanswered.
        let lock = try location.takeLock()
        try refusePlaceInProfile(location)
        try Profile.checkDelay(location)
        let (point, notes) = try MountPoint.prepare(mountPoint)
        for note in notes { Output.error(note) }
        let protection = options.service.protects ? point.protectionNote : nil
        let opened = try Profile.unlock(location, lock, passphrase: try Passphrase(options: profile).ask())
        if foreground {
            if let protection { Output.error(protection) }
            try log.start(Environment.value, inForeground: true)
            let supervisor = Supervisor(Environment.value)
            let next = try MountService.run(
                opened, at: point, options.service, environment: Environment.value,
                serving: { supervisor.serving(at: point.path, problems: $0) }, ending: supervisor.ending,
                report: supervisor.report)
            if let next { throw replaceProcess(next, location) }
        } else {
            try BackgroundMount.start(opened, location, point, self.options, log)
            if let protection { Output.error(protection) }
        }
    }

    /// Refuses a mount point in the profile, where a mount would hide part of the profile.
    private func refusePlaceInProfile(_ location: ProfileLocation) throws(ClientError) {
        let place = Directory.absolute(mountPoint)
        let parent = try? Directory.resolve(Directory.parent(of: place))
        let name = place.split(separator: "/").last ?? ""
        let resolved = (try? Directory.resolve(place)) ?? "\(parent ?? "")/\(name)"
        let home = (try? Directory.resolve(location.path)) ?? location.path
        guard resolved == home || resolved.hasPrefix(home + "/") else { return }
        throw .mount(.mountPoint(path: mountPoint, .inProfile))
    }

    /// The second process of a mount in the background.
    ///
    /// It receives the key and the lock on descriptors 3 and 5, and reports on 4 when it serves.
    private func serveTakenOver(_ location: ProfileLocation, _ options: MountOptions) throws {
        unsafe coffer_name_process("coffer")
        let channel = BackgroundMount.Channel()
        do {
            try log.start(Environment.value, inForeground: false)
            let opened = try channel.takeOver(location)
            let (point, _) = try MountPoint.prepare(mountPoint)
            let next = try MountService.run(
                opened, at: point, options.service, environment: Environment.value,
                serving: { channel.announce($0) }, report: SystemLog.report)
            if let next { throw replaceProcess(next, location) }
        } catch let error as ClientError {
            channel.fail(error)
            Glibc.exit(error.exitCode)
        }
    }

    /// Continues a mount in the process that served it, after the profile was locked or is to be unlocked.
    ///
    /// The process has executed its program again, so nothing of what it had in memory is left.
    private func continueMount(
        _ handover: Handover, _ location: ProfileLocation, _ options: MountOptions
    ) throws {
        unsafe coffer_name_process("coffer")
        // Without its log, the mount goes on.
        do { try log.start(Environment.value, inForeground: foreground) } catch {
            Output.error("coffer: The log cannot be continued: \(error)")
        }
        let supervisor = foreground ? Supervisor(Environment.value) : nil
        let ending: @Sendable () -> Void = { supervisor?.ending() }
        guard handover.unlocks else {
            let next = try LockedMount.run(
                handover, location, serving: { supervisor?.locked() }, ending: ending)
            if let next { throw replaceProcess(next, location) }
            return
        }
        let opened: Profile
        do throws(ClientError) {
            opened = try handover.openProfile(location)
        } catch {
            throw replaceProcess(handover.lockedAgain(because: error), location)
        }
        let next = try MountService.run(
            opened, at: handover.point, options.service, continuing: handover,
            environment: Environment.value,
            serving: { supervisor?.serving(at: handover.point.path, problems: $0) }, ending: ending,
            report: supervisor?.report ?? SystemLog.report)
        if let next { throw replaceProcess(next, location) }
    }

    /// Replaces this process by one that continues the mount; returns only if that fails.
    private func replaceProcess(_ handover: Handover, _ location: ProfileLocation) -> ClientError {
        handover.replaceProcess { descriptor in
            ["mount", "--handover", "\(descriptor)", "--home", location.path]
                + (foreground ? ["--foreground"] : []) + options.flatMap { ["-o", $0] } + log.arguments
                + ["--", handover.point.path]
        }
    }
}
