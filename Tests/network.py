"""Two mounts and an S3 server, each in a network namespace of its own, over lines that delay, lose, and fail.

COFFER=PATH [KEEP=1] python3 network.py [SEED]

Needs root, FUSE, /dev/net/tun, iproute2 and moto. The lines are TUN devices, and this program carries the packets
between them, so no module of the kernel is needed. It syncs both ways, cuts lines in the middle of transfers for longer
than Coffer waits for an answer, restores them, and compares: in the end both mounts must have the same, everything
that was written must be there, and nothing may be stuck.
"""

import ctypes
import fcntl
import hashlib
import heapq
import itertools
import json
import os
import pathlib
import random
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

COFFER = os.environ["COFFER"]
SERVER, ALICE, BOB = 1, 2, 3
NETWORK = "10.77.0"
# Seconds one way, by up to which it varies, and the share of packets that are lost.
DELAY, JITTER, LOSS = 0.03, 0.01, 0.01
# How long a line is cut: longer than the 40 s after which Coffer gives a silent connection up.
CUT = 50
MIB = 1 << 20


class Lines:
    """The lines between the namespaces: one thread that carries packets, late or never."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = {node: f"coffer-{os.getpid()}-{node}" for node in (SERVER, ALICE, BOB)}
        self.devices = {}
        self.cut = set()
        # Bytes of packets that each node has sent.
        self.sent = dict.fromkeys(self.names, 0)
        self.is_ending = False
        self.thread = threading.Thread(target=self.carry, daemon=True)

    def start(self):
        for node, name in self.names.items():
            run("ip", "netns", "add", name)
            self.devices[node] = self.open(name)
            for words in (
                ["link", "set", "lo", "up"],
                ["addr", "add", f"{NETWORK}.{node}/24", "dev", "line"],
                ["link", "set", "line", "up"],
            ):
                run("ip", "-n", name, *words)
        self.thread.start()

    @staticmethod
    def open(name):
        """Makes a TUN device in a namespace."""
        libc = ctypes.CDLL(None, use_errno=True)
        own, other = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/run/netns/{name}", os.O_RDONLY)
        clone_newnet, tunsetiff, tun_without_header = 0x40000000, 0x400454CA, 0x1001
        try:
            if libc.setns(other, clone_newnet) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(device, tunsetiff, struct.pack("16sH", b"line", tun_without_header))
            return device
        finally:
            libc.setns(own, clone_newnet)
            os.close(own)
            os.close(other)

    def carry(self):
        nodes = {device: node for node, device in self.devices.items()}
        waiting, order = [], itertools.count()
        while not self.is_ending:
            pause = max(0, waiting[0][0] - time.monotonic()) if waiting else 0.2
            for device in select.select(list(nodes), [], [], min(pause, 0.2))[0]:
                try:
                    packet = os.read(device, 65536)
                except OSError:
                    continue
                node, target = nodes[device], packet[19] if packet[0] >> 4 == 4 else 0
                self.sent[node] += len(packet)
                if target not in self.devices or self.cut & {node, target} or self.random.random() < LOSS:
                    continue
                at = time.monotonic() + DELAY + self.random.uniform(0, JITTER)
                heapq.heappush(waiting, (at, next(order), target, packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, target, packet = heapq.heappop(waiting)
                try:
                    if target not in self.cut:
                        os.write(self.devices[target], packet)
                except OSError:
                    pass  # As if it were lost.

    def end(self):
        self.is_ending = True
        if self.thread.is_alive():
            self.thread.join()
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)

    def inside(self, node, *command):
        """A command in a node's network, with all mounts of this one."""
        return ["nsenter", f"--net=/run/netns/{self.names[node]}", *command]


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise Failed(f"{' '.join(command)}: {result.returncode}: {result.stderr}{result.stdout}")
    return result.stdout


class Failed(Exception):
    pass


class Person:
    """A profile and its mount, in a network of its own."""

    def __init__(self, base, name, lines, node):
        self.name, self.lines, self.node = name, lines, node
        self.home, self.point = base / name / "profile", base / name / "mount"
        self.passphrase = base / "passphrase"
        self.vault = self.point / "Plans"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(base / name),
            "AWS_ACCESS_KEY_ID": "writer",
            "AWS_SECRET_ACCESS_KEY": "the secret of/the+writer",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        (base / name).mkdir()

    def coffer(self, *words, secret=False):
        words = [COFFER, *words, "--home", str(self.home)]
        if secret:
            words += ["--passphrase-file", str(self.passphrase)]
        return run(*self.lines.inside(self.node, *words), env=self.env)

    def start(self):
        self.coffer("init", "--name", self.name, "--device", f"{self.name}'s", "--strength", "interactive", secret=True)
        log = ["--log-level", "debug", "--log-file", str(self.home.parent / "log")]
        self.coffer("mount", str(self.point), "-o", "noprotect", *log, secret=True)

    def end(self):
        try:
            self.coffer("unmount", str(self.point))
        except Failed as failure:
            print(f"{self.name}: {failure}")
            subprocess.run(["umount", "-l", str(self.point)], check=False, stderr=subprocess.DEVNULL)

    def sync(self):
        """What status says of the vault's sync."""
        report = json.loads(self.coffer("status", "--json"))
        return next((vault["sync"] for vault in report["vaults"] if vault["name"] == "Plans"), {})

    def write(self, name, count, source):
        """Writes a file in one go; returns its hash."""
        data = source.randbytes(count)
        (self.vault / name).write_bytes(data)
        return hashlib.sha256(data).hexdigest()

    def hashes(self):
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in self.vault.iterdir() if path.is_file()
        }


def wait(seconds, what, condition):
    """Waits for a condition; returns the seconds that it took."""
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        try:
            if condition():
                return time.monotonic() - start
        except (OSError, Failed):
            pass
        time.sleep(0.25)
    raise Failed(f"not within {seconds} s: {what}")


def has(person, name, digest):
    path = person.vault / name
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


def story(alice, bob, lines, port, source):
    wanted = {}

    def step(text, took=None):
        print(text if took is None else f"{text}: {took:.1f} s", flush=True)

    (alice.point / "Plans").mkdir()
    url = f"s3:http://{NETWORK}.{SERVER}:{port}/tests/network"
    alice.coffer("remote", "add", "Plans", url)
    invite = alice.coffer("member", "invite", "Plans", "--role", "writer").split()[0]
    bob.coffer("join", invite, "--as", "Plans")
    wait(60, "bob's vault", bob.vault.exists)
    for writer, reader in ((alice, bob), (bob, alice)):
        name = f"from {writer.name}"
        wanted[name] = writer.write(name, 2 * MIB, source)
        step(f"2 MiB {name}", wait(120, name, lambda: has(reader, name, wanted[name])))

    # The line of the one who sends.
    before = lines.sent[alice.node]
    wanted["sent"] = alice.write("sent", 48 * MIB, source)
    wait(60, "a part of the upload", lambda: lines.sent[alice.node] - before > 6 * MIB)
    lines.cut = {alice.node}
    step(f"alice's line is cut after {(lines.sent[alice.node] - before) / MIB:.0f} of 48 MiB")
    end = time.monotonic() + CUT
    for person in (alice, bob):
        name = f"during the cut, {person.name}"
        wanted[name] = person.write(name, MIB, source)
    took = wait(CUT + 60, "that alice's status shows the outage", lambda: alice.sync().get("offlineSince"))
    step("status shows the outage", took)
    time.sleep(max(0, end - time.monotonic()))
    lines.cut = set()
    step("the line is back")
    step("bob has it all", wait(240, "what alice sent", lambda: wanted.items() <= bob.hashes().items()))
    step("alice, too", wait(120, "what bob sent", lambda: wanted.items() <= alice.hashes().items()))

    # The line of the one who reads.
    wanted["read"] = alice.write("read", 48 * MIB, source)
    alice.coffer("sync", "Plans")
    # Its name may arrive first.
    wait(60, "the file at bob's", lambda: (bob.vault / "read").stat().st_size == 48 * MIB)
    before = lines.sent[SERVER]
    reader = subprocess.Popen(["cat", str(bob.vault / "read")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    parts = []
    drain = threading.Thread(target=lambda: parts.append(reader.communicate()))
    drain.start()
    wait(60, "a part of the download", lambda: lines.sent[SERVER] - before > 6 * MIB or not drain.is_alive())
    if not drain.is_alive():
        raise Failed(f"the program that reads has ended early: {reader.returncode} {parts[0][1].decode()}")
    lines.cut = {bob.node}
    step(f"bob's line is cut after {(lines.sent[SERVER] - before) / MIB:.0f} of 48 MiB")
    time.sleep(CUT)
    lines.cut = set()
    drain.join(180)
    if drain.is_alive():
        raise Failed("a program that read during the cut still waits")
    output, error = parts[0]
    is_whole = hashlib.sha256(output).hexdigest() == wanted["read"]
    if reader.returncode == 0 and not is_whole:
        raise Failed("a program read other bytes during the cut")
    step(f"the program that read got {'everything' if is_whole else error.decode().strip()}")
    step("bob reads it all", wait(180, "what bob could not read", lambda: has(bob, "read", wanted["read"])))

    # The server goes away for everybody, while both write.
    lines.cut = {SERVER}
    for person in (alice, bob):
        for number in range(5):
            name = f"{person.name}'s {number}"
            wanted[name] = person.write(name, 300_000, source)
    time.sleep(10)
    lines.cut = set()
    for person in (alice, bob):
        took = wait(180, f"all files at {person.name}'s", lambda: wanted.items() <= person.hashes().items())
        step(f"{person.name} has everything", took)
    for person in (alice, bob):
        person.coffer("sync", "Plans")
    for person in (alice, bob):
        state = person.sync()
        if state.get("failure") or state["unsentItems"] or state["findings"]:
            raise Failed(f"{person.name}: {state}")
        if person.hashes() != wanted:
            raise Failed(f"{person.name} has other files: {sorted(person.hashes())}")
        person.coffer("check", "Plans")


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    print(f"seed {seed}")
    source, lines = random.Random(seed), Lines(seed)
    base = pathlib.Path(tempfile.mkdtemp(prefix="coffer-network-"))
    (base / "passphrase").write_text("correct horse\n", encoding="utf-8")
    script = pathlib.Path(__file__).resolve().parent / "LocalServers/Scripts/s3.py"
    people, server, is_good = [], None, False
    try:
        lines.start()
        command = lines.inside(SERVER, "env", f"COFFER_S3_ADDRESS={NETWORK}.{SERVER}", sys.executable, str(script))
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        port = int(server.stdout.readline())
        for name, node in (("alice", ALICE), ("bob", BOB)):
            people.append(Person(base, name, lines, node))
            people[-1].start()
        story(*people, lines, port, source)
        is_good = True
    except Failed as failure:
        print(f"FAILED: seed {seed}: {failure}")
        for person in people:
            print(person.name, json.dumps(person.sync(), indent=1))
    finally:
        lines.cut = set()
        for person in people:
            person.end()
        if server:
            server.terminate()
            server.wait()
        lines.end()
        if is_good or not os.environ.get("KEEP"):
            shutil.rmtree(base, ignore_errors=True)
        else:
            print(f"kept: {base}")
    if is_good:
        print("PASSED: both mounts have the same, and nothing is lost")
    sys.exit(0 if is_good else 1)


main()
