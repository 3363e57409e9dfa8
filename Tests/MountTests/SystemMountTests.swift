import Foundation
import Testing

extension MountTests {
    /// mount(8), fstab(5) and umount(8).
    @Suite(.enabled(if: SystemMount.isPossible, "needs root, unshare, setpriv, findmnt and flock"))
    struct SystemMountTests {
        @Test func mountAndUnmount() throws {
            let result = try SystemMount.succeed(
                """
                mount -t coffer /mnt/profile /mnt/point -o passphrase-file=/mnt/passphrase
                findmnt -n --raw -o SOURCE,FSTYPE /mnt/point
                echo kept >point/Personal/file
                umount /mnt/point
                expect_free profile
                [ ! -s /run/mount/utab ]
                mount -t fuse.coffer /mnt/profile /mnt/point -o ro,passphrase-file=/mnt/passphrase
                cat point/Personal/file
                expect_code 1 touch point/Personal/other
                expect_code 1 mount -o remount,rw /mnt/point
                umount /mnt/point
                expect_free profile
                """)
            #expect(result.lines.contains("/mnt/profile fuse.coffer"))
            #expect(result.lines.contains("kept"))
            #expect(result.output.contains("unmount it, and mount it anew"))
        }

        @Test func lineInFstab() throws {
            let result = try SystemMount.succeed(
                """
                cat >etc/fstab <<END
                /mnt/profile /mnt/point coffer \
                nofail,_netdev,user,noatime,x-systemd.automount,x-anything,comment=mine,passphrase-file=/mnt/passphrase 0 0
                /mnt/absent /mnt/their-point coffer nofail 0 0
                END
                mount --all --fstab etc/fstab
                ls point
                findmnt -n -o OPTIONS /mnt/point
                # Once is enough.
                mount --all --verbose --fstab etc/fstab
                expect_bare their-point
                umount /mnt/point
                mount --fstab etc/fstab /mnt/point
                umount /mnt/point
                expect_free profile
                """)
            #expect(result.lines.first == "Personal")
            #expect(result.output.contains("noexec"), "mount(8) adds it for “user”")
            #expect(result.output.contains("already mounted"))
        }

        @Test func unknownOptions() throws {
            let result = try SystemMount.succeed(
                """
                options=passphrase-file=/mnt/passphrase,no_such_option
                expect_code 1 mount -t coffer /mnt/profile /mnt/point -o $options
                expect_bare point
                expect_code 1 mount -t coffer /mnt/profile /mnt/point -o passphrase=secret
                expect_code 1 mount -t coffer profile /mnt/point -o passphrase-file=passphrase
                expect_code 0 mount -s -t coffer /mnt/profile /mnt/point -o $options
                umount point
                """)
            #expect(result.output.contains("There is no option “no_such_option”."))
            #expect(result.output.contains("could be read by everybody"))
            #expect(result.output.contains("write the whole path"))
        }

        @Test func passphraseFiles() throws {
            let result = try SystemMount.succeed(
                """
                try() { expect_code "$1" mount -t coffer /mnt/profile /mnt/point -o "passphrase-file=$2"; }
                cp passphrase open; chmod 640 open
                try 32 /mnt/open
                chmod 604 open
                try 32 /mnt/open
                try 32 /mnt/none
                # Somebody else's, and root's where somebody else could exchange it.
                cp passphrase theirs/their-own; chmod 600 theirs/their-own; chown daemon theirs/their-own
                try 32 /mnt/theirs/their-own
                cp passphrase theirs/roots; chmod 600 theirs/roots
                try 32 /mnt/theirs/roots
                ln -s /mnt/theirs/roots etc/link
                try 32 /mnt/etc/link
                expect_bare point
                (umask 077; printf wrong >wrong)
                try 32 /mnt/wrong
                # A credential of systemd's, which an option goes before.
                mkdir credentials; cp -p passphrase credentials/coffer.passphrase; chmod 400 credentials/*
                export CREDENTIALS_DIRECTORY=/mnt/credentials
                try 32 /mnt/none
                mount -t coffer /mnt/profile /mnt/point
                umount point
                """)
            #expect(result.output.contains("/mnt/open can be read by other users (mode 640). Try: chmod 600"))
            #expect(result.output.contains("(mode 604)"))
            #expect(result.output.contains("/mnt/none: there is no such file"))
            #expect(result.output.contains("/mnt/theirs/their-own belongs to daemon."))
            #expect(
                result.output.split(separator: "\n").filter { $0.contains("Others than root") }.count == 2)
            #expect(result.output.contains("The passphrase is wrong."))
        }

        @Test func missingProfile() throws {
            let result = try SystemMount.succeed(
                """
                mkdir empty
                expect_code 32 mount -t coffer /mnt/absent /mnt/point
                expect_code 32 mount -t coffer /mnt/empty /mnt/point
                echo from here on nothing is said
                expect_code 0 mount -t coffer /mnt/absent /mnt/point -o nofail
                expect_bare point
                """)
            #expect(result.output.contains("There is no profile in /mnt/absent. Make one with: coffer init"))
            #expect(result.output.contains("There is no profile in /mnt/empty."))
            #expect(result.lines.last == "from here on nothing is said")
        }

        /// Root neither runs nor reads a user's own files.
        @Test func profileOfAUser() throws {
            let result = try SystemMount.succeed(
                """
                options=passphrase-file=/mnt/passphrase
                expect_code 32 mount -t coffer /mnt/theirs/profile /mnt/point -o $options
                expect_code 32 mount -t coffer /mnt/theirs/profile /mnt/their-point -o $options,uid=root
                expect_code 32 mount -t coffer /mnt/theirs/profile /mnt/their-point -o $options,uid=nobodyisthis
                # A profile of root's that the user could exchange for another.
                cp -a profile theirs/roots
                expect_code 32 mount -t coffer /mnt/theirs/roots /mnt/point -o $options
                for who in uid=daemon user=daemon uid=1; do
                    mount -t coffer /mnt/theirs/profile /mnt/their-point -o $options,$who
                    findmnt -n -o FS-OPTIONS /mnt/their-point
                    process=$(head -1 theirs/profile/lock)
                    echo "process $(sed -n 's/^Uid:\\t\\([0-9]*\\).*/\\1/p' "/proc/$process/status")"
                    as_daemon sh -c 'echo kept >/mnt/their-point/Personal/file'
                    umount /mnt/their-point
                    expect_free theirs/profile
                done
                as_daemon /mnt/bin/coffer check --home theirs/profile --passphrase-file - <passphrase
                """)
            #expect(result.output.contains("daemon cannot mount here"))
            #expect(result.output.contains("only its owner can mount it"))
            #expect(result.output.contains("others can write to a directory above it"))
            #expect(result.lines.filter { $0.contains("user_id=1,") }.count == 3)
            #expect(result.lines.filter { $0 == "process 1" }.count == 3)
        }

        /// A line with “user”: mount(8) becomes that user before it calls the helper.
        @Test func mountedByAUser() throws {
            let result = try SystemMount.succeed(
                """
                cp passphrase theirs/own; chmod 600 theirs/own; chown daemon theirs/own
                echo "/mnt/theirs/profile /mnt/their-point coffer noauto,user,passphrase-file=/mnt/theirs/own 0 0" \
                    >etc/fstab
                mount --bind etc/fstab /etc/fstab
                as_daemon mount /mnt/their-point
                as_daemon sh -c 'echo kept >/mnt/their-point/Personal/file'
                as_daemon umount /mnt/their-point
                expect_free theirs/profile
                expect_code 32 setpriv --reuid nobody --regid nogroup --clear-groups -- mount /mnt/their-point
                """)
            #expect(!result.output.contains("ended with"))
        }

        /// The user's default profile, wherever it is.
        @Test func defaultProfile() throws {
            let result = try SystemMount.succeed(
                """
                sed 's|^\\(daemon:.*\\):[^:]*:\\([^:]*\\)$|\\1:/mnt/home:\\2|' /etc/passwd >etc/passwd
                mount --bind etc/passwd /etc/passwd
                options=uid=daemon,passphrase-file=/mnt/passphrase
                expect_code 32 mount -t coffer none /mnt/their-point -o $options
                as_daemon mkdir -p home/.local/share
                as_daemon cp -a theirs/profile home/.local/share/coffer
                mount -t coffer none /mnt/their-point -o $options
                findmnt -n --raw -o SOURCE,FSTYPE /mnt/their-point
                umount /mnt/their-point
                expect_free home/.local/share/coffer
                """)
            #expect(result.output.contains("There is no profile in /mnt/home/.local/share/coffer."))
            #expect(result.lines.contains("none fuse.coffer"))
        }

        @Test func lazyUnmountLosesNothing() throws {
            let result = try SystemMount.succeed(
                """
                mount -t coffer /mnt/profile /mnt/point -o passphrase-file=/mnt/passphrase
                exec 5>point/Personal/file
                expect_code 32 umount point
                umount -l point
                expect_bare point
                echo late >&5
                exec 5>&-
                flock profile/lock true
                mount -t coffer /mnt/profile /mnt/point -o passphrase-file=/mnt/passphrase
                cat point/Personal/file
                umount point
                """)
            #expect(result.lines.last == "late")
            #expect(result.output.contains("in use"))
        }

        @Test func fakeMountsAndOtherNamespaces() throws {
            let result = try SystemMount.succeed(
                """
                options=passphrase-file=/mnt/passphrase
                mount --fake --verbose -t coffer /mnt/profile /mnt/point -o $options 2>&1
                expect_bare point
                unshare --mount --propagation private -- mount -N /proc/$$/ns/mnt -t coffer /mnt/profile /mnt/point \
                    -o $options
                ls point
                umount point
                """)
            #expect(
                result.output.contains("mount.coffer: as root: /mnt/bin/coffer mount --home /mnt/profile"))
            #expect(result.lines.last == "Personal")
        }
    }
}
