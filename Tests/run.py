#!/usr/bin/env python3
"""Runs the tests that "swift build --build-tests" built, and ends in time, whatever they do.

Several processes run side by side (LANES): tests that mount run one after the other in each of two, random stories have
a third, tests that talk to servers a fourth, and all others a fifth. --filter and --skip choose tests as in "swift
test"; those run in one process. The processes get no terminal, no input, and a directory of their own for temporary
files.

A process that reports nothing for SILENCE seconds hangs. This script then shows which tests run and where their threads
stand, and aborts the mounts of that process. If it still reports nothing, the script kills it. Tests that did not pass
are repeated once, one after the other; a test that hangs then is given up, and the others go on. Whatever is left of
the run, or of an earlier run that was killed, is unmounted and removed.

Exit code 0: every test passed, at the latest when it was repeated, or says why it was skipped.
"""
import argparse
import ctypes
import fcntl
import glob
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

SILENCE = int(os.environ.get("COFFER_TEST_SILENCE", "600"))
# How long a test has to fail once its mounts are aborted.
GRACE = 45
# What is kept of the time for stopping, and for the summary.
RESERVE = 45
# Tests that mount take the most time, and mostly wait. The names of their suites divide them into halves.
STORIES = r"^MountTests\.StoryTests/"
LANES = {
    "mounts-a": ["--filter", r"^MountTests\.MountTests/[A-M]"],
    "mounts-n": ["--filter", r"^MountTests\.", "--skip", r"^MountTests\.MountTests/[A-M]", "--skip", STORIES],
    "stories": ["--filter", STORIES],
    "remotes": ["--filter", r"^Coffer(HTTP|Remote)Tests\."],
    "others": ["--skip", r"^(MountTests|CofferHTTPTests|CofferRemoteTests)\."],
}
BASE = "coffer-run."

libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1
MNT_FORCE, MNT_DETACH = 1, 2


def say(text=""):
    print(text, flush=True)


def function(test_id):
    """The name of a test function without its place in the sources; None for a suite."""
    match = re.match(r"(.*)/[^/]*\.swift:\d+:\d+$", test_id)
    return match.group(1) if match else None


# MARK: What a run leaves behind


def processes():
    """The parent and the name of every process."""
    found = {}
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        if entry.isdigit():
            name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 1:].split()
            found[int(entry)] = (int(rest[1]), name)
    return found


def descendants(root):
    """All processes that `root` started, directly or not, with their names."""
    table, found, level = processes(), {}, {root}
    while level:
        level = {process for process, (parent, _) in table.items() if parent in level}
        found.update((process, table[process][1]) for process in level)
    return found


def mounts(directory):
    """Mount points in a directory, the innermost first."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        points = [line.split()[4] for line in file]
    points = [re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), point) for point in points]
    return [point for point in reversed(points) if point.startswith(directory + "/")]


def unmount(directory):
    """Unmounts all below a directory. Requests that nobody answers fail."""
    for point in mounts(directory):
        if libc.umount2(os.fsencode(point), MNT_FORCE | MNT_DETACH) != 0:
            subprocess.run(["fusermount3", "-u", "-z", point], stdin=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False, timeout=30)


def remove(directory):
    """Removes a directory of a run, unless something is still mounted there."""
    unmount(directory)
    if mounts(directory):
        say(f"note: {directory} still has mounts, and is left")
        return
    if shutil.which("chattr"):  # Some tests make files immutable.
        subprocess.run(["chattr", "-R", "-f", "-i", directory], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
    shutil.rmtree(directory, ignore_errors=True)


def remove_abandoned():
    """Removes directories of runs that were killed: nobody has their locks."""
    for name in os.listdir(tempfile.gettempdir()):
        path = os.path.join(tempfile.gettempdir(), name)
        try:
            status = os.lstat(path)
            if not name.startswith(BASE) or not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                continue
            with open(os.path.join(path, "lock"), "a", encoding="ascii") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                say(f"note: {path} is of a run that was killed, and is removed")
                remove(path)
        except OSError:
            continue


# MARK: Processes with tests


class Lane:
    """A process that runs some of the tests."""

    def __init__(self, name, program, arguments, base):
        self.name = name
        # A short path: sockets have names of at most 107 bytes.
        self.directory = os.path.join(base, name)
        os.mkdir(self.directory)
        os.chmod(self.directory, 0o755)
        events, output = os.path.join(base, f"{name}.events"), os.path.join(base, f"{name}.log")
        for path in (events, output):
            open(path, "wb").close()
        self.events, self.output = open(events, "rb"), open(output, "rb")
        self.rest = b""
        self.listed, self.running, self.passed, self.failed = set(), {}, set(), set()
        self.notes, self.times, self.strays = [], [], 0
        self.heard = time.monotonic()
        self.aborted = None
        self.gave_up = False
        with open(output, "wb") as file:
            self.process = subprocess.Popen(
                [program, "--testing-library", "swift-testing", "--event-stream-version", "0",
                 "--event-stream-output-path", events] + arguments,
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
                env={**os.environ, "TMPDIR": self.directory, "NO_COLOR": "1"},
                preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))

    @property
    def has_ended(self):
        return self.process.poll() is not None

    @property
    def unpassed(self):
        return self.listed - self.passed

    def hear(self):
        """Takes note of what the process reported, and prints what it wrote."""
        has_ended = self.has_ended
        text = self.output.read()
        if text:
            sys.stdout.buffer.write(text)
            sys.stdout.flush()
        *lines, self.rest = (self.rest + self.events.read()).split(b"\n")
        if lines or text:
            self.heard, self.aborted = time.monotonic(), None
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # The process was killed within a line.
            self.take(record.get("kind"), record.get("payload", {}))
        return has_ended

    def take(self, kind, payload):
        event, name = payload.get("kind"), function(payload.get("testID", ""))
        if kind == "test":
            if event == "function":
                self.listed.add(function(payload["id"]))
        elif event == "testStarted" and name:
            self.running[name] = time.monotonic()
        elif event == "testEnded" and name:
            self.times.append((time.monotonic() - self.running.pop(name, time.monotonic()), name))
            if name not in self.failed:
                self.passed.add(name)
        elif event == "testSkipped" and name:
            self.passed.add(name)
            self.note("skipped", name, payload)
        elif event == "testCancelled" or (event == "testCaseCancelled" and payload.get("_testCase", {}).get("id")):
            self.note("skipped", name, payload)
        elif event == "issueRecorded":
            issue = payload.get("issue", {})
            if issue.get("isKnown"):
                return
            if issue.get("severity") == "warning":
                self.note("warning", name, payload)
            elif name:
                self.failed.add(name)
            else:
                self.strays += 1

    def note(self, what, name, payload):
        comment = "; ".join(payload.get("_comments") or [])
        self.notes.append(f"{what}: {name}: {comment}")

    def show(self, why):
        """Shows what runs, and where all threads stand."""
        say(f"\n== {self.name}: {why}")
        now = time.monotonic()
        for name, start in sorted(self.running.items(), key=lambda item: item[1]):
            say(f"   has run or waited for {now - start:.0f} s: {name}")
        for process, name in {self.process.pid: "the tests", **descendants(self.process.pid)}.items():
            show_stacks(process, name)

    def watch(self):
        """Ends a process that has hung for too long."""
        silence = time.monotonic() - self.heard
        if self.aborted is None and silence > SILENCE:
            self.show(f"nothing was reported for {silence:.0f} s")
            unmount(self.directory)
            self.aborted = time.monotonic()
        elif self.aborted is not None and time.monotonic() - self.aborted > GRACE:
            self.stop("it hangs although its mounts were aborted")

    def stop(self, why):
        if self.has_ended:
            return
        say(f"\n== {self.name}: killed: {why}")
        self.gave_up = True
        os.killpg(self.process.pid, signal.SIGKILL)
        unmount(self.directory)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            say(f"note: process {self.process.pid} does not end")


def show_stacks(process, name):
    say(f"\n-- {name} ({process})")
    debuggers = {
        "gdb": ["-p", str(process), "-batch", "-nx", "-ex", "set pagination off", "-ex", "thread apply all bt 40"],
        "eu-stack": ["-p", str(process)],
        "lldb": ["-p", str(process), "--batch", "--no-lldbinit", "-o", "bt all"],
    }
    for debugger, arguments in debuggers.items():
        if shutil.which(debugger):
            try:
                result = subprocess.run([debugger] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, check=False, timeout=90)
            except subprocess.TimeoutExpired:
                continue
            frames = [line for line in result.stdout.decode(errors="replace").splitlines()
                      if re.match(r"\s*(\*?\s*thread|Thread|TID|#\d|(\* )?frame)", line)]
            if frames:
                say("\n".join(line[:200] for line in frames[:400]))
                return
    try:
        threads = sorted(os.listdir(f"/proc/{process}/task"))
    except OSError:
        return
    for thread in threads:
        place = []
        for part in ("comm", "wchan", "syscall", "stack"):
            try:
                with open(f"/proc/{process}/task/{thread}/{part}", encoding="utf-8", errors="replace") as file:
                    place.append(" ".join(file.read().split()))
            except OSError:
                continue
        say(f"{thread}: {' | '.join(place)[:400]}")


# MARK: The run


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", help="the scratch path of the build")
    parser.add_argument("--filter", action="append", default=[], metavar="REGEX", help="run only tests that match")
    parser.add_argument("--skip", action="append", default=[], metavar="REGEX", help="leave out tests that match")
    parser.add_argument("--seconds", type=float, default=3600, help="end after this time (%(default)s)")
    parser.add_argument("--parent", type=int, metavar="PROCESS", help="end with this process")
    return parser.parse_args()


def run(lanes, options, deadline):
    """Waits until all lanes have ended; ends them at the deadline."""
    left = list(lanes)
    while left:
        if options.parent and not os.path.exists(f"/proc/{options.parent}"):
            sys.exit(130)
        left = [lane for lane in left if not lane.hear()]
        for lane in left:
            if time.monotonic() > deadline:
                lane.show("the time is up")
                lane.stop("the time is up")
            else:
                lane.watch()
        time.sleep(0.5)


def main():
    options = arguments()
    deadline = time.monotonic() + max(options.seconds - RESERVE, 1)
    programs = glob.glob(f"{glob.escape(options.build)}/debug/*.xctest")
    if not programs:
        sys.exit(f"There are no tests in {options.build}: run swift build --build-tests")
    program = os.path.abspath(programs[0])
    remove_abandoned()
    base = os.path.join(tempfile.gettempdir(), f"{BASE}{os.getpid()}")
    os.mkdir(base, 0o755)
    lock = open(os.path.join(base, "lock"), "a", encoding="ascii")
    fcntl.flock(lock, fcntl.LOCK_EX)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    done = []
    try:
        status = run_all(program, base, options, deadline, done)
    finally:
        for lane in done:
            lane.stop("the run ends")
        for process in descendants(os.getpid()):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        remove(base)
    sys.exit(status)


def run_all(program, base, options, deadline, done):
    chosen = [word for option in ("filter", "skip") for regex in getattr(options, option)
              for word in (f"--{option}", regex)]
    lanes = {"chosen": chosen} if chosen else LANES
    done += [Lane(name, program, words, base) for name, words in lanes.items()]
    run(done, options, deadline)
    first = list(done)
    unpassed = set().union(*(lane.unpassed for lane in first))
    repeated, hung = sorted(unpassed), set()
    strays = sum(lane.strays for lane in first)
    # A process that ended badly although all its tests passed proves nothing.
    odd = [lane.name for lane in first if not lane.listed or (lane.process.returncode and not lane.unpassed)]
    while unpassed and not strays and not odd and time.monotonic() < deadline:
        say("\n== Not passed, and repeated alone:")
        for name in sorted(unpassed):
            say(f"   {name}")
        filters = [word for name in sorted(unpassed) for word in ("--filter", f"^{re.escape(name)}")]
        again = Lane(f"again{len(done)}", program, ["--no-parallel"] + filters, base)
        done.append(again)
        run([again], options, deadline)
        strays += again.strays
        unpassed -= again.passed
        if not again.gave_up:
            break
        # The others go on without the test that hangs.
        hung |= set(again.running)
        unpassed -= hung
        if not again.running:
            break
    unpassed |= hung
    return summarize(first, done, repeated, unpassed, strays, odd)


def summarize(first, done, repeated, unpassed, strays, odd):
    say("\n== Slowest tests")
    for duration, name in sorted((time for lane in first for time in lane.times), reverse=True)[:12]:
        say(f"   {duration:.0f} s  {name}")
    notes = sorted({note for lane in done for note in lane.notes})
    if notes:
        say("\n== Skipped, or with a warning")
        for note in notes:
            say(f"   {note}")
    for name in odd:
        say(f"FAILED: the process of “{name}” ended badly, or listed no tests")
    if strays:
        say(f"FAILED: {strays} issues belong to no test")
    for name in sorted(unpassed):
        say(f"FAILED: {name}")
    say(f"\n{sum(len(lane.listed) for lane in first)} tests, {len(unpassed)} failed")
    if unpassed or strays or odd:
        return 1
    if repeated:
        say("All passed, but these only when they were repeated alone:")
        for name in repeated:
            say(f"   {name}")
    return 0


main()
