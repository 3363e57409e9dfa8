#!/usr/bin/env python3
"""Checks the models of the protocol in Tests/model with spin, and that each of their rules is needed: docs/model.md.

usage: model.py WORKDIR [--jobs N] [--trace] [NAME…]

First explores every reachable state of each scope with all rules on: no invariant may fail, and the search must be
complete. Then explores a scope of the model without one rule, for each rule: an invariant must fail. So it must for
promises that are known not to hold ("known-…"). NAME picks scopes and rules whose names contain it. --trace prints the story of each counterexample.

Needs spin and a C compiler, and at most 2 GiB of memory for each job. Exit code 0: all of it is so.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model")
# The most memory of a search in MiB, and the most seconds.
MEMORY = 2000
PATIENCE = 600
# The longest path, in steps; a search that reaches it is not complete.
DEPTH = 100000

# Scopes by name: the model, and what may happen in it.
SCOPES = {
    "removals": ("sharing", "REMOVE_CAROL=1 REMOVE_BOB=1 LINKS=3 WRITES=2"),
    "readmission": ("sharing", "REMOVE_CAROL=1 ADD_CAROL=1 LINKS=3 WRITES=2"),
    "roles": ("sharing", "ROLES=1 LINKS=3 WRITES=2"),
    "leaving": ("sharing", "LEAVER=2 LINKS=3 WRITES=2"),
    "an-owner-leaves": ("sharing", "LEAVER=0 ROLE_CAROL=OWNER AWAY=2 LINKS=3 WRITES=2"),
    "a-malicious-removed-writer": ("sharing", "REMOVE_CAROL=1 REMOVE_BOB=1 MALICE=1 LINKS=3 WRITES=2"),
    "a-malicious-reader": ("sharing", "ROLES=1 MALICE=1 LINKS=3 WRITES=2"),
    "a-malicious-leaver": ("sharing", "LEAVER=2 ADD_CAROL=1 ADDED_AS=READER MALICE=1 LINKS=4 WRITES=2"),
    "forks-and-commits": ("forks", "LINKS=3 COMMITS=2"),
    "forks": ("forks", "LINKS=4 COMMITS=0"),
    "two-histories-of-a-log": ("logs", "FORGED=3 OWN=1"),
    "packs": ("packs", "SENDS=2 LOCALS=3"),
    "packs-and-a-removal": ("packs", "SENDS=1 LOCALS=2 REMOVAL=1"),
    "packs-and-open-files": ("packs", "SENDS=1 LOCALS=2 UNNAMED=1"),
}

# Rules by model, each with the scope in which it is missed, and what that scope has in addition.
RULES = {
    "sharing": {
        "ROTATE_ON_REMOVAL": "removals",
        "NEW_KEY_SEALS_OLD": "removals",
        "ROTATION_OWED": "an-owner-leaves",
        "WRAPS_ANEW": "removals",
        "BOUNDS_ANEW": "removals",
        "LINKS_VERIFIED": "removals",
        "SEAL_UNDER_HEAD": "removals",
        "RIGHT_AT_HEAD": "removals",
        "REMOVAL_BOUNDS": "a-malicious-removed-writer",
        "DEMOTION_BOUNDS": "a-malicious-reader",
        "LEAVE_ANSWERED": "a-malicious-leaver",
        "ADD_AFTER_BOUND": "a-malicious-leaver",
        "FRESH_PULL": "removals",
        "TAKE_BACK": "removals",
        "ENDED_LOGS_COUNT_SHORT": "removals",
        "SET_ASIDE": "removals",
        "SEND_BEFORE_LEAVING": "an-owner-leaves",
        "NEW_LOG": "readmission",
    },
    "forks": {
        "LINK_NAMES_HASH": "forks",
        "COMMIT_NAMES_HASH": "forks-and-commits",
        "KEEP_LAST": "forks-and-commits",
        "REMOVAL_STANDS": "forks-and-commits",
        "AGAINST_REMOVED_ONLY": "forks",
        "REMOVED_STAYS_OUT": "forks-and-commits",
        "FORKS_NAMED": "forks-and-commits",
        "KEY_BY_COMMITMENT": "forks-and-commits",
        "MAKE_AGAIN": "forks-and-commits",
        "DROP_LOST": "forks-and-commits",
    },
    "logs": {
        "NAMES_PREVIOUS": "two-histories-of-a-log",
        "HEADS_HAVE_HASHES": "two-histories-of-a-log",
        "CAUSAL_ORDER": "two-histories-of-a-log",
        "BOUNDS_HAVE_HASHES": "two-histories-of-a-log",
        "KEEP_HEADS": "two-histories-of-a-log",
    },
    "packs": {
        "TWO_QUESTIONS": "packs",
        "ALL_ANSWER": "packs",
        "UNNAMED_COUNT": "packs-and-open-files",
        "FORMER_BOUNDS": "packs-and-a-removal",
    },
}

# Rules that these scopes are too small to miss: docs/model.md says what would go wrong without them.
UNMISSED = {"OWN_CONTENTS", "ANSWERS_FIRST", "ANSWERS_AGAIN", "UNCHECKED_RETAINS", "ANY_ANSWER_RETAINS", "NOTHING_UNSENT"}

# Promises that the protocol does not keep, with the scope in which a model breaks them: docs/model.md.
HOLES = {"OVERTAKEN_COME_BACK": ("forks", "forks")}


class Search:
    """One run of spin, and what it found."""

    def __init__(self, name, model, scope, mutation=None):
        self.name, self.model, self.mutation = name, model, mutation
        self.options = ["-D" + each for each in scope.split()]
        if mutation and mutation != "known":
            self.options.append(f"-D{mutation}=0")
        self.states, self.seconds, self.memory, self.trail = 0, 0.0, 0.0, ""
        self.violation, self.trouble = None, None

    def run(self, work):
        """Explores; afterwards “violation” or “trouble” says what is wrong, if anything is."""
        folder = os.path.join(work, f"{self.model}-{self.name}")
        os.makedirs(folder)
        source = os.path.join(MODELS, self.model + ".pml")
        # A search that finds something soon is not worth an optimizer.
        level = "-O0" if self.mutation else "-O1"
        for command in (
            ["spin", "-a", *self.options, source],
            ["cc", level, "-w", "-DSAFETY", f"-DMEMLIM={MEMORY}", "-DVECTORSZ=2048", "-o", "pan", "pan.c"],
        ):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            # Spin reports some errors on its standard output alone.
            if done.returncode != 0 or "rror:" in done.stdout:
                self.trouble = f"{command[0]} failed: {(done.stdout + done.stderr).strip()[-500:]}"
                return self
        began = time.monotonic()
        try:
            done = subprocess.run(["./pan", f"-m{DEPTH}", "-w22", "-E"], cwd=folder, capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            self.trouble = f"no end within {PATIENCE} s"
            return self
        self.seconds = time.monotonic() - began
        self.read(done.stdout + done.stderr)
        if self.violation:
            trail = os.path.basename(source) + ".trail"
            done = subprocess.run(["spin", "-t", "-k", trail, *self.options, source], cwd=folder, capture_output=True,
                                  text=True, check=False)
            # What the steps print is indented, by the number of the process.
            self.trail = "\n".join(line.strip() for line in done.stdout.splitlines()
                                   if line.startswith("      ") and "proc " not in line)
        shutil.rmtree(folder)
        return self

    def read(self, output):
        """Reads the report of the search. Whatever makes it incomplete is trouble."""
        found = re.search(r"pan:\d+: (.*) \(at depth", output)
        errors = re.search(r"errors: (\d+)", output)
        states = re.search(r"^\s*(\d+) states, stored", output, re.MULTILINE)
        memory = re.search(r"([\d.]+)\s+total actual memory usage", output)
        if not errors or not states:
            self.trouble = "the search did not end: " + output.strip()[-300:]
            return
        self.states = int(states.group(1))
        self.memory = float(memory.group(1)) if memory else 0.0
        if found:
            self.violation = " ".join(found.group(1).split())
        for sign in ("max search depth too small", "out of memory", "hash conflicts too", "Bit statespace",
                     "Hash-Compact", "reached -DMEMLIM", "VECTORSZ is too small"):
            if sign in output:
                self.trouble = f"the search is not complete: {sign}"
        if "Search not completed" in output and not found:
            self.trouble = "the search is not complete"
        if int(errors.group(1)) > 0 and not found:
            self.trouble = "an error without a name: " + output.strip()[:300]
        if found and not self.violation.startswith("assertion violated"):
            self.trouble = self.violation


def searches(names):
    """All runs, those that take longest first."""
    scopes = [Search(name, model, scope) for name, (model, scope) in SCOPES.items()]
    mutations = []
    for model, rules in RULES.items():
        for rule, where in rules.items():
            scope, *more = where.split()
            mutations.append(Search(f"without-{rule}", model, " ".join([SCOPES[scope][1], *more]), rule))
    holes = []
    for promise, (model, scope) in HOLES.items():
        holes.append(Search(f"known-{promise}", model, f"{SCOPES[scope][1]} {promise}=1", "known"))
    all_of_them = scopes + mutations + holes
    if not names:
        return all_of_them
    return [each for each in all_of_them if any(name.lower() in each.name.lower() for name in names)]


def unused_rules():
    """Rules that a model has and that no run leaves out: each must be one of RULES."""
    for model in RULES:
        with open(os.path.join(MODELS, model + ".pml"), encoding="utf-8") as file:
            text = file.read().split("/* Scope. */")[0]
        for rule in re.findall(r"^#ifndef (\w+)", text, re.MULTILINE):
            if rule not in RULES[model] and rule not in UNMISSED:
                yield f"{model}: {rule}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", help="a directory for what spin makes; emptied")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    for tool in ("spin", "cc"):
        if not shutil.which(tool):
            sys.exit(f"model.py: there is no {tool}: make deps installs it")
    began = time.monotonic()
    work = os.path.join(os.path.abspath(options.work), f"run-{os.getpid()}")
    os.makedirs(work)
    failed = [f"no run leaves out a rule: {rule}" for rule in unused_rules()]
    runs = searches(options.names)
    if not runs:
        sys.exit("model.py: nothing has such a name")
    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for each in pool.map(lambda run: run.run(work), runs):
                if each.trouble:
                    result = "FAILED: " + each.trouble
                elif each.mutation:
                    result = "counterexample" if each.violation else "FAILED: nothing is wrong without this rule"
                else:
                    result = f"FAILED: {each.violation}" if each.violation else "holds"
                if result.startswith("FAILED"):
                    failed.append(f"{each.model} {each.name}: {result}")
                print(f"{each.model:8} {each.name:32} {each.states:>10} states {each.seconds:6.1f} s "
                      f"{each.memory:5.0f} MiB  {result}", flush=True)
                if each.trail and (options.trace or not each.mutation):
                    print(each.trail)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for each in failed:
        print(each, file=sys.stderr)
    if failed:
        sys.exit(1)
    print(f"PASSED: {len([run for run in runs if not run.mutation])} scopes hold, and "
          f"{len([run for run in runs if run.name.startswith('without-')])} rules are needed. {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
