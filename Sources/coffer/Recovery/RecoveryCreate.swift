internal import ArgumentParser
internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import CofferTrust
internal import Glibc

struct RecoveryCreate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make a recovery key, and print it once.",
        discussion: """
            Prints a sheet with 16 words and a QR code of them. The words are stored nowhere: print the sheet, or copy \
            the words by hand. The key counts once you have typed two of them back. You can have several keys, for \
            several places.

            Examples:
              coffer recovery create --backup coffer.backup
              coffer recovery create --svg sheet.svg
              coffer recovery create --yes | lpr
            """)
    @OptionGroup var profile: ProfileOptions
    @Option(
        help: ArgumentHelp(
            "Also write the sheet as an SVG image of the size A4, to print.", valueName: "file"),
        completion: .file())
    var svg: String?
    @Option(
        help: ArgumentHelp("Also write a backup of the profile, which the key opens.", valueName: "file"),
        completion: .file())
    var backup: String?
    @Flag(name: .shortAndLong, help: "Do not ask for words to be typed back.") var yes = false

    func run() throws {
        let location = try profile.location()
        try Profile.check(location)
        if !yes, isatty(STDIN_FILENO) != 1 {
            throw ValidationError("There is no terminal to type words back. Use --yes.")
        }
        if let svg {
            try BackupFile.checkPlace(svg, at: location)
            if Directory.exists(svg) { throw ClientError.recovery(.fileExists(path: svg)) }
        }
        try Profile.checkDelay(location)
        let passphrase = try Passphrase(options: profile).ask()
        let access = try ProfileAccess.open(location) { () throws(ClientError) in passphrase.duplicate() }
        defer { access.close() }
        // A mount has not seen the passphrase yet.
        let given = passphrase.withBytes { $0.array }
        let report = try access.perform(access.isMounted ? RecoveryRequest.check(passphrase: given) : .list)
        if let backup { try BackupFile(path: backup).check(profile: report.profile, at: location) }
        let key = RecoveryKey()
        var hasImage = false
        do {
            try show(key, report, &hasImage)
            if !yes { try typeBack(key) }
            _ = try access.perform(
                RecoveryRequest.add(key: key.secret.withBytes { $0.array }, passphrase: given))
        } catch {
            let name = KeyName.short(report.id(of: key))
            if access.isMounted, (error as? ClientError)?.leavesOpenWhatAMountDid == true {
                Output.error(
                    "It is not known whether the key counts: see whether “coffer recovery list” names \(name). If it does, and you do not keep the sheet, revoke the key with: coffer recovery revoke \(name)"
                )
            } else {
                if hasImage, let svg { _ = unsafe unlink(svg) }
                Output.error("The key was not added: the sheet is void. Destroy it.")
            }
            throw error
        }
        Output.error("The recovery key opens your profile from now on.")
        if let backup {
            return try BackupFile(path: backup).write(access, profile: report.profile, at: location)
        }
        Output.error(
            "To come back on another machine, you also need a backup. The key does not open earlier ones; make one with: coffer recovery backup FILE"
        )
    }

    /// Prints the sheet, and writes it as an image.
    ///
    /// - Parameter hasImage: Becomes true when the image has been made.
    private func show(_ key: RecoveryKey, _ report: RecoveryReport, _ hasImage: inout Bool) throws {
        let sheet = RecoverySheet(
            key, id: report.id(of: key), of: report, on: Output.day(Clock.realTime / 1_000_000_000))
        for line in sheet.lines(colors: isatty(STDOUT_FILENO) == 1) { Output.line(line) }
        guard let svg else { return }
        try systemCalls { () throws(SystemError) in try WholeFile.create(svg, Array(sheet.svg.utf8)) }
        hasImage = true
        Output.error("\(svg) is the sheet to print. Delete the file when it is on paper.")
    }

    /// Asks for two words, so that a person does not go on without having them on paper.
    private func typeBack(_ key: RecoveryKey) throws {
        let words = key.words
        Output.error("Print the sheet, or copy the words to paper. Then type two of them from there.")
        for number in [
            Int.random(in: 1...words.count / 2), Int.random(in: words.count / 2 + 1...words.count),
        ] {
            var isRight = false
            for _ in 1...3 where !isRight {
                let typed = try RecoveryKeyPrompt.ask("Word \(number): ").first ?? ""
                let word = try? RecoveryWord(typed, number: number)
                isRight = word?.description == words[number - 1]
                if !isRight { Output.error("That is not word \(number) of the sheet.") }
            }
            guard isRight else { throw ExitCode(1) }
        }
    }
}
