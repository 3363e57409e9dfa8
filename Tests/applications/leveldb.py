"""write DIR: puts numbers, each durably, and prints each once it is; check DIR LAST: all of them must be there."""
import itertools
import sys

import plyvel

KEY, VALUE = "%012d", b"value of %d " * 40


def value(number):
    return VALUE % ((number,) * 40)


def write(path):
    database = plyvel.DB(path, create_if_missing=True, write_buffer_size=1 << 16)
    with database.iterator(reverse=True, include_value=False) as keys:
        last = int(next(keys, b"0"))
    for number in itertools.count(last + 1):
        database.put((KEY % number).encode(), value(number), sync=True)
        print(number, flush=True)


def check(path, last):
    database = plyvel.DB(path, paranoid_checks=True)
    for number in range(1, last + 1):
        if database.get((KEY % number).encode(), verify_checksums=True) != value(number):
            sys.exit(f"{number} of {last} is lost")


if sys.argv[1] == "write":
    write(sys.argv[2])
else:
    check(sys.argv[2], int(sys.argv[3]))
