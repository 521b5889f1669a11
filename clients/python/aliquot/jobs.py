# SPDX-License-Identifier: Apache-2.0
"""The client of `aliquot serve` and of a cluster's job API. The operations and their fields are those of api/jobs.yaml."""
from __future__ import annotations

import http.client
import json
import os
import re
import socket
import ssl
import time
from typing import Any, Dict, Iterator, List, Mapping, Sequence, TypedDict, cast
from urllib.parse import urlencode, urlsplit

_ROOT_SOCKET = "/run/aliquot/jobs.sock"
_POD_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")  # of a Job
_MOST_ANSWER = 32 << 20
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5
_ENDED = frozenset({"Succeeded", "Failed", "Cancelled", "Expired"})


class Job(TypedDict, total=False):
    """A job as the server tells it. What does not apply is left out."""
    id: int
    name: str
    user: str
    queue: str
    priority: int
    state: str
    reason: str
    cause: str
    exitCode: int
    gpus: int
    gpuMemory: str
    gpuCompute: int
    devices: list[str]
    onCpu: bool
    attempt: int
    arrayIndex: int
    submitted: str
    started: str
    idleSince: str
    ended: str
    request: dict[str, Any]
    steps: list[dict[str, str]]
    limits: str


class Explanation(TypedDict, total=False):
    """Why a job waits."""
    id: int
    state: str
    why: str
    position: int
    likelyStart: str
    latestStart: str
    notBefore: str
    freeGpus: int
    smaller: str
    ahead: list[int]
    holders: list[dict[str, Any]]


class JobError(Exception):
    """The server's refusal in its own words, or why it cannot be asked."""


class InvalidRequest(JobError):
    """A field is wrong; the message begins with its name."""


class NotFound(JobError):
    """There is no such job."""


class Conflict(JobError):
    """Not in this state; or the same task or key with other fields."""


class Forbidden(JobError):
    """It is somebody else's job, or the token may not do this."""


class Unavailable(JobError):
    """Nobody listens, the queue is full, or the journal cannot be written: worth another try."""


class JobTimeout(JobError):
    """The job has not ended in time."""


_ERRORS: dict[int, type[JobError]] = {400: InvalidRequest, 401: Forbidden, 403: Forbidden, 404: NotFound, 409: Conflict,
                                      413: InvalidRequest, 422: InvalidRequest, 503: Unavailable}


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _own_socket() -> str:
    """Of a server that this user starts: beside the session's other sockets, else, without a session, beside its journal."""
    if os.geteuid() == 0:
        return ""
    place, home, session = os.environ.get("XDG_RUNTIME_DIR", ""), os.environ.get("HOME", ""), f"/run/user/{os.geteuid()}"
    if not place and os.access(session, os.W_OK):
        place = session
    place = place or os.environ.get("XDG_STATE_HOME", "") or (f"{home}/.local/state" if home else "")
    return f"{place}/aliquot/jobs.sock" if place else ""


def usual_server() -> str:
    """Where `aliquot job` asks: ALIQUOT_JOBS, this user's own server, or root's."""
    named = os.environ.get("ALIQUOT_JOBS", "")
    if named:
        return named
    mine = _own_socket()
    if mine and (os.path.exists(mine) or not os.path.exists(_ROOT_SOCKET)):
        return f"unix:{mine}"
    return f"unix:{_ROOT_SOCKET}"


class Jobs:
    """The jobs of one server. May be used by several threads: each question has a connection of its own."""

    def __init__(self, server: str = "", timeout: float = 30.0, token: str = "", ca_file: str = "",
                 namespace: str = "") -> None:
        """server   "unix:PATH" or an absolute path, of a cluster "https://HOST[:PORT]"; empty: as usual_server() finds it
        timeout     seconds for each question
        token       of a cluster: who asks; empty: ALIQUOT_TOKEN, in a pod that of its service account
        ca_file     of a cluster: who has signed its certificate (PEM); empty: whom this machine trusts
        namespace   of a cluster: where the jobs are; empty: the namespace default"""
        self.server = server or usual_server()
        if self.server.startswith("/"):
            self.server = f"unix:{self.server}"
        self._timeout, self._token, self._namespace = timeout, token, namespace
        self._cluster = urlsplit(self.server) if self.server.startswith("https://") else None
        if self._cluster is None and not self.server.startswith("unix:/"):
            raise InvalidRequest(f"server: '{self.server}' is no address of jobs; expected unix:/PATH or https://HOST")
        if self._cluster is not None:
            try:
                self._cluster.port
            except ValueError as why:
                raise InvalidRequest(f"server: '{self.server}': {why}") from why
            if not self._cluster.hostname or self._cluster.path not in ("", "/") or self._cluster.query:
                raise InvalidRequest(f"server: '{self.server}' has no host, or more; expected https://HOST[:PORT]")
            self._tls = ssl.create_default_context(cafile=ca_file or None)

    def create_gpu_job(self, task_id: str, image: str = "", gpu_count: int = 1, gpu_type: str = "any",
                       memory: str = "", cpu: str = "", command: Sequence[str] = (),
                       env: Mapping[str, str] | None = None, **fields: Any) -> str:
        """Submits a job and returns the name that it is known by from then on: its number.

        The same task_id with the same fields is the same job; with other fields it is a Conflict. `fields` are further ones of the
        request: workdir, queue, priority, deadline_seconds, retries, gpu_memory, gpu_compute, after, ...
        A server of one machine runs programs: it refuses an image."""
        request = {"task_id": task_id, "image": image, "gpu_count": gpu_count, "gpu_type": gpu_type, "memory": memory,
                   "cpu": cpu, "command": list(command), "env": dict(env or {}), **fields}
        return str(self.submit(request)[0]["id"])

    def submit(self, request: Mapping[str, Any], idempotency_key: str = "") -> List[Job]:
        """Submits a request as api/jobs.yaml describes it: one job, or all of its array."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return cast(List[Job], self._ask("POST", "/v1/jobs", request, headers)["jobs"])

    def get(self, job: str | int) -> Job:
        return cast(Job, self._ask("GET", self._path(job)))

    def list(self, which: str = "living", mine: bool = False, queue: str = "") -> Iterator[Job]:
        """Jobs, oldest first. which: "living", "ended", "all"."""
        asked = {"which": which, "limit": "500"}
        asked.update({"skip": "0"} if self._cluster is not None else {"above": "0"})
        if mine:
            asked["mine"] = "true"
        if queue:
            asked["queue"] = queue
        while True:
            page = self._ask("GET", "/v1/jobs?" + urlencode(asked))
            yield from page["jobs"]
            if not page["more"]:
                return
            # A machine goes on above a number, a cluster behind so many: its jobs have names.
            if self._cluster is not None:
                asked["skip"] = str(int(asked["skip"]) + len(page["jobs"]))
            else:
                asked["above"] = str(page["jobs"][-1]["id"])

    def explain(self, job: str | int) -> Explanation:
        return cast(Explanation, self._ask("GET", self._path(job) + "/explain"))

    def logs(self, job: str | int, follow: bool = False) -> Iterator[bytes]:
        """The output of its last try, in parts; with follow until it has ended."""
        start, pause = "0", _FIRST_PAUSE
        while True:
            response, body = self._exchange("GET", f"{self._path(job)}/logs?from={start}")
            start = response.getheader("Aliquot-Next", start)
            if body:
                pause = _FIRST_PAUSE
                yield body
            elif not follow or response.getheader("Aliquot-Ended") == "true":
                return
            else:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def wait(self, job: str | int, timeout: float | None = None) -> Job:
        """The job when it has ended. timeout: seconds; then JobTimeout."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_PAUSE
        while True:
            found = self.get(job)
            if found["state"] in _ENDED:
                return found
            if end is not None and time.monotonic() >= end:
                raise JobTimeout(f"job {job} is still {found['state']} after {timeout:g} s")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def cancel(self, job: str | int) -> Job:
        return cast(Job, self._ask("POST", self._path(job) + "/cancel"))

    def suspend(self, job: str | int) -> Job:
        """Takes it out of the queue, or ends its program, until resume()."""
        return cast(Job, self._ask("POST", self._path(job) + "/suspend"))

    def resume(self, job: str | int) -> Job:
        """It waits for its turn again; its program begins anew."""
        return cast(Job, self._ask("POST", self._path(job) + "/resume"))

    def pending(self, queue: str = "") -> list[dict[str, Any]]:
        """Those that wait, next first, with their likely starts."""
        path = "/v1/pending" + ("?" + urlencode({"queue": queue}) if queue else "")
        return cast(List[Dict[str, Any]], self._ask("GET", path)["pending"])

    def retry(self, job: str | int) -> Job:
        return cast(Job, self._ask("POST", self._path(job) + "/retry"))

    def delete_gpu_job(self, job: str | int) -> None:
        """Removes one that has ended, with its output."""
        self._ask("DELETE", self._path(job))

    def describe_server(self) -> dict[str, Any]:
        """The GPUs that jobs can get, and how many jobs wait or run."""
        return cast(Dict[str, Any], self._ask("GET", "/v1/server"))

    def _ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] = {}) -> Any:
        text = self._exchange(method, path, body, headers)[1]
        return json.loads(text) if text else None

    def _path(self, job: str | int) -> str:
        word = str(job)
        if self._cluster is not None:
            if not _NAME.fullmatch(word):
                raise InvalidRequest(f"job: '{word}' is no job; expected its name")
        elif not (word.isascii() and word.isdigit() and int(word) > 0):
            raise InvalidRequest(f"job: '{word}' is no job; expected its number")
        return f"/v1/jobs/{word}"

    def _connect(self) -> http.client.HTTPConnection:
        if self._cluster is None:
            return _UnixConnection(self.server.removeprefix("unix:"), self._timeout)
        return http.client.HTTPSConnection(cast(str, self._cluster.hostname), self._cluster.port or 443,
                                           timeout=self._timeout, context=self._tls)

    def _of_cluster(self, path: str, headers: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """A question as a cluster wants it: with a namespace and a token, which is read anew, since a pod's changes."""
        if self._namespace:
            path += ("&" if "?" in path else "?") + urlencode({"namespace": self._namespace})
        token = self._token or os.environ.get("ALIQUOT_TOKEN", "")
        if not token and os.path.exists(_POD_TOKEN):
            with open(_POD_TOKEN, encoding="ascii") as file:
                token = file.read().strip()
        return path, {**headers, **({"Authorization": f"Bearer {token}"} if token else {})}

    def _exchange(self, method: str, path: str, body: Any = None,
                  headers: Mapping[str, str] = {}) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self._connect()
        if self._cluster is not None:
            path, headers = self._of_cluster(path, headers)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            text = response.read(_MOST_ANSWER)
        except PermissionError as why:
            raise Forbidden(f"job server at {self.server}: may not be asked by this user") from why
        except (OSError, http.client.HTTPException) as why:
            start = "" if self._cluster is not None else "; start it with aliquot serve"
            raise Unavailable(f"job server at {self.server}: {why or type(why).__name__}{start}") from why
        finally:
            connection.close()
        if 200 <= response.status < 300:
            return response, text
        try:
            message = json.loads(text)["error"]["message"]
        except (ValueError, KeyError, TypeError):
            message = text.decode(errors="replace").strip() or f"the server answers {response.status}"
        raise _ERRORS.get(response.status, JobError)(message)


def create_gpu_job(task_id: str, image: str = "", gpu_count: int = 1, gpu_type: str = "any", memory: str = "",
                   cpu: str = "", command: Sequence[str] = (), env: Mapping[str, str] | None = None,
                   **fields: Any) -> str:
    """Jobs().create_gpu_job()."""
    return Jobs().create_gpu_job(task_id, image, gpu_count, gpu_type, memory, cpu, command, env, **fields)
