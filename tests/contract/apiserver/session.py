# SPDX-License-Identifier: Apache-2.0
"""One session of requests, asked of any API server: a simulated one or a real one.

What the steps expect was seen of kube-apiserver 1.36.2 (no other component running).
Steps are functions named step_*; each gets a Session and says with expect() what must hold.
"""
import http.client
import json
import socket
import ssl
import threading
import time
import urllib.parse


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.text = status, headers, body
        try:
            self.json = json.loads(body)
        except ValueError:
            self.json = None

    def at(self, path):
        return dig(self.json, path)

    @property
    def causes(self):
        """Reason and field, each once: real servers check some things twice."""
        found = [(c.get("reason"), c.get("field")) for c in dig(self.json, "details.causes") or []]
        return list(dict.fromkeys(found))


def dig(value, path):
    for name in path.split("."):
        if isinstance(value, list) and name.isdigit():
            value = value[int(name)] if int(name) < len(value) else None
        elif isinstance(value, dict):
            value = value.get(name)
        else:
            return None
    return value


class Watch:
    """Events of one watch, read by a thread of its own."""

    def __init__(self, session, path):
        self.events, self.ended = [], False
        self.changed = threading.Condition()
        self.connection = session.connect()
        self.connection.request("GET", path, headers=session.headers())
        self.socket = self.connection.sock
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            for line in self.response:
                if line.strip():
                    with self.changed:
                        self.events.append(json.loads(line))
                        self.changed.notify_all()
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait(self, count, seconds=20):
        with self.changed:
            self.changed.wait_for(lambda: len(self.events) >= count or self.ended, seconds)
            return list(self.events)

    def types(self, count):
        return [e["type"] for e in self.wait(count)][:count]

    def close(self):
        if self.socket is not None:
            try:
                self.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended already


class Session:
    def __init__(self, arguments):
        self.url = urllib.parse.urlparse(arguments.url)
        self.arguments = arguments
        self.real = arguments.real
        self.context = None
        if self.url.scheme == "https":
            self.context = ssl.create_default_context(cafile=arguments.ca)
            if arguments.insecure:
                self.context.check_hostname = False
                self.context.verify_mode = ssl.CERT_NONE
        self.namespace = "session-%d" % (time.time() * 1000 % 10_000_000)
        self.failures = []
        self.step = ""

    def headers(self):
        made = {"Accept": "application/json", "User-Agent": "session/1"}
        if self.arguments.token:
            made["Authorization"] = "Bearer " + self.arguments.token
        return made

    def connect(self):
        if self.context:
            return http.client.HTTPSConnection(self.url.hostname, self.url.port, timeout=60, context=self.context)
        return http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=60)

    def ask(self, method, path, body=None, kind="application/json", **headers):  # {NS}: our namespace
        path = path.replace("{NS}", self.namespace)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        all_headers = self.headers()
        if body is not None:
            all_headers["Content-Type"] = kind
            body = body.replace("{NS}", self.namespace)
        all_headers.update({name.replace("_", "-"): value for name, value in headers.items()})
        connection = self.connect()
        try:
            connection.request(method, path, body, all_headers)
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read().decode())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, body, **headers):
        return self.ask("POST", path, body, **headers)

    def put(self, path, body):
        return self.ask("PUT", path, body)

    def delete(self, path, body=None):
        return self.ask("DELETE", path, body)

    def merge(self, path, body):
        return self.ask("PATCH", path, body, "application/merge-patch+json")

    def strategic(self, path, body):
        return self.ask("PATCH", path, body, "application/strategic-merge-patch+json")

    def json_patch(self, path, body):
        return self.ask("PATCH", path, body, "application/json-patch+json")

    def apply(self, path, body, manager="tester", force=False):
        mark = "&" if "?" in path else "?"
        path += mark + "fieldManager=" + manager + ("&force=true" if force else "")
        return self.ask("PATCH", path, body, "application/apply-patch+yaml")

    def watch(self, path):
        return Watch(self, path.replace("{NS}", self.namespace))

    def expect(self, what, got, wanted):
        if callable(wanted):
            good = wanted(got)
            wanted = "something else"
        else:
            good = got == wanted
        if not good:
            self.failures.append(self.step)
            print("FAIL %s: %s: got %s, expected %s" % (self.step, what, json.dumps(got)[:900], wanted))

    def until(self, question, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if question():
                return True
            time.sleep(0.02)
        return False


CORE = "/api/v1/namespaces/{NS}/"
APPS = "/apis/apps/v1/namespaces/{NS}/"


def config_map(name, data=None, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data or {"a": "1"}}


def pod(name, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "busybox:1"}], **spec}}


def deployment(name, image="busybox:1", **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}},
                                  "spec": {"containers": [{"name": "main", "image": image}]}}, **spec}}


def managers(thing):
    return sorted("%s/%s%s" % (m["manager"], m["operation"], "/" + m["subresource"] if m.get("subresource") else "")
                  for m in thing.get("metadata", {}).get("managedFields", []))


def fields_of(thing, manager):
    for entry in thing["metadata"].get("managedFields", []):
        if entry["manager"] == manager:
            return entry["fieldsV1"]
    return None
