internal import ArgumentParser
internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import Glibc

extension VaultCommand {
    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write a vault to one sealed file, which needs no profile and no remote.",
            discussion: """
                The file has the whole vault as it is now, while programs go on working: names, contents, permissions, times, \
                extended attributes and access control lists, but no past states, and no owners. Contents that are only at \
                the remote are fetched. If anything cannot be read, nothing is written. “coffer vault import” makes a new \
                vault of it, on any machine; docs/format.md tells how to read it without Coffer.

                A passphrase opens the file, or the identities whose cards are given with --to, and nothing else does: not \
                your profile, unless you give your own card, too. Somebody who has the file and a guess of the passphrase \
                can try it; several words are better. Changing the passphrase of the profile does not change that of the \
                export.

                Examples:
                  coffer vault export Plans plans.coffer
                  coffer vault export Plans plans.coffer --to bob.card --to my.card
                  coffer vault export Plans - --to bob.card | ssh bob tee plans.coffer > /dev/null
                """)

        @OptionGroup var profile: ProfileOptions

        @Option(
            help: ArgumentHelp(
                "An identity card of somebody who can open the export; may be given up to 16 times.",
                valueName: "card"), completion: .file())
        var to: [String] = []

        @Option(
            help: ArgumentHelp(
                "Read the passphrase of the export from a file instead of asking for it.", valueName: "file"),
            completion: .file())
        var exportPassphraseFile: String?

        @Option(
            help:
                "The memory that each attempt at the passphrase of the export takes: interactive 64 MiB, moderate 256 MiB, sensitive 1 GiB."
        )
        var strength = Strength.moderate

        @Flag(help: "Replace the file if it exists.") var force = false

        @Flag(help: "Print JSON.") var json = false

        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        @Argument(help: "The file to write (“-” for standard output).", completion: .file()) var file: String

        func validate() throws {
            if !to.isEmpty, exportPassphraseFile != nil {
                throw ValidationError("Give either --to or --export-passphrase-file.")
            }
            if to.filter({ $0 == "-" }).count > 1 {
                throw ValidationError("Only one card can come from standard input.")
            }
        }

        func run() throws {
            let location = try profile.location()
            if file == "-" {
                if isatty(STDOUT_FILENO) == 1 { throw ClientError.export(.terminal) }
            } else {
                try NewFile.check(file, force, location)
            }
            let seal = try makeSeal()
            let access = try Requests.open(profile, holdingSignals: true)
            defer { access.close() }
            let interruption = Interruption()
            if file == "-" {
                try interruption.listen(isAwaited: !access.isMounted)
                return report(try perform(seal, to: STDOUT_FILENO, access, interruption))
            }
            let new = try NewFile(file, replaces: force, at: location)
            let temporary = new.temporary
            try interruption.listen(isAwaited: !access.isMounted) {
                do throws(SystemError) { try Directory.removeFile(temporary) } catch { return }
            }
            let exported: ExportedReport
            do {
                exported = try perform(seal, to: new.descriptor.number, access, interruption)
                try new.finish(at: location)
            } catch {
                new.abandon()
                throw error
            }
            report(exported)
        }

        private func makeSeal() throws -> ExportSeal {
            if !to.isEmpty { return try ExportSeal(cards: try to.map { try TextFile.read($0) }) }
            guard let exportPassphraseFile else {
                let passphrase = try Passphrase.promptTwice("Passphrase of the export: ", of: "the export")
                return try ExportSeal(passphrase: passphrase, strength: strength.hash)
            }
            let passphrase = try Passphrase.read(file: exportPassphraseFile)
            Passphrase.remark(on: passphrase, of: "the export")
            return try ExportSeal(passphrase: passphrase, strength: strength.hash)
        }

        private func perform(
            _ seal: ExportSeal, to descriptor: Int32, _ access: ProfileAccess, _ interruption: Interruption
        ) throws -> ExportedReport {
            do {
                return try Requests.perform(
                    ExportRequest(vault: vault, seal), on: access, label: "Exporting", stream: descriptor
                ) { !interruption.isSet }
            } catch {
                guard let signal = interruption.signal else { throw error }
                interruption.end()
                access.close()
                EndingSignals.die(of: signal)
            }
        }

        private func report(_ report: ExportedReport) {
            for path in report.sockets {
                Output.error(
                    "Note: “\(Output.visible(path))” is a socket, which has no content, and is not in the export."
                )
            }
            // Standard output may be the export.
            if json, file != "-" {
                do { try Output.json(report) } catch { return }
            } else {
                Output.error(
                    "\(report.items) item\(report.items == 1 ? "" : "s"), \(Output.bytes(report.bytes)) of content, exported."
                )
            }
        }
    }

    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a new vault of an exported one.",
            discussion: """
                The new vault is on this device only, and belongs to you, whoever made the export; “coffer remote add” gives \
                it a remote. It appears only when the whole export has been read and verified: if anything is missing or \
                wrong, there is no vault.

                An export is sealed, but not signed: it proves to nobody who made it.

                Examples:
                  coffer vault import plans.coffer Plans
                  ssh bob cat plans.coffer | coffer vault import - Plans
                """)

        @OptionGroup var profile: ProfileOptions

        @Option(
            help: ArgumentHelp(
                "Read the passphrase of the export from a file instead of asking for it.", valueName: "file"),
            completion: .file())
        var exportPassphraseFile: String?

        @Flag(help: "Print JSON.") var json = false

        @Argument(help: "The export (“-” for standard input).", completion: .file()) var file: String

        @Argument(help: "The name of the new vault.") var vault: String

        func validate() throws {
            if file == "-",
                profile.passphraseFile == "-" || exportPassphraseFile == "-"
                    || profile.passphraseDescriptor == 0
            {
                throw ValidationError("Standard input is the export: give the passphrase in another way.")
            }
        }

        func run() throws {
            if file == "-" {
                if isatty(STDIN_FILENO) == 1 { throw ClientError.export(.terminal) }
                return try run(STDIN_FILENO)
            }
            let descriptor = try Descriptor.open(file, .readOnly)
            try run(descriptor.number)
        }

        private func run(_ descriptor: Int32) throws {
            let opening = try ExportOpening(from: descriptor)
            let key = try key(of: opening)
            let access = try Requests.open(profile, holdingSignals: true)
            defer { access.close() }
            let interruption = Interruption()
            try interruption.listen(isAwaited: !access.isMounted)
            let request = ImportRequest(
                vault: vault, opening, key: key, byteCount: FileStatus.byteCount(of: descriptor))
            let report: ImportedReport
            do {
                report = try Requests.perform(
                    request, on: access, label: "Importing", stream: descriptor
                ) { !interruption.isSet }
            } catch {
                guard let signal = interruption.signal else { throw error }
                access.close()
                EndingSignals.die(of: signal)
            }
            if json { return try Output.json(report) }
            Output.error(
                "“\(vault)” has \(report.items) item\(report.items == 1 ? "" : "s"), \(Output.bytes(report.bytes)) of content."
            )
        }

        private func key(of opening: ExportOpening) throws -> [UInt8]? {
            if let exportPassphraseFile {
                return try opening.key(passphrase: try Passphrase.read(file: exportPassphraseFile))
            }
            guard opening.needsPassphrase else { return nil }
            return try opening.key(passphrase: try Passphrase.prompt("Passphrase of the export: "))
        }
    }
}
