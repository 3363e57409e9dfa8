import Foundation
import Testing

extension MountTests {
    /// What a person does who has lost everything but a sheet of paper and a backup.
    @Suite struct RecoveryTests {
        /// The words of a printed sheet: those that follow a number.
        private func words(_ sheet: String) -> [String] {
            let parts = sheet.split { $0.isWhitespace }.map(String.init)
            let pairs = zip(parts, parts.dropFirst()).compactMap { number, word -> (Int, String)? in
                guard let number = Int(number), (1...16).contains(number), word.allSatisfy(\.isLowercase)
                else { return nil }
                return (number, word)
            }
            return pairs.sorted { $0.0 < $1.0 }.map(\.1)
        }

        /// Makes a recovery key and a backup; returns the words.
        private func create(_ profile: MountedProfile, _ backup: String) throws -> [String] {
            let sheet = try profile.command("recovery", "create", "--yes", "--backup", backup).succeed()
            let words = words(sheet.output)
            try #require(words.count == 16, "\(sheet.output)")
            return words
        }

        private func restore(
            _ backup: String, _ words: [String], in profile: MountedProfile
        ) throws -> Command {
            var command = try profile.command(
                "recovery", "restore", backup, "--recovery-key-file", "-", "--device", "new laptop",
                "--strength", "interactive")
            command.input = words.joined(separator: " ") + "\n"
            return command
        }

        /// Waits until a mount watches its remote, and records what it has open then as what it has at rest.
        private func noteSharing(_ profile: MountedProfile) throws {
            let isWatching = Processes.waitUntil {
                let open = (try? profile.descriptors()) ?? []
                return open.contains("anon_inode:inotify") && open.count { $0 == "anon_inode:[eventfd]" } > 1
            }
            #expect(isWatching, "the mount does not watch the folder")
            try profile.noteMounted()
        }

        /// Files of a vault with a remote come back in a mount on a new machine, from words typed by hand.
        @Test func everythingIsLostAndComesBack() throws {
            try withMountedProfile { profile in
                let (remote, backup) = ("\(profile.base)/remote", "\(profile.base)/coffer.backup")
                try Files.makeDirectory(remote)
                let bytes = pattern(3_000_000)
                try Files.makeDirectory(profile.path("2026"))
                try Files.write("first", to: profile.path("2026/plan"))
                try Files.write(bytes, to: profile.path("recording"))
                try Files.makeDirectory("\(profile.point)/Local")
                try profile.command("remote", "add", "Personal", remote).succeed()
                try noteSharing(profile)
                let words = try create(profile, backup)
                try Files.write("after the backup", to: profile.path("late"))
                try profile.command("sync", "Personal").succeed()
                try profile.unmount()
                // The machine is gone.
                try FileManager.default.removeItem(atPath: profile.home)
                try FileManager.default.removeItem(atPath: profile.point)

                let result = try restore(backup, words, in: profile).succeed()
                #expect(result.output.isEmpty)
                #expect(result.error.contains("“Personal” comes back from file://\(remote)"))
                #expect(result.error.contains("“Local” had no remote"))
                try profile.mount()
                try noteSharing(profile)
                #expect(Processes.waitUntil { Files.exists(profile.path("late")) })
                #expect(try Files.text(profile.path("2026/plan")) == "first")
                #expect(try Files.text(profile.path("late")) == "after the backup")
                #expect(try Files.read(profile.path("recording")) == bytes)
                #expect(try Files.names(profile.point) == ["Personal"])
                try Files.write("since", to: profile.path("since"))
                try profile.command("sync", "Personal").succeed()
                let check = try profile.check()
                #expect(check.vaults.flatMap(\.damage).isEmpty)
            }
        }

        /// Wrong input gets an exit code and a message, and makes no profile.
        @Test func wrongInputMakesNoProfile() throws {
            try withProfile(mounted: nil) { profile in
                let backup = "\(profile.base)/coffer.backup"
                let words = try create(profile, backup)
                let old = "\(profile.base)/old"
                try Files.move(profile.home, to: old)
                func expect(_ words: [String], _ backup: String, _ code: Int32, _ text: String) throws {
                    let result = try restore(backup, words, in: profile).fail(with: code)
                    #expect(result.error.contains(text), "\(result.error)")
                    #expect(!Files.exists(profile.home), "\(text)")
                    // Messages are kept in logs, the words of a key must not be.
                    #expect(!result.error.contains("“"), "\(result.error)")
                }
                var typo = words
                typo[4] = "appel"
                try expect(typo, backup, 77, "Word 5 is not a word of recovery keys.")
                typo[4] = words[4] == "zoo" ? "zero" : "zoo"
                try expect(typo, backup, 77, "Word 5 does not fit the other words.")
                try expect(Array(words.dropLast()), backup, 77, "Word 16 is missing")
                try expect([], backup, 77, "there are 0")
                let bytes = try Files.read(backup)
                let other = "\(profile.base)/other"
                try Files.write(Array(bytes.dropLast(100)), to: other)
                try expect(words, other, 65, "is cut: it has \(bytes.count - 100) of \(bytes.count) bytes.")
                try Files.write(Array(bytes.dropLast()) + [bytes[bytes.count - 1] ^ 1], to: other)
                try expect(words, other, 65, "is damaged")
                try expect(words, "\(old)/profile", 65, "is a profile, not a backup")
                try expect(words, profile.passphraseFile, 65, "is no profile backup")
                try expect(words, "\(profile.base)/none", 74, "No such file")
                // The key of another profile.
                try profile.initialise()
                let otherWords = try create(profile, "\(profile.base)/other profile.backup")
                try FileManager.default.removeItem(atPath: profile.home)
                try expect(otherWords, backup, 77, "of another profile")
                // A key that was revoked before the backup was made.
                try Files.move(old, to: profile.home)
                try profile.command("recovery", "revoke", "--all", "--yes").succeed()
                try profile.command("recovery", "backup", backup).succeed()
                try Files.move(profile.home, to: old)
                try expect(words, backup, 77, "was revoked on")
                // A profile that is there is not touched.
                try Files.move(old, to: profile.home)
                let before = try Files.read("\(profile.home)/profile")
                try restore(backup, words, in: profile).fail(with: 73)
                #expect(try Files.read("\(profile.home)/profile") == before)
            }
        }

        /// Keys are made, listed and revoked through a mount; only the passphrase lets a key in.
        @Test func aMountAddsAndRevokesKeys() throws {
            try withMountedProfile { profile in
                let wrong = "\(profile.base)/wrong"
                try Files.write("wrong", to: wrong)
                var create = try profile.command("recovery", "create", "--yes", passphrase: false)
                create.arguments += ["--passphrase-file", wrong]
                #expect(try create.fail(with: 77).output.isEmpty)
                let svg = "\(profile.base)/sheet.svg"
                let sheet = try profile.command("recovery", "create", "--yes", "--svg", svg).succeed()
                let image = try Files.text(svg)
                for word in words(sheet.output) { #expect(image.contains(">\(word)<")) }
                #expect(sheet.output.contains("█") && image.contains("<path"))
                try profile.command("recovery", "create", "--yes", "--svg", svg).fail(with: 73)
                let list = try profile.command("recovery", "list", passphrase: false).succeed().lines
                #expect(list.count == 2 && list[1].hasSuffix("opens the profile"))
                let key = String(list[1].prefix(8))
                // A backup in a vault would be lost with it.
                let inside = try profile.command("recovery", "backup", profile.path("b"), passphrase: false)
                #expect(try inside.fail(with: 73).error.contains("is in a vault"))
                #expect(!Files.exists(profile.path("b")))
                let sheetInside = try profile.command(
                    "recovery", "create", "--yes", "--svg", profile.path("sheet.svg"))
                #expect(try sheetInside.fail(with: 73).output.isEmpty)
                #expect(!Files.exists(profile.path("sheet.svg")))
                // The note says which keys open the last backup.
                try profile.command("recovery", "backup", "\(profile.base)/backup", passphrase: false)
                    .succeed()
                #expect(sheet.output.contains("Key      \(key)"))
                try profile.command("recovery", "revoke", key, passphrase: false).fail(with: 64)
                try profile.command("recovery", "revoke", key, "--yes", passphrase: false).succeed()
                try profile.command("recovery", "revoke", key, "--yes", passphrase: false).fail(with: 66)
                let notes = try profile.command("recovery", "list", passphrase: false).succeed().error
                #expect(notes.contains("still opens with \(key), which is revoked"))
            }
        }

        /// A program that knows nothing of Coffer reads the words from the code of the printed sheet.
        @Test(.enabled(if: Machine.has("zbarimg"), "reading a QR code takes zbarimg"))
        func theCodeHasTheWords() throws {
            try withProfile(mounted: nil) { profile in
                let sheet = try profile.command("recovery", "create", "--yes").succeed()
                let blocks = sheet.output.split(separator: "\n", omittingEmptySubsequences: false)
                    .filter { $0.count > 45 && $0.allSatisfy { " █▀▄".contains($0) } }
                // A picture in which each module is eight pixels wide.
                let rows = blocks.flatMap { line in
                    ["█▀", "█▄"].map { dark in
                        line.map { String(repeating: dark.contains($0) ? "1" : "0", count: 8) }.joined()
                    }
                }
                let first = try #require(rows.first)
                let picture = "\(profile.base)/code.pbm"
                let pixels = rows.flatMap { Array(repeating: $0, count: 8) }.joined(separator: "\n")
                try Files.write("P1\n\(first.count) \(rows.count * 8)\n\(pixels)\n", to: picture)
                let program = try #require(Machine.path("zbarimg"))
                let read = try Command(program, ["-q", "--raw", picture]).succeed().output
                #expect(
                    read.lowercased().split(separator: "\n").first.map(String.init)
                        == words(sheet.output).joined(separator: " "))
            }
        }

        /// No other file is overwritten by a backup; an earlier backup is.
        @Test func aBackupReplacesOnlyABackup() throws {
            try withProfile(mounted: nil) { profile in
                let file = "\(profile.base)/file"
                try Files.write("letter", to: file)
                try profile.command("recovery", "backup", file).fail(with: 73)
                #expect(try Files.text(file) == "letter")
                try Files.remove(file)
                try Files.write("another letter", to: "\(file).new")
                try profile.command("recovery", "backup", file).succeed()
                try profile.command("recovery", "backup", file).succeed()
                #expect(try Files.text("\(file).new") == "another letter")
                #expect(try !Files.names(profile.base).contains { $0.hasPrefix(".coffer-") })
            }
        }

        /// A forgotten passphrase is replaced.
        @Test func aForgottenPassphrase() throws {
            try withProfile(mounted: nil) { profile in
                let words = try create(profile, "\(profile.base)/coffer.backup")
                var command = try profile.command(
                    "recovery", "passphrase", "--recovery-key-file", "-", "--new-passphrase-file",
                    "\(profile.base)/new", "--strength", "interactive", passphrase: false)
                try Files.write("another horse\n", to: "\(profile.base)/new")
                command.input = words.joined(separator: "\n")
                try command.succeed()
                try profile.command("status").fail(with: 77)
                try Files.write("another horse\n", to: profile.passphraseFile)
                try profile.command("status").succeed()
            }
        }
    }

    /// Recovery at a terminal, as people do it.
    @Suite(.enabled(if: Machine.has("python3"), "a terminal of its own takes Python"))
    struct RecoveryTerminalTests {
        /// The words are typed back, and mistakes at restoring are asked for again, one by one.
        @Test func wordsAreTypedByHand() throws {
            try withProfile(mounted: nil) { profile in
                let (backup, sheet) = ("\(profile.base)/coffer.backup", "\(profile.base)/words")
                try TerminalTests().play(
                    profile,
                    ["recovery", "create", "--backup", backup, "--passphrase-file", profile.passphraseFile],
                    """
                    import re
                    expect("Coffer recovery sheet")
                    expect("Made")
                    while b"type two of them" not in seen[master]: look(1)
                    shown = seen[master].split(b"To come back")[0].decode()
                    words = dict((int(n), w) for n, w in re.findall(r"(\\d+) ([a-z]+)", shown))
                    assert len(words) == 16, words
                    for _ in range(2):
                        while not re.search(rb"Word (\\d+): $", seen[master]): look(1)
                        number = int(re.search(rb"Word (\\d+): $", seen[master]).group(1))
                        seen[master] = b""
                        if _ == 0:
                            type("zzz\\n")
                            expect("That is not word %d" % number)
                            expect("Word %d: " % number)
                        type(words[number] + "\\n")
                        look(1)
                    expect("opens your profile from now on")
                    ended("code 0")
                    open("\(sheet)", "w").write(" ".join(words[n] for n in range(1, 17)))
                    """)
                try FileManager.default.removeItem(atPath: profile.home)
                try TerminalTests().play(
                    profile, ["recovery", "restore", backup, "--strength", "interactive"],
                    """
                    words = open("\(sheet)").read().split()
                    expect("Word 1: ")
                    type(" ".join(words[:3]) + " appel " + words[4] + "\\n")
                    expect("Word 4, “appel”")
                    expect("Go on from word 4")
                    expect("Word 4: ")
                    type(" ".join(words[3:9]) + "\\n")
                    expect("Word 10: ")
                    wrong = "zoo" if words[12] != "zoo" else "zero"
                    type(" ".join(words[9:12] + [wrong] + words[13:]).upper() + "\\n")
                    expect("Word 13, “%s”, does not fit" % wrong)
                    expect("Word 13: ")
                    type(words[12][:4] + "\\n")
                    expect("opens the backup of")
                    expect("New passphrase: ")
                    type("\(MountedProfile.passphrase)\\n")
                    expect("Repeat it: ")
                    type("\(MountedProfile.passphrase)\\n")
                    expect("Made a profile")
                    ended("code 0")
                    """)
                try profile.command("status").succeed()
            }
        }

        /// Who cannot type a word back has no key, and the profile is as before.
        @Test func aKeyWithoutPaperDoesNotCount() throws {
            try withProfile(mounted: nil) { profile in
                let before = try Files.read("\(profile.home)/profile")
                try TerminalTests().play(
                    profile, ["recovery", "create", "--passphrase-file", profile.passphraseFile],
                    """
                    for _ in range(3):
                        expect("Word ")
                        expect(": ")
                        type("zzz\\n")
                    expect("the sheet is void")
                    ended("code 1")
                    """)
                #expect(try Files.read("\(profile.home)/profile") == before)
            }
        }
    }
}
