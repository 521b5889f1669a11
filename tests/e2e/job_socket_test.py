# SPDX-License-Identifier: Apache-2.0
"""`aliquot serve` at a socket that somebody else has made, as systemd does: it is started by the first who asks."""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

PATIENCE = 60.0
ASK = b"GET /v1/server HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
# LISTEN_PID is the process that the sockets are for: what the shell becomes.
START = 'export LISTEN_PID=$$ LISTEN_FDS="$COUNT" LISTEN_FDNAMES=jobs; exec "$@"'


def serve(program, folder, first, count, log):
    words = [program, "serve", "--gpu", "a2", "--state", str(folder / "state"), "--container", "none", "--grace", "1"]

    def pass_on():
        os.dup2(first.fileno(), 3)
        os.set_inheritable(3, True)
        os.dup2(first.fileno(), 4)
        os.set_inheritable(4, True)

    return subprocess.Popen(["sh", "-c", START, "sh", *words], env={**os.environ, "COUNT": str(count)},
                            preexec_fn=pass_on, close_fds=False, stdout=log, stderr=subprocess.STDOUT)


def answer_of(client):
    text = b""
    while part := client.recv(65536):
        text += part
    return text


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE)
    client.connect(str(path))
    client.sendall(ASK)
    return client


def job(program, path, *words):
    done = subprocess.run([program, "job", *words, "--server", f"unix:{path}"], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def starts_on_demand(program, folder):
    path = folder / "jobs.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(16)
    first = connect(path)  # nobody is there yet: it waits
    with open(folder / "log", "wb") as log:
        for _ in range(2):  # and when it has ended, the next one finds the socket again
            server = serve(program, folder, listener, 1, log)
            answer = answer_of(first)
            assert answer.startswith(b"HTTP/1.1 200") and b'"devices"' in answer, answer
            number = subprocess.run([program, "job", "submit", "--server", f"unix:{path}", "--", "sh", "-c",
                                     "echo pid=$LISTEN_PID fds=$LISTEN_FDS"], capture_output=True, text=True, check=True,
                                    timeout=PATIENCE).stdout.split()[0]
            job(program, path, "wait", number)
            # The socket is the server's: no job has it.
            assert job(program, path, "logs", number) == "pid= fds=\n"
            server.send_signal(signal.SIGTERM)
            assert server.wait(PATIENCE) == 0
            assert path.is_socket(), "the socket was removed, and is not the server's to remove"
            first = connect(path)
    said = (folder / "log").read_text()
    assert said.count(f"serving jobs at unix:{path}") == 2, said
    listener.close()


def refuses(program, folder, kind, count, what):
    listener = socket.socket(kind)
    if kind == socket.AF_INET:
        listener.bind(("127.0.0.1", 0))
    else:
        listener.bind(str(folder / f"refused-{count}.sock"))
    listener.listen(1)
    with open(folder / "refused", "wb") as log:
        server = serve(program, folder, listener, count, log)
        assert server.wait(PATIENCE) == 2
    said = (folder / "refused").read_text()
    assert what in said, said
    listener.close()


def main():
    program = os.path.abspath(sys.argv[1] + "/aliquot")
    with tempfile.TemporaryDirectory() as folder:
        starts_on_demand(program, pathlib.Path(folder))
        refuses(program, pathlib.Path(folder), socket.AF_INET, 1, "descriptor 3 is not a listening unix socket")
        refuses(program, pathlib.Path(folder), socket.AF_UNIX, 2, "2 sockets were handed over; expected one")
    print("job_socket_test: two servers one after the other at one socket; other sockets are refused")


main()
