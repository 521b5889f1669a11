# SPDX-License-Identifier: Apache-2.0
"""The build backend of pyproject.toml (PEP 517): a wheel of the package as it stands, and an archive of its sources.
The same sources give the same bytes. `python3 build_backend.py DIR` builds the wheel."""
import base64
import gzip
import hashlib
import io
import pathlib
import re
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent
WHEN = (1980, 1, 1, 0, 0, 0)  # the first that a zip archive can say


def _field(name):
    found = re.search(rf'^{name} = "([^"]*)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    if not found:
        raise ValueError(f"pyproject.toml: no {name}")
    return found.group(1)


def _stem():
    return f"{_field('name').replace('-', '_')}-{_field('version')}"


def _metadata():
    return (f"Metadata-Version: 2.1\nName: {_field('name')}\nVersion: {_field('version')}\n"
            f"Summary: {_field('description')}\nLicense: Apache-2.0\nRequires-Python: {_field('requires-python')}\n"
            f"Description-Content-Type: text/markdown\n\n{(ROOT / 'README.md').read_text()}")


def _package():
    return sorted(path for path in (ROOT / "aliquot").iterdir() if path.suffix == ".py" or path.name == "py.typed")


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {f"aliquot/{path.name}": path.read_bytes() for path in _package()}
    info = f"{_stem()}.dist-info"
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: aliquot\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    made = f"{_stem()}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / made, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, WHEN)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return made


def build_sdist(sdist_directory, config_settings=None):
    stem = _stem()
    made = f"{stem}.tar.gz"
    files = {name: (ROOT / name).read_bytes() for name in ("README.md", "build_backend.py", "pyproject.toml")}
    files.update({f"aliquot/{path.name}": path.read_bytes() for path in _package()})
    files["PKG-INFO"] = _metadata().encode()
    with open(pathlib.Path(sdist_directory) / made, "wb") as out, \
            gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{stem}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return made


if __name__ == "__main__":
    print(build_wheel(sys.argv[1] if len(sys.argv) > 1 else "."))
