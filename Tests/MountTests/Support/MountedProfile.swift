import Foundation
import Testing

/// A profile of its own in a temporary directory, and its mount by the real program.
///
/// `withProfile` makes it, and checks what it leaves behind.
final class MountedProfile {
    static let passphrase = "correct horse"
    /// What lets the whole POSIX catalogue run.
    static let catalogueOptions = "allow_other,dev,suid"

    /// Holds the profile, the mount point, and what else a test puts there.
    let base: String
    let home: String
    let point: String
    let passphraseFile: String
    /// Whether the test causes problems, which `coffer status` may then report.
    var expectsProblems = false
    /// Variables of `coffer`, besides those that all programs get.
    var environment: [String: String] = [:]
    /// The process that serves the mount, and the descriptors that it had at first.
    private(set) var process: pid_t?
    private(set) var firstDescriptors: [String] = []
    private let watchdog = Watchdog()

    /// - Parameter disk: A directory for the profile; if nil, the profile is beside the mount point.
    init(disk: String? = nil) throws {
        try Machine.requireFUSE()
        var template = Array("\(NSTemporaryDirectory())/coffer-tests-XXXXXX".utf8CString)
        let made = try #require(mkdtemp(&template))
        base = try #require(
            realpath(made, nil).map { path in
                defer { free(path) }
                return String(cString: path)
            })
        // Other users must be able to pass.
        chmod(base, 0o755)
        home = "\(disk ?? base)/profile"
        point = "\(base)/mount"
        passphraseFile = "\(base)/passphrase"
        try Files.write(Self.passphrase + "\n", to: passphraseFile)
    }

    /// The first vault, as a folder.
    var vault: String { "\(point)/Personal" }

    /// A path in the first vault.
    func path(_ name: String) -> String { "\(vault)/\(name)" }

    // MARK: Commands

    /// `coffer` with a profile's options; the passphrase comes from a file unless the test says otherwise.
    func command(_ words: String..., passphrase: Bool = true) throws -> Command {
        var command = Command(try Programs.coffer(), words + ["--home", home])
        if passphrase { command.arguments += ["--passphrase-file", passphraseFile] }
        command.environment = environment
        return command
    }

    func initialise(_ options: String...) throws {
        var command = try command("init", "--strength", "interactive")
        command.arguments += options
        try command.succeed()
    }

    /// Mounts, and checks that the mount serves by the time the command returns.
    func mount(_ options: String? = nil, sourceLocation: SourceLocation = #_sourceLocation) throws {
        var mount = try command("mount", point)
        if let options { mount.arguments += ["-o", options] }
        try mount.succeed(sourceLocation: sourceLocation)
        try noteMounted()
    }

    /// Records the process that serves the mount.
    func noteMounted() throws {
        let word = try #require(try lockNote().first)
        let number: pid_t = try #require(pid_t(word))
        process = number
        watchdog.guards(number)
        firstDescriptors = try descriptors()
    }

    /// What the holder of the lock wrote: process, mount point, socket.
    func lockNote() throws -> [String] {
        try Files.text("\(home)/lock").split(separator: "\n").map(String.init)
    }

    /// The number of wrong passphrases counted so far; the file remains when the count is reset.
    var attempts: Int? {
        guard let text = try? Files.text("\(home)/attempts") else { return 0 }
        return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }

    /// Unmounts, after the checks of `checkAtRest`.
    func unmount(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try checkAtRest(sourceLocation: sourceLocation)
        try command("unmount", point, passphrase: false).succeed(sourceLocation: sourceLocation)
        expectEnded(sourceLocation: sourceLocation)
    }

    func remount(_ options: String? = nil, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try unmount(sourceLocation: sourceLocation)
        try mount(options, sourceLocation: sourceLocation)
    }

    /// Kills the process that serves the mount, as a crash does; the dead mount stays.
    func crash() throws {
        let process = try #require(process)
        try #require(kill(process, SIGKILL) == 0)
        forgetProcess()
        Processes.waitUntilGone(process)
    }

    /// Checks a mount that something other than `unmount` ended.
    func expectEnded(sourceLocation: SourceLocation = #_sourceLocation) {
        guard let process else { return }
        forgetProcess()
        #expect(
            Processes.waitUntilGone(process), "the process behind the mount lives on",
            sourceLocation: sourceLocation)
        #expect(Mounts.below(base) == [], "a mount is left", sourceLocation: sourceLocation)
    }

    func forgetProcess() {
        process = nil
        watchdog.guards(nil)
    }

    func status() throws -> StatusReport {
        try command("status", "--json").succeed().decode(StatusReport.self)
    }

    /// `coffer check`, whether it finds damage or not.
    func check() throws -> CheckReport {
        try command("check", "--json").run().decode(CheckReport.self)
    }
}
