#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""image_test.py BIN: aliquot image check against a registry that wants a token, as a person sees it."""
import base64
import hashlib
import http.server
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

BIN = pathlib.Path(sys.argv.pop(1)).resolve() / "aliquot"
LOGIN = base64.b64encode(b"ci:secret").decode()
DEBIAN = {"base-files": "12ubuntu4.6", "cuda-cudart-12-1": "12.1.105-1", "libcudnn8": "8.9", "cmake": "3.22.1", "ninja-build": "1.10", "ccache": "4.5"}
FILES = {
    "var/lib/dpkg/status": "\n".join(f"Package: {name}\nStatus: install ok installed\nVersion: {version}\n" for name, version in DEBIAN.items()),
    "opt/venv/lib/python3.10/site-packages/numpy-1.26.4.dist-info/METADATA": "Name: numpy\nVersion: 1.26.4\n",
    "opt/venv/lib/python3.10/site-packages/PyYAML-6.0.dist-info/METADATA": "Name: PyYAML\nVersion: 6.0\n",
    "home/runner/bin/Runner.Listener.deps.json": '{"targets":{"net8.0":{"Runner.Listener/2.331.0":{}}}}',
}


def packed(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


class Registry:
    """/v2/ci/..., with tokens for who shows the login."""

    def __init__(self):
        self.blobs, self.manifests = {}, {}
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, kind, body = registry.answer(self.path, self.headers.get("Authorization", ""))
                self.send_response(status)
                if status == 401:
                    self.send_header("WWW-Authenticate", f'Bearer realm="http://{registry.host}/token",service="test"')
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, shown):
        place, name = path.split("?")[0].rsplit("/", 1)
        if name == "token":
            known = shown == f"Basic {LOGIN}"
            return (200, "application/json", b'{"token":"t"}') if known else (403, "application/json", b'{"errors":[{"code":"DENIED"}]}')
        if shown != "Bearer t":
            return 401, "application/json", b'{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}'
        if place == "/v2/ci/manifests" and name in self.manifests:
            return 200, "application/vnd.oci.image.manifest.v1+json", self.manifests[name]
        if place == "/v2/ci/blobs" and name in self.blobs:
            return 200, "application/octet-stream", self.blobs[name]
        return 404, "application/json", b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}'

    def put(self, data, kind):
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {"mediaType": kind, "digest": digest, "size": len(data)}

    def put_image(self, tag, *layers):
        config = self.put(b'{"os":"linux","architecture":"amd64"}', "application/vnd.oci.image.config.v1+json")
        described = [self.put(packed(files), "application/vnd.oci.image.layer.v1.tar+gzip") for files in layers]
        self.manifests[tag] = json.dumps({"schemaVersion": 2, "config": config, "layers": described}).encode()


class ImageCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.registry = Registry()
        cls.registry.put_image("whole", FILES)
        cls.registry.put_image("without-numpy", FILES, {"opt/venv/lib/python3.10/site-packages/.wh.numpy-1.26.4.dist-info": ""})
        cls.home = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.home.name) / ".docker"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"auths": {cls.registry.host: {"auth": LOGIN}}}))

    @classmethod
    def tearDownClass(cls):
        cls.registry.server.shutdown()
        cls.home.cleanup()

    def check(self, image, *words, home=None):
        done = subprocess.run([BIN, "image", "check", image, "--plain-http", *words], capture_output=True, text=True, timeout=120, check=False,
                              env={"PATH": os.environ["PATH"], "HOME": home or self.home.name})
        return done.returncode, done.stdout, done.stderr

    def image(self, tag):
        return f"{self.registry.host}/ci:{tag}"

    def test_an_image_that_has_all_of_it(self):
        code, out, err = self.check(self.image("whole"))
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("Runner.Listener 2.331.0", out)
        self.assertRegex(out, r"linux/amd64 sha256:[0-9a-f]{64}: package lists of 1 layer of 1")

    def test_what_an_upper_layer_deleted_is_missing(self):
        code, out, _ = self.check(self.image("without-numpy"), "-o", "json")
        self.assertEqual(code, 1)
        answer = json.loads(out)
        self.assertEqual([item["item"] for item in answer["items"] if not item["found"]], ["numpy"])
        self.assertEqual((answer["layers"], answer["layersRead"], answer["platform"]), (2, 2, "linux/amd64"))

    def test_no_answer_is_no_finding(self):
        for words, code, told in (((self.image("none"),), 3, "manifest unknown"), (("127.0.0.1:1/ci",), 3, "127.0.0.1:1"),
                                  ((self.image("Whole!"),), 2, "is not the name of an image"),
                                  ((self.image("whole"), "--platform", "linux/arm64"), 3, "not for linux/arm64"),
                                  ((self.image("whole"), "--logins", "/nowhere"), 2, "cannot read it")):
            with self.subTest(words):
                got, out, err = self.check(*words)
                self.assertEqual((got, out), (code, ""), err)
                self.assertIn(told, err)
                self.assertEqual(err.count("\n"), 1)

    def test_without_a_login_the_one_that_is_needed_is_told(self):
        code, out, err = self.check(self.image("whole"), home="/nowhere")
        self.assertEqual((code, out), (3, ""))
        self.assertIn(f"docker login {self.registry.host}", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
