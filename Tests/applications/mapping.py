"""Two processes map one file and play ping-pong over all of its pages; with --check the file must have the result."""
import mmap
import os
import struct
import sys
import time

PAGES, PAGE, ROUNDS = 64, 4096, 50


def play(path, first):
    """Waits for the other's number on each page, and answers with the next one."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), PAGES * PAGE) as mapping:
        for turn in range(ROUNDS):
            for page in range(PAGES):
                wanted = 2 * turn + (0 if first else 1)
                deadline = time.monotonic() + 20
                while struct.unpack_from("<Q", mapping, page * PAGE + 8)[0] != wanted:
                    if time.monotonic() > deadline:
                        sys.exit(f"page {page} never got {wanted}")
                struct.pack_into("<Q", mapping, page * PAGE + 8, wanted + 1)
        mapping.flush()


def check(path):
    with open(path, "rb") as file:
        data = file.read()
    expected = b"".join(struct.pack("<QQ", 0, 2 * ROUNDS) + bytes(PAGE - 16) for _ in range(PAGES))
    if data != expected:
        sys.exit("the file is not what the mappings wrote")


if sys.argv[1] == "--check":
    check(sys.argv[2])
else:
    with open(sys.argv[1], "wb") as file:
        file.truncate(PAGES * PAGE)
    child = os.fork()
    play(sys.argv[1], first=child != 0)
    if child == 0:
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("the other process failed")
    check(sys.argv[1])
