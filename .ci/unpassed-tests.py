#!/usr/bin/env python3
"""Lists the tests that a run did not pass, one pattern for "swift test --filter" a line.

Usage: unpassed-tests.py EVENTS, where EVENTS is what "swift test --event-stream-output-path" wrote (version 0). A test
passed if it ended and recorded no issue; a test that the run never came to did not. Exit code 1: an issue belongs to
no test, or the run listed no tests, so repeating tests proves nothing.
"""
import json
import re
import sys


def function(test_id):
    """The identifier without the place in the sources, or None for a suite."""
    match = re.match(r"(.*)/[^/]*\.swift:\d+:\d+$", test_id)
    return match.group(1) if match else None


listed, ended, failed, stray = set(), set(), set(), 0
with open(sys.argv[1], encoding="utf-8", errors="replace") as events:
    for line in events:
        try:
            record = json.loads(line)
        except ValueError:
            continue  # The run was cut off within a line.
        payload = record.get("payload", {})
        if record.get("kind") == "test":
            if payload.get("kind") == "function":
                listed.add(function(payload["id"]))
        elif payload.get("kind") in ("testEnded", "testSkipped"):
            ended.add(function(payload["testID"]))
        elif payload.get("kind") == "issueRecorded":
            issue = payload.get("issue", {})
            if issue.get("isKnown") or issue.get("severity") == "warning":
                continue
            if "testID" in payload and function(payload["testID"]):
                failed.add(function(payload["testID"]))
            else:
                stray += 1

if stray or not listed:
    sys.exit(1)
for name in sorted(listed - (ended - failed)):
    print(f"^{re.escape(name)}")
