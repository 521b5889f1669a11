# SPDX-License-Identifier: Apache-2.0
"""What an ELF file needs at run time. Standard library only; 64 bit, little endian: what Kubernetes' GPU nodes are."""
import dataclasses
import json
import os
import struct

MACHINES = {62: ("amd64", "x86_64-linux-gnu"), 183: ("arm64", "aarch64-linux-gnu")}
MOST_HEADERS = 128
MOST_TAGS = 1024
MOST_NOTE_BYTES = 65536
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE = 1, 2, 3, 4
NT_DLOPEN = 0x407C0C0A  # UAPI group, "ELF dlopen metadata": a JSON list of what a program loads at run time
DT_NULL, DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH = 0, 1, 5, 14, 15, 29


class NotElf(Exception):
    """The file is no ELF file that we can ship; the text says why."""


@dataclasses.dataclass(frozen=True)
class Elf:
    architecture: str   # as OCI names it: amd64, arm64
    multiarch: str      # as Debian names its library folder
    interpreter: str    # the loader's path; empty for a library
    soname: str
    needed: tuple       # names of libraries, in the order of the file
    runpath: tuple      # folders; may hold $ORIGIN
    loads: tuple        # names of libraries that it opens at run time and cannot do without


def _string(data, at):
    end = data.find(b"\0", at)
    if at < 0 or end < 0:
        raise NotElf("a name lies outside of the file")
    return data[at:end].decode("utf-8", "surrogateescape")


def _segments(data):
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    if size < 56 or count > MOST_HEADERS:
        raise NotElf(f"{count} program headers of {size} bytes")
    for index in range(count):
        kind, _, at, address, _, length = struct.unpack_from("<IIQQQQ", data, offset + index * size)
        yield kind, at, address, length


def _tags(data, at, length):
    for index in range(min(length // 16, MOST_TAGS)):
        tag, value = struct.unpack_from("<QQ", data, at + index * 16)
        if tag == DT_NULL:
            return
        yield tag, value


def _notes(data, at, length):
    """(owner, kind, text) of each note of a segment; they are padded to 4 bytes."""
    end = min(at + min(length, MOST_NOTE_BYTES), len(data))
    while at + 12 <= end:
        owner_size, text_size, kind = struct.unpack_from("<III", data, at)
        text = at + 12 + (owner_size + 3) // 4 * 4
        if text + text_size > end:
            raise NotElf("a note lies outside of its segment")
        yield data[at + 12:at + 12 + owner_size].rstrip(b"\0"), kind, data[text:text + text_size].rstrip(b"\0")
        at = text + (text_size + 3) // 4 * 4


def _loads(data, notes):
    found = []
    for owner, kind, text in (note for segment in notes for note in _notes(data, *segment)):
        if owner != b"FDO" or kind != NT_DLOPEN:
            continue
        try:
            found += [entry["soname"][0] for entry in json.loads(text) if entry.get("priority", "recommended") != "suggested"]
        except (ValueError, TypeError, LookupError, AttributeError) as problem:
            raise NotElf(f"its note of libraries to load cannot be read: {text[:80]!r}") from problem
    return tuple(dict.fromkeys(found))


def read(path):
    """The Elf of a file; NotElf when it is none or is for another kind of machine."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return _parse(data)
    except struct.error as problem:
        raise NotElf("it is cut off") from problem


def _parse(data):
    if data[:4] != b"\x7fELF":
        raise NotElf("it does not begin as an ELF file")
    if data[4:6] != b"\x02\x01":
        raise NotElf("it is not a 64-bit little-endian program")
    machine, = struct.unpack_from("<H", data, 18)
    if machine not in MACHINES:
        raise NotElf(f"it is for machine {machine}; known are {sorted(MACHINES)}")
    loads, notes, dynamic, interpreter = [], [], None, ""
    for kind, at, address, length in _segments(data):
        if kind == PT_LOAD:
            loads.append((address, length, at))
        elif kind == PT_DYNAMIC:
            dynamic = (at, length)
        elif kind == PT_NOTE:
            notes.append((at, length))
        elif kind == PT_INTERP:
            interpreter = _string(data, at)
    tags = list(_tags(data, *dynamic)) if dynamic else []
    table = next((value for tag, value in tags if tag == DT_STRTAB), 0)
    strings = next((at + table - address for address, length, at in loads if address <= table < address + length), -1)
    text = {wanted: [_string(data, strings + value) for tag, value in tags if tag == wanted]
            for wanted in (DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH)}
    folders = ":".join(text[DT_RUNPATH] or text[DT_RPATH])
    return Elf(*MACHINES[machine], interpreter, "".join(text[DT_SONAME]), tuple(text[DT_NEEDED]),
               tuple(folder for folder in folders.split(":") if folder), _loads(data, notes))


class Search:
    """Finds libraries where the loader of this distribution would, first in `folders`."""

    def __init__(self, multiarch, folders=()):
        self._multiarch = multiarch
        self._folders = [*folders, f"/lib/{multiarch}", f"/usr/lib/{multiarch}", f"/usr/local/lib/{multiarch}",
                         "/usr/local/lib", "/lib64", "/usr/lib64", "/lib", "/usr/lib"]

    def find(self, name, runpath, origin):
        """The path of library `name`, or None. A library for another machine does not count."""
        own = [folder.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for folder in runpath]
        for folder in own + self._folders:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and read(path).multiarch == self._multiarch:
                    return path
            except NotElf:
                pass
        return None


def closure(files, search, extra=()):
    """Every library that `files` need or load, directly or not, and the libraries `extra`: {name: path}.

    Raises LookupError with a line for each library that is nowhere.
    """
    found, missing = {}, {}
    waiting = [(name, (), "/", "asked for") for name in extra]
    for path in files:
        facts = read(path)
        if facts.interpreter:
            waiting.append((os.path.basename(facts.interpreter), (os.path.dirname(facts.interpreter),), "/", path))
        waiting += [(name, facts.runpath, os.path.dirname(os.path.abspath(path)), path) for name in facts.needed + facts.loads]
    while waiting:
        name, runpath, origin, who = waiting.pop(0)
        if name in found or name in missing:
            continue
        path = search.find(name, runpath, origin)
        if path is None:
            missing[name] = who
            continue
        found[name] = path
        facts = read(path)
        waiting += [(other, facts.runpath, os.path.dirname(os.path.realpath(path)), path) for other in facts.needed]
    if missing:
        raise LookupError("\n".join(f"{name}: not found; {who} needs it" for name, who in sorted(missing.items())))
    return dict(sorted(found.items()))
