#!/usr/bin/env python3
"""Makes first-minute.svg: runs the commands of README.md's first minute in a terminal, and draws what it shows.

Usage: first-minute.py COFFER, where COFFER is the program. Needs /dev/fuse, and the packages pexpect and rich.
"""
import io
import pathlib
import re
import shlex
import sys
import tempfile

import pexpect
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

PASSPHRASE = "correct horse battery staple"
COLUMNS = 92
COMMANDS = [
    "coffer init",
    "coffer mount ~/Coffer",
    "cp -r Documents ~/Coffer/Personal/",
    "mkdir ~/Coffer/Taxes",
    "ls ~/Coffer ~/Coffer/Personal/Documents",
    "coffer status",
    "coffer unmount ~/Coffer",
]


def record(coffer, home):
    """What a terminal shows while the commands run there."""
    documents = home / "Documents"
    documents.mkdir()
    for name in ("budget.ods", "letter.odt", "plan.md"):
        (documents / name).write_text(f"This is {name}.\n" * 500, encoding="utf-8")
    program = home / "bin"
    program.mkdir()
    (program / "coffer").symlink_to(coffer)
    shell = pexpect.spawn(
        "bash", ["--norc", "--noprofile"], cwd=home, dimensions=(50, COLUMNS), encoding="utf-8", timeout=30,
        env={"HOME": str(home), "USER": "Ann", "LOGNAME": "Ann", "PATH": f"{program}:/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "xterm-256color",
             "LC_ALL": "C.UTF-8", "PS1": "<next>", "INPUTRC": "/dev/null"})
    shell.expect_exact("<next>")
    shell.sendline("bind 'set enable-bracketed-paste off'")
    shell.expect_exact("<next>")
    shown = io.StringIO()
    try:
        for command in COMMANDS:
            shell.logfile_read = None
            shell.sendline(command)
            shell.expect_exact("\n")
            shown.write(f"\x1b[1;32m$\x1b[0m \x1b[1m{command}\x1b[0m\n")
            shell.logfile_read = shown
            while shell.expect(["<next>", r"(assphrase|Repeat it)[^\n]*: $"]) == 1:
                shell.sendline(PASSPHRASE)
    finally:
        shell.logfile_read = None
        shell.sendline(f"coffer unmount {shlex.quote(str(home / 'Coffer'))} 2>/dev/null; exit")
        shell.expect(pexpect.EOF)
    return shown.getvalue().replace("<next>", "").replace("\r\n", "\n").replace(str(home), "/home/ann")


def main():
    coffer = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as directory:
        text = record(coffer, pathlib.Path(directory))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text.rstrip()))
    picture = console.export_svg(title="The first minute", theme=MONOKAI, unique_id="first-minute")
    # No fonts from elsewhere: a picture loads nothing.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    pathlib.Path(__file__).with_suffix(".svg").write_text(picture, encoding="utf-8")


main()
