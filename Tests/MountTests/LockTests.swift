import Foundation
import Testing

extension MountTests {
    /// One profile, one process.
    @Suite struct LockTests {
        @Test func secondMountIsRefused() throws {
            try withMountedProfile { profile in
                let process = try #require(profile.process)
                let result = try profile.command("mount", "\(profile.base)/other").fail(with: 75)
                #expect(result.error.contains("\(process)"), "\(result.error)")
                #expect(result.error.contains(profile.point), "\(result.error)")
                #expect(Mounts.below(profile.base) == [profile.point])
            }
        }

        @Test func twoProfilesMountSideBySide() throws {
            try withMountedProfile { first in
                try withMountedProfile { second in
                    try Files.write("first", to: first.path("file"))
                    try Files.write("second", to: second.path("file"))
                    #expect(try Files.text(first.path("file")) == "first")
                    #expect(try Files.text(second.path("file")) == "second")
                }
            }
        }

        @Test func mountedTwiceAtOnePlaceIsRefused() throws {
            try withMountedProfile { first in
                try withProfile(mounted: nil) { second in
                    try second.command("mount", first.point).fail(with: 75)
                    #expect(Mounts.below(first.base) == [first.point])
                }
            }
        }

        /// Of two mounts that start at the same moment, one serves.
        @Test func simultaneousMounts() throws {
            try withProfile(mounted: nil) { profile in
                let mount = try profile.command("mount", profile.point)
                let children = try (0..<3).map { _ in try Child(mount) }
                let codes = try children.map { try $0.wait().status }.sorted()
                #expect(codes == [0, 75, 75])
                try profile.noteMounted()
                #expect(try Files.names(profile.point) == ["Personal"])
            }
        }

        /// A killed process that holds the lock, and a mount on which requests wait without end: its main thread
        /// has ended, and the kernel keeps another one.
        private static let killed = """
            import ctypes, fcntl, os, sys, threading
            home, point = sys.argv[1:]
            lock = os.open(home + "/lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(lock, 0)
            os.write(lock, f"{os.getpid()}\\n{point}\\n\\n".encode())
            connection = os.open("/dev/fuse", os.O_RDWR)
            options = f"fd={connection},rootmode=40000,user_id=0,group_id=0".encode()
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.mount(b"coffer", point.encode(), b"fuse.coffer", 6, options):
                sys.exit(os.strerror(ctypes.get_errno()))
            def wait():
                try:
                    while True: os.read(connection, 1 << 20)
                except OSError:
                    os._exit(0)
            threading.Thread(target=wait).start()
            libc.syscall({"x86_64": 60}.get(os.uname().machine, 93), 0)
            """

        @Test(.enabled(if: Machine.isRoot && Machine.has("python3"), "mounting without a helper takes root"))
        func aKilledProcessThatCannotEndLetsGo() throws {
            try withMountedProfile { profile in
                try profile.unmount()
                let file = "\(profile.base)/killed.py"
                try Files.write(Self.killed, to: file)
                let python = try #require(Machine.path("python3"))
                for words in [["mount", profile.point], ["unmount", profile.point]] {
                    let child = try Child(Command(python, [file, profile.home, profile.point]))
                    let note = "/proc/\(child.process)/stat"
                    #expect(try Processes.waitUntil { try Files.text(note).contains(") Z ") })
                    #expect(Mounts.below(profile.base) == [profile.point])
                    let program = try Child(Command("/bin/ls", [profile.point]))
                    // It has to reach the mount of the killed process, before the command takes that away.
                    let place = "/proc/\(program.process)/wchan"
                    #expect(try Processes.waitUntil { try Files.text(place).contains("fuse") })
                    let result = try profile.command(words[0], words[1]).run()
                    #expect(result.status == 0, "\(result.error)")
                    #expect(try child.wait().status == 0)
                    #expect(try program.wait().status != 0)
                    if words[0] == "mount" {
                        try profile.noteMounted()
                        #expect(try Files.names(profile.point) == ["Personal"])
                        try profile.unmount()
                    }
                }
                #expect(Mounts.below(profile.base) == [])
                try profile.mount()
            }
        }

        @Test func profileIsFreeAfterUnmount() throws {
            try withMountedProfile { profile in
                try profile.unmount()
                try profile.command("vault", "create", "Alone").succeed()
                try profile.mount()
                #expect(try Files.names(profile.point) == ["Alone", "Personal"])
            }
        }
    }
}
