#!/usr/bin/env python3
"""Runs the worked reader of docs/reader.md as it stands there; prints what reader.py prints.

usage: worked.py PROFILE PASSPHRASE_FILE REMOTE [KNOWN]
       worked.py --write FILE       writes the program that docs/reader.md tells how to make
"""

import os
import re
import sys

from facts import DIRECTORY, FILE, SYMLINK
from listing import file_detail, line
from local import read, write
from primitives import Invalid
from reader import KIND_NAMES, MODES, tell

DOCUMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def program():
    """The code of the documents, one block after another."""
    blocks = []
    for name in ("format.md", "reader.md"):
        with open(os.path.join(DOCUMENTS, name), encoding="utf-8") as file:
            blocks += re.findall(r"^```python\n(.*?)\n```$", file.read(), re.MULTILINE | re.DOTALL)
    return "\n\n".join(blocks) + "\n"


def worked_reader():
    """The names that the code of the documents defines."""
    names = {"__name__": "worked"}
    exec(compile(program(), "docs/reader.md", "exec"), names)
    return names


def list_vault(worked, vault, person, remote, known):
    tree, keys, load, found = worked["read_vault"](vault, person, remote, known)
    tell(f"epochs: {len(keys)}")
    first_paths = {}
    for path, item in sorted(tree.paths.items()):
        kind, target = item["kind"]
        detail = ""
        if kind == FILE:
            content = item["contents"][0] if item["contents"] else None
            detail = file_detail(worked["read_content"](load, vault, keys, content[2]) if content else b"")
        elif kind == SYMLINK:
            detail = f" to {target!a}"
        elif target:
            detail = f" {int.from_bytes(target, 'little')}"
        mode = MODES.get(kind, 0o644) if item["mode"] is None else item["mode"]
        modified = item["modified"] and int.from_bytes(item["modified"], "little", signed=True)
        extended = item["extended"] if kind in (FILE, DIRECTORY) else {}
        print(line(path, KIND_NAMES[kind], mode, modified, detail, extended,
                   first_paths.setdefault(item["id"], path)))
    return found


def main(profile_path, passphrase_file, remote, known=None):
    worked = worked_reader()
    try:
        body = worked["unlock"](read(os.path.join(profile_path, "profile")), read(passphrase_file).removesuffix(b"\n"))
        person, found = worked["Person"](body), []
        for vault in person.shares:
            if os.path.isdir(os.path.join(remote, "vaults", vault.hex())):
                found += list_vault(worked, vault, person, remote, known)
    except (*worked["WRONG"], worked["Waits"], worked["Ends"]) as error:
        raise Invalid(f"{type(error).__name__}: {error}") from error
    for text in found:
        tell(text)
    alarms = [text for text in found if text.startswith("ALARM")]
    if alarms:
        raise Invalid(alarms[0])


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        write(sys.argv[2], program().encode())
        sys.exit()
    try:
        main(*sys.argv[1:])
    except (Invalid, OSError) as error:
        sys.exit(f"worked.py: {error}")
