import Foundation
import Testing

extension MountTests {
    /// Commands at a terminal; Python holds its other end.
    @Suite(.enabled(if: Machine.has("python3"), "a terminal of its own takes Python"))
    struct TerminalTests {
        /// Runs `coffer` as a shell does, in a process group of its own at a terminal, while `script` types.
        ///
        /// The script has `expect(text)`, `type(text)`, `press(key, result)`, `echoes()`, `go_on_to(text)` and
        /// `ended()`.
        func play(
            _ profile: MountedProfile, _ words: [String], _ script: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let file = "\(profile.base)/terminal.py"
            try Files.write(Self.terminal + script + "\n", to: file)
            let python = try #require(Machine.path("python3"))
            let coffer = try Programs.coffer()
            try Command(python, [file, coffer] + words + ["--home", profile.home])
                .succeed(sourceLocation: sourceLocation)
        }

        private static let terminal = """
            import os, pty, select, signal, sys, termios, time
            # Threads of the tests block signals, and what they start would, too.
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            # What becomes of the program comes by a way of its own: keys flush what a terminal has to say.
            told, tells = os.pipe()
            leader, master = pty.fork()
            if leader == 0:
                # As a shell: the program is in a process group of its own, which has the terminal.
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                child = os.fork()
                if child == 0:
                    os.setpgid(0, 0)
                    os.tcsetpgrp(0, os.getpid())
                    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                    os.execv(sys.argv[1], sys.argv[1:])
                # Of keys that come when the program has ended.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.signal(signal.SIGTSTP, signal.SIG_IGN)
                while True:
                    _, status = os.waitpid(child, os.WUNTRACED)
                    os.tcsetpgrp(0, os.getpgid(0))
                    if os.WIFSTOPPED(status):
                        os.write(tells, b"<stopped>")
                        while sys.stdin.readline().strip() != "fg": pass
                        os.tcsetpgrp(0, child)
                        os.kill(-child, signal.SIGCONT)
                        continue
                    how = "signal" if os.WIFSIGNALED(status) else "code"
                    number = os.WTERMSIG(status) if how == "signal" else os.WEXITSTATUS(status)
                    os.write(tells, b"<%s %d>" % (how.encode(), number))
                    sys.stdin.readline()
                    os._exit(0)
            seen = {master: b"", told: b""}
            def look(seconds):
                for end in select.select([master, told], [], [], seconds)[0]: seen[end] += os.read(end, 4096)
            def take(text, end):
                if text.encode() not in seen[end]: return False
                seen[end] = seen[end][seen[end].index(text.encode()) + len(text.encode()):]
                return True
            def expect(text, end=master, key=None):
                limit, next_key = time.monotonic() + 120, 0
                while not take(text, end):
                    now = time.monotonic()
                    if now > limit: sys.exit("no %r in %r" % (text, seen))
                    if key and now >= next_key:
                        type(key)
                        next_key = now + 3
                    look(1)
            def type(text): os.write(master, text.encode())
            # More than once, as a person does where nothing happens: readpassphrase(3) overlooks a signal
            # that comes between its prompt and its read(2).
            def press(key, result): expect("<%s>" % result, told, key)
            def echoes(): return bool(termios.tcgetattr(master)[3] & termios.ECHO)
            def go_on(): type("\\nfg\\n")
            # A key that was pressed twice may stop the program again, or flush the prompt from the terminal.
            def go_on_to(text):
                limit, next_key = time.monotonic() + 120, time.monotonic() + 10
                go_on()
                while not take(text, master):
                    now = time.monotonic()
                    if now > limit: sys.exit("no %r in %r" % (text, seen))
                    if take("<stopped>", told): go_on()
                    elif now >= next_key:
                        type("\\x1a")
                        next_key = now + 10
                    look(1)
            def ended(how): expect("<%s>" % how, told)

            """

        @Test func controlCEndsThePrompt() throws {
            try withProfile(mounted: nil) { profile in
                try play(
                    profile, ["status"],
                    """
                    expect("Passphrase: ")
                    assert not echoes()
                    type("half of it")
                    press("\\x03", "signal 2")
                    assert echoes()
                    """)
                #expect(!Files.exists("\(profile.home)/attempts"), "nothing was tried")
            }
        }

        @Test func controlZStopsThePrompt() throws {
            try withProfile(mounted: nil) { profile in
                try play(
                    profile, ["status"],
                    """
                    expect("Passphrase: ")
                    type("half of it")
                    press("\\x1a", "stopped")
                    assert echoes()
                    go_on_to("Passphrase: ")
                    assert not echoes()
                    type("\(MountedProfile.passphrase)\\n")
                    expect("Personal")
                    ended("code 0")
                    assert echoes()
                    """)
            }
        }

        /// The person types the code that the other device shows, once wrongly.
        @Test func aCodeIsTypedAtTheTerminal() throws {
            try withMountedProfile { profile in
                let (socket, other) = ("\(profile.base)/pair", "\(profile.base)/other")
                try play(
                    profile, ["device", "authorize", "--listen", socket],
                    """
                    import subprocess
                    expect("coffer init --pair")
                    expect("\(socket)")
                    new = subprocess.Popen(
                        [sys.argv[1], "init", "--pair", "\(socket)", "--device", "desktop", "--yes", "--strength",
                         "interactive", "--home", "\(other)", "--passphrase-file", "\(profile.passphraseFile)"],
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
                    code = new.stdout.readline()
                    expect("Enter the code")
                    type("1\\n")
                    expect("That is not the code")
                    type(code)
                    expect("The codes are the same")
                    expect("is now one of your devices")
                    ended("code 0")
                    assert new.wait() == 0
                    """)
                #expect(Files.exists("\(other)/profile"))
            }
        }

        /// A new user learns how strong the passphrase is, and that nobody can recover it.
        @Test func aFirstPassphrase() throws {
            try withProfile(mounted: nil) { profile in
                try FileManager.default.removeItem(atPath: profile.home)
                try play(
                    profile, ["init", "--strength", "interactive"],
                    """
                    expect("Nobody can recover it")
                    expect("New passphrase: ")
                    type("a\\n")
                    expect("short")
                    expect("[y/N] ")
                    type("n\\n")
                    ended("code 1")
                    """)
                #expect(!Files.exists("\(profile.home)/profile"))
                try play(
                    profile, ["init", "--strength", "interactive"],
                    """
                    expect("New passphrase: ")
                    type("\(MountedProfile.passphrase)\\n")
                    expect("Repeat it: ")
                    type("\(MountedProfile.passphrase)\\n")
                    expect("coffer mount --home \(profile.home) ~/Coffer")
                    ended("code 0")
                    """)
            }
        }
    }
}
