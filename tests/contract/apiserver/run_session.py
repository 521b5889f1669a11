#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the session's steps against a server: run_session.py --url URL [--token T] [--insecure] [--real] [--rbac]"""
import argparse
import sys
import time
import traceback

import session
import steps_access
import steps_changes
import steps_custom
import steps_faults
import steps_objects
import steps_watch


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", default="")
    parser.add_argument("--ca")
    parser.add_argument("--insecure", action="store_true")
    parser.add_argument("--real", action="store_true", help="what only a simulated server shows is not asked")
    parser.add_argument("--rbac", action="store_true", help="roles decide there")
    parser.add_argument("--only", default="", help="steps whose name holds this word (and step_namespace)")
    arguments = parser.parse_args()
    talk = session.Session(arguments)
    modules = [steps_objects, steps_changes, steps_watch, steps_custom] + ([steps_access] if arguments.rbac else [])
    modules += [] if arguments.real else [steps_faults]
    count = 0
    for module in modules:
        for name, step in list(vars(module).items()):
            if not name.startswith("step_") or (arguments.only not in module.__name__ + "." + name and name not in (
                    "step_namespace", "step_custom_kinds")):
                continue
            count += 1
            talk.step = name
            begin = time.monotonic()
            try:
                step(talk)
            except Exception:  # a step that breaks is a failure of that step
                print("FAIL %s: %s" % (name, " ".join(traceback.format_exc().split("\n")[-6:])))
                talk.failures.append(name)
            print("%-36s %.2f s" % (name, time.monotonic() - begin))
    talk.delete("/api/v1/namespaces/{NS}")
    print("%d steps, %d differences" % (count, len(talk.failures)))
    return 1 if talk.failures else 0


if __name__ == "__main__":
    sys.exit(main())
