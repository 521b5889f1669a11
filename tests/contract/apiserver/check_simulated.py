#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_simulated.py PROGRAM [http] [kubectl] [javascript]: the session against the simulated API server, of the
named clients or of all. http: plain HTTP without roles, then TLS with roles; kubectl: when one of 1.27 or newer is on
PATH; javascript: when ALIQUOT_NODE_MODULES names a folder that has @kubernetes/client-node. Exit 77: left out."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
HERE = os.path.dirname(os.path.abspath(__file__))


class Server:
    def __init__(self, program, *options):
        self.directory = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [program, "--until-eof", "--directory", self.directory.name + "/sim", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.match(r"http=(\S*) https=(\S*) kubeconfig=(\S*)", line)
        if not found:
            raise SystemExit("the server said: " + line)
        self.http, self.https, self.kubeconfig = found.groups()
        with open(self.directory.name + "/sim/admin.token", encoding="utf-8") as file:
            self.token = file.read()
        self.ca = self.directory.name + "/sim/ca.crt"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()
        self.directory.cleanup()


def run(*command, **more):
    done = subprocess.run([*command], capture_output=True, text=True, timeout=300, check=False, **more)
    print(done.stdout[-6000:] + done.stderr[-2000:])
    return done.returncode


def new_kubectl():
    kubectl = shutil.which("kubectl")
    if not kubectl:
        return None
    said = subprocess.run([kubectl, "version", "--client"], capture_output=True, text=True, timeout=60, check=False)
    minor = re.search(r"v1\.(\d+)", said.stdout)
    return kubectl if minor and int(minor.group(1)) >= 27 else None


def check_http(program):
    session = [sys.executable, os.path.join(HERE, "run_session.py")]
    with Server(program) as server:
        failed = run(*session, "--url", server.http)
    with Server(program, "--rbac") as server:
        return failed + run(*session, "--url", server.https, "--token", server.token, "--ca", server.ca, "--rbac")


def check_kubectl(program):
    kubectl = new_kubectl()
    if not kubectl:
        print("skipped: no kubectl of 1.27 or newer on PATH")
        return SKIPPED
    with Server(program) as server:
        return run(sys.executable, os.path.join(HERE, "kubectl_session.py"), server.kubeconfig, kubectl)


def check_javascript(program):
    modules = os.environ.get("ALIQUOT_NODE_MODULES")
    if not modules or not os.path.isdir(os.path.join(modules, "@kubernetes/client-node")) or not shutil.which("node"):
        print("skipped: ALIQUOT_NODE_MODULES names no folder with @kubernetes/client-node, or there is no node")
        return SKIPPED
    with Server(program) as server:
        return run("node", os.path.join(HERE, "javascript_session.js"), server.kubeconfig,
                   env={**os.environ, "NODE_PATH": modules})


CHECKS = {"http": check_http, "kubectl": check_kubectl, "javascript": check_javascript}


def main():
    clients = sys.argv[2:] or list(CHECKS)
    results = [CHECKS[client](sys.argv[1]) for client in clients]
    if set(results) == {SKIPPED}:
        return SKIPPED
    return 1 if any(result not in (0, SKIPPED) for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
