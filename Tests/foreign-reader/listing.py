#!/usr/bin/env python3
"""Tells of a directory what reader.py tells of a vault: listing.py DIRECTORY"""

import hashlib
import os
import stat
import sys

KINDS = {
    stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink", stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket", stat.S_IFCHR: "character device", stat.S_IFBLK: "block device"}


def line(path, kind, mode, modified, detail, extended_attributes, first_path):
    """A line of a listing; what another name has led to already is told by its first name."""
    attributes = ""
    for name, value in sorted(extended_attributes.items()):
        attributes += f" {name!a}={value.hex()}"
    same = "" if first_path == path else f" is {b'/'.join(first_path)!a}"
    permissions = "" if kind == "symlink" else f" {mode:04o}"
    return f"{b'/'.join(path)!a}: {kind}{permissions} {modified}{detail}{attributes}{same}"


def file_detail(content):
    return f" {len(content)} bytes {hashlib.sha256(content).hexdigest()}"


def walk(directory):
    """The paths of all that is in a directory, as tuples of names."""
    for folder, directories, files in os.walk(os.fsencode(directory)):
        below = os.path.relpath(folder, os.fsencode(directory)).split(b"/")
        for name in directories + files:
            yield (tuple(below) if below != [b"."] else ()) + (name,)


def describe(directory, path, first_paths):
    full = os.path.join(os.fsencode(directory), *path)
    status = os.lstat(full)
    kind = KINDS[stat.S_IFMT(status.st_mode)]
    detail, attributes = "", {}
    if kind == "file":
        with open(full, "rb") as file:
            detail = file_detail(file.read())
    elif kind == "symlink":
        detail = f" to {os.readlink(full)!a}"
    elif kind.endswith("device"):
        detail = f" {status.st_rdev}"
    if kind in ("file", "directory"):
        for name in os.listxattr(full):
            if name.startswith("user.") and not name.startswith("user.coffer."):
                attributes[os.fsencode(name)] = os.getxattr(full, name)
    first_path = first_paths.setdefault(status.st_ino, path)
    return line(path, kind, stat.S_IMODE(status.st_mode), status.st_mtime_ns, detail, attributes, first_path)


if __name__ == "__main__":
    first_paths = {}
    for path in sorted(walk(sys.argv[1])):
        print(describe(sys.argv[1], path, first_paths))
