#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds a running `aliquot serve` to api/jobs.yaml: random requests, right and wrong. Every answer has a status that the
description names and a body of its schema with nothing else in it; what is accepted is a request of the schema; the server
goes on. Arguments: the program aliquot, then [seed [requests]]."""
import copy
import http.client
import json
import os
import pathlib
import random
import socket
import sys
import time
import urllib.parse

try:
    import jsonschema
    import yaml
except ImportError as why:
    print(f"skipped: {why}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
from machine import PATIENCE, Machine  # noqa: E402

API = yaml.safe_load((HERE.parents[2] / "api/jobs.yaml").read_text())
REFUSALS = {400, 403, 404, 405, 409, 411, 413, 415, 422, 503}
ODD = [None, True, False, 0, 1, -1, 2, 3, 17, 2**31, 2**63, 2**70, 1.5, 1e300, "", "1", "x", "8Gi", "a100", "-5", "é☃", "a\0b",
       "x" * 5000, "../../etc", "$(id)", [], ["true"], ["true", 1], [["true"]], {}, {"A": "b"}, {"A": None}, {"": "x"}, {"A=B": "c"}]


def strict(schema):
    """The schema, with nothing allowed that it does not name."""
    schema = copy.deepcopy(schema)

    def walk(node):
        if isinstance(node, dict):
            if "properties" in node and "type" in node:
                node.setdefault("additionalProperties", False)
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)
    walk(schema)
    return schema


STRICT = strict(API)


def validator(name):
    return jsonschema.Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": STRICT["components"]})


ANSWERS = {name: validator(name) for name in ("Refusal", "Request", "Job", "JobList", "Submitted", "Explanation", "Server", "Forecast", "QueueList", "PendingList")}


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(str(self.path))


class Fuzzer:
    def __init__(self, machine, seed):
        self.machine, self.random, self.jobs, self.seen = machine, random.Random(seed), [1], {}
        self.operations = [(method, path, what) for path, methods in API["paths"].items()
                           for method, what in methods.items() if method != "parameters"]

    def value_for(self, schema):
        """Mostly what the schema wants."""
        roll = self.random.random()
        if roll < 0.25:
            return self.random.choice(ODD)
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        name = schema.get("$ref", "").split("/")[-1]
        if name == "Whole" or schema.get("type") == "integer":
            return self.random.randint(schema.get("minimum", 0), min(schema.get("maximum", 99), 99))
        if name == "Text" or schema.get("type") == "string":
            return self.random.choice(["", "1", "a2", "any", "2Gi", "500m", "name", "/tmp"])
        if schema.get("type") == "boolean":
            return self.random.random() < 0.5
        if "items" in schema:
            return [self.value_for(schema["items"]) for _ in range(self.random.randint(0, 3))]
        return {"A": self.value_for(schema.get("additionalProperties", {}))}

    def request_body(self):
        fields = API["components"]["schemas"]["Request"]["properties"]
        body = {"command": ["true"], "name": "fuzzed"}
        for name in self.random.sample(sorted(fields), self.random.choice([0, 0, 1, 1, 2, 5])):
            body[name] = self.value_for(fields[name])
        if self.random.random() < 0.05:
            body[self.random.choice(["colour", "gpu", ""])] = self.random.choice(ODD)
        return body

    def text_of(self, body):
        roll = self.random.random()
        text = json.dumps(body)
        if roll < 0.05:
            return self.random.choice([b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 4000, b'{"a":' * 4000, b"x" * (2 << 20)])
        if roll < 0.1:
            cut = bytearray(text.encode())
            cut[self.random.randrange(len(cut))] = self.random.randrange(256)
            return bytes(cut)
        return text.encode()

    def ask(self, method, path, body):
        connection = Connection(self.machine.socket)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body is not None else {})
            response = connection.getresponse()
            return response.status, response.getheader("Content-Type", ""), response.read()
        except (BrokenPipeError, ConnectionResetError):
            return 413, "", b""  # refused before all of it was sent
        finally:
            connection.close()

    def operate(self, operation, place="", body=None):
        """One operation as it is meant; its answer."""
        method, path, what = next(one for one in self.operations if one[2]["operationId"] == operation)
        target = path.replace("{id}", str(place))
        status, kind, text = self.ask(method.upper(), target, body)
        self.check(method, path, what, status, kind, text, body, target)
        assert status < 300, f"{operation}: {status} {text}"
        return json.loads(text) if kind == "application/json" and text else None

    def every_operation(self):
        body = json.dumps({"name": "first", "command": ["sh", "-c", "echo x; exit 1"], "retries": 0}).encode()
        job = self.operate("submitJob", body=body)["jobs"][0]["id"]
        for _ in range(2):
            end = time.monotonic() + PATIENCE
            while self.operate("getJob", job)["state"] != "Failed":
                assert time.monotonic() < end, "a job has not ended"
                time.sleep(0.02)
            for operation in ("explainJob", "getLogs", "followSteps", "cancelJob", "retryJob"):
                self.operate(operation, job)
        body = json.dumps({"name": "stops", "command": ["sleep", "1000"]}).encode()
        stops = self.operate("submitJob", body=body)["jobs"][0]["id"]
        for operation in ("listQueues", "listPending", "suspendJob"):
            self.operate(operation, stops)
        end = time.monotonic() + PATIENCE
        while self.operate("getJob", stops)["state"] != "Suspended":
            assert time.monotonic() < end, "a job has not been suspended"
            time.sleep(0.02)
        for operation in ("resumeJob", "cancelJob"):
            self.operate(operation, stops)
        self.operate("forecastCost", body=json.dumps({"name": "dear", "command": ["true"], "gpu_count": 1}).encode())
        self.operate("listJobs")
        self.operate("getServer")
        self.operate("cancelJob", job)
        end = time.monotonic() + PATIENCE
        while self.operate("getJob", job)["state"] not in ("Failed", "Cancelled"):
            assert time.monotonic() < end, "a job has not ended"
            time.sleep(0.02)
        self.operate("deleteJob", job)

    def step(self):
        # A stream of steps ends with its job only.
        method, path, what = self.random.choice([one for one in self.operations if one[2]["operationId"] != "followSteps"])
        place = self.random.choice([str(self.random.choice(self.jobs))] * 6 +
                                   ["0", "-1", "x", "99999999999999999999", "1.5", "%00", "", "1/2"])
        target = path.replace("{id}", place)
        query = []
        for one in what.get("parameters", []):
            if one.get("in") == "query" and self.random.random() < 0.5:
                value = self.value_for(one["schema"])
                query.append(f"{one['name']}={urllib.parse.quote(str(value))}")
        if query:
            target += "?" + "&".join(query)
        body = self.text_of(self.request_body()) if method == "post" and path == "/v1/jobs" else None
        status, kind, text = self.ask(method.upper(), target, body)
        self.check(method, path, what, status, kind, text, body, target)

    def check(self, method, path, what, status, kind, text, body, target):
        told = f"{method} {target[:200]} {body[:300] if body else ''} -> {status} {text[:300]}"
        assert self.machine.alive(), f"the server has ended: {told}"
        self.seen[what["operationId"], status] = self.seen.get((what["operationId"], status), 0) + 1
        described = what["responses"].get(str(status))
        if described is None:
            assert status in REFUSALS, told
            if kind.startswith("application/json"):
                ANSWERS["Refusal"].validate(json.loads(text))
            return
        content = described.get("content", {})
        spoken = kind.split(";")[0].strip()
        assert not content or spoken in content, f"as {kind}, of {', '.join(content)}: {told}"
        content = content.get(spoken) if spoken == "application/json" else None
        if content is None or "$ref" not in content["schema"]:
            return
        answer = json.loads(text)
        name = content["schema"]["$ref"].split("/")[-1]
        errors = [f"{list(e.path)}: {e.message}" for e in ANSWERS[name].iter_errors(answer)]
        assert not errors, f"{errors}: {told}"
        if name != "Submitted":
            return
        self.jobs += [job["id"] for job in answer["jobs"][:5]]
        try:
            sent = json.loads(body)
        except ValueError:
            return  # YAML that a changed byte has made
        errors = [f"{list(e.path)}: {e.message}" for e in ANSWERS["Request"].iter_errors(sent)]
        assert not errors, f"accepted, and not as described: {errors}: {told}"


def main():
    program = os.path.abspath(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    requests = int(sys.argv[3]) if len(sys.argv) > 3 else 1500
    with Machine(program, "--most-jobs", "500") as machine:
        fuzzer = Fuzzer(machine, seed)
        number = -1
        try:
            fuzzer.every_operation()
            for number in range(requests):
                fuzzer.step()
        except AssertionError as why:
            print(f"seed {seed}, request {number}: {why}")
            return 1
    missed = {what["operationId"] for _, _, what in fuzzer.operations} - {name for name, status in fuzzer.seen if status < 300}
    if missed:
        print(f"never answered well: {', '.join(sorted(missed))}")
        return 1
    print(f"{requests} requests, answers: " + ", ".join(f"{name} {status}: {n}" for (name, status), n in sorted(fuzzer.seen.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
