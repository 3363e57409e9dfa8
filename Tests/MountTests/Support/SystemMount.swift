import Foundation
import Testing

/// mount(8) and umount(8) with Coffer's helpers installed, in a mount namespace that ends with its script, and
/// leaves nothing on the machine.
enum SystemMount {
    /// The repository's directory with the helpers.
    static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "mount-helpers").path

    /// Whether this machine lets a test do that.
    static var isPossible: Bool {
        Machine.isRoot && ["unshare", "mount", "setpriv", "findmnt", "flock"].allSatisfy(Machine.has)
    }

    /// Runs a script as root.
    ///
    /// A fresh /mnt contains `profile`, which belongs to root; `theirs`, which belongs to the user daemon; `passphrase`,
    /// which opens both; and the directories `point`, `their-point` and `etc`. The first failed command ends the script.
    static func run(_ script: String) throws -> Command.Result {
        try Machine.requireFUSE()
        let unshare = try #require(Machine.path("unshare"))
        let words = [
            "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc", "--",
            "sh",
            "-euc", prelude + script, "sh", sources, try Programs.coffer(),
        ]
        return try Command(unshare, words).run()
    }

    /// Runs a script that has to succeed.
    @discardableResult
    static func succeed(
        _ script: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Command.Result {
        let result = try run(script)
        try #require(
            result.status == 0, "ended with \(result.status): \(result.error)\(result.output)",
            sourceLocation: sourceLocation)
        return result
    }

    private static let prelude = """
        sources=$1 coffer=$2
        umask 022
        mount -t tmpfs -o mode=755 run /run
        mount -t tmpfs -o mode=755 mnt /mnt
        cd /mnt
        mkdir bin point their-point etc sbin-before sbin-now
        touch bin/coffer
        mount --bind "$coffer" bin/coffer
        # The mode of this machine's own may keep users out.
        mknod -m 666 fuse c 10 229
        mount --bind fuse /dev/fuse
        # Where mount(8) looks, with the helpers beside what is there.
        mount --bind "$(readlink -f /sbin)" sbin-before
        for file in sbin-before/*; do ln -s "/mnt/$file" sbin-now; done
        mkdir stage
        DESTDIR=/mnt/stage PREFIX=/mnt SBINDIR=/sbin sh "$sources/install.sh" install
        cp -P stage/sbin/* sbin-now
        mount --bind sbin-now "$(readlink -f /sbin)"
        as_daemon() { setpriv --reuid daemon --regid daemon --init-groups -- env HOME=/mnt/home "$@"; }
        (umask 077; printf 'correct horse' >passphrase)
        bin/coffer init --home profile --strength interactive --passphrase-file passphrase
        mkdir home theirs
        chown daemon home theirs their-point
        as_daemon /mnt/bin/coffer init --home theirs/profile --strength interactive --passphrase-file - <passphrase
        # Everything is stored, and the profile is free.
        expect_free() { flock --nonblock "$1/lock" true; }
        expect_bare() { ! mountpoint -q "$1" || { echo "$1 is mounted"; exit 1; }; }
        # A command fails with a code; what it says goes on.
        expect_code() {
            wanted=$1; shift; code=0
            "$@" 2>&1 || code=$?
            [ "$code" = "$wanted" ] || { echo "“$*” ended with $code, not $wanted"; exit 1; }
        }

        """
}
