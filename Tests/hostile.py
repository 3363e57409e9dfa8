#!/usr/bin/env python3
"""Attacks on a vault that three people share through a folder, by holders of the folder and former members.

usage: COFFER=/path/of/coffer hostile.py WORKDIR [--list] [--keep] [--slow] [NAME…]

Makes profiles (owner, writer, reader, and one who is removed) below WORKDIR, which must be missing or have been made by
this script. Then, one manipulation at a time on a fresh copy of all: mounts the three, syncs, looks at what each shows,
what each says, whether the vault can be used, and whether it comes right when the manipulation is taken back. Cases of
"craft" make signed objects with the keys of a member, as somebody with a program of his own would.

Prints a matrix and "N passed, N failed". A case fails if somebody shows wrong, old or missing content without saying so;
if a process hangs (90 s), dies, or needs more than 400 MiB; if the vault does not come right again; or if an attack that the
threat model excludes succeeds. NAME picks cases whose name contains it. --slow adds cases that take minutes.

Needs FUSE, libsodium, a C compiler (cc) to move a clock, and no network. Everything is done by this process and its children; nothing is left mounted.
"""

import base64
import ctypes
import errno
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

# ---------------------------------------------------------------------------------------------------- primitives

sodium = None
for _name in ("libsodium.so.23", "libsodium.so.26", "libsodium.so"):
    try:
        sodium = ctypes.CDLL(_name)
        break
    except OSError:
        pass
if sodium is None or sodium.sodium_init() < 0:
    sys.exit("hostile.py: there is no libsodium")


def u16(n): return n.to_bytes(2, "little")
def u32(n): return n.to_bytes(4, "little")
def u64(n): return n.to_bytes(8, "little")
def i64(n): return n.to_bytes(8, "little", signed=True)
def blake(message, key=b""): return hashlib.blake2b(message, key=key, digest_size=32).digest()
def derive(parent, purpose, context=b""): return blake(b"coffer/1/" + purpose + b"\0" + context, parent)
def phash(purpose, message): return blake(b"coffer/1/" + purpose + b"\0" + message)
def text(s): s = s.encode() if isinstance(s, str) else s; return u16(len(s)) + s


def seal_record(key, aad, plain):
    nonce = os.urandom(24)
    out = ctypes.create_string_buffer(len(plain) + 16)
    sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        out, None, plain, ctypes.c_ulonglong(len(plain)), aad, ctypes.c_ulonglong(len(aad)), None, nonce, key)
    return nonce + out.raw


def open_record(key, aad, record):
    if len(record) < 40:
        raise ValueError("short")
    out = ctypes.create_string_buffer(max(1, len(record) - 40))
    if sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
            out, None, None, record[24:], ctypes.c_ulonglong(len(record) - 24), aad,
            ctypes.c_ulonglong(len(aad)), record[:24], key):
        raise ValueError("does not open")
    return out.raw[:len(record) - 40]


def argon2id(passphrase, salt, passes, kib):
    out = ctypes.create_string_buffer(32)
    if sodium.crypto_pwhash(out, ctypes.c_ulonglong(32), passphrase, ctypes.c_ulonglong(len(passphrase)), salt,
                            ctypes.c_ulonglong(passes), ctypes.c_size_t(kib * 1024), ctypes.c_int(2)):
        raise ValueError("argon2id")
    return out.raw


class Signer:
    def __init__(self, seed):
        self.seed, pk, sk = seed, ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
        sodium.crypto_sign_seed_keypair(pk, sk, seed)
        self.public, self.secret = pk.raw, sk.raw

    def sign(self, purpose, message):
        signed = b"coffer/1/" + purpose + b"\0" + message
        out = ctypes.create_string_buffer(64)
        sodium.crypto_sign_detached(out, None, signed, ctypes.c_ulonglong(len(signed)), self.secret)
        return out.raw


def x_public(secret):
    out = ctypes.create_string_buffer(32)
    sodium.crypto_scalarmult_base(out, secret)
    return out.raw


def x_agree(secret, public):
    out = ctypes.create_string_buffer(32)
    if sodium.crypto_scalarmult(out, secret, public):
        raise ValueError("weak key")
    return out.raw


class Cursor:
    def __init__(self, data): self.data, self.at = data, 0

    def take(self, n):
        if self.at + n > len(self.data):
            raise ValueError("truncated")
        self.at += n
        return self.data[self.at - n:self.at]

    def n(self, count): return int.from_bytes(self.take(count), "little")
    def text(self): return self.take(self.n(2)).decode()
    @property
    def left(self): return len(self.data) - self.at


# ---------------------------------------------------------------------------------------------------- format

class ProfileKeys:
    """The content of the file `profile`, opened with the passphrase (docs/format.md, "Profile")."""

    def __init__(self, file, passphrase):
        c = Cursor(file)
        assert c.take(8) == b"COFFERPF" and c.n(4) == 1
        ident = c.take(16); c.take(8)
        key = None
        for _ in range(c.n(2)):
            assert c.n(2) == 1
            method = c.take(c.n(4))
            m = Cursor(method)
            salt, passes, kib = m.take(16), m.n(4), m.n(4); m.n(2); m.take(8)
            verifier, wrap = m.take(72), m.take(72)
            unlock = argon2id(passphrase, salt, passes, kib)
            aad = ident + method[:34]
            open_record(derive(unlock, b"verifier"), aad, verifier)
            key = open_record(derive(unlock, b"profile wrap"), aad, wrap)
        body = Cursor(open_record(derive(key, b"profile body", ident), file[:36], c.take(c.n(4))))
        self.keyrings, self.shares, self.names = {}, {}, {}
        self.links, self.transients = [], []
        while body.left:
            kind = body.n(2)
            r = Cursor(body.take(body.n(4)))
            if kind == 1:
                self.name = r.text()
                self.signer, self.agreement = Signer(r.take(32)), r.take(32)
            elif kind == 3:
                vault = r.take(16); r.n(2); r.take(8)
                self.names[vault] = r.text(); r.take(32)
                self.keyrings[vault] = {r.n(4): r.take(32) for _ in range(r.n(4))}
            elif kind == 5:
                self.links = [r.take(r.n(4)) for _ in range(r.n(4))]
                self.transients = [(r.take(204), r.take(32)) for _ in range(r.n(4))]
            elif kind == 6:
                vault = r.take(16)
                self.shares[vault] = (r.text(), r.take(16))
        self.identity = link_hash(self.links[0]) if self.links else None
        self.user = self.links[0][13:29] if self.links else None


def make_link(kind, chain, sequence, previous, operation, fields, signer, when=None):
    when = time.time_ns() if when is None else when
    hashed = (b"COFFERLK" + u32(1) + bytes([kind]) + chain + u64(sequence) + previous + i64(when) + u16(operation)
              + u32(len(fields)) + fields + signer.public)
    h = phash(b"link", hashed)
    return hashed + h + signer.sign(b"link", h)


def link_hash(link): return link[-96:-64]


def bounds(entries):
    entries = sorted(entries)
    return u16(len(entries)) + b"".join(log + u64(n) + h for log, n, h in entries)


def padme(k):
    if k <= 512:
        return 512
    e = k.bit_length() - 1
    step = 1 << (e - e.bit_length())
    return -(-k // step) * step


def make_commit(vault, log, sequence, epoch, key, author, signer, head, *, previous=bytes(32), clock=None, heads=(),
                intro=None, notices=(), facts=b"", writes=None, state=bytes(32), flip=None):
    clock = int(time.time() * 1000) << 16 if clock is None else clock
    body = previous + u64(clock) + state + bounds(heads)
    body += b"\1" + text(intro[0]) + text(intro[1]) if intro else b"\0"
    body += bytes([len(notices)]) + b"".join(notices) + u32(len(facts)) + facts
    padded = u32(len(body)) + body
    padded += bytes(padme(len(padded)) - len(padded))
    sub = derive(key, b"log", vault + u32(epoch))
    header = b"COFFERCM" + u32(1) + vault + log + u64(sequence) + u32(epoch) + u32(len(padded) + 40)
    sealed = seal_record(sub, header, padded)
    flag = (1 if facts or notices else 0) if writes is None else writes
    unsigned = author + u64(head[0]) + head[1] + bytes([flag])
    signature = signer.sign(b"commit", header + sealed + unsigned)
    return header + sealed + seal_record(sub, header + b"\1", unsigned + signature)


class ReadCommit:
    @staticmethod
    def notice(b):
        code = b.n(1)
        if code < 3:
            return b.take(40 if code == 1 else 56)
        if code == 4 and (b.take(24), b.n(1))[1]:
            return b"all"
        return b.take(16 * b.n(2))

    def __init__(self, record, vault, keys):
        c = Cursor(record)
        assert c.take(8) == b"COFFERCM" and c.n(4) == 1 and c.take(16) == vault
        self.log, self.sequence, self.epoch = c.take(16), c.n(8), c.n(4)
        body = c.take(c.n(4))
        key = derive(keys[self.epoch], b"log", vault + u32(self.epoch))
        seal = Cursor(open_record(key, record[:60] + b"\1", c.take(177)))
        self.author, self.link, self.link_hash, self.writes = seal.take(32), seal.n(8), seal.take(32), seal.n(1)
        b = Cursor(open_record(key, record[:60], body))
        b = Cursor(b.take(b.n(4)))
        self.previous, self.clock, self.state = b.take(32), b.n(8), b.take(32)
        self.heads = [(b.take(16), b.n(8), b.take(32)) for _ in range(b.n(2))]
        self.intro = (b.text(), b.text()) if b.n(1) else None
        self.notices = [self.notice(b) for _ in range(b.n(1))]
        self.facts = b.take(b.n(4))
        self.hash = phash(b"commit", record)


# facts: attribute 1 kind, 2 mode, 3 modified, 4 xattr, 5 content, 6 place; flags 1 same item, 2 replaces, 4 value, 8 more
def fact_body(facts, logs=()):
    return b"\1" + u16(len(logs)) + b"".join(logs) + u32(len(facts)) + b"".join(facts)


def fact_new_file(item, entry, parent, name):
    return [bytes([1, 4]) + item + b"\1",
            bytes([6, 1 | 4]) + entry + parent + bytes([len(name)]) + name]


# ---------------------------------------------------------------------------------------------------- people

COFFER = os.environ.get("COFFER") or "coffer"
LIMIT = 90
MEMORY_MAX = 400 << 20
PASS = b"correct horse battery staple\n"


class Done:
    def __init__(self, code, out, err, hung): self.code, self.out, self.err, self.hung = code, out, err, hung
    @property
    def all(self): return (self.out + self.err).strip()


def run(arguments, env=None, limit=LIMIT, stdin=None, cwd=None, preexec=None):
    full = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8", "TZ": "UTC", **(env or {})}
    p = subprocess.Popen(arguments, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=full, cwd=cwd, preexec_fn=preexec)
    try:
        out, err = p.communicate(stdin, timeout=limit)
        return Done(p.returncode, out.decode(errors="replace"), err.decode(errors="replace"), False)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        return Done(-9, out.decode(errors="replace"), err.decode(errors="replace"), True)


READ_TREE = r"""
import hashlib, json, os, sys
top, result = os.fsencode(sys.argv[1]), {}
for folder, dirs, files in os.walk(top):
    dirs.sort()
    for name in sorted(files):
        path = os.path.join(folder, name)
        rel = os.fsdecode(os.path.relpath(path, top))
        try:
            if os.path.islink(path): result[rel] = "link " + os.fsdecode(os.readlink(path)); continue
            with open(path, "rb") as f: result[rel] = hashlib.sha256(f.read()).hexdigest()[:16]
        except OSError as e: result[rel] = "E%d" % e.errno
    for name in dirs: result[os.fsdecode(os.path.relpath(os.path.join(folder, name), top)) + "/"] = "dir"
json.dump(result, sys.stdout)
"""


class Person:
    def __init__(self, world, name):
        self.world, self.name = world, name
        self.home = os.path.join(world.here, name)
        self.profile = os.path.join(self.home, "p")
        self.mount_point = os.path.join(self.home, "m")
        self.pid = None
        self.peak = 0

    @property
    def env(self):
        return {"COFFER_HOME": self.profile, "COFFER_PASSPHRASE_FILE": self.world.passphrase,
                "XDG_RUNTIME_DIR": self.home, **self.world.extra_env.get(self.name, {})}

    def coffer(self, *arguments, limit=LIMIT, stdin=None):
        done = run([COFFER, *arguments], self.env, limit, stdin)
        if done.hung:
            self.world.trouble(f"{self.name}: “coffer {' '.join(arguments[:2])}” hung")
        elif done.code < 0 or done.code in (132, 133, 134, 139):
            self.world.trouble(f"{self.name}: “coffer {' '.join(arguments[:2])}” died ({done.code}) {done.err[-200:]}")
        return done

    def must(self, *arguments, stdin=None, limit=LIMIT):
        done = self.coffer(*arguments, stdin=stdin, limit=limit)
        if done.code:
            raise RuntimeError(f"{self.name}: coffer {' '.join(arguments)}: {done.code}: {done.all}")
        return done

    def mount(self, must=True):
        os.makedirs(self.mount_point, exist_ok=True)
        done = self.coffer("mount", self.mount_point)
        if done.code == 0:
            try:
                with open(os.path.join(self.profile, "lock")) as f:
                    self.pid = int(f.readline().split()[0])
                self.connection = os.minor(os.stat(self.mount_point).st_dev)
            except (OSError, ValueError, IndexError):
                self.pid = None
        elif must:
            raise RuntimeError(f"{self.name} cannot mount: {done.all}")
        return done

    @property
    def alive(self):
        if self.pid is None:
            return False
        try:
            with open(f"/proc/{self.pid}/stat") as f:
                return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
        except OSError:
            return False

    def memory(self):
        try:
            with open(f"/proc/{self.pid}/status") as f:
                for line in f:
                    if line.startswith("VmHWM:"):
                        self.peak = max(self.peak, int(line.split()[1]) << 10)
        except OSError:
            pass
        return self.peak

    def unmount(self):
        if self.pid is None:
            return
        self.memory()
        if not self.alive:
            self.world.trouble(f"{self.name}: the mount's process is gone")
        p = subprocess.Popen([COFFER, "unmount", self.mount_point], env={**self.env, "PATH": os.environ["PATH"]},
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            p.communicate(timeout=25)
        except subprocess.TimeoutExpired:
            if os.path.ismount(self.mount_point):
                self.world.trouble(f"{self.name}: “coffer unmount” hung")
            # Else it is mounted still in a mount namespace of another program on this machine.
            self.abort()
            try:
                p.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                p.kill()
                p.communicate()
        done = Done(p.returncode, "", "", False)
        if done.code:
            run([COFFER, "unmount", "--lazy", "--force", self.mount_point], self.env, 60)
            if os.path.ismount(self.mount_point):
                run(["umount", "-l", self.mount_point], limit=20)
        self.wait_end()

    def abort(self):
        try:
            with open(f"/sys/fs/fuse/connections/{self.connection}/abort", "w") as f:
                f.write("1")
        except (OSError, AttributeError):
            pass

    def wait_end(self):
        for turn in range(800):
            if not self.alive:
                break
            if turn == 300:
                self.abort()
            time.sleep(0.05)
        else:
            self.world.trouble(f"{self.name}: the mount's process does not end")
            os.kill(self.pid, signal.SIGKILL)
        self.pid = None

    def vault(self, *path): return os.path.join(self.mount_point, "V", *path)

    def write(self, name, data):
        path = self.vault(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)

    def tree(self):
        done = run([sys.executable, "-c", READ_TREE, self.vault()], limit=LIMIT)
        if done.hung:
            self.world.trouble(f"{self.name}: reading hung")
            return None
        try:
            return json.loads(done.out)
        except ValueError:
            return None

    def sync(self, times=1):
        done = None
        for _ in range(times):
            done = self.coffer("sync", "V")
        return done

    def said(self):
        """All problems that the status reports."""
        done = self.coffer("status", "--json")
        try:
            report = json.loads(done.out)
        except ValueError:
            return [f"status: {done.all}"]
        lines = []
        for vault in report.get("vaults", []):
            sync = vault.get("sync") or {}
            if sync.get("failure"):
                lines.append("failure: " + sync["failure"])
            if sync.get("isRemoteFull"):
                lines.append("the remote is full")  # a round with nothing to send does not fail
            lines += sync.get("findings", [])
            if vault.get("stopped"):
                lines.append("stopped: " + vault["stopped"])
            if not vault.get("isOpen", True):
                lines.append("cannot be opened")
        lines += [p["text"] for p in report.get("problems", [])]
        return lines

    def keys(self):
        with open(os.path.join(self.profile, "profile"), "rb") as f:
            return ProfileKeys(f.read(), PASS.rstrip(b"\n"))


class World:
    """One copy of everything: WORK/w with the people and the remote (the URL is always the same)."""

    def __init__(self, work):
        self.work = work
        self.here = os.path.join(work, "w")
        self.remote = os.path.join(self.here, "remote")
        self.passphrase = os.path.join(work, "pw")
        self.extra_env = {}
        self.troubles = []
        self.people = {}

    def trouble(self, what):
        if what not in self.troubles:
            self.troubles.append(what)

    def person(self, name):
        if name not in self.people:
            self.people[name] = Person(self, name)
        return self.people[name]

    def restore(self, base, remote=None, profiles=None):
        self.end()
        self.troubles, self.people, self.extra_env = [], {}, {}
        remove_all(self.here)
        shutil.copytree(os.path.join(self.work, base), self.here, symlinks=True)
        if remote:
            remove_all(self.remote)
            shutil.copytree(os.path.join(self.work, remote, "remote"), self.remote, symlinks=True)
        for name, other in (profiles or {}).items():
            remove_all(os.path.join(self.here, name))
            shutil.copytree(os.path.join(self.work, other, name), os.path.join(self.here, name), symlinks=True)

    def save(self, base):
        target = os.path.join(self.work, base)
        remove_all(target)
        shutil.copytree(self.here, target, symlinks=True)

    def end(self):
        for p in self.people.values():
            p.unmount()

    @property
    def vault_id(self): return os.listdir(os.path.join(self.remote, "vaults"))[0]

    def obj(self, *path): return os.path.join(self.remote, "vaults", self.vault_id, *path)

    def listed(self, *path):
        try:
            return sorted(n for n in os.listdir(self.obj(*path)) if not n.startswith("."))
        except OSError:
            return []


def remove_all(path):
    if os.path.isdir(path) and not os.path.islink(path):
        for folder, dirs, _ in os.walk(path):
            for d in dirs:
                full = os.path.join(folder, d)
                if d == "m":
                    run(["chattr", "-i", full], limit=10)
                    if os.path.ismount(full):
                        run(["umount", "-l", full], limit=10)
                try:
                    if not os.path.islink(full):
                        os.chmod(full, 0o700)
                except OSError:
                    pass
    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        shutil.rmtree(path)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "wb") as f:
        f.write(data)


# ---------------------------------------------------------------------------------------------------- the base

def sparse_extents(path, count):
    with open(path, "r+b" if os.path.exists(path) else "w+b") as f:
        for i in range(count):
            f.seek(i * 12288)
            f.write(bytes([i % 251 + 1]) * 4096)
            f.flush()
            os.fsync(f.fileno())


def build(world):
    """base1: all have everything, except large contents. base2: owner and writer continued, unknown to the reader."""
    work = world.work
    remove_all(world.here)
    os.makedirs(world.remote)
    owner = world.person("owner")
    names = ["owner", "writer", "reader", "gone"]
    for name in names:
        p = world.person(name)
        os.makedirs(p.home, exist_ok=True)
        p.must("init", "--name", name.capitalize(), "--device", name + "-pc", "--strength", "interactive")
        p.mount()
    os.mkdir(owner.vault())
    owner.write("changed.txt", b"version 1\n")
    owner.write("removed-later.txt", b"will be removed\n")
    owner.write("folder/inner.txt", b"inner\n")
    owner.write("big.bin", hashlib.sha512(b"big").digest() * 49152)  # 3 MiB
    sparse_extents(owner.vault("many.bin"), 80)
    owner.must("remote", "add", "V", "file://" + world.remote)
    for name, role in (("writer", "writer"), ("reader", "reader"), ("gone", "writer")):
        invite = owner.must("member", "invite", "V", "--role", role).out
        world.person(name).must("join", "-", "--as", "V", stdin=invite.encode())
    world.person("writer").write("by-writer.txt", b"writer 1\n")
    world.person("gone").write("by-gone.txt", b"gone 1\n")
    for _ in range(2):
        for name in names:
            world.person(name).must("sync", "V")
    world.end()
    world.save("base0")
    for name in names:
        world.person(name).mount()
    owner.must("member", "remove", "V", "Gone", "--yes")
    for name in ("owner", "writer", "reader"):
        world.person(name).must("sync", "V")
    world.person("gone").coffer("sync", "V")
    owner.write("after-removal.txt", b"secret after removal\n")
    for _ in range(2):
        for name in ("owner", "writer", "reader"):
            world.person(name).must("sync", "V")
    # So that all contents were re-encrypted, where that is done.
    time.sleep(12)
    for _ in range(2):
        for name in ("owner", "writer", "reader"):
            world.person(name).must("sync", "V")
    for name in ("owner", "writer", "reader"):  # small ones are read, large ones are not
        for f in ("changed.txt", "by-writer.txt", "folder/inner.txt", "after-removal.txt", "by-gone.txt"):
            read(world.person(name).vault(f))
    tree1 = owner.tree()
    world.end()
    world.save("base1")
    for name in ("owner", "writer"):
        world.person(name).mount()
    owner.write("changed.txt", b"version 2, which is longer\n")
    owner.write("new.txt", b"new in 2\n")
    os.unlink(owner.vault("removed-later.txt"))
    owner.must("sync", "V")
    world.person("writer").must("sync", "V")
    world.person("writer").write("by-writer.txt", b"writer 2, longer\n")
    world.person("writer").write("writer-new.txt", b"of the writer\n")
    for _ in range(3):
        for name in ("writer", "owner"):
            world.person(name).must("sync", "V")
    tree2 = owner.tree()
    for name in ("writer",):
        for f in ("changed.txt", "new.txt"):
            read(world.person(name).vault(f))
    world.end()
    world.save("base2")
    with open(os.path.join(work, "trees.json"), "w") as f:
        json.dump({"1": tree1, "2": tree2}, f)
    open(os.path.join(work, "made-by-hostile.py"), "w").close()


# ---------------------------------------------------------------------------------------------------- one case

class Outcome:
    def __init__(self):
        self.ok, self.reasons = True, []
        self.noticed, self.usable, self.shows, self.text = {}, "", {}, ""
        self.recovered = None
        self.peak = 0
        self.note = ""

    def fail(self, why):
        self.ok = False
        if why not in self.reasons:
            self.reasons.append(why)


VICTIMS = ("owner", "writer", "reader")


def compare(tree, trees):
    """How much of the newest state is shown: all of it, or which files are old, missing, unreadable, wrong."""
    newest, before = trees["2"], trees["1"]
    if tree is None:
        return {"all": "unreadable"}
    found = {}
    for name, value in newest.items():
        have = tree.get(name)
        if have == value:
            continue
        if have is None:
            found[name] = "missing"
        elif have.startswith("E"):
            found[name] = "error " + errno.errorcode.get(int(have[1:]), have[1:])
        elif have == before.get(name):
            found[name] = "old"
        else:
            found[name] = "WRONG"
    for name in tree:
        if name not in newest and not name.startswith("probe-") and not name.startswith("allowed-"):
            found[name] = "old" if name in before else "EXTRA"
    return found


def observe(world, trees, outcome, victims=VICTIMS, rounds=4, probe=True):
    """Mounts the victims, syncs, and notes what they show and report."""
    people = [world.person(v) for v in victims]
    for p in people:
        done = p.mount(must=False)
        if done.code:
            outcome.fail(f"{p.name} cannot mount: {done.all[-200:]}")
    people = [p for p in people if p.pid is not None]

    def turn(p):
        try:
            for _ in range(rounds):
                p.last = p.sync()
            p.shown = p.tree()
            p.last = p.sync()
            p.lines = p.said()
        except Exception as e:  # a thread's error is the case's
            p.shown, p.lines, p.last = None, [f"hostile.py: {e}"], Done(99, "", str(e), False)

    threads = [threading.Thread(target=turn, args=(p,)) for p in people]
    for t in threads: t.start()
    for t in threads: t.join()
    for p in people:
        shows = compare(p.shown, trees)
        outcome.shows[p.name] = shows
        outcome.noticed[p.name] = {"code": p.last.code if p.last else None, "lines": p.lines}
        if not p.alive:
            outcome.fail(f"{p.name}: the mount died")
        quiet = not p.lines and (p.last is None or p.last.code == 0)
        bad = {k: v for k, v in shows.items() if not v.startswith("error")}
        if quiet and bad:
            outcome.fail(f"{p.name} shows without a word: {dict(list(bad.items())[:4])}")
        if any(v in ("WRONG", "EXTRA") for v in shows.values()):
            outcome.fail(f"{p.name} shows what nobody wrote: {[k for k, v in shows.items() if v in ('WRONG', 'EXTRA')][:4]}")
    if probe:
        works = []
        for p in people:
            if p.name == "reader":
                continue
            try:
                p.write("probe-" + p.name, os.urandom(16))
                done = p.sync()
                works.append(p.name if done.code == 0 else p.name + ":" + str(done.code))
            except OSError as e:
                works.append(f"{p.name}:{errno.errorcode.get(e.errno)}")
        outcome.usable = ",".join(works)
    for p in people:
        outcome.peak = max(outcome.peak, p.memory())
    if outcome.peak > MEMORY_MAX:
        outcome.fail(f"{outcome.peak >> 20} MiB")
    return people


def settle(world, trees, outcome, people):
    """After the manipulation was taken back: does everything come right, if need be at the next mount?"""
    left = look_again(world, trees, people)
    outcome.recovered = "yes" if not left else None
    if left:
        outcome.note = "; ".join(left)
        # Checks that run only every five minutes also run after a start.
        for p in people:
            p.unmount()
            p.mount(must=False)
        left = look_again(world, trees, people)
        outcome.recovered = "later" if not left else "NO"
        outcome.note = "; ".join(left) or outcome.note
    return not left


def look_again(world, trees, people):
    for _ in range(4):
        for p in people:
            p.last = p.sync()
    left = []
    for p in people:
        shows = compare(p.tree(), trees)
        lines = p.said()
        # Reported problems stay in the list: only new reports count.
        done = p.coffer("status", "--json")
        try:
            sync = [v.get("sync") or {} for v in json.loads(done.out)["vaults"]]
            lines = [x for s in sync for x in ([s["failure"]] if s.get("failure") else []) + s.get("findings", [])]
        except (ValueError, KeyError):
            pass
        if shows or lines or (p.last and p.last.code):
            left.append(f"{p.name}: {dict(list(shows.items())[:3])} {lines[:2]}")
    return left


def matrix_case(world, trees, name, change, undo=None, must_notice=None, heals=True, victims=VICTIMS, rounds=4,
                base="base2", remote=None, profiles=None, probe=True):
    """change(world) manipulates; undo(world) reverts it."""
    outcome = Outcome()
    world.restore(base, remote, profiles={"reader": "base1"} if profiles is None else profiles)
    change(world)
    people = observe(world, trees, outcome, victims, rounds, probe)
    if must_notice:
        silent = [who for who in must_notice
                  if not (n := outcome.noticed.get(who)) or not n["lines"] and n["code"] == 0]
        # One of a set is enough: the first device that looks puts back what is missing.
        if silent and (not isinstance(must_notice, set) or len(silent) == len(must_notice)):
            outcome.fail(f"{', '.join(silent)} says nothing")
    if undo:
        undo(world)
        if not settle(world, trees, outcome, people) and heals:
            outcome.fail("does not come right again: " + outcome.note)
    world.end()
    for t in world.troubles:
        outcome.fail(t)
    return outcome


# ---------------------------------------------------------------------------------------------------- the cases

class Kinds:
    """One object of each kind in the remote of base2, as paths below the vault's folder."""

    def __init__(self, world):
        work_remote = os.path.join(world.work, "base2", "remote", "vaults")
        vault = os.listdir(work_remote)[0]
        self.top = os.path.join(work_remote, vault)
        keys = ProfileKeys(read(os.path.join(world.work, "base2", "owner", "p", "profile")), PASS.rstrip(b"\n"))
        writer = ProfileKeys(read(os.path.join(world.work, "base2", "writer", "p", "profile")), PASS.rstrip(b"\n"))
        v = bytes.fromhex(vault)
        self.vault = v
        self.owner_log, self.writer_log = keys.shares[v][1].hex(), writer.shares[v][1].hex()
        self.owner_user, self.writer_user = keys.user.hex(), writer.user.hex()

        def names(*path): return sorted(os.listdir(os.path.join(self.top, *path)))
        own, other = names("log", self.owner_log), names("log", self.writer_log)
        members = names("members")
        epochs = names("wraps")
        packs = names("packs")
        self.packs = packs
        self.by_size = sorted(packs, key=lambda p: os.path.getsize(os.path.join(self.top, "packs", p)))
        before = os.listdir(os.path.join(world.work, "base1", "remote", "vaults", vault, "packs"))
        self.new_packs = [p for p in packs if p not in before]
        self.objects = {
            "format": "format",
            "members/first": "members/" + members[0],
            "members/middle": "members/" + members[len(members) // 2],
            "members/last": "members/" + members[-1],
            "wraps/present": f"wraps/{epochs[-1]}/" + names("wraps", epochs[-1])[0],
            "wraps/old": f"wraps/{epochs[0]}/" + names("wraps", epochs[0])[0],
            "identity/chain": f"identities/{self.writer_user}/chain/" + "0" * 16,
            "identity/transient": f"identities/{self.writer_user}/transient",
            "log/owner/first": f"log/{self.owner_log}/" + own[0],
            "log/owner/middle": f"log/{self.owner_log}/" + own[len(own) // 2],
            "log/owner/last": f"log/{self.owner_log}/" + own[-1],
            "log/writer/last": f"log/{self.writer_log}/" + other[-1],
            "pack/large": "packs/" + self.by_size[-1],
            "pack/new": "packs/" + self.new_packs[0],
        }


def path_of(world, relative): return world.obj(*relative.split("/"))


def cases(world, trees):
    kinds = Kinds(world)
    result = []

    def case(name, *args, **kw): result.append((name, lambda: matrix_case(world, trees, name, *args, **kw)))

    def craft(name, body):
        def go():
            outcome = Outcome()
            world.restore("base2")
            try:
                body(outcome)
            finally:
                world.end()
            for t in world.troubles:
                outcome.fail(t)
            return outcome
        result.append(("craft: " + name, go))

    def restorer(relative):
        original = read(os.path.join(kinds.top, relative))
        return lambda w: put(path_of(w, relative), original)

    def heal_removed(relative):
        def undo(w):
            p = path_of(w, relative)
            if os.path.islink(p) or not os.path.isfile(p):
                if os.path.isdir(p) and not os.path.islink(p):
                    os.rmdir(p)
                elif os.path.lexists(p):
                    os.unlink(p)
            restorer(relative)(w)
        return undo

    for kind, relative in kinds.objects.items():
        whole = read(os.path.join(kinds.top, relative))
        case(f"delete {kind}", lambda w, r=relative: os.unlink(path_of(w, r)), restorer(relative))
        case(f"truncate {kind}", lambda w, r=relative, b=whole: put(path_of(w, r), b[:len(b) * 2 // 3]),
             restorer(relative))
        case(f"empty {kind}", lambda w, r=relative: put(path_of(w, r), b""), restorer(relative))
        places = {"header": min(20, len(whole) - 1), "body": len(whole) // 2, "trailer": len(whole) - 5}
        if kind == "format":
            places = {"body": 20}
        for place, at in places.items():
            def flip(w, r=relative, b=whole, at=at):
                put(path_of(w, r), b[:at] + bytes([b[at] ^ 0x40]) + b[at + 1:])
            case(f"flip {place} {kind}", flip, restorer(relative))
    for kind in ("members/last", "wraps/present", "identity/transient", "log/owner/last", "pack/new", "format"):
        relative = kinds.objects[kind]

        def huge(w, r=relative):
            p = path_of(w, r)
            os.truncate(p, 2 << 30)
        case(f"2 GiB sparse {kind}", huge, restorer(relative))

        def link(w, r=relative):
            os.unlink(path_of(w, r)); os.symlink("/etc/passwd", path_of(w, r))
        case(f"symlink {kind}", link, heal_removed(relative))

        def fifo(w, r=relative):
            os.unlink(path_of(w, r)); os.mkfifo(path_of(w, r))
        case(f"fifo {kind}", fifo, heal_removed(relative))

        def folder(w, r=relative):
            os.unlink(path_of(w, r)); os.mkdir(path_of(w, r))
        case(f"directory {kind}", folder, heal_removed(relative))

    # ---- swaps and replays
    def swap(a, b):
        def change(w):
            x, y = read(path_of(w, a)), read(path_of(w, b))
            put(path_of(w, a), y); put(path_of(w, b), x)
        return change, lambda w: (restorer(a)(w), restorer(b)(w))

    o = kinds.objects
    for name, a, b in (
            ("commits of one log", o["log/owner/last"], o["log/owner/middle"]),
            ("commits of two logs", o["log/owner/last"], o["log/writer/last"]),
            ("links of the members", o["members/last"], o["members/middle"]),
            ("wrap sets of two epochs", o["wraps/present"], o["wraps/old"]),
            ("transient keys", o["identity/transient"], f"identities/{kinds.owner_user}/transient"),
            ("identity chains", o["identity/chain"], f"identities/{kinds.owner_user}/chain/" + "0" * 16),
            ("packs", "packs/" + kinds.by_size[-1], "packs/" + kinds.new_packs[0])):
        change, undo = swap(a, b)
        case(f"swap {name}", change, undo)

    def duplicate(w):
        shutil.copy(path_of(w, o["log/owner/last"]), w.obj("log", kinds.owner_log, f"{0x7000:016x}"))
        shutil.copytree(w.obj("log", kinds.owner_log), w.obj("log", "ab" * 16))
        shutil.copy(path_of(w, o["pack/new"]), w.obj("packs", "cd" * 16))
        shutil.copy(path_of(w, o["members/last"]), w.obj("members", f"{0x50:016x}"))

    def unduplicate(w):
        os.unlink(w.obj("log", kinds.owner_log, f"{0x7000:016x}")); shutil.rmtree(w.obj("log", "ab" * 16))
        os.unlink(w.obj("packs", "cd" * 16)); os.unlink(w.obj("members", f"{0x50:016x}"))
    case("duplicates under other names", duplicate, unduplicate)

    def garbage(w):
        for folder in ("log", "packs", "members", "checkpoints", "requests", "identities", "wraps"):
            os.makedirs(w.obj(folder), exist_ok=True)
            for n in ("x", "..hidden", "UPPER", "a b", "\u202ename", "\x1b[31mred", "-rf", "'; touch pwned #", "ü" * 60, "f" * 250):
                put(os.path.join(w.obj(folder), n), os.urandom(100))
            put(os.path.join(w.obj(folder), "ee" * 16), os.urandom(700))
        for n in range(200):
            put(w.obj("log", f"{n:032x}", "0" * 15 + "1"), os.urandom(900))
            put(w.obj("requests", f"{n:032x}"), os.urandom(900))
        os.symlink("/etc", w.obj("log", "aa" * 16))
        os.mkfifo(w.obj("requests", "bb" * 16))
        os.symlink("/", w.obj("packs", "loop"))
    case("garbage and odd names", garbage)

    # ---- histories
    def roll_back(w): remove_all(w.remote); shutil.copytree(os.path.join(w.work, "base1", "remote"), w.remote)
    def forward(w): remove_all(w.remote); shutil.copytree(os.path.join(w.work, "base2", "remote"), w.remote)
    case("the whole folder is rolled back", roll_back, must_notice=("owner", "writer"), probe=False, victims=("owner", "writer"))
    case("the folder is rolled back in front of a removal",
         lambda w: (remove_all(w.remote), shutil.copytree(os.path.join(w.work, "base0", "remote"), w.remote)),
         must_notice=("owner", "writer"), probe=False, victims=("owner", "writer"))

    def withhold(w): shutil.move(w.obj("log", kinds.owner_log), os.path.join(w.work, "w", "withheld"))
    def give(w):
        there = w.obj("log", kinds.owner_log)
        os.makedirs(there, exist_ok=True)
        for n in os.listdir(os.path.join(w.work, "w", "withheld")):
            put(os.path.join(there, n), read(os.path.join(w.work, "w", "withheld", n)))
    case("one author's log is withheld", withhold, give, must_notice=("writer", "owner"))

    def new_members_withheld(w):
        os.unlink(path_of(w, o["members/last"]))
    case("the removal's link is withheld", new_members_withheld, restorer(o["members/last"]), must_notice={"owner", "writer"})

    # ---- members who join late
    for kind in ("members/first", "members/middle", "wraps/old", "identity/chain", "log/owner/first", "log/owner/middle",
                 "log/owner/last", "log/writer/last", "pack/large"):
        relative = o[kind]
        craft(f"joining after delete {kind}",
              lambda out, r=relative: craft_join(world, out, trees, lambda w: os.unlink(path_of(w, r))))
        whole = read(os.path.join(kinds.top, relative))
        at = len(whole) // 2
        craft(f"joining after flip {kind}", lambda out, r=relative, b=whole, at=at: craft_join(
            world, out, trees, lambda w: put(path_of(w, r), b[:at] + bytes([b[at] ^ 1]) + b[at + 1:])))
    for what in ("nothing", "delete record", "flip record", "truncate record", "delete piece", "flip piece", "truncate piece",
                 "delete announcement", "flip announcement", "old record put back"):
        craft(f"checkpoint: {what}", lambda out, what=what: craft_checkpoint(world, out, what))

    # ---- a folder that cannot be written to
    def freeze(w):
        run(["chattr", "-R", "+i", w.remote])
        if not b"i" in run(["lsattr", "-d", w.remote]).out.encode().split(b" ")[0]:
            raise RuntimeError("chattr does not work here")
    def thaw(w): run(["chattr", "-R", "-i", w.remote])
    case("the folder can only be read", freeze, thaw)

    craft("nothing after the removal opens for the removed", lambda out: craft_removed_opens_nothing(world, out))
    craft("the removed writes, later and backdated", lambda out: craft_removed_writes(world, out, trees))
    craft("a reader signs commits that change something", lambda out: craft_reader_writes(world, out, trees))
    for who in ("reader", "gone"):
        craft(f"a commit of {who}'s in the owner's log", lambda out, who=who: craft_ends_log(world, out, trees, who))
    craft("one member keeps the key from changing after another's leave",
          lambda out: craft_rotation_after_leave(world, out))
    craft("a whole profile is put back", lambda out: craft_profile_back(world, out, trees))
    craft("one directory made in place of the next link", lambda out: craft_mkdir(world, out, "members"))
    craft("one directory made in a log of one's own keeps one from being removed",
          lambda out: craft_mkdir(world, out, "log"))
    craft("coffer sync without a mount, after a rollback and a fork", lambda out: craft_sync_alone(world, out))
    craft("contents are given up that the remote has lost", lambda out: craft_evict(world, out))
    craft("a name with escape sequences in what a mount in the foreground says", lambda out: craft_escape(world, out))
    craft("unmount while another namespace has the mount", lambda out: craft_namespace(world, out))
    craft("a copy of a profile is used beside it", lambda out: craft_twin(world, out))
    craft("who has left goes on writing, by bounds of its own", lambda out: craft_leaver_writes(world, out, trees))
    craft("members with rolled keys and no transient key stop removals",
          lambda out: craft_blocked_rotation(world, out))
    craft("a member calls itself otherwise in a second log", lambda out: craft_other_name(world, out))
    craft("a clock at its end, times at both ends", lambda out: craft_clock(world, out))
    craft("facts without number in one commit", lambda out: craft_many_facts(world, out))
    craft("directories in each other, in one commit", lambda out: craft_nested(world, out))
    craft("logs without number of somebody removed", lambda out: craft_many_logs(world, out))
    craft("sizes that sum to more than a number holds", lambda out: craft_sizes(world, out))
    craft("directories 2000 deep", lambda out: craft_deep(world, out))
    craft("a profile is put back while links are withheld", lambda out: craft_put_back(world, out, trees))
    craft("two members see different folders, then the same", lambda out: craft_two_views(world, out, trees))
    craft("an object of another vault of the same people", lambda out: craft_other_vault(world, out, trees))
    craft("kill -9 in the middle of syncing", lambda out: craft_kill(world, out))
    craft("no room at the remote", lambda out: craft_full(world, out))
    craft("memory and /proc of a mount", lambda out: craft_memory(world, out))
    craft("modes of files under umask 0", lambda out: craft_modes(world, out))
    if "--slow" in sys.argv:
        craft("an admin begins twenty thousand epochs", lambda out: craft_epochs(world, out))
        craft("identities without number, at joining", lambda out: craft_identities(world, out))
    return result


# ---- crafted

def member_head(world):
    links = world.listed("members")
    last = read(world.obj("members", links[-1]))
    return len(links) - 1, link_hash(last), last


def head_at(world, sequence):
    return sequence, link_hash(read(world.obj("members", f"{sequence:016x}")))


def log_end(world, keys, vault, log):
    """The last commit of a log: number, hash, clock."""
    names = world.listed("log", log.hex())
    record = read(world.obj("log", log.hex(), names[-1]))
    commit = ReadCommit(record, vault, keys)
    return commit


def three(world, names=VICTIMS):
    people = [world.person(n) for n in names]
    for p in people:
        p.mount()
    return people


def craft_removed_opens_nothing(world, out):
    """All that the removed ever had, and all of the remote."""
    gone = world.person("gone").keys()
    vault = bytes.fromhex(world.vault_id)
    keys = dict(gone.keyrings[vault])
    # The removed also gets every wrap set, every link, and a clock of its own: nothing there gives a newer key.
    epochs = [int(e, 16) for e in world.listed("wraps")]
    for epoch in epochs:
        for name in world.listed("wraps", f"{epoch:016x}"):
            c = Cursor(read(world.obj("wraps", f"{epoch:016x}", name)))
            c.take(8); c.n(4); c.take(16); c.n(4)
            for _ in range(c.n(4)):
                who = c.take(32); c.n(2)
                wrap = c.take(c.n(2))
                for record, secret in gone.transients:
                    t = record[60:92]
                    try:
                        shared = x_agree(gone.agreement, wrap[:32]) + x_agree(secret, wrap[:32])
                        context = wrap[:32] + x_public(gone.agreement) + t + vault + u32(epoch) + gone.identity
                        key = blake(b"coffer/1/wrap 1\0" + shared + context)
                        opened = open_record(key, b"coffer/1/wrap 1\0" + context, wrap[48:])
                        keys[epoch] = opened
                    except ValueError:
                        pass
    newest = max(epochs)
    if newest in keys:
        out.fail(f"the removed has the key of epoch {newest}")
    first_removed = None
    for name in world.listed("members"):
        link = read(world.obj("members", name))
        if int.from_bytes(link[77:79], "little") == 4:
            first_removed = int(name, 16)
    opened = later = 0
    for log in world.listed("log"):
        for name in world.listed("log", log):
            record = read(world.obj("log", log, name))
            epoch = int.from_bytes(record[52:56], "little")
            if epoch >= newest:
                later += 1
            for key in keys.values():
                for e in epochs:
                    try:
                        sub = derive(key, b"log", vault + u32(e))
                        open_record(sub, record[:60] + b"\1", record[-177:])
                        if epoch >= newest:
                            out.fail(f"commit {log}/{name} opens for the removed")
                        opened += 1
                    except ValueError:
                        pass
    out.note = f"{opened} older commits open, {later} later ones do not (removal: link {first_removed})"
    if not later:
        out.fail("no commit is later than the removal")
    # With its own program, and another clock.
    p = world.person("gone")
    p.mount()
    done = p.sync()
    out.usable = f"its own coffer sync: {done.code}"
    if done.code == 0:
        out.fail("the removed syncs")
    if os.path.exists(p.vault("after-removal.txt")):
        out.fail("the removed sees what was written later")
    out.text = done.all


def craft_removed_writes(world, out, trees):
    gone = world.person("gone").keys()
    vault = bytes.fromhex(world.vault_id)
    keys = gone.keyrings[vault]
    log = gone.shares[vault][1]
    end = log_end(world, keys, vault, log)
    item, entry = os.urandom(16), os.urandom(16)
    facts = fact_body(fact_new_file(item, entry, vault, b"by-the-removed"))
    # Backdated: it names the link that it knew when it was a member.
    back = make_commit(vault, log, end.sequence + 1, end.epoch, keys[end.epoch], gone.identity, gone.signer,
                       (end.link, end.link_hash), previous=end.hash, clock=end.clock + 1, facts=facts)
    put(world.obj("log", log.hex(), f"{end.sequence + 1:016x}"), back)
    # In a log of its own that no device has seen.
    other = os.urandom(16)
    first = make_commit(vault, other, 1, end.epoch, keys[end.epoch], gone.identity, gone.signer,
                        (end.link, end.link_hash), intro=("Gone", "gone-2"), clock=end.clock + 1, facts=facts)
    put(world.obj("log", other.hex(), f"{1:016x}"), first)
    # It names the present link.
    third = os.urandom(16)
    head = member_head(world)
    put(world.obj("log", third.hex(), f"{1:016x}"), make_commit(
        vault, third, 1, end.epoch, keys[end.epoch], gone.identity, gone.signer, head[:2],
        intro=("Gone", "gone-3"), facts=facts))
    observe(world, trees, out)
    for p in VICTIMS:
        if "by-the-removed" in (world.person(p).tree() or {}):
            out.fail(f"{p} shows what the removed wrote")
    if not any("not allowed" in l or "no longer a member" in l for l in out.noticed["owner"]["lines"]):
        out.fail("owner says nothing")


def craft_reader_writes(world, out, trees):
    reader = world.person("reader").keys()
    owner = world.person("owner").keys()
    vault = bytes.fromhex(world.vault_id)
    keys = owner.keyrings[vault]
    epoch = max(keys)
    head = member_head(world)[:2]
    item, entry = os.urandom(16), os.urandom(16)
    facts = fact_body(fact_new_file(item, entry, vault, b"by-the-reader"))
    log = os.urandom(16)
    put(world.obj("log", log.hex(), f"{1:016x}"), make_commit(
        vault, log, 1, epoch, keys[epoch], reader.identity, reader.signer, head, intro=("Reader", "r"), facts=facts))
    # As the owner, without its key; and as an acknowledgement that changes something.
    log2 = os.urandom(16)
    put(world.obj("log", log2.hex(), f"{1:016x}"), make_commit(
        vault, log2, 1, epoch, keys[epoch], owner.identity, reader.signer, head, intro=("Owner", "r"), facts=facts))
    log3 = os.urandom(16)
    put(world.obj("log", log3.hex(), f"{1:016x}"), make_commit(
        vault, log3, 1, epoch, keys[epoch], reader.identity, reader.signer, head, intro=("Reader", "r"), facts=facts,
        writes=0))
    # An admin's link by a reader: the owner is to go.
    sequence, previous, _ = member_head(world)
    put(world.obj("members", f"{sequence + 1:016x}"), make_link(
        3, vault, sequence + 1, previous, 3, owner.identity + b"\4" + bounds([]), reader.signer))
    observe(world, trees, out, victims=("owner", "writer"))
    for p in ("owner", "writer"):
        if "by-the-reader" in (world.person(p).tree() or {}):
            out.fail(f"{p} shows what a reader wrote")
    # Exit code 65 reports the oddity at the remote; the commit has to arrive all the same.
    if not {"owner", "owner:65"} & set(out.usable.split(",")):
        out.fail("the owner's next commit: " + out.usable)
    world.person("writer").sync(2)
    if not os.path.exists(world.person("writer").vault("probe-owner")):
        out.fail("the owner's next commit does not arrive")


def craft_ends_log(world, out, trees, who):
    """A commit that is signed by its author, in the next place of another member's log."""
    attacker, owner = world.person(who).keys(), world.person("owner").keys()
    vault = bytes.fromhex(world.vault_id)
    keys = attacker.keyrings[vault]
    log = owner.shares[vault][1]
    names = world.listed("log", log.hex())
    sequence = int(names[-1], 16) + 1
    epoch = max(keys)
    # The head of the members when that epoch began, as the attacker knew it.
    own = log_end(world, keys, vault, attacker.shares[vault][1])
    head = (own.link, own.link_hash) if who == "gone" else member_head(world)[:2]
    facts = fact_body(fact_new_file(os.urandom(16), os.urandom(16), vault, b"by-attacker")) if who == "gone" else b""
    name = world.obj("log", log.hex(), f"{sequence:016x}")
    put(name, make_commit(vault, log, sequence, epoch, keys[epoch], attacker.identity, attacker.signer, head,
                          clock=int(time.time() * 1000) << 16, facts=facts))
    people = three(world)
    o, w, r = people
    for p in people:
        p.sync(2)
    o.write("probe-owner", b"what the owner has to say\n")
    done = o.sync(2)
    for p in (w, r):
        p.sync(2)
    if done.code or not os.path.exists(w.vault("probe-owner")):
        out.fail(f"{who} silences the owner's device for good: {done.all[-120:]}")
    out.text = f"owner: {o.said()[:3]} | writer: {w.said()[:2]}"
    # A new mount must recover by itself, or at the latest once the object is removed.
    for p in people:
        p.unmount()
        p.mount()
    again = o.sync(2); w.sync(2)
    out.note = f"after new mounts: {again.code}, arrives {os.path.exists(w.vault('probe-owner'))}"
    if again.code:
        for p in people:
            p.unmount()
        os.unlink(name)
        for p in people:
            p.mount()
        third = o.sync(2); w.sync(2)
        out.note += f"; the object deleted by hand, and new mounts: {third.code}, arrives {os.path.exists(w.vault('probe-owner'))}"


def craft_mkdir(world, out, where):
    vault = bytes.fromhex(world.vault_id)
    owner, writer = three(world, ("owner", "writer"))
    owner.sync(); writer.sync()
    log = writer.keys().shares[vault][1].hex()
    if where == "members":
        os.mkdir(world.obj("members", f"{len(world.listed('members')):016x}"))
        owner.write("probe-owner", b"x")
        done = owner.sync(2)
        writer.sync(2)
        out.text = done.all
        if done.code or not os.path.exists(writer.vault("probe-owner")):
            out.fail(f"nothing goes on for anybody: {done.all[-140:]}")
    else:
        os.mkdir(world.obj("log", log, f"{int(world.listed('log', log)[-1], 16) + 1:016x}"))
        done = owner.coffer("member", "remove", "V", "Writer", "--yes")
        out.text = done.all
        if done.code:
            out.fail(f"the removal is refused: {done.all[-140:]}")


def craft_sync_alone(world, out):
    """A user who never mounts sees the output and the exit code of `coffer sync`."""
    world.restore("base2", "base1")
    writer = world.person("writer")
    said = [writer.sync() for _ in range(5)]
    if all(d.code == 0 and "synced" in d.out and len(d.out.splitlines()) == 1 for d in said):
        out.fail(f"the folder was rolled back, own commits are gone from it: “{said[-1].out.strip()}”, 0")
    world.restore("base2")
    owner = world.person("owner").keys()
    vault = bytes.fromhex(world.vault_id)
    keys, log = owner.keyrings[vault], owner.shares[vault][1]
    end = log_end(world, keys, vault, log)
    put(world.obj("log", log.hex(), f"{end.sequence:016x}"), make_commit(
        vault, log, end.sequence, end.epoch, keys[end.epoch], owner.identity, owner.signer, (end.link, end.link_hash),
        previous=end.previous, clock=end.clock, heads=end.heads,
        facts=fact_body(fact_new_file(os.urandom(16), os.urandom(16), vault, b"forked"))))
    done = world.person("writer").sync()
    if done.code == 0 and done.out.strip() == "V: synced":
        out.fail("a log has two histories: “V: synced”, 0")
    mounted = world.person("writer")
    mounted.mount()
    done = mounted.sync(2)
    out.note = f"with a mount: sync {done.code} “{done.out.strip()}”, status: {[l[:60] for l in mounted.said()[:1]]}"


def craft_evict(world, out):
    owner = world.person("owner")
    owner.mount()
    owner.sync()
    for pack in world.listed("packs"):
        os.unlink(world.obj("packs", pack))
    owner.sync(2)
    out.note = f"all packs are deleted; the owner, who has all contents, says {owner.said()}"
    owner.must("vault", "set", "V", "--cache", "0")
    time.sleep(4)
    owner.unmount()
    owner.mount()
    try:
        read(owner.vault("big.bin"))
    except OSError as e:
        check = owner.coffer("check", "V")
        out.fail(f"the last copy is given up, and cannot be read: {errno.errorcode[e.errno]}; check: {check.code}")


def craft_escape(world, out):
    owner, writer = three(world, ("owner", "writer"))
    owner.unmount()
    before = set(world.listed("packs"))
    name = "inno\x1b]0;title\x07\x1b[31mcent\n fake line.txt"
    writer.write(name, os.urandom(200000))
    writer.sync(2)
    for pack in set(world.listed("packs")) - before:
        os.unlink(world.obj("packs", pack))
    os.makedirs(owner.mount_point, exist_ok=True)
    p = subprocess.Popen([COFFER, "mount", "--foreground", owner.mount_point], env={**owner.env, "PATH": os.environ["PATH"]},
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(100):
        if os.path.ismount(owner.mount_point):
            break
        time.sleep(0.1)
    owner.sync(2)
    try:
        read(owner.vault(name))
    except OSError:
        pass
    for what in (("status",), ("check", "V"), ("conflicts",)):
        if "\x1b" in owner.coffer(*what).all:
            out.fail(f"coffer {what[0]} writes escape sequences of others to the terminal")
    run([COFFER, "unmount", owner.mount_point], owner.env, 40)
    try:
        _, err = p.communicate(timeout=40)
    except subprocess.TimeoutExpired:
        p.kill()
        _, err = p.communicate()
    if b"\x1b" in err:
        out.fail("coffer mount --foreground writes escape sequences of others to the terminal")


def craft_namespace(world, out):
    owner = world.person("owner")
    owner.mount()
    other = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sleep", "40"])
    time.sleep(1)
    if other.poll() is not None:
        out.note = "unshare is not allowed here"
        return
    p = subprocess.Popen([COFFER, "unmount", owner.mount_point], env={**owner.env, "PATH": os.environ["PATH"]},
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        _, err = p.communicate(timeout=20)
        out.note = err.decode()
    except subprocess.TimeoutExpired:
        done = run(["nsenter", "-t", str(other.pid), "-m", "cat", owner.vault("changed.txt")], limit=10)
        out.fail(f"no end and no word; the other namespace reads on: {bool(done.out)}")
    other.kill()
    other.wait()
    if p.poll() is None:
        try:
            p.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
    owner.wait_end()


def craft_twin(world, out):
    shutil.copytree(world.person("writer").home, os.path.join(world.here, "twin"), symlinks=True)
    owner, writer, twin = three(world, ("owner", "writer", "twin"))
    for n in range(3):
        writer.write(f"probe-w{n}", b"w"); twin.write(f"probe-t{n}", b"t")
        done = [writer.sync(), twin.sync()]
        owner.sync()
    tree = owner.tree() or {}
    out.note = "; ".join(f"{p.name}: {d.code} {d.all[-70:]}" for p, d in zip((writer, twin), done))
    # Mounts sync by themselves: the first of the two gets the log, and the other one learns of it.
    arrived = [all(f"probe-{letter}{n}" in tree for n in range(3)) for letter in "wt"]
    for p, d, has in zip((writer, twin), done, arrived):
        if d.code == 0 and not has:
            out.fail(f"{p.name} is not told that its changes do not arrive")
    if not any(arrived):
        out.fail("nobody's changes arrive")


def craft_rotation_after_leave(world, out):
    """A member leaves; another one has rolled keys and no transient key: is the vault's key ever changed?"""
    vault = bytes.fromhex(world.vault_id)
    roll_without_transient(world, "reader")
    owner, writer = three(world, ("owner", "writer"))
    left = writer.coffer("member", "leave", "V", "--yes")
    before = world.listed("wraps")
    for _ in range(3):
        owner.sync()
    owner.write("after-the-leave.txt", b"secret of those who stayed\n")
    owner.sync(2)
    after = world.listed("wraps")
    keys = writer.keys().keyrings[vault]
    log = owner.keys().shares[vault][1].hex()
    record = read(world.obj("log", log, world.listed("log", log)[-1]))
    epoch = int.from_bytes(record[52:56], "little")
    out.note = f"leave {left.code}; epochs {len(before)} → {len(after)}; the newest commit is of epoch {epoch}, who left has {sorted(keys)}"
    out.text = "; ".join(owner.said()[:3])
    if epoch in keys:
        out.fail("what is written after somebody has left is sealed with a key that he has, as another member wants it")


def craft_profile_back(world, out, trees):
    """A whole profile directory is copied, used, and put back."""
    shutil.copytree(world.person("writer").profile, os.path.join(world.here, "yesterday"), symlinks=True)
    owner, writer = three(world, ("owner", "writer"))
    writer.write("today.txt", b"today\n")
    writer.must("sync", "V"); owner.must("sync", "V")
    writer.write("unsent-today.txt", b"never sent\n")
    writer.must("member", "list", "V")
    writer.unmount()
    remove_all(writer.profile)
    shutil.copytree(os.path.join(world.here, "yesterday"), writer.profile, symlinks=True)
    os.rename(world.remote, world.remote + ".away")
    writer.mount()
    writer.write("between.txt", b"written by the old profile without the remote\n")
    writer.coffer("sync", "V")
    os.rename(world.remote + ".away", world.remote)
    for _ in range(4):
        last = writer.sync(); owner.sync()
    a, b = writer.tree() or {}, owner.tree() or {}
    out.note = (f"sync {last.code}; writer: today {'today.txt' in a}, between {'between.txt' in a}; owner: between {'between.txt' in b}; "
                f"writer says {writer.said()[:2]}")
    if "today.txt" not in a or "today.txt" not in b or ("between.txt" not in b and not writer.said()):
        out.fail("something is lost without a word")


MOVED_CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(void) {
    char text[32] = {0};
    int file = open(getenv("HOSTILE_CLOCK"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
    close(file);
    return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += ahead();
    return result;
}
"""


def clock_that_moves(world, names):
    """Has the people's programs read a clock that a file says to be so many seconds ahead."""
    library = os.path.join(world.work, "clock.so")
    if not os.path.exists(library):
        source = os.path.join(world.work, "clock.c")
        with open(source, "w") as f:
            f.write(MOVED_CLOCK)
        done = run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"])
        if done.code:
            raise RuntimeError(f"a C compiler is needed to move a clock: {done.all[-200:]}")
    seconds = os.path.join(world.here, "clock")
    for name in names:
        world.extra_env[name] = {"LD_PRELOAD": library, "HOSTILE_CLOCK": seconds}

    def move(by):
        with open(seconds + ".new", "w") as f:
            f.write(str(by))
        os.rename(seconds + ".new", seconds)
    move(0)
    return move


def craft_leaver_writes(world, out, trees):
    """Leave states its own bounds: a log's end that is far away lets all count that is backdated.

    The one who answers waits for what the leaver has named, for an hour at most; then nothing more counts.
    """
    move_clock = clock_that_moves(world, ("owner", "reader"))
    writer, owner = world.person("writer").keys(), world.person("owner").keys()
    vault = bytes.fromhex(world.vault_id)
    keys = writer.keyrings[vault]
    epoch = max(keys)
    log = writer.shares[vault][1]
    end = log_end(world, keys, vault, log)
    sequence, previous, _ = member_head(world)
    before = (sequence, previous)
    leave = make_link(3, vault, sequence + 1, previous, 8, b"\0" + bounds([(log, 1 << 62, bytes(32))]), writer.signer)
    put(world.obj("members", f"{sequence + 1:016x}"), leave)
    people = three(world, ("owner", "reader"))
    for _ in range(2):
        for p in people:
            p.sync()
    epochs = world.listed("wraps")
    out.note = f"epoch {epoch} before, {int(epochs[-1], 16)} after the leave"
    if int(epochs[-1], 16) <= epoch:
        out.fail("the key did not change after the leave")
    move_clock(3700)
    for _ in range(2):
        for p in people:
            p.sync()
    out.note += f"; {len(world.listed('members')) - 1 - sequence} links since"
    members = people[0].coffer("member", "list", "V").out
    if "Writer" in members:
        out.note += "; the leave was refused"
    item, entry = os.urandom(16), os.urandom(16)
    facts = fact_body(fact_new_file(item, entry, vault, b"allowed-after-leaving"))
    put(world.obj("log", log.hex(), f"{end.sequence + 1:016x}"), make_commit(
        vault, log, end.sequence + 1, epoch, keys[epoch], writer.identity, writer.signer, before,
        previous=end.hash, clock=end.clock + 1, facts=facts))
    for _ in range(3):
        for p in people:
            p.sync()
    for p in people:
        if "allowed-after-leaving" in (p.tree() or {}):
            out.fail(f"{p.name} shows what was written after its author had left")
    done = people[0].coffer("member", "remove", "V", "Writer", "--yes")
    out.text = f"member remove: {done.code} {done.all[:120]}; says: {people[0].said()[:3]}"


def roll_without_transient(world, name):
    k = world.person(name).keys()
    new, agreement = Signer(os.urandom(32)), os.urandom(32)
    last = k.links[-1]
    sequence = len(k.links)
    public = x_public(agreement)
    message = k.user + u64(sequence - 1) + link_hash(last) + new.public + public
    fields = new.public + public + new.sign(b"identity keys", message)
    link = make_link(2, k.user, sequence, link_hash(last), 2, fields, k.signer)
    put(world.obj("identities", k.user.hex(), "chain", f"{sequence:016x}"), link)


def craft_blocked_rotation(world, out):
    """Two members publish RollKeys and no transient key: is a removal of one of them still possible?"""
    vault = bytes.fromhex(world.vault_id)
    for name in ("writer", "reader"):
        roll_without_transient(world, name)
    owner = world.person("owner")
    owner.mount()
    first = owner.coffer("member", "remove", "V", "Writer", "--yes")
    second = owner.coffer("member", "remove", "V", "Reader", "--yes")
    again = owner.coffer("member", "remove", "V", "Writer", "--yes")
    out.text = f"remove Writer: {first.code} {first.all[-160:]} | remove Reader: {second.code} {second.all[-120:]} | again {again.code}"
    if first.code and second.code and again.code:
        out.fail("two members keep themselves from being removed")
    out.note = "; ".join(owner.said()[:3])


def craft_other_name(world, out):
    """A member that was verified begins a log with another name."""
    vault = bytes.fromhex(world.vault_id)
    writer = world.person("writer").keys()
    owner = world.person("owner")
    owner.mount()
    owner.sync()
    words = None
    listing = json.loads(owner.coffer("member", "list", "V", "--json").out)
    for m in listing["members"]:
        if m["identity"] == writer.identity.hex():
            words = m["fingerprint"]
    done = owner.coffer("identity", "verify", "V", "Writer", "--words", words or "")
    keys = writer.keyrings[vault]
    epoch = max(keys)
    log = bytes(15) + b"\0"
    log = b"\0" * 16
    put(world.obj("log", log.hex(), f"{1:016x}"), make_commit(
        vault, log, 1, epoch, keys[epoch], writer.identity, writer.signer, member_head(world)[:2],
        intro=("Owner's Boss", "hq"), facts=b""))
    owner.sync(2)
    listing = json.loads(owner.coffer("member", "list", "V", "--json").out)
    mine = [m for m in listing["members"] if m["identity"] == writer.identity.hex()][0]
    out.note = f"verify: {done.code}; now “{mine['name']}”, verified: {mine.get('isVerified')}"
    said = owner.said()
    if mine["name"] != "Writer" and mine.get("isVerified") and not any("name" in l for l in said):
        out.fail("a verified identity shows another name, without a word")


def craft_clock(world, out):
    vault = bytes.fromhex(world.vault_id)
    writer = world.person("writer").keys()
    keys = writer.keyrings[vault]
    epoch = max(keys)
    log = writer.shares[vault][1]
    end = log_end(world, keys, vault, log)
    item, entry = os.urandom(16), os.urandom(16)
    facts = [bytes([1, 4]) + item + b"\1",
             bytes([3, 1 | 4]) + i64(-(1 << 63)),
             bytes([6, 1 | 4]) + entry + vault + bytes([7]) + b"oldtime"]
    item2, entry2 = os.urandom(16), os.urandom(16)
    facts += [bytes([1, 4]) + item2 + b"\1",
              bytes([3, 1 | 4]) + i64((1 << 63) - 1),
              bytes([6, 1 | 4]) + entry2 + vault + bytes([7]) + b"newtime"]
    put(world.obj("log", log.hex(), f"{end.sequence + 1:016x}"), make_commit(
        vault, log, end.sequence + 1, epoch, keys[epoch], writer.identity, writer.signer, (end.link, end.link_hash),
        previous=end.hash, clock=(1 << 64) - 1, heads=end.heads, facts=fact_body(facts)))
    owner, reader = three(world, ("owner", "reader"))
    for p in (owner, reader):
        p.sync(2)
        for args in (("status",), ("member", "list", "V"), ("member", "removed", "V"), ("conflicts",), ("check", "V")):
            done = p.coffer(*args)
            if done.code not in (0, 1):
                out.fail(f"{p.name}: {args}: {done.code} {done.all[-100:]}")
        done = run(["ls", "-la", "--time-style=full-iso", p.vault()], limit=20)
        if done.code:
            out.fail(f"ls: {done.all[-100:]}")
        if not p.alive:
            out.fail(f"{p.name} died")
    try:
        owner.write("after-clock", b"1\n")
        done = owner.sync()
        reader.sync(2)
        if done.code or not os.path.exists(reader.vault("after-clock")):
            out.fail(f"nothing comes after it: {done.all[-100:]}")
    except OSError as e:
        out.fail(str(e))
    out.text = "; ".join(owner.said()[:2])


def craft_many_facts(world, out, count=20_000):
    """Extended attributes of one file, in one commit by a writer; a commit has room for a million."""
    vault = bytes.fromhex(world.vault_id)
    writer = world.person("writer").keys()
    keys = writer.keyrings[vault]
    epoch = max(keys)
    log = writer.shares[vault][1]
    end = log_end(world, keys, vault, log)
    item, entry = os.urandom(16), os.urandom(16)
    facts = fact_new_file(item, entry, vault, b"many-attributes")
    n = 0
    size = 0
    while size < (16 << 20) - (600 << 10) and n < count:
        name = b"user.%x" % n
        f = bytes([4, 1 | 4, len(name)]) + name + u32(0)
        facts.append(f)
        size += len(f)
        n += 1
    record = make_commit(vault, log, end.sequence + 1, epoch, keys[epoch], writer.identity, writer.signer,
                         (end.link, end.link_hash), previous=end.hash, clock=end.clock + 1, heads=end.heads,
                         facts=fact_body(facts))
    put(world.obj("log", log.hex(), f"{end.sequence + 1:016x}"), record)
    owner = world.person("owner")
    owner.mount()
    waits = []

    def look():
        time.sleep(2)
        begin = time.time()
        run(["ls", owner.vault()], limit=900)
        waits.append(time.time() - begin)
    t = threading.Thread(target=look)
    t.start()
    start = time.time()
    done = owner.coffer("sync", "V", limit=900)
    took = time.time() - start
    t.join()
    peak = owner.memory()
    out.peak = peak
    out.note = (f"{n} facts, commit of {len(record) >> 10} KiB: sync {took:.0f} s, {peak >> 20} MiB, rc {done.code}; an ls "
                f"meanwhile took {waits[0] if waits else -1:.0f} s")
    if waits and waits[0] > 10:
        out.fail(f"an ls waits for {waits[0]:.0f} s while a commit is applied")
    start = time.time()
    r = run(["ls", "-la", owner.vault()], limit=60)
    if r.hung:
        out.fail("ls hangs")
    x = run([sys.executable, "-c", "import os,sys\ntry: print(len(os.listxattr(sys.argv[1])))\nexcept OSError as e: print(e)",
             owner.vault("many-attributes")], limit=120)
    out.text = f"ls {time.time() - start:.1f} s; listxattr: {x.all[-80:]}"
    if x.hung:
        out.fail("listxattr hangs")
    if took > 60:
        out.fail(f"one commit of {len(record) >> 10} KiB keeps a device busy for {took:.0f} s")
    if peak > (1 << 30):
        out.fail(f"one commit needs {peak >> 20} MiB")
    if not owner.alive:
        out.fail("the mount died")


def craft_nested(world, out, count=int(os.environ.get("NESTED", "20000"))):
    """Directories, each in the one before, in one commit by a writer."""
    vault = bytes.fromhex(world.vault_id)
    writer = world.person("writer").keys()
    keys = writer.keyrings[vault]
    epoch = max(keys)
    log = writer.shares[vault][1]
    end = log_end(world, keys, vault, log)
    facts, parent = [], vault
    for _ in range(count):
        item, entry = os.urandom(16), os.urandom(16)
        facts += [bytes([1, 4]) + item + b"\2", bytes([6, 1 | 4]) + entry + parent + b"\1d"]
        parent = item
    record = make_commit(vault, log, end.sequence + 1, epoch, keys[epoch], writer.identity, writer.signer,
                         (end.link, end.link_hash), previous=end.hash, clock=end.clock + 1, heads=end.heads,
                         facts=fact_body(facts))
    put(world.obj("log", log.hex(), f"{end.sequence + 1:016x}"), record)
    owner = world.person("owner")
    owner.mount()
    stop, waits = threading.Event(), [0.0]

    def touch():
        n = 0
        while not stop.is_set():
            n += 1
            begin = time.time()
            done = run([sys.executable, "-c", "import os,sys\nf=open(sys.argv[1],'w');f.write('x');f.close();os.unlink(sys.argv[1])",
                        owner.vault("probe-t")], limit=400)
            waits[0] = max(waits[0], time.time() - begin)
    t = threading.Thread(target=touch)
    t.start()
    start = time.time()
    done = owner.coffer("sync", "V", limit=400)
    took = time.time() - start
    stop.set()
    t.join()
    out.peak = owner.memory()
    start = time.time()
    check = owner.coffer("check", "V", limit=300)
    out.note = (f"{count} in a commit of {len(record) >> 10} KiB: sync {took:.0f} s rc {done.code}, {out.peak >> 20} MiB, a program "
                f"waited up to {waits[0]:.1f} s for a new file; check {time.time() - start:.0f} s rc {check.code}")
    if took > 200:
        out.fail(f"one commit keeps a device busy for {took:.0f} s")
    if not owner.alive:
        out.fail("the mount died")
    if waits[0] > 30:
        out.fail(f"programs wait for {waits[0]:.0f} s")


def craft_many_logs(world, out, count=6000):
    """First commits of very many logs, signed by a removed member: each log ends for good."""
    gone = world.person("gone").keys()
    vault = bytes.fromhex(world.vault_id)
    keys = gone.keyrings[vault]
    own = log_end(world, keys, vault, gone.shares[vault][1])
    facts = fact_body(fact_new_file(os.urandom(16), os.urandom(16), vault, b"x"))
    for n in range(count):
        log = n.to_bytes(16, "big")
        put(world.obj("log", log.hex(), f"{1:016x}"), make_commit(
            vault, log, 1, own.epoch, keys[own.epoch], gone.identity, gone.signer, (own.link, own.link_hash),
            intro=("Gone", "g"), facts=facts))
    owner = world.person("owner")
    owner.mount()
    times, sizes = [], []
    for _ in range(6):
        start = time.time()
        done = owner.coffer("sync", "V", limit=300)
        times.append(round(time.time() - start, 1))
        try:
            with open(f"/proc/{owner.pid}/status") as f:
                sizes.append([int(l.split()[1]) >> 10 for l in f if l.startswith("VmRSS")][0])
        except OSError:
            pass
    done = owner.coffer("status", "--json")
    start = time.time()
    owner.write("probe-owner", b"x")
    end = owner.sync()
    out.note = f"rounds {times} s, memory {sizes} MiB, status {len(done.out) >> 10} KiB, write and sync {time.time() - start:.1f} s rc {end.code}"
    out.peak = owner.memory()
    if out.peak > MEMORY_MAX:
        out.fail(f"{out.peak >> 20} MiB")
    if max(times) > 60:
        out.fail(f"a round takes {max(times)} s")


def craft_sizes(world, out):
    owner, writer = three(world, ("owner", "writer"))
    for n in range(4):
        try:
            with open(writer.vault(f"huge{n}"), "wb") as f:
                os.truncate(f.fileno(), 1 << 62)
        except OSError as e:
            out.note += f"truncate: {e}; "
            try:
                with open(writer.vault(f"huge{n}"), "wb") as f:
                    os.truncate(f.fileno(), 1 << 43)
            except OSError as e2:
                out.note += f"{e2}; "
    writer.sync()
    owner.sync(2)
    for p in (owner, writer):
        for args in (("status",), ("vault", "info", "V"), ("check", "V"), ("conflicts",)):
            done = p.coffer(*args, limit=120)
            if done.code not in (0, 1):
                out.fail(f"{p.name}: {args}: {done.code}")
        done = run(["df", p.vault()], limit=20)
        if done.code or not p.alive:
            out.fail(f"{p.name}: df {done.code}, alive {p.alive}")
    # The same by a commit, with sizes that a mount would not make.
    w = writer.keys()
    vault = bytes.fromhex(world.vault_id)
    writer.unmount()
    keys, log = w.keyrings[vault], w.shares[vault][1]
    end = log_end(world, keys, vault, log)
    facts = []
    for n in range(8):
        item, entry = os.urandom(16), os.urandom(16)
        size = 1 << 62
        value = b"\1\0" + u64(size) + item + b"\0"
        facts += [bytes([1, 4]) + item + b"\1",
                  bytes([5, 1 | 4 | 8]) + u64(size) + item + u16(len(value)) + value,
                  bytes([6, 1 | 4]) + entry + vault + bytes([6]) + b"vast-%d" % n]
    # and contents that are no values
    for n in range(8):
        item, entry = os.urandom(16), os.urandom(16)
        facts += [bytes([1, 4]) + item + b"\1",
                  bytes([5, 1 | 4 | 8]) + u64(1 << 62) + item + u16(40) + os.urandom(40),
                  bytes([6, 1 | 4]) + entry + vault + bytes([6]) + b"junk-%d" % n]
    put(world.obj("log", log.hex(), f"{end.sequence + 1:016x}"), make_commit(
        vault, log, end.sequence + 1, max(keys), keys[max(keys)], w.identity, w.signer, (end.link, end.link_hash),
        previous=end.hash, clock=end.clock + 1, heads=end.heads, facts=fact_body(facts)))
    owner.sync(2)
    for args in (("status",), ("vault", "info", "V"), ("check", "V")):
        done = owner.coffer(*args, limit=120)
        if done.code not in (0, 1):
            out.fail(f"after the commit: {args}: {done.code} {done.all[-100:]}")
    run(["ls", "-la", owner.vault()], limit=20)
    r = run(["head", "-c", "100", owner.vault("vast-0")], limit=20)
    if not owner.alive:
        out.fail("the owner's mount died")
    out.peak = owner.memory()
    out.note += f"read of a vast file: {r.code}; {owner.said()[:1]}"


def craft_deep(world, out, depth=2000):
    owner, writer = three(world, ("owner", "writer"))
    here = os.open(writer.vault(), os.O_RDONLY | os.O_DIRECTORY)
    made = 0
    try:
        for _ in range(depth):
            os.mkdir("d", dir_fd=here)
            nxt = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = nxt
            made += 1
        with open(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=here), "wb") as f:
            f.write(b"bottom\n")
    except OSError as e:
        out.note = f"{made} deep: {e}; "
    finally:
        os.close(here)
    start = time.time()
    writer.coffer("sync", "V", limit=300)
    owner.coffer("sync", "V", limit=300)
    out.note += f"{made} deep: sync {time.time() - start:.0f} s"
    for args in (("status",), ("check", "V"), ("conflicts",)):
        start = time.time()
        done = owner.coffer(*args, limit=300)
        out.note += f", {args[0]} {time.time() - start:.0f} s rc {done.code}"
        if done.code not in (0, 1):
            out.fail(f"{args}: {done.code}")
    # All of it was moved into itself at the other end, and is gone.
    os.rename(writer.vault("d"), writer.vault("e"))
    writer.sync(); owner.sync()
    done = run(["rm", "-rf", writer.vault("e")], limit=120)
    writer.coffer("sync", "V", limit=300); owner.coffer("sync", "V", limit=300)
    for p in (owner, writer):
        if not p.alive:
            out.fail(f"{p.name} died")
    if os.path.exists(owner.vault("e")):
        out.note += ", it stays"


def craft_put_back(world, out, trees):
    """A profile of yesterday, and a storage that shows no newer link of the members: whose commit stays?"""
    vault = bytes.fromhex(world.vault_id)
    shutil.copytree(world.person("writer").profile, os.path.join(world.here, "yesterday"), symlinks=True)
    owner, writer, reader = three(world)
    # A link that yesterday's profile does not know, and commits after it.
    owner.must("member", "role", "V", "Reader", "writer")
    writer.sync()
    writer.write("important.txt", b"written today\n")
    for _ in range(2):
        writer.sync(); owner.sync(); reader.sync()
    log = writer.keys().shares[vault][1].hex()
    names = world.listed("log", log)
    kept = {n: read(world.obj("log", log, n)) for n in names}
    writer.unmount()
    last_link = world.listed("members")[-1]
    link = read(world.obj("members", last_link))
    remove_all(writer.profile)
    shutil.copytree(os.path.join(world.here, "yesterday"), writer.profile, symlinks=True)
    os.unlink(world.obj("members", last_link))
    writer.mount()
    writer.write("yesterday.txt", b"written by the old profile\n")
    done = writer.sync(2)
    changed = [n for n, b in kept.items() if read(world.obj("log", log, n)) != b] if world.listed("log", log) else ["all"]
    out.note = f"its own commits that it overwrote: {changed}; sync {done.code}; says {writer.said()[:2]}"
    if changed:
        out.fail(f"{len(changed)} published commits were overwritten by an older profile")
    put(world.obj("members", last_link), link)
    for _ in range(2):
        for p in (owner, writer, reader):
            p.sync()
    out.text = f"owner says: {owner.said()[:2]}; important.txt at the writer: {os.path.exists(writer.vault('important.txt'))}"


def craft_two_views(world, out, trees):
    """Two folders for two members: each continues alone, then both see the union."""
    owner, writer = three(world, ("owner", "writer"))
    for p in (owner, writer):
        p.unmount()
    view = {}
    for name in ("owner", "writer"):
        view[name] = os.path.join(world.here, "view-" + name)
        shutil.copytree(world.remote, view[name])
    remove_all(world.remote)
    for name, p in (("owner", owner), ("writer", writer)):
        os.rename(view[name], world.remote)
        p.mount()
        p.write("allowed-by-" + name, name.encode())
        p.sync(2)
        p.unmount()
        os.rename(world.remote, view[name])
    # Joined: the sum of both, the owner's where both have one name.
    shutil.copytree(view["writer"], world.remote)
    shutil.copytree(view["owner"], world.remote, dirs_exist_ok=True)
    for p in (owner, writer):
        p.mount()
    for _ in range(3):
        owner.sync(); writer.sync()
    for p in (owner, writer):
        t = p.tree() or {}
        for name in ("owner", "writer"):
            if "allowed-by-" + name not in t:
                out.fail(f"{p.name} lacks what {name} wrote alone")
        lines = p.said()
        if lines:
            out.note += f"{p.name}: {lines[:1]} "


def newcomer(world, owner, role="reader"):
    """A user who joins now."""
    invite = owner.must("member", "invite", "V", "--role", role).out
    late = world.person("late")
    os.makedirs(late.home, exist_ok=True)
    late.must("init", "--name", "Late", "--device", "late-pc", "--strength", "interactive")
    late.mount()
    done = late.coffer("join", "-", "--as", "V", "--no-wait", stdin=invite.encode())
    for _ in range(3):
        owner.sync()
        time.sleep(0.5)
        last = late.coffer("sync")
    return late, done, last


def craft_join(world, out, trees, change):
    change(world)
    owner = world.person("owner")
    owner.mount()
    owner.sync()
    late, done, last = newcomer(world, owner)
    for _ in range(4):
        last = late.coffer("sync")
    lines = late.said()
    shows = compare(late.tree(), trees) if os.path.isdir(late.vault()) else {"the vault": "missing"}
    out.shows["reader"] = shows
    out.noticed["owner"] = {"code": 0, "lines": owner.said()}
    out.noticed["reader"] = {"code": done.code, "lines": lines}
    out.note = f"join {done.code} {done.all[:80]}; sync {last.code}; owner says {owner.said()[:1]}; the newcomer {lines[:1]} {dict(list(shows.items())[:2])}"
    if any(v in ("WRONG", "EXTRA") for v in shows.values()):
        out.fail("shows what nobody wrote")
    bad = {k: v for k, v in shows.items() if not v.startswith("error")}
    if bad and not lines and not done.code:
        out.fail(f"the newcomer shows without a word: {dict(list(bad.items())[:3])}")
    out.peak = late.memory()


def build_checkpoint(world):
    """base3: so many commits that there is a checkpoint, and the commits that it covers are deleted."""
    world.restore("base2")
    people = three(world)
    for n in range(1100):
        people[0].write("counter", b"%d\n" % n)
        people[0].must("sync", "V")
    for _ in range(4):
        for p in people[1:] + people[:1]:
            p.sync()
    if not world.listed("checkpoints"):
        raise RuntimeError("no checkpoint was made")
    world.end()
    world.save("base3")


def craft_checkpoint(world, out, what):
    """A member who was away while commits were deleted, and one who joins, begin with the checkpoint."""
    if not os.path.exists(os.path.join(world.work, "base3")):
        build_checkpoint(world)
    world.restore("base3", profiles={"reader": "base1"})
    log = world.listed("checkpoints")[0]
    record, piece = world.listed("checkpoints", log)[:2]
    record, piece = world.obj("checkpoints", log, record), world.obj("checkpoints", log, piece)
    announcement = world.obj("log", log, f"{int(os.path.basename(record), 16) + 1:016x}")
    target = {"record": record, "piece": piece, "announcement": announcement}.get(what.split()[-1])
    if what.startswith("delete"):
        os.unlink(target)
    elif what.startswith("flip"):
        b = read(target)
        put(target, b[:len(b) // 2] + bytes([b[len(b) // 2] ^ 1]) + b[len(b) // 2 + 1:])
    elif what.startswith("truncate"):
        b = read(target)
        put(target, b[:len(b) // 2])
    elif what.startswith("old"):
        os.rename(record, os.path.join(os.path.dirname(record), f"{int(os.path.basename(record), 16) + 5:016x}"))
    owner, reader = three(world, ("owner", "reader"))
    owner.sync()
    for _ in range(5):
        last = reader.sync()
    a, b = owner.tree() or {}, reader.tree() or {}
    behind = [n for n in a if a[n] != b.get(n)]
    lines = reader.said()
    late, done, end = newcomer(world, owner)
    for _ in range(3):
        late.coffer("sync")
    c = late.tree() if os.path.isdir(late.vault()) else None
    missing = [n for n in a if c is None or a[n] != c.get(n)]
    out.note = (f"who was away lacks {len(behind)} and says {lines[:1]}; who joins lacks {len(missing)} and says {late.said()[:1]}; "
                f"owner says {owner.said()[:1]}")
    if behind and not lines:
        out.fail(f"who was away shows old things without a word: {behind[:3]}")
    if missing and not late.said() and not done.code:
        out.fail(f"who joins lacks {missing[:3]} without a word")
    if what == "nothing" and (behind or missing):
        out.fail(f"lacks {behind[:3]} {missing[:3]}")


def craft_other_vault(world, out, trees):
    owner = world.person("owner")
    owner.mount()
    os.mkdir(os.path.join(owner.mount_point, "W"))
    with open(os.path.join(owner.mount_point, "W", "secret-of-w"), "wb") as f:
        f.write(b"of another vault\n")
    first = world.vault_id
    owner.must("remote", "add", "W", "file://" + world.remote)
    owner.coffer("sync", "W")
    owner.unmount()
    other = [v for v in os.listdir(os.path.join(world.remote, "vaults")) if v != first][0]

    def of(v, *path): return os.path.join(world.remote, "vaults", v, *path)
    replaced = []
    keys = owner.keys()
    log1 = keys.shares[bytes.fromhex(first)][1].hex()
    log2 = keys.shares[bytes.fromhex(other)][1].hex()
    names = sorted(os.listdir(of(first, "log", log1)))
    src = of(other, "log", log2, sorted(os.listdir(of(other, "log", log2)))[0])
    put(of(first, "log", log1, f"{int(names[-1], 16) + 1:016x}"), read(src))
    put(of(first, "log", log2, f"{1:016x}"), read(src))
    put(of(first, "members", f"{len(os.listdir(of(first, 'members'))):016x}"), read(of(other, "members", "0" * 16)))
    for pack in os.listdir(of(other, "packs")):
        put(of(first, "packs", pack), read(of(other, "packs", pack)))
    # Not by vault_id: there are two.
    writer = world.person("writer")
    writer.mount()
    writer.sync(3)
    shows = compare(writer.tree(), trees)
    out.noticed["writer"] = {"code": 0, "lines": writer.said()}
    out.shows["writer"] = shows
    if any(v in ("EXTRA", "WRONG") for v in shows.values()):
        out.fail(f"{shows}")
    if not out.noticed["writer"]["lines"]:
        out.fail("writer says nothing")
    owner.mount()
    done = owner.sync(2)
    owner.write("probe-owner", b"x")
    done = owner.sync()
    writer.sync()
    # Exit code 65 reports the oddity at the remote.
    if done.code not in (0, 65) or not os.path.exists(writer.vault("probe-owner")):
        out.fail(f"the owner's next commit does not arrive: {done.all[-200:]} {writer.said()[:2]}")
    owner.unmount()


def craft_kill(world, out, times=8):
    owner, writer = three(world, ("owner", "writer"))
    for n in range(times):
        for i in range(30):
            writer.write(f"probe-k/{n}-{i}", os.urandom(20000))
        p = subprocess.Popen([COFFER, "sync", "V"], env={**writer.env, "PATH": os.environ["PATH"]},
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.03 * (n + 1))
        os.kill(writer.pid, signal.SIGKILL)
        p.wait()
        run(["umount", "-l", writer.mount_point], limit=20)
        writer.wait_end()
        done = writer.mount(must=False)
        if done.code:
            out.fail(f"after kill {n}: cannot mount: {done.all[-100:]}")
            return
    writer.sync(2)
    owner.sync(2)
    a, b = writer.tree() or {}, owner.tree() or {}
    if a != b:
        out.fail(f"trees differ: {len(set(a.items()) ^ set(b.items()))} entries")
    for p in (owner, writer):
        lines = [l for l in p.said() if "not clean" not in l]
        if any("two commits" in l or "shows something else" in l for l in lines):
            out.fail(f"{p.name}: {lines[:2]}")
        c = p.coffer("check", "V")
        if c.code:
            out.fail(f"{p.name}: check: {c.all[-200:]}")


def craft_full(world, out):
    """The remote on a small tmpfs."""
    owner, writer = three(world, ("owner", "writer"))
    for p in (owner, writer):
        p.unmount()
    aside = world.remote + ".aside"
    os.rename(world.remote, aside)
    os.mkdir(world.remote)
    size = sum(os.path.getsize(os.path.join(f, n)) for f, _, ns in os.walk(aside) for n in ns)
    done = run(["mount", "-t", "tmpfs", "-o", f"size={(size >> 10) + 6000}k", "tmpfs", world.remote])
    if done.code:
        os.rmdir(world.remote); os.rename(aside, world.remote)
        out.note = "no tmpfs here"
        return
    try:
        shutil.copytree(aside, world.remote, dirs_exist_ok=True)
        owner.mount(); writer.mount()
        owner.write("probe-large", os.urandom(24 << 20))
        done = owner.sync()
        lines = owner.said()
        if done.code == 0 or not any("full" in l for l in lines):
            out.fail(f"nothing is said of a full remote: {done.code} {done.all[-300:]!r} {lines[:2]}")
        out.text = "; ".join(lines[:1])
        w = writer.sync(2)
        shows = writer.tree()
        if shows is None or any(v.startswith("E") for v in shows.values()):
            out.fail("others cannot read")
        run(["mount", "-o", "remount,size=400m", world.remote])
        done = owner.sync(2)
        writer.sync(2)
        if done.code or "probe-large" not in (writer.tree() or {}):
            out.fail(f"it does not go on when there is room: {done.all[-200:]}")
        left = [n for f, _, ns in os.walk(os.path.join(world.remote, "vaults")) for n in ns if n.startswith("put.")]
        if left:
            out.note = f"left behind: {len(left)} temporary files"
    finally:
        for p in (owner, writer):
            p.unmount()
        run(["umount", "-l", world.remote])
        os.rmdir(world.remote)
        os.rename(aside, world.remote)


def craft_memory(world, out):
    owner = world.person("owner")
    owner.mount()
    read(owner.vault("changed.txt"))
    pid = owner.pid

    def as_nobody():
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
    found = []
    if os.geteuid() != 0:
        out.note = "only root can try as another user; "
    for what in () if os.geteuid() != 0 else ("mem", "maps", "environ", "fd", "auxv", "stack", "cwd"):
        reader = "ls" if what == "fd" else "readlink" if what == "cwd" else "head -c 1"
        done = run(["sh", "-c", f"{reader} /proc/{pid}/{what} 2>/dev/null | od -An -tx1"], limit=10, preexec=as_nobody)
        if done.out.strip():
            found.append(what)
    if found:
        out.fail(f"another user reads /proc/PID/{found}")
    with open(f"/proc/{pid}/cmdline", "rb") as f:
        if b"correct horse" in f.read():
            out.fail("the passphrase is in the arguments")
    try:
        with open(f"/proc/{pid}/environ", "rb") as f:
            if b"correct horse" in f.read():
                out.fail("the passphrase is in the environment")
    except OSError:
        pass
    with open(f"/proc/{pid}/status") as f:
        status = f.read()
    core = [l for l in open(f"/proc/{pid}/limits") if l.startswith("Max core")]
    locked = [l.split()[1] for l in status.splitlines() if l.startswith("VmLck")]
    # Root can: which secrets are in plaintext? The keys must be, the passphrase must not.
    keys = owner.keys()
    vault = bytes.fromhex(world.vault_id)
    wanted = {"passphrase": PASS.strip(), "vault key": keys.keyrings[vault][max(keys.keyrings[vault])],
              "signing seed": keys.signer.seed, "agreement secret": keys.agreement}
    hits = {k: 0 for k in wanted}
    unlocked_hits = {k: 0 for k in wanted}
    try:
        regions, lock_of = [], {}
        with open(f"/proc/{pid}/smaps") as f:
            current = None
            for line in f:
                head = line.split()
                if "-" in head[0] and len(head) > 1 and len(head[1]) == 4:
                    a, b = (int(x, 16) for x in head[0].split("-"))
                    current = (a, b, head[1])
                    if "r" in head[1]:
                        regions.append(current)
                elif line.startswith("Locked:") and current:
                    lock_of[current] = int(head[1])
        with open(f"/proc/{pid}/mem", "rb", 0) as m:
            for a, b, perm in regions:
                if b - a > 1 << 30:
                    continue
                try:
                    m.seek(a)
                    data = m.read(b - a)
                except (OSError, ValueError, OverflowError):
                    continue
                for k, v in wanted.items():
                    n = data.count(v)
                    hits[k] += n
                    if not lock_of.get((a, b, perm)):
                        unlocked_hits[k] += n
    except OSError as e:
        out.note = f"/proc/PID/mem: {e}; "
    out.note += f"core {core[0].split()[4] if core else '?'}, locked {locked} kB, in memory {hits}, of these not locked {unlocked_hits}"
    if hits["passphrase"]:
        out.fail("the passphrase is in the memory of the mount")
    # The control socket: another user.
    sockets = [os.path.join(f, n) for f, _, ns in os.walk(owner.home) for n in ns if n.endswith(".socket")]
    if sockets:
        mode = stat.S_IMODE(os.lstat(sockets[0]).st_mode)
        dmode = stat.S_IMODE(os.stat(os.path.dirname(sockets[0])).st_mode)
        if mode & 0o077 or dmode & 0o077:
            out.fail(f"modes of the socket: {mode:o} {dmode:o}")
        if os.geteuid() == 0:
            # Even if the modes let it through.
            for d in (os.path.dirname(sockets[0]), owner.home, world.here, world.work):
                os.chmod(d, 0o755)
            os.chmod(sockets[0], 0o777)
            script = ("import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.settimeout(5)\ns.connect(sys.argv[1])\n"
                      "s.sendall(b'{\"status\":{}}\\n')\nprint(s.recv(100))")
            python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
            try:
                done = run([python, "-c", script, sockets[0]], limit=20, preexec=as_nobody)
            except OSError as e:
                done = Done(0, "", str(e), False)
            if "status" in done.out:
                out.fail("the control socket answers another user")
            out.text = f"another user at the socket: {done.all[-60:]}"


def craft_modes(world, out):
    p = world.person("modes")
    os.makedirs(p.home, exist_ok=True)
    old = os.umask(0)
    try:
        p.must("init", "--name", "M", "--strength", "interactive")
        p.mount()
        os.mkdir(p.vault())
        p.write("f", os.urandom(100000))
        p.sync()
        bad = []
        for folder, dirs, files in os.walk(p.profile):
            for n in dirs + files:
                full = os.path.join(folder, n)
                mode = stat.S_IMODE(os.lstat(full).st_mode)
                if mode & 0o077:
                    bad.append(f"{os.path.relpath(full, p.profile)} {mode:o}")
        if stat.S_IMODE(os.lstat(p.profile).st_mode) & 0o077:
            bad.append("the profile's directory")
        if bad:
            out.fail(f"{bad[:5]}")
        folder = os.path.join(world.here, "remote-modes")
        os.mkdir(folder, 0o777)
        p.must("remote", "add", "V", "file://" + folder)
        modes = {stat.S_IMODE(os.lstat(os.path.join(f, n)).st_mode) for f, _, ns in os.walk(folder) for n in ns}
        out.note = f"objects of the remote: {[oct(m) for m in modes]}"
        p.unmount()
    finally:
        os.umask(old)


def craft_epochs(world, out, count=int(os.environ.get("EPOCHS", "20000"))):
    """RotateKey links without number, by an owner: each member keeps a key of each epoch."""
    owner = world.person("owner").keys()
    vault = bytes.fromhex(world.vault_id)
    keys = owner.keyrings[vault]
    epoch = max(keys)
    sequence, previous, _ = member_head(world)
    # The present members get the last key; the keys in between need no wraps.
    members = []
    for name in VICTIMS:
        k = world.person(name).keys()
        members.append((k.identity, x_public(k.agreement), k.transients[-1][0]))
    key = keys[epoch]
    now = time.time_ns()
    for n in range(1, count + 1):
        new = os.urandom(32)
        e = epoch + n
        context = vault + u32(e)
        sealed = seal_record(derive(new, b"previous epoch", context), context, key)
        wrap_hash = os.urandom(32)
        if n == count:
            wraps = b""
            for ident, public, transient in sorted(members):
                a = os.urandom(32)
                apub = x_public(a)
                shared = x_agree(a, public) + x_agree(a, transient[60:92])
                ctx = apub + public + transient[60:92] + vault + u32(e) + ident
                k = blake(b"coffer/1/wrap 1\0" + shared + ctx)
                wrap = apub + transient[44:60] + seal_record(k, b"coffer/1/wrap 1\0" + ctx, new)
                wraps += ident + u16(1) + u16(len(wrap)) + wrap
            signed = b"COFFERWS" + u32(1) + vault + u32(e) + u32(len(members)) + wraps + owner.signer.public
            wrap_set = signed + owner.signer.sign(b"wrap set", signed)
            wrap_hash = phash(b"wrap set", wrap_set)
            put(world.obj("wraps", f"{e:016x}", wrap_hash.hex()), wrap_set)
        fields = u32(e) + derive(new, b"commitment", context) + sealed + wrap_hash
        link = make_link(3, vault, sequence + n, previous, 5, fields, owner.signer, now)
        put(world.obj("members", f"{sequence + n:016x}"), link)
        previous, key = link_hash(link), new
    writer = world.person("writer")
    writer.mount()
    start = time.time()
    done = writer.coffer("sync", "V", limit=580)
    out.note = f"{count} epochs: {time.time() - start:.0f} s, rc {done.code}, alive {writer.alive}, {writer.memory() >> 20} MiB; {done.all[-120:]}"
    out.peak = writer.peak
    if not writer.alive:
        out.fail(f"the mount died of {count} epochs")
        again = writer.mount(must=False)
        out.note += f"; mounting again: {again.code} {again.all[-100:]}"


def craft_identities(world, out, users=int(os.environ.get("USERS", "150")), links=1024):
    """Identity chains that anybody can put beside the vault: a joining user reads all of them, every two seconds."""
    for _ in range(users):
        user = os.urandom(16)
        signer = Signer(os.urandom(32))
        public = x_public(os.urandom(32))
        link = make_link(2, user, 0, bytes(32), 1, signer.public + public, signer)
        put(world.obj("identities", user.hex(), "chain", f"{0:016x}"), link)
        for n in range(1, links):
            new, public = Signer(os.urandom(32)), x_public(os.urandom(32))
            message = user + u64(n - 1) + link_hash(link) + new.public + public
            link = make_link(2, user, n, link_hash(link), 2, new.public + public + new.sign(b"identity keys", message), signer)
            put(world.obj("identities", user.hex(), "chain", f"{n:016x}"), link)
            signer = new
    owner = world.person("owner")
    owner.mount()
    invite = owner.must("member", "invite", "V", "--role", "reader").out
    late = world.person("late")
    os.makedirs(late.home, exist_ok=True)
    late.must("init", "--name", "Late", "--strength", "interactive")
    late.mount()
    before = late.memory()
    start = time.time()
    done = late.coffer("join", "-", "--as", "V", stdin=invite.encode(), limit=580)
    peak = late.memory()
    out.peak = peak
    out.note = (f"{users} × {links} links: join {time.time() - start:.0f} s rc {done.code}, {before >> 20} → {peak >> 20} MiB: "
                f"{(peak - before) / (users * links):.0f} bytes for each link")
    if peak > MEMORY_MAX:
        out.fail(f"{peak >> 20} MiB")


# ---------------------------------------------------------------------------------------------------- telling

def short(outcome):
    who = []
    for name in VICTIMS:
        n = outcome.noticed.get(name)
        if n is None:
            continue
        who.append(name[0].upper() if n["lines"] or n["code"] else "-")
    shows = []
    for name in VICTIMS:
        s = outcome.shows.get(name)
        if s is None:
            continue
        kinds = sorted(set(v.split()[0] for v in s.values()))
        shows.append(f"{name[0].upper()}:" + ("ok" if not s else "+".join(kinds)))
    return "".join(who), " ".join(shows)


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    if not names:
        sys.exit(__doc__)
    work = os.path.realpath(names.pop(0))
    os.makedirs(work, exist_ok=True)
    marker = os.path.join(work, "made-by-hostile.py")
    if os.listdir(work) and not os.path.exists(marker):
        sys.exit(f"{work} is not empty, and not of this script")
    open(marker, "w").close()
    world = World(work)
    with open(world.passphrase, "wb") as f:
        f.write(PASS)
    os.chmod(world.passphrase, 0o600)
    if not os.path.exists(os.path.join(work, "trees.json")):
        print("making people and a vault …", flush=True)
        try:
            build(world)
        except BaseException:
            world.end()
            raise
    with open(os.path.join(work, "trees.json")) as f:
        trees = json.load(f)
    every = cases(world, trees)
    if names:
        every = [c for c in every if any(n in c[0] for n in names)]
    if "--list" in sys.argv:
        print("\n".join(c[0] for c in every))
        return
    passed = failed = 0
    log = open(os.path.join(work, "log.txt"), "a")
    print(f"{'case':58} {'ok':4} {'said':5} {'shows':34} {'usable':22} {'back':5} MiB")
    for name, go in every:
        start = time.time()
        try:
            outcome = go()
        except Exception as e:
            outcome = Outcome()
            outcome.fail(f"{type(e).__name__}: {e}")
            world.end()
        passed, failed = passed + outcome.ok, failed + (not outcome.ok)
        who, shows = short(outcome)
        back = outcome.recovered or ""
        print(f"{name[:58]:58} {'ok' if outcome.ok else 'FAIL':4} {who:5} {shows[:34]:34} {outcome.usable[:22]:22} {back:5} "
              f"{outcome.peak >> 20 or ''}", flush=True)
        for why in outcome.reasons:
            print(f"    ! {why[:300]}", flush=True)
        if outcome.note and name.startswith("craft"):
            print(f"      {outcome.note[:300]}", flush=True)
        log.write(json.dumps({"case": name, "ok": outcome.ok, "reasons": outcome.reasons, "noticed": outcome.noticed,
                              "shows": outcome.shows, "usable": outcome.usable, "recovered": outcome.recovered,
                              "note": outcome.note, "text": outcome.text, "MiB": outcome.peak >> 20,
                              "seconds": round(time.time() - start, 1)}) + "\n")
        log.flush()
    world.end()
    print(f"{passed} passed, {failed} failed")
    if "--keep" not in sys.argv:
        remove_all(world.here)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
