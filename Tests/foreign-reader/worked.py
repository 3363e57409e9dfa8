#!/usr/bin/env python3
"""Runs the worked reader of docs/reader.md as it stands there; prints what reader.py prints.

usage: worked.py PROFILE PASSPHRASE_FILE REMOTE
"""

import datetime
import os
import sys

from chains import Identity, TransientKey
from facts import DIRECTORY, FILE, SYMLINK
from listing import file_detail, line
from local import read, reader as format_reader
from primitives import Invalid, agree, agreement_public_key, verify
from profiles import open_profile
from reader import KIND_NAMES, MODES, tell

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "reader.md")


def worked_reader(folder):
    """The names that the code of the document defines, for a vault."""
    with open(DOCUMENT, encoding="utf-8") as file:
        code = file.read().split("```python\n", 1)[1].split("\n```", 1)[0]

    def names(prefix):
        path = os.path.join(folder, prefix)
        return sorted(os.listdir(path)) if os.path.isdir(path) else []

    found = dict(format_reader, datetime=datetime, verify=verify, public=agreement_public_key, agree=agree)
    found |= {"load": lambda name: read(os.path.join(folder, name)), "names": names}
    exec(compile(code, "docs/reader.md", "exec"), found)
    return found


def main(profile_path, passphrase_file, remote):
    profile = open_profile(read(os.path.join(profile_path, "profile")), read(passphrase_file).removesuffix(b"\n"))
    identity, transients = Identity(profile.identity_links), {}
    for record, secret in profile.transient_keys:
        key = TransientKey(record, identity)
        transients[key.id] = (key.public_key, secret)
    for vault in profile.shares:
        folder = os.path.join(remote, "vaults", vault.hex())
        if not os.path.isdir(folder):
            continue
        worked = worked_reader(folder)
        tree, keys = worked["read_vault"](vault, profile.identity_links, profile.agreement_secret, transients)
        tell(f"epochs: {len(keys)}")
        first_paths = {}
        for path, item in sorted(tree.paths.items()):
            kind, target = item["kind"]
            detail = ""
            if kind == FILE:
                content = item["contents"][0] if item["contents"] else None
                detail = file_detail(worked["read_content"](vault, keys, content[0], content[2]) if content else b"")
            elif kind == SYMLINK:
                detail = f" to {target!a}"
            elif target:
                detail = f" {int.from_bytes(target, 'little')}"
            mode = MODES.get(kind, 0o644) if item["mode"] is None else item["mode"]
            modified = item["modified"] and int.from_bytes(item["modified"], "little", signed=True)
            extended = item["extended"] if kind in (FILE, DIRECTORY) else {}
            print(line(path, KIND_NAMES[kind], mode, modified, detail, extended,
                       first_paths.setdefault(item["id"], path)))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Invalid, AssertionError, KeyError, OSError) as error:
        sys.exit(f"worked.py: {type(error).__name__}: {error}")
