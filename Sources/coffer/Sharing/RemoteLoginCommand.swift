internal import ArgumentParser
internal import CofferClient
internal import CofferCrypto
internal import CofferRemote
internal import CofferSystem
internal import Glibc

extension RemoteCommand {
    struct Login: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keep the credentials of a remote in the profile.",
            discussion: """
                For S3, these are an access key, a secret key, and perhaps a session token; for WebDAV, a user and a \
                password. They are sealed in the profile, are used for this bucket or server alone, and are shown \
                nowhere. A running mount uses them at once. Invites, backups of the profile, and your other \
                devices do not get them.

                Credentials of the environment and of the files that other programs share come first. If the \
                server refuses those, the ones that are kept here are tried.

                A file of credentials has one of them on each line: access key, secret key, and the session token \
                if there is one; or user and password. If the URL names the user, it has the password alone.

                Examples:
                  coffer remote login s3:https://minio.example:9000/bucket
                  coffer remote login Taxes
                  coffer remote login webdavs://me@dav.example --credentials-file password
                """)
        @OptionGroup var profile: ProfileOptions
        @Option(
            help: ArgumentHelp(
                "Read the credentials from a file (“-” for standard input) instead of asking for them.",
                valueName: "file"))
        var credentialsFile: String?
        @Option(help: ArgumentHelp("Read the credentials from an open file descriptor.", valueName: "number"))
        var credentialsDescriptor: Int32?
        @OptionGroup var target: LoginTarget

        func validate() throws {
            if credentialsFile != nil, credentialsDescriptor != nil {
                throw ValidationError("Give either --credentials-file or --credentials-descriptor.")
            }
            if credentialsFile == "-", profile.passphraseFile == "-" {
                throw ValidationError("Passphrase and credentials cannot both come from standard input.")
            }
        }

        func run() throws {
            let access = try Requests.open(profile)
            defer { access.close() }
            let remote = target.text
            let report = try Requests.perform(RemoteLoginRequest.find(remote: remote), on: access)
            var words = try given(report.place) ?? Self.ask(for: report)
            defer { for index in words.indices { SecretBytes.wipe(&words[index]) } }
            if let user = report.user, words.count == 1 { words.insert(Array(user.utf8), at: 0) }
            let most = report.kind == .keys ? 3 : 2
            guard (2...most).contains(words.count) else {
                throw ValidationError(
                    "Give \(report.kind == .keys ? "two or three lines: access key, secret key, and perhaps a session token" : "two lines: user and password")."
                )
            }
            // The place that was shown, even if the vault has moved meanwhile.
            let request = RemoteLoginRequest.set(
                remote: report.place, user: words[0], secret: words[1],
                token: words.count == 3 ? words[2] : [])
            _ = try Requests.perform(request, on: access)
            Output.error(
                "The credentials for \(report.place) are set. To try them: \(Self.trial(report, remote))")
        }

        private static func trial(_ report: RemoteLoginReport, _ remote: String) -> String {
            guard let vault = report.vaults.first else {
                return "coffer remote test --with-login \(ShellWord.quoted(remote))"
            }
            return "coffer remote test \(ShellWord.quoted(vault))"
        }

        /// The lines of the file or descriptor; nil if neither is given.
        private func given(_ place: String) throws -> [[UInt8]]? {
            let bytes: SecretBytes
            do throws(ClientError) {
                if let credentialsFile {
                    bytes = try Passphrase.read(file: credentialsFile)
                } else if let number = credentialsDescriptor {
                    bytes = try Passphrase.read(descriptor: number, subject: "descriptor \(number)")
                } else {
                    return nil
                }
            } catch {
                guard case .profile(.emptyPassphrase) = error else { throw error }
                throw ClientError.remoteSetting(.badLogin(place: place, .empty("file")))
            }
            var whole = bytes.withBytes { $0.array }
            defer { SecretBytes.wipe(&whole) }
            return whole.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
                Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
            }
        }

        private static func ask(for report: RemoteLoginReport) throws -> [[UInt8]] {
            func read(_ prompt: String, echoes: Bool = false) throws -> [UInt8] {
                try Passphrase.prompt(prompt, echoes: echoes).withBytes { $0.array }
            }
            Output.error("Credentials for \(report.place)")
            do throws(any Error) {
                guard report.kind == .keys else {
                    let user = try report.user.map { Array($0.utf8) } ?? read("User: ", echoes: true)
                    return [user, try read("Password: ")]
                }
                let keys = [try read("Access key: ", echoes: true), try read("Secret key: ")]
                do { return keys + [try read("Session token (empty if there is none): ")] } catch {
                    guard case .profile(.emptyPassphrase)? = error as? ClientError else { throw error }
                    return keys
                }
            } catch {
                switch error as? ClientError {
                case .profile(.emptyPassphrase):
                    throw ClientError.remoteSetting(.badLogin(place: report.place, .empty("answer")))
                case .profile(.noTerminal):
                    throw ValidationError(
                        "There is no terminal to ask for the credentials. Give them with --credentials-file.")
                default: throw error
                }
            }
        }
    }

    struct Logout: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove the credentials of a remote from the profile.",
            discussion: """
                They stay valid at the server: have the server revoke them if somebody else may know them.
                """)
        @OptionGroup var profile: ProfileOptions
        @OptionGroup var target: LoginTarget

        func run() throws {
            let report = try Requests.perform(RemoteLoginRequest.remove(remote: target.text), profile)
            Output.error("The credentials for \(report.place) have been removed.")
        }
    }
}

/// The remote that credentials are for.
struct LoginTarget: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A vault that has the remote, or the remote's URL.", valueName: "vault or url"),
        completion: Completions.vaults)
    var text: String
}
