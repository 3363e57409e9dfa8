#!/usr/bin/env python3
"""Random stories on a vault that several people share through a folder, with live mounts, and an oracle for losses.

usage: COFFER=/path/of/coffer chaos.py SEED MINUTES MEMBERS [--dir DIR] [--replicate] [--tmpfs] [--big] [--rough]
                                       [--plain] [--history] [--no-archive] [--only EVENT,…] [--ops OP,…] [--round SECONDS] [--expect REGEX] [--keep] [--quiet]

Each member is a profile with a process of its own in a mount namespace of its own, in which DIR/remote is the shared
folder (or, with --replicate, that member's own copy of it, and files come late and in another order, as with Syncthing).
Members work all at once, and meanwhile: a remote goes away, turns read-only, is full (--tmpfs); a mount is killed,
unmounted, limited in what it keeps; roles change, members are removed and invited again. Every half a minute or so all
come to rest, and these are compared:

  - all mounts: names, types, sizes, modes, contents, groups of links, extended attributes, times of files;
  - nothing acknowledged is lost: a content that was written and stored is in the vault, unless somebody who had read
    it wrote over it or removed it;
  - no content is a mixture of two that did not know of each other, and no line of a log is torn;
  - check is clean, status has no failure and no finding, the process that serves is the one that was started, and it
    took no more than --memory MiB.

--big adds files of 50 to 300 MiB; --rough changes roles and members while these write; --only restricts the events;
--ops restricts the calls; --plain has files of a few extents only; --blind writes on where others have added to a file
that is open; --no-archive keeps no commits in DIR/archive; a problem that matches --expect is counted, and does not end
the run. Without --replicate and --tmpfs a seed chooses.

--history keeps all past states. Each rest becomes a snapshot at each member, which has to read back byte for byte from
then on, at rest and while all work. Now and then, a member restores one, and all mounts have to show just that; or
takes back what another one did, and what the others wrote has to stay.

Exit 0: all held. 1: something did not, and DIR stays, with a log for each member (ops.jsonl) and the differences. Needs
root (namespaces), FUSE, Python 3.11.
"""

import argparse
import collections
import contextlib
import ctypes
import errno
import hashlib
import json
import mmap
import os
import random
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
BLOCK = 512
VAULT = "V"
NOREPLACE, EXCHANGE = 1, 2


def renameat2(a, b, flags):
    if libc.renameat2(-100, os.fsencode(a), -100, os.fsencode(b), flags):
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e), a, None, b)


def fallocate(fd, mode, offset, length):
    if libc.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length)):
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))


def sha(data):
    return hashlib.blake2b(data, digest_size=20).hexdigest()


class Seen(str):
    """The hash of a content that a call saw, with the writers of what was in it, at whatever place."""

    def __new__(cls, data):
        seen = super().__new__(cls, sha(data))
        seen.writers = sorted({struct.unpack_from("<Q", data, m.end())[0]
                               for m in re.finditer(b"CHAO", data) if len(data) - m.end() >= 8})[:64]
        return seen


def block(vid, index):
    head = b"CHAO" + struct.pack("<QI", vid, index)
    return head + hashlib.blake2b(head, digest_size=16).digest() * 31


def plain_name(path):
    """The last name of a path without what a conflict added to it: members may see one file by either name."""
    return re.sub(r"( \(conflict, [^()]*\))+( \d+)?", "", os.path.basename(path))


def content(vid, first, count):
    return b"".join([block(vid, first + i) for i in range(count)])


def vids_of(data, cap=64):
    """The writers of the blocks of a content; -1 stands for a block that no writer wrote that way."""
    found = set()
    for at in range(0, len(data), BLOCK):
        piece = data[at:at + BLOCK]
        stripped = piece.rstrip(b"\0")
        if len(stripped) < 16 and b"CHAO".startswith(stripped[:4]):
            continue  # cut off within the head of a block
        if piece[:4] == b"CHAO" and len(piece) >= 16:
            vid, index = struct.unpack("<QI", piece[4:16])
            # The end of a block may have been cut off, and be zeros since.
            found.add(vid if index == at // BLOCK and block(vid, index).startswith(piece.rstrip(b"\0")) else -1)
        elif len(piece) < 16:
            continue
        elif piece.strip(b"\0"):
            found.add(-1)
    return sorted(found)[:cap]


def read_all(fd):
    parts, at = [], 0
    while True:
        piece = os.pread(fd, 1 << 20, at)
        if not piece:
            return b"".join(parts)
        parts.append(piece)
        at += len(piece)


def serving(home, coffer):
    """The process that serves this profile."""
    real = os.path.realpath(coffer)
    for p in os.listdir("/proc"):
        if not p.isdigit():
            continue
        try:
            with open(f"/proc/{p}/cmdline", "rb") as f:
                arguments = f.read().split(b"\0")
            if home.encode() in arguments and b"mount" in arguments and os.readlink(f"/proc/{p}/exe") == real:
                return int(p)
        except OSError:
            continue
    return None


NOTHING = sha(b"")


# --------------------------------------------------------------------------------------------------------- a member

class Paused(Exception):
    pass


def store_mapped(mapping, at, data):
    """Stores bytes in a mapping of a file, by a call of the system: a page that cannot be had is an error of the call,
    not a signal that ends the process."""
    memory = os.memfd_create("stored")
    try:
        os.write(memory, data)
        with memoryview(mapping) as view, view[at:at + len(data)] as part:
            if os.preadv(memory, [part], 0) != len(data):
                raise OSError(errno.EIO, "not all of a mapping can be written")
    except OSError as e:
        raise OSError(errno.EIO, "a mapping cannot be written") if e.errno == errno.EFAULT else e
    finally:
        os.close(memory)


class Agent:
    """One member: follows the story in its own mount namespace, and works in its mount."""

    def __init__(self, argv):
        o = json.loads(argv)
        self.o = o
        self.coffer, self.work, self.name, self.number = o["coffer"], o["work"], o["name"], o["number"]
        self.folder = f"{self.work}/m/{self.name}"
        self.home, self.mnt = f"{self.folder}/profile", f"{self.folder}/mnt"
        self.root = f"{self.mnt}/{VAULT}"
        self.remote = f"{self.work}/remote"
        self.copy = o["copy"]
        self.env = dict(os.environ, COFFER_HOME=self.home, COFFER_PASSPHRASE_FILE=f"{self.folder}/pw")
        self.log = open(f"{self.folder}/ops.jsonl", "a", buffering=1)
        self.loglock, self.treelock = threading.Lock(), threading.Lock()
        self.go, self.stop = threading.Event(), False
        self.working, self.workers = set(), []
        self.busy, self.current = set(), {}
        self.claimlock = threading.Lock()
        self.counter = [0] * 4
        self.counts, self.errors = collections.Counter(), collections.Counter()
        self.connected, self.tries = True, 0
        self.big = 3 if o["big"] else 0
        # A reader's writes go into the kernel's cache, and fsync refuses them: what is shown then is another content than
        # the vault's. Only with --blind is that tried.
        self.reader = False

    def record(self, **what):
        with self.loglock:
            self.log.write(json.dumps(what) + "\n")

    # -- the commands of the story

    def enter(self):
        if libc.unshare(0x00020000):
            raise OSError(ctypes.get_errno(), "unshare")
        self.mountcall("none", "/", None, (1 << 14) | (1 << 18))
        self.online()

    @staticmethod
    def mountcall(source, target, kind, flags):
        if libc.mount(source.encode(), target.encode(), kind and kind.encode(), ctypes.c_ulong(flags), None):
            e = ctypes.get_errno()
            raise OSError(e, os.strerror(e), target)

    def bound(self):
        with open("/proc/self/mountinfo") as f:
            return any(line.split(" ")[4] == self.remote for line in f)

    def online(self):
        if not self.bound():
            self.mountcall(self.copy, self.remote, None, 1 << 12)
        self.mountcall("none", self.remote, None, (1 << 5) | (1 << 12))
        return {}

    def offline(self):
        if self.bound() and libc.umount2(self.remote.encode(), 2):
            raise OSError(ctypes.get_errno(), "umount")
        return {"bare": os.listdir(self.remote)}

    def readonly(self):
        self.online()
        self.mountcall("none", self.remote, None, (1 << 5) | (1 << 12) | 1)
        return {}

    def run(self, arguments, stdin=None, timeout=300):
        t = time.monotonic()
        try:
            p = subprocess.run([self.coffer] + arguments, env=self.env, input=stdin, capture_output=True, text=True,
                               timeout=timeout)
            return {"rc": p.returncode, "out": p.stdout, "err": p.stderr, "s": time.monotonic() - t}
        except subprocess.TimeoutExpired:
            return {"rc": -1, "out": "", "err": f"{arguments}: nothing within {timeout} s", "s": timeout}

    def mount(self):
        r = self.run(["mount", self.mnt, "-o", "noprotect"])
        self.record(k="mount", m=self.number, t0=time.monotonic(), t1=time.monotonic())
        return r | {"pid": serving(self.home, self.coffer)}

    def unmount(self):
        for _ in range(20):
            r = self.run(["unmount", self.mnt])
            if r["rc"] == 0 or "use" not in r["err"] + r["out"]:
                break
            time.sleep(0.3)
        if r["rc"] == 0:
            t = time.monotonic()
            self.record(k="barrier", m=self.number, t0=t, t1=t)
        return r

    @staticmethod
    def has_threads(pid):
        """Whether more is left of a process than what waits for its parent."""
        try:
            return len(os.listdir(f"/proc/{pid}/task")) > 1
        except OSError:
            return False

    def kill(self):
        pid = serving(self.home, self.coffer)
        t = time.monotonic()
        self.record(k="kill", m=self.number, t0=t, t1=t)
        if not pid:
            return {"pid": pid}
        os.kill(pid, signal.SIGKILL)
        # A killed process may be unable to end, as one of its threads waits for a page that an unanswered request keeps
        # locked. "coffer mount" aborts the connection then; but a command that is started here closes the files of this
        # process first, and waits for the same.
        end = time.monotonic() + 2
        while (is_stuck := self.has_threads(pid)) and time.monotonic() < end:
            time.sleep(0.05)
        if is_stuck:
            libc.umount2(self.mnt.encode(), 1)
        return {"pid": pid, "stuck": is_stuck}

    def pause(self):
        self.go.clear()
        end = time.monotonic() + 240
        while self.working and time.monotonic() < end:
            time.sleep(0.01)
        return {"stuck": [list(self.current.values()), sorted(self.working)] if self.working else None}

    def resume(self):
        self.go.set()
        return {}

    def become(self, reader):
        self.reader = reader and not self.o["blind"]
        return {}

    def memory(self):
        pid = serving(self.home, self.coffer)
        if not pid:
            return {"pid": None}
        with open(f"/proc/{pid}/status") as f:
            fields = dict(line.split(":", 1) for line in f)
        return {"pid": pid, "hwm": int(fields["VmHWM"].split()[0]) >> 10, "rss": int(fields["VmRSS"].split()[0]) >> 10,
                "threads": int(fields["Threads"]), "fds": len(os.listdir(f"/proc/{pid}/fd"))}

    def alive(self):
        now = time.monotonic()
        return {"ops": dict(self.counts), "errors": {f"{k[0]} {errno.errorcode.get(k[1], k[1])}": v for k, v in self.errors.items()},
                "oldest": max([now - c[1] for c in self.current.values()], default=0), "current": list(self.current.values())}

    @staticmethod
    def inode(top, rel):
        try:
            return os.lstat(os.path.join(top, rel)).st_ino
        except OSError as e:
            return "error " + errno.errorcode.get(e.errno, "?")

    def stat_named(self, path):
        """The status of what a path leads to. Content that arrives sealed anew replaces its file as rename(2) does, also
        between the two steps of lstat(2): looking up the path, and getting the attributes of the file that it led to."""
        for _ in range(10):
            s = os.lstat(path)
            if s.st_nlink > 0:
                break
            time.sleep(0.1)
        return s

    def walk(self, to, contents, past=None):
        """Writes down what the vault is, or was at the snapshot `past`."""
        out, top = {}, f"{self.root}/.coffer/history/{past}" if past else self.root
        for base, dirs, files in os.walk(top, followlinks=False):
            dirs.sort()
            for name in [""] * (base == top) + dirs + files:
                path = os.path.join(base, name) if name else base
                rel = os.path.relpath(path, top)
                try:
                    s = self.stat_named(path)
                except OSError as e:
                    out[rel] = {"type": "error " + errno.errorcode.get(e.errno, "?")}
                    continue
                r = {"type": stat.S_IFMT(s.st_mode), "mode": s.st_mode & 0o7777}
                try:
                    if not stat.S_ISLNK(s.st_mode):
                        r["x"] = {a: sha(os.getxattr(path, a, follow_symlinks=False))
                                  for a in sorted(os.listxattr(path, follow_symlinks=False)) if a.startswith("user.")}
                    if stat.S_ISLNK(s.st_mode):
                        r["target"] = os.readlink(path)
                    elif stat.S_ISREG(s.st_mode):
                        r["size"], r["nlink"], r["mtime"] = s.st_size, s.st_nlink, s.st_mtime_ns
                        if contents:
                            fd = os.open(path, os.O_RDONLY)
                            try:
                                data = read_all(fd)
                            finally:
                                os.close(fd)
                            r["hash"] = sha(data)
                            if len(data) != s.st_size:
                                r["short"] = len(data)
                            if b"\nL " in b"\n" + data[:4]:
                                r["lines"] = data.decode("latin-1").split("\n")
                            elif contents == 2:
                                r["vids"] = vids_of(data)
                            if not past:
                                r["state"] = os.getxattr(path, "user.coffer.state").decode()
                    else:
                        r["dirtime"] = s.st_mtime_ns
                except OSError as e:
                    r["error"] = errno.errorcode.get(e.errno, str(e.errno))
                out[rel] = r
        # A content that was sealed anew under a new key gives its file a new inode here, even while all rest. So what
        # has several names is looked at once more, all at one moment.
        links = [p for p, r in out.items() if r.get("nlink", 1) > 1]
        for _ in range(5):
            groups, seen = {}, [self.inode(top, p) for p in links]
            if seen == [self.inode(top, p) for p in links]:
                break
        for p, inode in zip(links, seen):
            groups.setdefault(inode, []).append(p)
        for paths in groups.values():
            for p in paths:
                out[p]["group"] = sorted(paths)
        with open(to, "w") as f:
            json.dump(out, f)
        return {"entries": len(out)}

    def walk_unsent(self, to):
        """The contents in the vaults of what could not be sent, beside the vault."""
        out, (mount, vault) = {}, os.path.split(self.root)
        for top in os.listdir(mount):
            if not top.startswith(vault + " (not sent"):
                continue
            for base, _, files in os.walk(os.path.join(mount, top)):
                for path in (os.path.join(base, name) for name in files):
                    if stat.S_ISREG(os.lstat(path).st_mode):
                        with open(path, "rb") as f:
                            data = f.read()
                        out[os.path.relpath(path, mount)] = {"hash": sha(data), "size": len(data)}
                        if b"\nL " in b"\n" + data[:4]:
                            out[os.path.relpath(path, mount)]["lines"] = data.decode("latin-1").split("\n")
        with open(to, "w") as f:
            json.dump(out, f)
        return {"entries": len(out)}

    def serve(self):
        for line in sys.stdin:
            q = json.loads(line)
            do = q.pop("do")
            if do == "quit":
                self.stop = True
                self.go.set()
                break
            try:
                r = getattr(self, do)(**q)
            except OSError as e:
                r = {"rc": -2, "out": "", "err": f"{do}: {e}"}
            print(json.dumps(r), flush=True)

    def start(self, seed, hold, noise):
        for n, task in enumerate([self.work_files] + [self.work_held] * hold + [self.work_noise] * noise):
            t = threading.Thread(target=self.worker, args=(n, task, random.Random(f"{seed}/{self.name}/{n}")), daemon=True)
            t.start()
            self.workers.append(t)
        return {}

    # -- work

    def worker(self, n, task, rng):
        while not self.stop:
            if not self.go.is_set():
                self.go.wait(0.5)
                continue
            self.working.add(n)
            try:
                if self.go.is_set():
                    task(n, rng)
            finally:
                self.current.pop(n, None)
                self.working.discard(n)
            time.sleep(rng.random() ** 3 * self.o["pause"])

    def vid(self, n):
        self.counter[n] += 1
        return self.number << 40 | n << 32 | self.o["epoch"] << 24 | self.counter[n]

    def attempt(self, n, kind, call, *arguments):
        """Makes a call, and notes the result. `call` fills a dictionary with its changes."""
        note = {"k": kind, "m": self.number, "t0": time.monotonic()}
        self.current[n] = (kind, note["t0"])
        try:
            call(n, note, *arguments)
            self.counts[kind] += 1
        except OSError as e:
            note["err"] = errno.errorcode.get(e.errno, str(e.errno))
            self.errors[(kind, e.errno)] += 1
            self.counts["refused"] += 1
            if e.errno in (errno.ENOTCONN, errno.ECONNABORTED):
                time.sleep(0.2)
        note["t1"] = time.monotonic()
        self.current.pop(n, None)
        had = {vid for h in note.get("over", []) + note.get("rem", []) for vid in getattr(h, "writers", ())}
        if had:
            note["had"] = sorted(had)
        if any(x in note for x in ("over", "rem", "made", "line", "fs", "what", "path")) or note.get("err") not in (
                None, "ENOENT", "EEXIST", "ENOTEMPTY", "ENOTDIR", "EISDIR", "EROFS", "EINVAL", "ENOTCONN"):
            self.record(**note)
        return note

    names = ["a", "b.txt", "report.odt", "A", "B.TXT", "caf\u00e9", "cafe\u0301", "\u212b", "\u00c5", "x.tar.gz", "README",
             "readme", ".hidden", "n\nl", "sp ace ", "dot.", "b (conflict, dev1, 2026-11-22).txt", "b.txt~", "\udcff\udcfe",
             "emoji \U0001f600.md", "w" * 250 + ".long", "\u0645\u0644\u0641.txt", "-rf", "a\\b", "con", "\u01c4", "\u01c6",
             "i\u0307", "\u0130", "stra\u00dfe", "strasse"]

    def name_of(self, rng):
        return rng.choice(self.names) if rng.random() < 0.6 else f"f{rng.randrange(40)}.dat"

    def some_dir(self, rng):
        path = self.root
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4))):
            try:
                sub = [e.name for e in os.scandir(path) if e.is_dir(follow_symlinks=False) and e.name not in ("logs",)]
            except OSError:
                break
            if not sub:
                break
            path = os.path.join(path, rng.choice(sub))
        return path

    def some_file(self, rng):
        for _ in range(6):
            d = self.some_dir(rng)
            try:
                files = [e.name for e in os.scandir(d) if e.is_file(follow_symlinks=False)]
            except OSError:
                continue
            if files:
                return os.path.join(d, rng.choice(files))
        return None

    def new_path(self, rng):
        return os.path.join(self.some_dir(rng), self.name_of(rng))

    def size_of(self, rng):
        r = rng.random()
        if self.o["plain"]:
            return rng.randrange(1, 9000 if r < 0.7 else 100_000)
        if r < 0.55:
            return rng.randrange(1, 9000)
        if r < 0.9:
            return rng.randrange(1, 200_000)
        if r < 0.985:
            return rng.randrange(200_000, 3_000_000)
        return rng.randrange(3_000_000, 12_000_000)

    def fresh(self, vid, size):
        return content(vid, 0, (size + BLOCK - 1) // BLOCK)[:size]

    @staticmethod
    def write(fd, data, at, rng):
        view, done = memoryview(data), 0
        step = rng.choice((4096, 65536, 1 << 20))
        while done < len(data):
            done += os.pwrite(fd, view[done:done + step], at + done)

    def seen(self, path, limit=1 << 24):
        """Opens a file by its path; returns (descriptor, hash, links). If it cannot be read, its size."""
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            s = os.fstat(fd)
            if not stat.S_ISREG(s.st_mode):
                raise OSError(errno.EISDIR, "no file")
            if s.st_ino in self.busy:
                raise OSError(errno.EBUSY, "busy")
            try:
                h = Seen(read_all(fd))
            except OSError as e:
                if e.errno not in (errno.EIO, errno.ETIMEDOUT):
                    raise
                self.errors[("read", e.errno)] += 1
                h = f"size {s.st_size}"
            s = os.fstat(fd)
            return fd, h, s
        except BaseException:
            os.close(fd)
            raise

    def claim(self, inode):
        """Has a file to oneself, among the threads of this member, until it is taken out of "busy"; False if another has it."""
        with self.claimlock:
            if inode in self.busy:
                return False
            self.busy.add(inode)
            return True

    def same(self, path, s):
        now = os.lstat(path)
        return (now.st_ino, now.st_size, now.st_mtime_ns) == (s.st_ino, s.st_size, s.st_mtime_ns)

    # calls; each notes what it has read and so knows (over, rem), what it made, and if that was stored (fs: since when)

    def do_create(self, n, note, rng, path=None, size=None):
        path, size = path or self.new_path(rng), size or self.size_of(rng)
        vid = self.vid(n)
        data = self.fresh(vid, size)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, rng.choice((0o644, 0o600, 0o755)))
        try:
            self.busy.add(os.fstat(fd).st_ino)
            note.update(path=path, vid=vid, base=[], made=sha(data), size=size, part=1)
            if size > 100_000 and rng.random() < 0.1:
                half = size // 2 // BLOCK * BLOCK
                self.write(fd, data[:half], 0, rng)
                time.sleep(rng.random())
                now = read_all(fd)
                if now != data[:half] and not self.o["blind"]:
                    note["over"] = [sha(now)]
                    os.ftruncate(fd, half)
                    self.write(fd, data[:half], 0, rng)
                self.write(fd, data[half:], half, rng)
            else:
                self.write(fd, data, 0, rng)
            if rng.random() < 0.7:
                t = time.monotonic()
                os.fsync(fd)
                note["fs"] = t
            del note["part"]
        finally:
            self.busy.discard(os.fstat(fd).st_ino)
            os.close(fd)

    def do_big(self, n, note, rng):
        if self.big <= 0:
            return
        self.big -= 1
        self.do_create(n, note, rng, path=os.path.join(self.some_dir(rng), f"big{self.number}{self.big}.bin"),
                       size=rng.randrange(50 << 20, 300 << 20))

    def do_change(self, n, note, rng, how=None, path=None, slow=False):
        """Changes a file in its place through one descriptor."""
        path = path or self.some_file(rng)
        if not path or self.reader:
            return
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        ino = None
        try:
            s = os.fstat(fd)
            if s.st_size > 8 << 20 and rng.random() < 0.7 or not self.claim(s.st_ino):
                return
            ino = s.st_ino
            if os.fstat(fd).st_nlink == 0:
                return  # another thread has just removed it, and may have written to it
            before = read_all(fd)
            if before[:2] == b"L ":
                return
            data = bytearray(before)
            vid = self.vid(n)
            h0 = sha(before)
            note.update(path=path, vid=vid, base=vids_of(before) if len(before) < 4 << 20 else None, over=[h0], size=s.st_size,
                        part=1)
            plain = self.o["plain"]
            hole = 1 << 62
            for _ in range(rng.choice((1, 1, 2, 3)) if not how and not plain else 1):
                kind = how or rng.choice(("again", "again", "again", "again", "append", "middle", "cut", "longer") if plain else
                                         ("middle", "middle", "append", "append", "cut", "longer", "punch", "zero", "map", "again"))
                blocks = len(data) // BLOCK
                at = rng.randrange(blocks + 1)
                count = min(rng.choice((1, 1, 3, 8, 40, 300)), max(1, blocks - at))
                note.setdefault("how", []).append(kind)
                if kind == "append":
                    at = (len(data) + BLOCK - 1) // BLOCK
                    count = rng.choice((1, 2, 9, 50, 400))
                    kind = "middle"
                if kind == "middle":
                    piece = content(vid, at, count)
                    self.write(fd, piece, at * BLOCK, rng)
                    if len(data) < at * BLOCK:
                        data.extend(bytes(at * BLOCK - len(data)))
                    data[at * BLOCK:at * BLOCK + len(piece)] = piece
                elif kind == "cut":
                    os.ftruncate(fd, at * BLOCK // 2)
                    if at * BLOCK // 2 < len(data):
                        del data[at * BLOCK // 2:]
                    else:
                        hole = min(hole, len(data))
                        data.extend(bytes(at * BLOCK // 2 - len(data)))
                elif kind == "longer":
                    size = len(data) + rng.choice((1, 4096, 100_000))
                    os.ftruncate(fd, size)
                    hole = min(hole, len(data))
                    data.extend(bytes(size - len(data)))
                elif kind in ("punch", "zero"):
                    fallocate(fd, 3 if kind == "punch" else 0x10 | 1, at * BLOCK, count * BLOCK)
                    end = min(len(data), (at + count) * BLOCK)
                    if end > at * BLOCK:
                        data[at * BLOCK:end] = bytes(end - at * BLOCK)
                elif kind == "map" and len(data) >= BLOCK:
                    at = min(at, len(data) // BLOCK - 1)
                    count = min(count, len(data) // BLOCK - at)
                    with mmap.mmap(fd, len(data)) as m:
                        store_mapped(m, at * BLOCK, content(vid, at, count))
                        if slow:
                            time.sleep(rng.random() * 2)
                        m.flush()
                    data[at * BLOCK:(at + count) * BLOCK] = content(vid, at, count)
                elif kind == "again":
                    size = self.size_of(rng)
                    os.ftruncate(fd, 0)
                    if rng.random() < 0.1 or slow:
                        time.sleep(rng.random())
                        # Bytes that others put into the empty file meanwhile reach this descriptor (docs/posix.md).
                        added = read_all(fd)
                        if added and not self.o["blind"]:
                            note["over"].append(sha(added))
                            os.ftruncate(fd, 0)
                    data = bytearray(self.fresh(vid, size))
                    self.write(fd, bytes(data), 0, rng)
                if len(data) < 4 << 20:
                    note.setdefault("mid", []).append(sha(data))
                if slow:
                    time.sleep(rng.random() * 3)
                    now = read_all(fd)
                    if now != data and now[:len(data)] == data and not self.o["blind"]:
                        # It has read what others added, whatever it changed before that.
                        before += now[len(data):]
                        note["over"] += [sha(now), sha(before)]
                        data = bytearray(now)
            t = None
            if slow or rng.random() < 0.7:
                t = time.monotonic()
                os.fsync(fd)
            note["made"] = sha(data)
            after = read_all(fd)
            if after != data:
                # A file that only grows keeps its inode: others may have added something meanwhile.
                if len(after) > len(data) and after[:len(data)] == data:
                    tail = after[len(data):]
                    note.update(grown=len(tail), alt=note["made"], made=sha(after))
                    note["over"].append(sha(before + tail))
                elif len(after) == len(data) and after[:hole] == data[:hole]:
                    # The additions of others were cut off or extended, without being read before.
                    note.update(grown=len(after) - hole, alt=note["made"], made=sha(after))
                else:
                    common = next((i for i in range(0, min(len(after), len(data)), BLOCK)
                                   if after[i:i + BLOCK] != data[i:i + BLOCK]), min(len(after), len(data)))
                    note.update(what="other bytes than were written", wrote=len(data), got=len(after), first=common,
                                gotvids=vids_of(after)[:20], wrotevids=vids_of(bytes(data))[:20], alt=note["made"], made=sha(after))
            if t:
                note["fs"] = t
            del note["part"]
            note["size"] = len(after)
            if os.fstat(fd).st_nlink == 0:
                note["gone"] = 1  # removed meanwhile, as by unlink(2): later writes go with the descriptor
        finally:
            if ino is not None:
                self.busy.discard(ino)
            os.close(fd)

    def do_save(self, n, note, rng):
        """As editors do: a new file, and rename over the old one."""
        path = self.some_file(rng)
        if not path:
            return
        fd, h, s = self.seen(path)
        try:
            vid = self.vid(n)
            data = self.fresh(vid, self.size_of(rng))
            temporary = os.path.join(os.path.dirname(path), f".tmp{self.number}.{n}.{self.counter[n]}")
            out = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            t = None
            try:
                self.write(out, data, 0, rng)
                if rng.random() < 0.8:
                    os.fsync(out)
            finally:
                os.close(out)
            with self.treelock:
                if not self.same(path, s) or s.st_ino in self.busy:
                    os.unlink(temporary)
                    return
                note.update(path=path, vid=vid, base=[], over=[h] if s.st_nlink == 1 else [], made=sha(data), size=len(data), part=1)
                os.rename(temporary, path)
            if os.fstat(fd).st_nlink == 0:
                note["over"] = [h]  # another member removed its other names meanwhile
            elif s.st_nlink > 1:
                note["name"] = h
            if rng.random() < 0.5:
                t = time.monotonic()
                d = os.open(os.path.dirname(path), os.O_RDONLY)
                try:
                    os.fsync(d)
                finally:
                    os.close(d)
                note["fs"] = t
            del note["part"]
        finally:
            os.close(fd)

    def do_unlink(self, n, note, rng, path=None):
        path = path or self.some_file(rng)
        if not path:
            return
        fd, h, s = self.seen(path)
        try:
            with self.treelock:
                if not self.same(path, s) or s.st_ino in self.busy:
                    return
                note.update(path=path, rem=[h] if s.st_nlink == 1 else [], part=1)
                os.unlink(path)
                del note["part"]
            after = os.fstat(fd)
            if after.st_nlink == 0:
                note["rem"] = [h]
            elif s.st_nlink > 1:
                note["name"] = h
            if after.st_nlink >= s.st_nlink:
                note["raced"] = [s.st_nlink, after.st_nlink]
            if not h.startswith("size") and rng.random() < 0.3 and sha(read_all(fd)) != h:
                note["what"] = "an open file that was removed has other bytes"
        finally:
            os.close(fd)

    def do_unlink_open(self, n, note, rng):
        path = self.some_file(rng)
        if not path:
            return
        if self.reader:
            return
        fd, h, s = self.seen(path)
        w, claimed = None, None
        try:
            w = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            if os.fstat(w).st_ino != s.st_ino or s.st_ino in self.busy or s.st_nlink != 1:
                return
            with self.treelock:
                if not self.same(path, s) or not self.claim(s.st_ino):
                    return
                claimed = s.st_ino
                note.update(path=path, rem=[h], part=1)
                os.unlink(path)
            if rng.random() < 0.7:
                # Writes to a removed file are gone, too.
                piece = content(self.vid(n), 0, 20)
                # A page that is not written whole is read first; if that fails, the kernel writes what comes before it.
                piece = piece[:os.pwrite(w, piece, 0)]
                if rng.random() < 0.5:
                    os.fsync(w)
                if os.pread(w, len(piece), 0) != piece:
                    note["what"] = "a removed file does not have what was written to it"
            del note["part"]
        finally:
            if claimed is not None:
                self.busy.discard(claimed)
            os.close(fd)
            if w is not None:
                os.close(w)

    def do_rename(self, n, note, rng):
        a, b = self.some_file(rng), None
        if not a:
            return
        way = rng.random()
        if way < 0.45:
            b = self.new_path(rng)
            renameat2(a, b, NOREPLACE)
            note.update(source=a, path=b)
        elif way < 0.6:
            b = self.some_file(rng)
            if b and b != a:
                renameat2(a, b, EXCHANGE)
                note.update(source=a, path=b, swapped=1)
        else:
            b = self.some_file(rng)
            if not b or b == a:
                return
            fd, h, s = self.seen(b)
            try:
                with self.treelock:
                    if not self.same(b, s) or s.st_ino in self.busy or os.lstat(a).st_ino == s.st_ino:
                        return
                    note.update(path=b, rem=[h] if s.st_nlink == 1 else [], part=1, source=a)
                    os.rename(a, b)
                    del note["part"]
                after = os.fstat(fd)
                if after.st_nlink == 0:
                    note["rem"] = [h]
                elif s.st_nlink > 1:
                    note["name"] = h
                if after.st_nlink >= s.st_nlink:
                    note["raced"] = [s.st_nlink, after.st_nlink]
            finally:
                os.close(fd)

    def do_rename_dir(self, n, note, rng):
        a = self.some_dir(rng)
        if a == self.root:
            return
        with self.treelock:
            way = rng.random()
            if way < 0.55:
                b = os.path.join(self.some_dir(rng), f"d{rng.randrange(12)}")
                renameat2(a, b, NOREPLACE)
                note.update(source=a, path=b)
            elif way < 0.75:
                b = self.some_dir(rng)
                if b != self.root:
                    renameat2(a, b, EXCHANGE)
                    note.update(source=a, path=b, swapped=1)
            elif way < 0.9:
                # Into what is below it: EINVAL; or its child takes its place.
                sub = [e.path for e in os.scandir(a) if e.is_dir(follow_symlinks=False)]
                if sub:
                    c = rng.choice(sub)
                    if rng.random() < 0.5:
                        try:
                            os.rename(a, os.path.join(c, "inside"))
                            note["what"] = "a directory went into itself"
                        except OSError as e:
                            if e.errno not in (errno.EINVAL, errno.ENOENT, errno.EROFS, errno.ENOTCONN):
                                raise
                    else:
                        t = a + ".up"
                        renameat2(c, t, NOREPLACE)
                        renameat2(a, os.path.join(t, os.path.basename(c)), NOREPLACE)
                        renameat2(t, a, NOREPLACE)
            else:
                b = os.path.join(self.some_dir(rng), f"d{rng.randrange(12)}")
                os.rename(a, b)
                note.update(source=a, path=b)

    def do_mkdir(self, n, note, rng):
        os.mkdir(os.path.join(self.some_dir(rng), rng.choice((f"d{rng.randrange(12)}", f"d{rng.randrange(12)}", self.name_of(rng)))))

    def do_rmtree(self, n, note, rng):
        top = self.some_dir(rng)
        if top == self.root or top.count("/") == self.root.count("/") + 1 and rng.random() < 0.6:
            return
        if sum(len(f) for _, _, f in os.walk(top)) > 400:
            return
        for base, dirs, files in os.walk(top, topdown=False):
            for f in files:
                p = os.path.join(base, f)
                if os.path.islink(p) or not os.path.isfile(p):
                    try:
                        os.unlink(p)
                    except OSError:
                        pass
                else:
                    self.attempt(n, "unlink", lambda n, note: self.do_unlink(n, note, rng, p))
                    self.current[n] = ("rmtree", time.monotonic())
            try:
                os.rmdir(base)
            except OSError as e:
                if e.errno not in (errno.ENOTEMPTY, errno.ENOENT, errno.EEXIST, errno.EROFS, errno.ENOTCONN):
                    raise

    def do_link(self, n, note, rng):
        a = self.some_file(rng)
        if a:
            b = self.new_path(rng)
            os.link(a, b, follow_symlinks=False)
            note.update(source=a, path=b)

    def do_symlink(self, n, note, rng):
        os.symlink(rng.choice(("nowhere", "../a", "/etc/hostname", "x" * 900, "b.txt")), self.new_path(rng))

    def do_special(self, n, note, rng):
        p = self.new_path(rng)
        if rng.random() < 0.7:
            os.mkfifo(p)
        else:
            os.mknod(p, 0o600 | stat.S_IFSOCK)

    def do_unlink_other(self, n, note, rng):
        d = self.some_dir(rng)
        other = [e.path for e in os.scandir(d) if not e.is_file(follow_symlinks=False) and not e.is_dir(follow_symlinks=False)]
        if other:
            os.unlink(rng.choice(other))

    def do_xattr(self, n, note, rng):
        p = self.some_file(rng) if rng.random() < 0.7 else self.some_dir(rng)
        if not p:
            return
        a = f"user.x{rng.randrange(4)}"
        note.update(path=p, attribute=a)
        if rng.random() < 0.7:
            os.setxattr(p, a, rng.randbytes(rng.choice((0, 5, 40, 300, 5000))))
        else:
            try:
                os.removexattr(p, a)
            except OSError as e:
                if e.errno != errno.ENODATA:
                    raise

    def do_mode(self, n, note, rng):
        p = self.some_file(rng) if rng.random() < 0.8 else self.some_dir(rng)
        if not p:
            return
        note.update(path=p)
        if rng.random() < 0.6:
            os.chmod(p, rng.choice((0o755, 0o700, 0o711, 0o775) if os.path.isdir(p) else (0o644, 0o600, 0o444, 0o755, 0o4755, 0)))
        elif os.path.isfile(p):
            os.utime(p, ns=(rng.randrange(2 ** 60), rng.randrange(2 ** 60)))

    def do_line(self, n, note, rng):
        if self.reader:
            return
        path = os.path.join(self.root, "logs", f"log{rng.randrange(2)}")
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            name = f"{self.vid(n):016x}"
            line = f"L {name} " + hashlib.sha1(name.encode()).hexdigest() * rng.choice((1, 1, 2, 20)) + "\n"
            note.update(path=path, line=name, part=1)
            os.write(fd, line.encode())
            if rng.random() < 0.8:
                t = time.monotonic()
                os.fsync(fd)
                note["fs"] = t
            del note["part"]
        finally:
            os.close(fd)

    def do_tiny(self, n, note, rng):
        d = os.path.join(self.some_dir(rng), f"tiny{rng.randrange(6)}")
        try:
            os.mkdir(d)
        except FileExistsError:
            if len(os.listdir(d)) > 1500:
                return
        many = []
        for _ in range(rng.choice((30, 100, 300))):
            vid = self.vid(n)
            data = self.fresh(vid, rng.randrange(20, 900))
            try:
                fd = os.open(os.path.join(d, f"t{rng.randrange(3000)}"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                continue
            try:
                os.write(fd, data)
                many.append((vid, sha(data), len(data)))
            finally:
                os.close(fd)
        t = time.monotonic()
        fd = os.open(d, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        for vid, h, size in many:
            self.record(k="tiny", m=self.number, t0=note["t0"], t1=time.monotonic(), path=d, vid=vid, base=[], made=h, size=size, fs=t)

    def do_read(self, n, note, rng):
        p = self.some_file(rng)
        if not p:
            return
        fd = os.open(p, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            s = os.fstat(fd)
            if s.st_size > 8 << 20 and rng.random() < 0.7:
                return
            data = read_all(fd)
            if data[:2] != b"L " and -1 in vids_of(data):
                note.update(what="bytes that nobody wrote", path=p, size=len(data))
        finally:
            os.close(fd)

    def do_resolve(self, n, note, rng):
        r = self.run(["conflicts", "list", "--json"], timeout=60)
        if r["rc"]:
            return
        found = [c for v in (json.loads(r["out"]) if r["out"].strip() else []) for c in ([v] if isinstance(v, dict) else [])]
        found = [c for c in found if c.get("vault") == VAULT and c.get("path") and "logs" not in c["path"]]
        if not found:
            return
        c = rng.choice(found)
        copy = os.path.join(self.root, c["path"])
        original = os.path.join(self.root, c["original"]) if c.get("original") else None
        fd, h, s = self.seen(copy)
        os.close(fd)
        keep = rng.choice(("original", "copy"))
        rem = [h] if keep == "original" and s.st_nlink == 1 else []
        if keep == "copy" and original and os.path.isfile(original):
            fd, h, s = self.seen(original)
            os.close(fd)
            rem = [h] if s.st_nlink == 1 else []
        note.update(rem=rem, path=copy, part=1)
        r = self.run(["conflicts", "resolve", "--keep", keep, VAULT, c["path"]], timeout=60)
        if r["rc"] == 0:
            del note["part"]
            self.counts["resolved"] += 1

    weights = {"create": 14, "change": 22, "save": 8, "unlink": 7, "unlink_open": 2, "rename": 12, "rename_dir": 5, "mkdir": 5,
               "rmtree": 1.5, "link": 4, "symlink": 2, "special": 0.5, "unlink_other": 1, "xattr": 5, "mode": 5, "line": 2,
               "tiny": 0.7, "read": 6, "big": 0.4}

    def work_files(self, n, rng):
        if not os.path.isdir(self.root):
            time.sleep(0.2)
            return
        weights = {k: v for k, v in self.weights.items() if not self.o["ops"] or k in self.o["ops"]}
        kind = rng.choices(list(weights), list(weights.values()))[0]
        if kind == "create" and self.counts["create"] - self.counts["unlink"] > 1500:
            kind = "unlink"
        self.attempt(n, kind, lambda n, note: getattr(self, "do_" + kind)(n, note, rng))

    def work_held(self, n, rng):
        """Keeps a file open for long, and writes to it in steps."""
        if self.o["ops"] and "held" not in self.o["ops"]:
            time.sleep(1)
            return
        time.sleep(rng.random())
        p = self.some_file(rng)
        if p:
            self.attempt(n, "held", lambda n, note: self.do_change(n, note, rng, path=p, slow=True))

    def work_noise(self, n, rng):
        kind = rng.choice(("rename_dir", "mkdir", "mode", "xattr", "read"))
        if self.o["ops"] and kind not in self.o["ops"]:
            time.sleep(1)
            return
        self.attempt(n, kind, lambda n, note: getattr(self, "do_" + kind)(n, note, rng))
        time.sleep(rng.random() * 0.3)


# ---------------------------------------------------------------------------------------------- a folder that replicates

class Replicator(threading.Thread):
    """Copies new files between the members' copies of the folder, each after a time of its own."""

    def __init__(self, copies, rng, delay):
        super().__init__(daemon=True)
        self.copies, self.rng, self.delay = copies, rng, delay
        self.known = {c: {} for c in copies}
        self.queue, self.cut, self.stop, self.conflicts = [], set(), False, 0
        self.lock, self.hurry, self.idle_since = threading.Lock(), False, 0

    @staticmethod
    def scan(top):
        out, stack = {}, [top]
        while stack:
            try:
                entries = list(os.scandir(stack.pop()))
            except FileNotFoundError:
                continue
            for e in entries:
                if e.name in (".incoming",) or e.name.startswith(".st.") or ".sync-conflict-" in e.name:
                    continue
                if e.is_dir(follow_symlinks=False):
                    stack.append(e.path)
                    continue
                # One file that has gone meanwhile does not make the others of its directory seem gone.
                with contextlib.suppress(FileNotFoundError):
                    s = e.stat(follow_symlinks=False)
                    out[os.path.relpath(e.path, top)] = (s.st_mtime_ns, s.st_size)
        return out

    def run(self):
        while not self.stop:
            moved = self.step()
            if moved or self.queue:
                self.idle_since = 0
            elif not self.idle_since:
                self.idle_since = time.monotonic()
            time.sleep(0.15 if self.hurry else 0.4)

    def step(self):
        now, moved = time.monotonic(), False
        for c, top in self.copies.items():
            there = self.scan(top)
            old = self.known[c]
            for name, v in there.items():
                if old.get(name) != v:
                    moved = True
                    for other in self.copies:
                        if other != c:
                            self.queue.append([now + self.late(), "put", c, other, name, v])
            for name in old.keys() - there.keys():
                moved = True
                for other in self.copies:
                    if other != c:
                        self.queue.append([now + self.late(), "delete", c, other, name, old[name]])
            self.known[c] = there
        rest = []
        for e in self.queue:
            if (e[0] > now and not self.hurry) or e[2] in self.cut or e[3] in self.cut:
                rest.append(e)
            else:
                self.deliver(e)
        self.queue = rest
        return moved

    def late(self):
        r = self.rng.random()
        return self.rng.random() * (0.3 if r < 0.5 else self.delay if r < 0.95 else 4 * self.delay)

    def deliver(self, e):
        _, what, source, target, name, version = e
        a, b = os.path.join(self.copies[source], name), os.path.join(self.copies[target], name)
        try:
            if what == "delete":
                if self.known[target].get(name) == version and name not in self.known[source]:
                    os.unlink(b)
                    self.known[target].pop(name, None)
                return
            s = os.stat(a)
            with open(a, "rb") as f:
                data = f.read()
            try:
                t = os.stat(b)
                with open(b, "rb") as f:
                    if f.read() == data:
                        os.utime(b, ns=(s.st_atime_ns, max(s.st_mtime_ns, t.st_mtime_ns)))
                        self.known[target][name] = (max(s.st_mtime_ns, t.st_mtime_ns), len(data))
                        return
                if not name.endswith("/transient"):
                    self.conflicts += 1
                if t.st_mtime_ns >= s.st_mtime_ns:
                    return
                if not name.endswith("/transient"):
                    os.rename(b, b + ".sync-conflict-x")
            except FileNotFoundError:
                pass
            os.makedirs(os.path.dirname(b), exist_ok=True)
            temporary = os.path.join(os.path.dirname(b), ".st." + os.path.basename(b))
            with open(temporary, "wb") as f:
                f.write(data)
            os.utime(temporary, ns=(s.st_atime_ns, s.st_mtime_ns))
            os.rename(temporary, b)
            self.known[target][name] = (s.st_mtime_ns, len(data))
        except FileNotFoundError:
            pass


# ---------------------------------------------------------------------------------------------------------- the story

class Failure(Exception):
    pass


class Member:
    def __init__(self, story, number):
        self.story, self.number, self.name = story, number, f"m{number}"
        self.folder = f"{story.work}/m/{self.name}"
        os.makedirs(f"{self.folder}/mnt")
        with open(f"{self.folder}/pw", "w") as f:
            f.write(f"pass {self.name}\n")
        os.chmod(f"{self.folder}/pw", 0o600)
        self.mounted = self.offline = self.readonly = self.was_reader = False
        self.role, self.pid, self.hwm = "writer", None, 0
        self.synced, self.excused = time.monotonic(), []
        # What this member's mount showed when the snapshots of its history were made.
        self.snapshots = {}
        o = {"coffer": story.coffer, "work": story.work, "name": self.name, "number": number, "big": story.a.big,
             "copy": story.copies[self.name], "pause": 0.12, "epoch": 0, "plain": story.a.plain, "blind": story.a.blind, "ops": story.a.ops.split(",") if story.a.ops else None}
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--agent", json.dumps(o)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()

    def ask(self, do, **arguments):
        with self.lock:
            self.process.stdin.write(json.dumps({"do": do} | arguments) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        if not line:
            raise Failure(f"{self.name}: the agent ended")
        return json.loads(line)

    def run(self, *arguments, stdin=None, ok=True, timeout=300):
        r = self.ask("run", arguments=list(arguments), stdin=stdin, timeout=timeout)
        if ok and r["rc"]:
            raise Failure(f"{self.name}: coffer {' '.join(arguments)}: exit {r['rc']}: {r['err'].strip() or r['out'].strip()}")
        return r

    def mount(self):
        r = self.ask("mount")
        if r["rc"]:
            raise Failure(f"{self.name}: mount: {r['rc']} {r['err']}")
        self.mounted, self.pid = True, r["pid"]

    def status(self):
        r = self.run("status", "--json")
        s = json.loads(r["out"])
        v = next((v for v in s["vaults"] if v["name"] == VAULT), None)
        return s, (v or {}).get("sync") or {}


class Story:
    def __init__(self, a):
        self.a, self.rng = a, random.Random(a.seed)
        self.coffer = os.path.abspath(os.environ.get("COFFER", "coffer"))
        self.work = os.path.abspath(a.dir or tempfile.mkdtemp(prefix=f"chaos-{a.seed}-"))
        os.makedirs(f"{self.work}/remote", exist_ok=True)
        os.makedirs(f"{self.work}/m", exist_ok=True)
        kind = self.rng.random()
        self.replicate = a.replicate or not a.shared and not a.tmpfs and kind < 0.4
        self.tmpfs = a.tmpfs or not a.shared and not self.replicate and kind > 0.7 and not a.big
        self.begun, self.problems, self.notes = time.monotonic(), [], collections.Counter()
        self.out = open(f"{self.work}/story.log", "a", buffering=1)
        self.ops, self.offsets, self.told, self.expected, self.lost_before = [], {}, set(), [], set()
        # Members whose role or membership was to change, which failed, and since when that may take place.
        self.kept = {}
        # Who wrote each content and each line; the lines that a restore or an undo took out of the vault.
        self.makers, self.lines_taken = collections.defaultdict(set), set()
        self.replicator = None

    def say(self, text):
        line = f"{time.monotonic() - self.begun:7.1f} {text}"
        self.out.write(line + "\n")
        if not self.a.quiet:
            print(line[:400], flush=True)

    def problem(self, text):
        if self.a.expect and re.search(self.a.expect, text):
            self.expected.append(text)
            self.out.write(f"{time.monotonic() - self.begun:7.1f} EXPECTED {text}\n")
            return
        self.problems.append(text)
        self.say("PROBLEM " + text)

    # -- beginning

    def setup(self):
        names = [f"m{i}" for i in range(self.a.members)]
        if self.replicate:
            self.copies = {n: f"{self.work}/copies/{n}" for n in names}
        else:
            self.copies = {n: f"{self.work}/copies/shared" for n in names}
        for c in set(self.copies.values()):
            os.makedirs(c)
        if self.tmpfs:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3g", "tmpfs", f"{self.work}/copies/shared"], check=True)
        self.say(f"seed {self.a.seed}, {self.a.members} members, "
                 + ("replicated" if self.replicate else "tmpfs" if self.tmpfs else "shared") + f" in {self.work}")
        if self.a.archive:
            threading.Thread(target=self.keep_commits, daemon=True).start()
        self.members = []
        for i in range(self.a.members):
            self.members.append(Member(self, i))
        for m in self.members:
            r = json.loads(m.process.stdout.readline())
            m.run("init", "--name", m.name, "--device", f"dev{m.number}", "--strength", "interactive", "--vault", f"P{m.number}")
        if self.replicate:
            self.replicator = Replicator(self.copies, random.Random(self.a.seed + 1), self.a.delay)
            self.replicator.hurry = True
            self.replicator.start()
        owner = self.members[0]
        owner.role = "owner"
        owner.run("vault", "create", VAULT)
        owner.run("remote", "add", VAULT, f"file://{self.work}/remote")
        self.keep_history(owner)
        owner.mount()
        for m in self.members[1:]:
            m.mount()
            self.join(m)
        os.mkdir(self.inside(owner) + "/logs")
        for i in range(4):
            os.mkdir(self.inside(owner) + f"/d{i}")
        self.rest()
        for m in self.members:
            m.ask("start", seed=self.a.seed, hold=1, noise=1)
        if self.replicator:
            self.replicator.hurry = False

    def keep_commits(self):
        """Links each commit beside the folder, as checkpoints let them go."""
        while not self.ended:
            for top in set(self.copies.values()):
                for base, dirs, files in os.walk(top):
                    if "/log/" not in base:
                        continue
                    there = f"{self.work}/archive/" + os.path.relpath(base, top)
                    for f in files:
                        try:
                            os.makedirs(there, exist_ok=True)
                            os.link(f"{base}/{f}", f"{there}/{f}")
                        except FileExistsError:
                            pass
                        except OSError:
                            try:
                                shutil.copy2(f"{base}/{f}", f"{there}/{f}")
                            except OSError:
                                pass
            time.sleep(0.2)

    ended = False

    def inside(self, m):
        return f"/proc/{m.process.pid}/root{m.folder}/mnt/{VAULT}"

    def keep_history(self, m):
        if self.a.history:
            m.run("vault", "set", VAULT, "--history", "forever")
            m.snapshots = {}

    def join(self, m, role="writer"):
        for _ in range(3):
            invite = self.members[0].run("member", "invite", VAULT, "--role", role)["out"].strip()
            if self.replicator:
                end = time.monotonic() + 30
                while not os.path.isdir(self.copies[m.name] + "/vaults") and time.monotonic() < end:
                    time.sleep(0.2)
            r = m.run("join", "-", "--as", VAULT, stdin=invite + "\n", ok=False, timeout=90)
            if r["rc"] == 0:
                m.role, m.was_reader = role, role == "reader"
                self.keep_history(m)
                return
            if not self.replicator:
                break
            time.sleep(2)
        raise Failure(f"{m.name}: join: {r['rc']} {r['err'].strip()} {r['out'].strip()}")

    # -- events

    def event_offline(self, m):
        if m.offline:
            m.ask("online")
            m.offline = m.readonly = False
            self.say(f"{m.name} is online")
        else:
            r = m.ask("offline")
            m.offline = True
            if r.get("bare"):
                self.problem(f"{m.name}: something lies in the bare mount point of the remote: {r['bare'][:5]}")
            self.say(f"{m.name} is offline")

    def event_readonly(self, m):
        if m.offline:
            return
        m.ask("online" if m.readonly else "readonly")
        m.readonly = not m.readonly
        self.say(f"{m.name}: remote read-only: {m.readonly}")

    def event_partition(self, m):
        if not self.replicator:
            return
        cut = self.replicator.cut
        (cut.discard if m.name in cut else cut.add)(m.name)
        self.say(f"{m.name} is {'cut off' if m.name in cut else 'heard again'}")

    def event_full(self, m):
        if not self.tmpfs:
            return
        where = f"{self.work}/copies/shared"
        if self.full:
            subprocess.run(["mount", "-o", "remount,size=3g", where], check=True)
        else:
            # Members write meanwhile: the kernel refuses a size that is smaller than the space used by then.
            room, done = self.rng.choice((4096, 100_000, 3_000_000)), False
            while not done:
                s = os.statvfs(where)
                size = (s.f_blocks - s.f_bfree) * s.f_frsize + room
                done = subprocess.run(["mount", "-o", f"remount,size={size}", where], stderr=subprocess.DEVNULL).returncode == 0
                room += 100_000
        self.full = not self.full
        self.say(f"remote full: {self.full}")

    full = False

    def event_kill(self, m):
        if not m.mounted:
            return
        if m.ask("kill").get("stuck"):
            self.notes["a killed mount could not end"] += 1
        time.sleep(self.rng.random() * 1.5)
        m.mount()
        self.say(f"{m.name} was killed, and is mounted again")

    def event_unmount(self, m):
        if m.mounted:
            self.pause(m)
            r = m.ask("unmount")
            if r["rc"]:
                self.problem(f"{m.name}: unmount: {r['rc']} {r['err'].strip()}")
                return
            m.mounted = False
            self.say(f"{m.name} is unmounted")
            if self.rng.random() < 0.3 and not (m.offline or m.readonly):
                r = m.run("sync", ok=False)
                self.say(f"{m.name} sync without a mount: {r['rc']} {r['err'].strip()[:100]}")
        else:
            m.mount()
            m.ask("resume")
            self.say(f"{m.name} is mounted")

    def event_sync(self, m):
        t = time.monotonic()
        r = m.run("sync", VAULT, ok=False)
        if r["rc"] == 0:
            m.synced = t
        elif not (m.offline or m.readonly or self.full) and m.role:
            self.say(f"{m.name} sync: exit {r['rc']} {(r['out'] + r['err']).strip()[:300]}")
            self.notes[f"sync failed online: {r['err'].strip()[:90]}"] += 1
        if r["s"] > 30:
            self.say(f"{m.name} sync took {r['s']:.0f} s")

    def event_check(self, m):
        r = m.run("check", VAULT, ok=False)
        # In a replicated folder, a commit may arrive before the objects that it needs.
        lines = [x for x in r["out"].splitlines() if not (self.replicate and "has not arrived" in x)]
        if r["rc"] == 1 and len(lines) <= 1 and not r["err"].strip():
            self.notes["check: something had not arrived yet"] += 1
        elif r["rc"]:
            self.problem(f"{m.name}: check: {r['rc']} {r['out'].strip()[-600:]} {r['err'].strip()[-300:]}")

    def event_past(self, m):
        if m.mounted and m.snapshots:
            self.look_back(m, self.rng.choice(list(m.snapshots)), resting=False)

    def event_status(self, m):
        m.status()

    def event_cache(self, m):
        size = self.rng.choice(("100k", "1M", "10M", "all"))
        m.run("vault", "set", VAULT, "--cache", size)
        self.say(f"{m.name} keeps {size}")

    def event_role(self, m):
        if m is self.members[0] or self.members[0].offline or self.members[0].readonly or self.full or not m.role \
                or not self.members[0].mounted or self.replicator and self.replicator.cut:
            return
        rough = self.a.rough and self.rng.random() < 0.6
        new = "writer" if m.role == "reader" else "reader"
        if not rough:
            if m.offline or m.readonly or not m.mounted:
                return
            self.pause(m)
            if m.run("sync", VAULT, ok=False)["rc"]:
                m.ask("resume")
                return
            m.synced = time.monotonic()
            self.settle_replicator()
        r = self.members[0].run("member", "role", VAULT, m.name, new, ok=False)
        if r["rc"] == 0:
            m.role = new
            m.was_reader = m.was_reader or new == "reader"
            m.ask("become", reader=new == "reader")
            if rough and new == "reader":
                m.excused.append([m.synced, None])
        else:
            # It may be kept, and take place at any time from now on.
            self.kept.setdefault(m, m.synced)
            if r["rc"] != 75:
                self.say(f"role: {r['err'].strip()}")
        if not rough:
            self.settle_replicator()
            m.run("sync", VAULT, ok=False)
            m.ask("resume")
        if new == "writer":
            for e in m.excused:
                e[1] = e[1] or time.monotonic() + 5
        self.say(f"{m.name} is {m.role}{' (rough)' if rough else ''}")

    def undo_kept(self):
        """What was asked of a remote that could not be written may have taken place since: asks what holds, and makes it what
        the story goes on with."""
        owner = self.members[0]
        if not self.kept or owner.run("sync", VAULT, ok=False)["rc"]:
            return
        listed = json.loads(owner.run("member", "list", VAULT, "--json")["out"])["members"]
        roles = {x["name"]: x["role"] for x in listed}
        for m, since in self.kept.items():
            role = roles.get(m.name)
            if role == m.role:
                continue
            self.say(f"{m.name} is {role or 'no member'}, as was asked for before; {m.role} again")
            self.notes["a change of members took place later"] += 1
            if role:
                owner.run("member", "role", VAULT, m.name, m.role, ok=False)
            else:
                card = m.run("identity", "show", "--card")["out"]
                owner.run("member", "add", "--with", "-", VAULT, stdin=card, ok=False)
            m.excused.append([since, time.monotonic() + 5])

    def event_remove(self, m):
        owner = self.members[0]
        if m is owner or owner.offline or owner.readonly or self.full or not owner.mounted or m.offline or m.readonly \
                or not m.mounted or self.replicator and self.replicator.cut:
            return
        rough = self.a.rough and self.rng.random() < 0.5
        self.say(f"{m.name} is to be removed{' (rough)' if rough else ''}")
        if not rough:
            self.pause(m)
            if m.run("sync", VAULT, ok=False)["rc"]:
                m.ask("resume")
                return
            m.synced = time.monotonic()
            self.settle_replicator()
        r = owner.run("member", "remove", "-y", VAULT, m.name, ok=False)
        if r["rc"]:
            self.say(f"remove: exit {r['rc']} {r['err'].strip()}")
            self.kept.setdefault(m, m.synced)
            m.ask("resume")
            return
        if rough:
            m.excused.append([m.synced, None])
            time.sleep(self.rng.random() * 3)
            self.pause(m)
        self.settle_replicator()
        r = m.run("sync", VAULT, ok=False)
        if r["rc"] == 0:
            self.problem(f"{m.name}: sync of a removed member says all is well")
        if self.rng.random() < 0.5:
            m.run("vault", "delete", "-y", VAULT)
            self.join(m)
            self.say(f"{m.name} was removed, and has joined anew")
        else:
            card = m.run("identity", "show", "--card")["out"]
            r = owner.run("member", "add", "--with", "-", VAULT, stdin=card)
            m.role = "writer"
            self.settle_replicator()
            for _ in range(20):
                if m.run("sync", VAULT, ok=False)["rc"] == 0:
                    break
                time.sleep(0.5)
            self.say(f"{m.name} was removed, and is added again")
        for e in m.excused:
            e[1] = e[1] or time.monotonic()
        m.ask("become", reader=False)
        m.ask("resume")

    events = {"offline": 8, "readonly": 2, "partition": 8, "full": 3, "kill": 4, "unmount": 5, "sync": 4, "check": 2, "status": 2,
              "cache": 3, "role": 2, "remove": 1}

    def pause(self, m):
        r = m.ask("pause")
        if r["stuck"]:
            raise Failure(f"{m.name} is stuck: {r['stuck']}")

    def settle_replicator(self):
        if not self.replicator:
            return
        r = self.replicator
        was, r.hurry, cut = r.hurry, True, set(r.cut)
        r.cut.clear()
        r.idle_since = 0
        end = time.monotonic() + 60
        while time.monotonic() < end and not (r.idle_since and time.monotonic() - r.idle_since > 0.7):
            time.sleep(0.1)
        r.hurry = was
        r.cut |= cut

    def chaos(self, seconds):
        events = self.events | ({"past": 4} if self.a.history else {})
        events = {k: v for k, v in events.items() if not self.a.only or k in self.a.only.split(",")}
        for m in self.members:
            if m.mounted:
                m.ask("resume")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.rng.random() * 4)
            kind = self.rng.choices(list(events), list(events.values()))[0] if events else None
            if kind:
                getattr(self, "event_" + kind)(self.rng.choice(self.members))
            for m in self.members:
                s = m.ask("alive")
                if s["oldest"] > 150:
                    raise Failure(f"{m.name} is stuck: {s['current']}")
                if m.mounted:
                    x = m.ask("memory")
                    if x["pid"] is None or x["pid"] != m.pid:
                        raise Failure(f"{m.name}: the mount died: {m.pid} → {x['pid']}")
                    if x["hwm"] > m.hwm:
                        m.hwm = x["hwm"]

    # -- rest, and looking

    def rest(self):
        for m in self.members:
            if m.mounted:
                self.pause(m)
        for m in self.members:
            m.ask("online")
            m.offline = m.readonly = False
        if self.full:
            self.event_full(None)
        if self.replicator:
            self.replicator.cut.clear()
            self.replicator.hurry = True
        for m in self.members:
            if not m.mounted:
                m.mount()
        begun, last = time.monotonic(), None
        while True:
            waits = []
            self.undo_kept()
            for m in self.members:
                t = time.monotonic()
                r = m.run("sync", VAULT, ok=False)
                if r["rc"]:
                    waits.append(f"{m.name} sync: exit {r['rc']} {r['err'].strip()}")
                else:
                    m.synced = t
            self.settle_replicator()
            for m in self.members:
                s, sync = m.status()
                if sync.get("unsentItems") or sync.get("failure") or sync.get("commitsLeft"):
                    waits.append(f"{m.name}: unsent {sync.get('unsentItems')}, left {sync.get('commitsLeft')}, {sync.get('failure')}")
            if not waits:
                same, last = self.compare(contents=0)
                if same:
                    break
                waits = last
            if time.monotonic() - begun > self.a.patience:
                self.problem("no rest: " + " | ".join(waits[:12]))
                break
            time.sleep(1)
        if self.replicator:
            self.replicator.hurry = False
        return time.monotonic() - begun

    def walks(self, contents):
        threads, out = [], {}
        for m in self.members:
            def one(m=m):
                to = f"{m.folder}/walk.json"
                m.ask("walk", to=to, contents=contents)
                with open(to) as f:
                    out[m.name] = json.load(f)
            threads.append(threading.Thread(target=one))
            threads[-1].start()
        for t in threads:
            t.join()
        return out

    def compare(self, contents):
        walks = self.walks(contents)
        first, differences = walks["m0"], []
        for name, walk in walks.items():
            if name == "m0":
                continue
            for path in sorted(first.keys() | walk.keys()):
                x, y = first.get(path), walk.get(path)
                if x is None or y is None:
                    differences.append(f"{path!r} is only at {name if x is None else 'm0'} ({x or y})"[:400])
                    continue
                for key in sorted(x.keys() | y.keys()):
                    if key == "mtime" and x.get(key) != y.get(key) and abs((x.get(key) or 0) - (y.get(key) or 0)) < 10 ** 9:
                        # Of a file that was punched the kernel has another time than the vault, by some milliseconds.
                        self.notes["times of files differ by less than 1 s"] += contents > 0
                        continue
                    if key not in ("dirtime", "state", "vids", "lines") and x.get(key) != y.get(key):
                        differences.append(f"{path!r} {key}: m0 {str(x.get(key))[:120]}, {name} {str(y.get(key))[:120]}")
                    if key == "dirtime" and x.get(key) != y.get(key):
                        self.notes["times of directories differ"] += contents > 0
        self.last_walks = walks
        return not differences, differences

    # -- the past

    @staticmethod
    def changes(before, after):
        """What differs between two walks of the same files: (path, keys, before, after); times by more than a second."""
        for path in sorted(before.keys() | after.keys()):
            x, y = before.get(path, {}), after.get(path, {})
            keys = [k for k in ("type", "mode", "size", "hash", "target", "x", "group", "error")
                    if x.get(k) != y.get(k)] + ["mtime"] * (abs(x.get("mtime", 0) - y.get("mtime", 0)) > 10 ** 9)
            if keys:
                yield path, keys, x, y

    def look_back(self, m, name, resting=True):
        """Compares what a snapshot shows now with what the mount showed when it was made."""
        to = f"{m.folder}/past.json"
        m.ask("walk", to=to, contents=1, past=name)
        with open(to) as f:
            walk = json.load(f)
        self.notes["snapshots read back"] += 1
        # Before all have come to rest, what is only at the remote may be out of reach.
        unread = {p for p, r in walk.items() if not resting and (r.get("error") or str(r["type"]).startswith("error"))}
        self.notes["past files that could not be read while all worked"] += len(unread)
        for path, keys, x, y in list(self.changes(m.snapshots[name], walk))[:10]:
            if path not in unread:
                self.problem(f"{m.name}: the snapshot {name} has changed: {path!r} {keys}: {str(x)[:300]} → {str(y)[:300]}")

    def compare_past(self, m):
        """Compares what coffer diff says of two snapshots with what the mount showed when they were made."""
        one, other = self.rng.sample(list(m.snapshots), 2)
        report = json.loads(m.run("diff", VAULT, "--from", one, "--to", other, "--json")["out"])
        found = {d["path"] or ".": d["kind"] for d in report["differences"]}
        expected, (before, after) = {}, (m.snapshots[one], m.snapshots[other])
        for path in before.keys() | after.keys():
            x, y = before.get(path), after.get(path)
            # JSON has no bytes that are not UTF-8.
            name = re.sub("[\udc80-\udcff]", "\ufffd", path)
            moved = abs((x or {}).get("mtime", 0) - (y or {}).get("mtime", 0))
            if x is None or y is None:
                kind = "added" if x is None else "removed"
            elif any(x.get(k) != y.get(k) for k in ("type", "size", "target")) or moved >= 10 ** 9:
                kind = "changed"
            elif any(x.get(k) != y.get(k) for k in ("mode", "x")):
                kind = "attributes"
            elif moved:
                # Of a file that was punched the kernel has another time than the vault, by some milliseconds.
                found.pop(name, None)
                continue
            else:
                continue
            expected[name] = kind
        for path in sorted(found.keys() | expected.keys()):
            if found.get(path) != expected.get(path):
                self.problem(f"{m.name}: diff from {one} to {other}: {path!r} is {found.get(path)}, not {expected.get(path)}: "
                             f"{str(before.get(path))[:300]} → {str(after.get(path))[:300]}")

    def change_past(self, number):
        """Makes this rest a snapshot, looks at older ones, and sometimes goes back."""
        for m in self.members:
            if m.snapshots:
                self.look_back(m, self.rng.choice(list(m.snapshots)))
            if len(m.snapshots) > 1:
                self.compare_past(m)
        name = f"rest-{number}"
        for m in self.members:
            m.run("snapshot", VAULT, name)
            m.snapshots[name] = self.last_walks[m.name]
        m = self.rng.choice(self.members)
        if m.role == "reader" or number == 1:
            return
        since = self.rng.choice(list(m.snapshots)[:-1] or [name])
        kind = self.rng.random()
        if kind < 0.35:
            self.restore(m, since)
        elif kind < 0.7:
            self.undo(m, self.rng.choice([x for x in self.members if x is not m]), since)

    def restore(self, m, name):
        before, t = self.last_walks["m0"], time.monotonic()
        r = m.run("restore", VAULT, "--at", name, "--exact")
        self.say(f"{m.name} restores {name}: {r['out'].strip()}")
        after = self.settled(before, m, t)
        for path, keys, x, y in list(self.changes(m.snapshots[name], after))[:10]:
            self.problem(f"{m.name}: restored {name}, but {path!r} has another {keys}: {str(x)[:300]} → {str(y)[:300]}")

    def undo(self, m, other, since):
        before, t = self.last_walks["m0"], time.monotonic()
        r = m.run("undo", VAULT, "--by", f"{other.name}'s dev{other.number}", "--since", since, "--json")
        report = json.loads(r["out"])
        self.say(f"{m.name} takes back what {other.name} did since {since}: {len(report['steps'])} steps, "
                 f"{len(report['conflicts'])} conflicts")
        self.notes["steps of undos"] += len(report["steps"])
        after = self.settled(before, m, t)
        left = {r.get("hash") for r in after.values()}
        for path, r in before.items():
            makers = self.makers.get(r.get("hash"), set())
            if makers and other.number not in makers and r["hash"] not in left:
                self.problem(f"{m.name}: took back what {other.name} did since {since}, and with it what "
                             f"{sorted(makers)} wrote: {path!r} {str(r)[:300]}")
        for line in self.lines_of(before) - self.lines_of(after):
            makers = self.makers.get(line, set())
            if makers and other.number not in makers:
                self.problem(f"{m.name}: took back what {other.name} did since {since}, and with it the line {line} of "
                             f"{sorted(makers)}")

    @staticmethod
    def lines_of(walk):
        return {line.split(" ")[1] for r in walk.values() for line in r.get("lines", ()) if line.count(" ") == 2}

    def settled(self, before, m, since):
        """Waits until all show what a restore or an undo has made, and notes what it took away as removed."""
        self.rest()
        same, differences = self.compare(contents=2)
        for d in differences[:30]:
            self.problem("differs after a step back: " + d)
        after = self.last_walks["m0"]
        shown, left = ({r["hash"] for r in walk.values() if "hash" in r} for walk in (before, after))
        self.ops.append({"k": "back", "m": m.number, "t0": since, "t1": time.monotonic(), "path": "",
                         "rem": sorted(shown - left)})
        self.lines_taken |= self.lines_of(before)
        self.lines_taken -= self.lines_of(after)
        # What came back counts as written by whoever brought it back, too.
        for back in (left - shown) | (self.lines_of(after) - self.lines_of(before)):
            self.makers[back].add(m.number)
        return after

    def read_ops(self):
        for m in self.members:
            with open(f"{m.folder}/ops.jsonl") as f:
                f.seek(self.offsets.get(m.name, 0))
                while True:
                    line = f.readline()
                    if not line.endswith("\n"):
                        break
                    self.offsets[m.name] = f.tell()
                    o = json.loads(line)
                    self.ops.append(o)
                    for key in ("made", "line"):
                        if key in o:
                            self.makers[o[key]].add(o["m"])

    def ambiguous(self):
        """Which calls may have had no effect that lasts: those that failed half-way, were not stored before a kill, or were
        not sent before the right to write ended."""
        out = set()
        for m in self.members:
            mine = [o for o in self.ops if o["m"] == m.number]
            stored = sorted([(o["t1"], o["fs"]) for o in mine if o.get("fs") and "err" not in o]
                            + [(o["t0"], o["t0"]) for o in mine if o["k"] == "barrier"])
            kills = [o["t0"] for o in mine if o["k"] == "kill"]
            spans = []
            for k in kills:
                since = max([fs for t1, fs in stored if t1 < k], default=0)
                spans.append((since, k + 0.05))
            spans += [(a - 1, b or 1e18) for a, b in m.excused]
            for o in mine:
                if "part" in o or "raced" in o or any(o["t1"] > a and o["t0"] < b for a, b in spans):
                    out.add(id(o))
        return out

    def verify(self):
        self.read_ops()
        same, differences = self.compare(contents=2)
        for d in differences[:30]:
            self.problem("differs: " + d)
        walk = self.last_walks["m0"]
        final, sizes, lines = collections.defaultdict(list), set(), set()
        for path, r in walk.items():
            if r.get("error") or str(r["type"]).startswith("error"):
                self.problem(f"{path!r} cannot be read: {r.get('error') or r['type']}")
            if "hash" in r:
                final[r["hash"]].append(path)
                sizes.add(r["size"])
                if r["state"] not in ("synced", "remote-only"):
                    self.notes[f"state at rest: {r['state']}"] += 1
            if "short" in r:
                self.problem(f"{path!r} has {r['size']} bytes, and {r['short']} can be read")
            for line in r.get("lines", ())[:]:
                if not line:
                    continue
                parts = line.split(" ")
                if len(parts) != 3 or parts[0] != "L" or parts[2] not in [
                        hashlib.sha1(parts[1].encode()).hexdigest() * n for n in (1, 2, 20)]:
                    self.problem(f"{path!r} has a torn line: {line[:80]!r}")
                else:
                    lines.add(parts[1])
        # Where a right ends while commits are on their way, what a member wrote to files that another one had made, and
        # whose making no longer counts, is kept in a vault of its own beside this one (docs/posix.md, "A shared vault").
        if self.a.rough or self.notes["a change of members took place later"]:
            for m in self.members:
                to = f"{m.folder}/unsent.json"
                if m.mounted:
                    m.ask("walk_unsent", to=to)
                    with open(to) as f:
                        for path, r in json.load(f).items():
                            final[r["hash"]].append(path)
                            lines.update(x.split(" ")[1] for x in r.get("lines", ()) if x.count(" ") == 2)
        lines |= self.lines_taken
        ambiguous = self.ambiguous()
        children, removed, removed_sizes, made = collections.defaultdict(list), {}, collections.defaultdict(list), {}
        readers, holders = collections.defaultdict(list), collections.defaultdict(list)
        names = collections.defaultdict(set)
        for o in self.ops:
            for vid in o.get("base") or ():
                readers[vid].append(o)
            for vid in o.get("had") or ():
                holders[vid].append(o)
            for h in o.get("over", ()):
                children[h].append(o)
            if "name" in o:
                names[o["name"]].add(o["m"])
            for h in o.get("rem", ()):
                if h.startswith("size "):
                    removed_sizes[int(h[5:])].append(o)
                else:
                    removed.setdefault(h, []).append(o)
            for h in o.get("over", ()):
                if h.startswith("size "):
                    removed_sizes[int(h[5:])].append(o)
            if "made" in o:
                made[o["made"]] = o
                if "alt" in o:
                    made.setdefault(o["alt"], o)
            if "what" in o:
                self.problem(f"m{o['m']} {o['k']}: {o['what']}: {json.dumps(o)[:700]}")
                o.pop("what")

        def appended(o):
            """Whether what was appended to a file was removed by somebody who saw it behind what others had written."""
            return "append" in o.get("how", ()) and any(
                id(r) not in ambiguous for r in holders.get(o.get("vid"), ()) if r is not o)

        def extended(o):
            """Whether somebody wrote to a file that was made longer by a hole: the file stayed the same, and the hole was
            written over."""
            return set(o.get("how", ())) == {"longer"} and any(
                c is not o and c["t1"] > o["t0"] and id(c) not in ambiguous for h in o["over"] for c in children[h])

        def fine(h, size, depth=0):
            if h in final or h in removed or size in removed_sizes or depth > 200:
                return True
            # Several members each removed one of its names while the others' were there.
            if len(names[h]) > 1:
                return True
            for o in children.get(h, ()):
                if id(o) not in ambiguous:
                    return True
                # A kill in the middle of a change leaves something in between, over which somebody wrote who had read it.
                if any(id(r) not in ambiguous for r in readers.get(o.get("vid"), ())):
                    return True
                # A kill leaves what one step of a change had made, or what "again" had cut and not written yet.
                if id(o) in ambiguous and ("again" in o.get("how", ()) or any(h in final for h in o.get("mid", ()))):
                    return True
                # A call that failed half-way leaves something in between.
                if "part" in o or "made" not in o or fine(o["made"], o.get("size"), depth + 1):
                    return True
            return False

        looked, lost = 0, []
        takers, empties = collections.defaultdict(list), []
        for o in self.ops:
            # A call that removed one of several names has an empty "rem".
            if "rem" in o or o.get("over"):
                takers[plain_name(o.get("path", ""))].append(o)
                if NOTHING in o.get("rem", ()):
                    empties.append(o)
        moves = sorted((o for o in self.ops if o["k"] == "rename" and "source" in o), key=lambda o: o["t0"])

        def moments(o):
            """When a content came to which names: when it was written, and when its file was moved after that."""
            found, path = [(plain_name(o["path"]), o["t0"], o["t1"])], o["path"]
            for move in moves:
                if move["t0"] >= found[-1][1] and move["source"] == path:
                    path = move["path"]
                    found.append((plain_name(path), move["t0"], move["t1"]))
            return found

        for o in self.ops:
            if id(o) in ambiguous:
                continue
            if "line" in o:
                looked += 1
                if "err" not in o and o["line"] not in lines:
                    lost.append(f"the line {o['line']} of m{o['m']} in {os.path.basename(o['path'])}, stored: {'fs' in o}")
            if "made" in o and o.get("size") and "err" not in o and "gone" not in o:
                looked += 1
                if o["made"] not in self.lost_before and not (
                        fine(o["made"], o.get("size")) or appended(o) or extended(o)):
                    self.lost_before.add(o["made"])
                    # At the very instant of a change, a call acts on the state by then (docs/posix.md).
                    if any(c["m"] != o["m"] and t0 - 0.3 < c["t1"] and c["t0"] < t1 + 1.5
                           for name, t0, t1 in moments(o) for c in takers.get(name, ())
                           if o["k"] != "tiny") or o["k"] == "tiny" and any(
                            c["m"] != o["m"] and o["t0"] < c["t1"] and c["t0"] < o["t1"] + 1.5 for c in empties):
                        self.notes["lost at the instant of a removal"] += 1
                        continue
                    known = " (in a conflict copy)" if re.search(r"\(conflict, (\w+'s )?dev", o["path"]) else ""
                    lost.append(f"what m{o['m']} wrote{known} at {o['t0'] - self.begun:.2f}–{o['t1'] - self.begun:.2f}: {json.dumps(o)}")
        for x in lost[:40]:
            self.problem("LOST: " + x)
        if len(lost) > 40:
            self.problem(f"LOST: {len(lost) - 40} more")
        # Mixtures: all blocks of a content come from one line of versions, each of which knew of the one before.
        base = {o["vid"]: o for o in self.ops if "vid" in o}

        def ancestors(vid, seen):
            o = base.get(vid)
            for v in (o or {}).get("base") or ():
                if v not in seen:
                    seen.add(v)
                    ancestors(v, seen)
            return seen
        for path, r in walk.items():
            if "vids" in r:
                if -1 in r["vids"]:
                    self.problem(f"{path!r} has bytes that nobody wrote")
                if r["hash"] not in made and r["size"] and r["type"] == stat.S_IFREG:
                    self.notes["contents in between"] += 1
                    vs = [v for v in r["vids"] if v != -1]
                    if vs and all(v in base and base[v].get("base") is not None for v in vs) and not any(
                            all(w == v or w in ancestors(v, set()) for w in vs) for v in vs):
                        self.problem(f"{path!r} mixes versions: {[hex(v) for v in vs]}")
        stale = sum(1 for h, o in made.items() if h in final and any(id(c) not in ambiguous for c in children.get(h, ())))
        back = [h for h in removed if h in final and any(id(o) not in ambiguous for o in removed[h])]
        self.notes["versions shown though somebody wrote over them"] = stale
        self.notes["versions shown though somebody removed them"] = len(back)
        for m in self.members:
            s, sync = m.status()
            for p in s.get("problems", []):
                if "the remote" in p["text"] and ("cannot be fetched" in p["text"] or "cannot be reached" in p["text"]):
                    self.notes["status: what could not be fetched"] += 1
                elif self.replicate and "has not arrived" in p["text"]:
                    # A commit came before its pack; the line disappears some seconds after it could be read.
                    self.notes["status: something had not arrived yet"] += 1
                elif (m.name, p["text"], p["time"]) in self.told:
                    continue
                elif self.a.rough and re.search("are taken back|was not allowed", p["text"]):
                    self.notes["status: what was not there when a right ended"] += 1
                elif "is not at the remote, and" in p["text"]:
                    self.notes["status: a commit was waited for"] += 1
                    self.say(f"{m.name} status: {p['text']}")
                else:
                    self.problem(f"{m.name} status: {json.dumps(p)[:400]}")
                self.told.add((m.name, p["text"], p["time"]))
            for f in sync.get("findings", []):
                text = json.dumps(f)
                if m.was_reader and "had lost packs" in text and "sends them again" in text:
                    # Nobody asks a reader what it needs: a file without a name, for example, that a program has open.
                    self.notes["packs that went while their author could only read"] += 1
                elif not (self.a.rough or self.notes["a change of members took place later"]) or not re.search(
                        "taken back|was not allowed", text):
                    self.problem(f"{m.name} finding: {text[:400]}")
            r = m.run("check", VAULT, ok=False)
            if r["rc"]:
                self.problem(f"{m.name}: check: exit {r['rc']} {r['out'].strip()[-600:]} {r['err'].strip()[-300:]}")
            x = m.ask("memory")
            m.hwm = max(m.hwm, x.get("hwm") or 0)
            if m.hwm > self.a.memory:
                self.problem(f"{m.name}: VmHWM {m.hwm} MiB")
        files = sum("hash" in r for r in walk.values())
        size = sum(r.get("size", 0) for r in walk.values())
        self.say(f"looked at {len(walk)} entries, {files} files, {size >> 20} MiB, "
                 f"{sum('(conflict' in p for p in walk)} with a label; {looked} contents required; "
                 f"memory {[m.hwm for m in self.members]}")

    def finish(self):
        before = self.last_walks
        for m in self.members:
            r = m.ask("unmount")
            if r["rc"]:
                self.problem(f"{m.name}: unmount: exit {r['rc']} {r['err'].strip()}")
            m.mounted = False
            # The members before this one have just written, and what they wrote comes late and in any order.
            self.settle_replicator()
            r = m.run("sync", VAULT, ok=False)
            if r["rc"]:
                self.problem(f"{m.name}: sync without a mount: exit {r['rc']} {(r['out'] + r['err']).strip()}")
            m.mount()
        after = self.walks(contents=1)
        for m in self.members:
            for path, _, x, y in self.changes(before[m.name], after[m.name]):
                self.problem(f"{m.name}: another after mounting again: {path!r}: {str(x)[:300]} → {str(y)[:300]}")
            for name in m.snapshots:
                self.look_back(m, name)
        for m in self.members:
            r = m.ask("unmount")
            if r["rc"]:
                self.problem(f"{m.name}: unmount: exit {r['rc']} {r['err'].strip()}")
            time.sleep(0.2)
            x = m.ask("memory")
            if x["pid"]:
                time.sleep(2)
                x = m.ask("memory")
                if x["pid"]:
                    self.problem(f"{m.name}: after unmount the process {x['pid']} is there")

    def end(self):
        self.ended = True
        for m in getattr(self, "members", []):
            try:
                pid = serving(f"{m.folder}/profile", self.coffer)
                if pid:
                    os.kill(pid, signal.SIGKILL)
                m.process.stdin.write('{"do": "quit"}\n')
                m.process.stdin.flush()
                m.process.wait(5)
            except (OSError, subprocess.TimeoutExpired, ValueError):
                m.process.kill()
        if self.replicator:
            self.replicator.stop = True
            self.replicator.join(5)
        if self.tmpfs:
            shared = f"{self.work}/copies/shared"
            if self.problems:
                shutil.copytree(shared, shared + ".kept", dirs_exist_ok=True)
            subprocess.run(["umount", "-l", shared])
            if self.problems:
                os.rmdir(shared)
                os.rename(shared + ".kept", shared)
        if os.path.isdir(f"{self.work}/remote") and os.listdir(f"{self.work}/remote"):
            self.problem("something was put into the bare folder of the remote")

    def play(self):
        try:
            self.setup()
            last = time.monotonic() + self.a.minutes * 60
            number = 0
            while time.monotonic() < last and not self.problems:
                number += 1
                self.chaos(min(self.a.round * (0.6 + 0.8 * self.rng.random()), max(5, last - time.monotonic())))
                s = self.rest()
                self.say(f"round {number}: rest after {s:.1f} s")
                self.verify()
                if self.a.history and not self.problems:
                    self.change_past(number)
            if not self.problems:
                self.finish()
        except Failure as e:
            self.problem(str(e))
            for m in self.members:
                try:
                    with open(f"/proc/{m.pid}/status") as f:
                        self.say(f"{m.name}: {[x.strip() for x in f if x.startswith(('State', 'VmHWM', 'Threads'))]}")
                except (OSError, TypeError):
                    pass
        finally:
            counts, errors = collections.Counter(), collections.Counter()
            for m in getattr(self, "members", []):
                try:
                    x = m.ask("alive")
                    counts.update(x["ops"])
                    errors.update(x["errors"])
                except (Failure, OSError, ValueError):
                    pass
            self.say("calls: " + json.dumps(counts))
            self.say("refused: " + json.dumps(errors))
            self.say("notes: " + json.dumps(self.notes))
            if self.replicator:
                self.say(f"replicator: {self.replicator.conflicts} conflicts")
            self.end()
        print(f"seed {self.a.seed}: {sum(counts.values())} calls, {len(self.problems)} problems, {len(self.expected)} expected" + (f", in {self.work}" if self.problems else ""))
        for p in self.problems[:12]:
            print("  " + p[:600])
        if not self.problems and not self.a.keep:
            shutil.rmtree(self.work, ignore_errors=True)
        return 1 if self.problems else 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--agent":
        a = Agent(sys.argv[2])
        a.enter()
        print("{}", flush=True)
        a.serve()
        os._exit(0)
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("seed", type=int)
    p.add_argument("minutes", type=float)
    p.add_argument("members", type=int)
    p.add_argument("--dir")
    p.add_argument("--replicate", action="store_true")
    p.add_argument("--shared", action="store_true")
    p.add_argument("--tmpfs", action="store_true")
    p.add_argument("--big", action="store_true")
    p.add_argument("--rough", action="store_true")
    p.add_argument("--plain", action="store_true")
    p.add_argument("--blind", action="store_true")
    p.add_argument("--history", action="store_true")
    p.add_argument("--no-archive", dest="archive", action="store_false")
    p.add_argument("--only", default="")
    p.add_argument("--ops", default="")
    p.add_argument("--round", type=float, default=35)
    p.add_argument("--delay", type=float, default=4)
    p.add_argument("--memory", type=int, default=400)
    p.add_argument("--patience", type=float, default=150)
    p.add_argument("--expect", default="")
    p.add_argument("--keep", action="store_true")
    p.add_argument("--quiet", action="store_true")
    a = p.parse_args()
    if a.tmpfs and a.replicate:
        p.error("--tmpfs is about the one folder that all share; with --replicate there is none")
    if os.geteuid():
        sys.exit("chaos.py: mount namespaces need root")
    sys.exit(Story(a).play())


if __name__ == "__main__":
    main()
