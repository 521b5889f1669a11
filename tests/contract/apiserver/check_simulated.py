#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_simulated.py PROGRAM: the session against the simulated API server: over plain HTTP without roles,
over TLS with roles; then kubectl's, when one of 1.27 or newer is on PATH; then the JavaScript client, when
ALIQUOT_NODE_MODULES names a folder that has it."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

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


def main():
    program = sys.argv[1]
    session = [sys.executable, os.path.join(HERE, "run_session.py")]
    failed = 0
    with Server(program) as server:
        failed += run(*session, "--url", server.http)
        kubectl = new_kubectl()
        if kubectl:
            failed += run(sys.executable, os.path.join(HERE, "kubectl_session.py"), server.kubeconfig, kubectl)
        else:
            print("kubectl: none of 1.27 or newer on PATH, its steps are left out")
        modules = os.environ.get("ALIQUOT_NODE_MODULES")
        if modules and shutil.which("node"):
            failed += run("node", os.path.join(HERE, "javascript_session.js"), server.kubeconfig,
                          env={**os.environ, "NODE_PATH": modules})
    with Server(program, "--rbac") as server:
        failed += run(*session, "--url", server.https, "--token", server.token, "--ca", server.ca, "--rbac")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
