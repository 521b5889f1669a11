# SPDX-License-Identifier: Apache-2.0
"""Layers and OCI image archives whose bytes depend on their content alone. Standard library only."""
import dataclasses
import hashlib
import io
import json
import tarfile
import time
import zlib

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
# No name, no time, "unknown" system: nothing of the machine that packed it.
GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def to_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def gzipped(data):
    pressed = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    body = pressed.compress(data) + pressed.flush()
    return GZIP_HEAD + body + (zlib.crc32(data) & 0xFFFFFFFF).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")


class Tree:
    """The files of a layer by path, without the leading slash."""

    def __init__(self):
        self._entries = {}   # path -> (kind, mode, data or target)

    def folder(self, path, mode=0o755):
        self._put(path, (tarfile.DIRTYPE, mode, b""))

    def file(self, path, data, mode=0o644):
        self._put(path, (tarfile.REGTYPE, mode, data))

    def link(self, path, target):
        self._put(path, (tarfile.SYMTYPE, 0o777, target))

    def _put(self, path, entry):
        parts = path.split("/")
        for count in range(1, len(parts)):
            self._entries.setdefault("/".join(parts[:count]), (tarfile.DIRTYPE, 0o755, b""))
        self._entries[path] = entry

    def tar(self, mtime):
        """The layer as a tar file: sorted, owned by 0:0, all of the same time."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted(self._entries):
                kind, mode, content = self._entries[path]
                one = tarfile.TarInfo(path + "/" if kind == tarfile.DIRTYPE else path)
                one.type, one.mode, one.mtime = kind, mode, mtime
                if kind == tarfile.SYMTYPE:
                    one.linkname = content
                    archive.addfile(one)
                else:
                    one.size = len(content)
                    archive.addfile(one, io.BytesIO(content))
        return out.getvalue()


@dataclasses.dataclass
class Image:
    reference: str       # ghcr.io/aliquot/aliquot:0.1.0
    architecture: str
    command: list
    environment: list
    labels: dict
    layers: list         # (what made it, gzip'ed tar, digest of the plain tar)
    time: int            # seconds of 1970

    def archive(self):
        """The image as one tar file: an OCI layout, and the manifest.json that older `docker load` wants."""
        blobs = {}

        def keep(data, media):
            blobs[digest(data)] = data
            return {"mediaType": media, "digest": digest(data), "size": len(data)}

        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.time))
        config = keep(to_json({
            "architecture": self.architecture, "os": "linux", "created": stamp,
            "config": {"User": "0:0", "Env": self.environment, "Cmd": self.command, "WorkingDir": "/", "Labels": self.labels},
            "rootfs": {"type": "layers", "diff_ids": [plain for _, _, plain in self.layers]},
            "history": [{"created": stamp, "created_by": made_by} for made_by, _, _ in self.layers]}), CONFIG)
        layers = [keep(data, LAYER) for _, data, _ in self.layers]
        manifest = keep(to_json({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers,
                                 "annotations": self.labels}), MANIFEST)
        tag = self.reference.rsplit(":", 1)[-1]
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                 "manifests": [{**manifest, "platform": {"architecture": self.architecture, "os": "linux"},
                                "annotations": {"io.containerd.image.name": self.reference,
                                                "org.opencontainers.image.ref.name": tag}}]}
        place = lambda descriptor: "blobs/sha256/" + descriptor["digest"].split(":")[1]
        tree = Tree()
        tree.file("oci-layout", to_json({"imageLayoutVersion": "1.0.0"}))
        tree.file("index.json", to_json(index))
        tree.file("manifest.json", to_json([{"Config": place(config), "RepoTags": [self.reference],
                                             "Layers": [place(layer) for layer in layers]}]))
        for name, data in blobs.items():
            tree.file("blobs/sha256/" + name.split(":")[1], data)
        return tree.tar(self.time), manifest["digest"]
