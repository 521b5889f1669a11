#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree keeps its promises: licence lines, names, lengths, links. Prints one line per breach."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BANNED = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"}
MOST_LINES = 400
OPEN = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
# What clang 14, which builds the fuzz targets and reads the tree for clang-tidy, refuses of GCC 12's library.
NOT_FOR_CLANG_14 = re.compile(
    r"ranges::(search|search_n|find_end|equal_range|remove|remove_if|unique|partition|stable_partition|rotate"
    r"|shift_left|shift_right|subrange)\b|\bviews::|#include <(ranges|expected|format|source_location)>")
# Longer than the rule, with the reason.
AGREED_LONG = {
    "abi/cuda.h": "one ABI, one file",
    "abi/nvml.h": "one ABI, one file",
    "src/detect/tokens.cpp": "one scanner",
    "src/exposition/test_scenes.cpp": "one node of each kind",
    "src/lint/rules/dockerfiles.cpp": "one family of rules",
    "src/syntax/python_objects.cpp": "one reader",
    "src/placement/event_line.cpp": "both ways of one line format",
}
MOST_FUNCTION_LINES = 70
# What includes what in a circle, a header and its .cpp being one; each with the reason why it stays.
PART = "a part of its implementation: the .cpp calls it, it needs the types"
AGREED_CYCLES = {
    "guard/admission guard/bucket guard/graph_memory guard/graphs guard/lane guard/leaving guard/memory guard/meter guard/pools guard/session "
    "guard/share guard/truth guard/vmm":
        "one process' session owns all of them, and each asks it for the region",
    "sim/cuda/context sim/cuda/device sim/cuda/driver sim/cuda/pool": "contexts, pools and devices own one another, as in CUDA",
    "sim/cuda/queue sim/cuda/stream": "a stream is a queue that others wait for",
    "sim/kubelet/devices sim/kubelet/kubelet": PART,
    "sim/node/engine sim/node/liveness sim/node/memory sim/node/processes sim/node/script sim/node/shared_state "
    "sim/node/usage": "a process' end settles what it computed, held and was to do next, and each asks who lives",
    "sim/nvml/instances sim/nvml/library": "a library's handles lead back to it",
    "src/admission/gpu_request src/admission/request_text": PART,
    "src/agent/cluster_options src/agent/options src/agent/telemetry_options": PART,
    "src/document/text_check src/document/yaml": PART,
    "src/exposition/part_rows src/exposition/rows": PART,
    "src/kube_client/api src/kube_client/discovery src/kube_client/page": PART,
    "src/kube_client/curl_transfer src/kube_client/transport": PART,
    "src/kube_client/object src/kube_client/object_reader": PART,
    "src/kubelet/pod_resources src/kubelet/pod_resources_reply": PART,
    "src/mig/apply src/mig/converge src/mig/survey": "the phases of one journalled change",
    "src/mig/plan src/mig/search": PART,
    "src/placement/engine src/placement/state": "the state is the hidden half of the engine",
    "src/plan/plan src/plan/steps": PART,
    "src/pods/census src/pods/holder_join": PART,
    "src/scaling/answer src/scaling/discovery src/scaling/value_list": PART,
    "src/sharing/config src/sharing/config_reader": PART,
    "src/sharing/offer src/sharing/offer_mig src/sharing/offer_mps": PART,
    "src/syntax/shell src/syntax/shell_reader": "the reader is a class whose parts lie in three .cpp files",
    "src/top/kinds src/top/view": PART,
}
# A function longer than the rule, with the reason.
AGREED_LONG_FUNCTIONS = {
    "sim/apiserver/columns.cpp": "one table of columns",
    "sim/cuda/errors.cpp": "one table of names",
    "src/plan/card.cpp": "one card's choice, from its models to its shares",
}


def tracked():
    # In a container the checkout is often another user's: only its list of files is read.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        out = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as why:
        said = getattr(why, "stderr", b"").decode().strip().split("\n")[0]
        print(f"skipped: no list of the files by git: {said or why}")
        sys.exit(77)
    names = [n for n in out.stdout.decode().split("\0") if n]
    return [n for n in names if (ROOT / n).is_file()]


def source_breaches(name, text):
    if "SPDX-License-Identifier: Apache-2.0" not in text[:200]:
        yield f"{name}:1: no SPDX line"
    lines = text.count("\n")
    if lines > MOST_LINES and name not in AGREED_LONG:
        yield f"{name}: {lines} lines, over {MOST_LINES}: split it by noun, or agree on it in tests/tidy"
    for number, line in enumerate(text.splitlines(), 1):
        if OPEN.search(line):
            yield f"{name}:{number}: left open: {line.strip()}"
        if name.endswith((".cpp", ".h")) and NOT_FOR_CLANG_14.search(line):
            yield f"{name}:{number}: clang 14 refuses this: take the form with begin and end"


def link_breaches(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            if not ((ROOT / name).parent / target).exists():
                yield f"{name}:{number}: dead link {target}"


def block_breaches(name, text):
    """What a reader is to type stands in console blocks, which tests/docs runs or which say why not."""
    fenced, typed = None, re.compile(r"(\$ |# )?(aliquot|kubectl|helm|nvidia-smi|docker|podman|apt|cmake|curl) ")
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r" *```(\w*)$", line)
        if mark:
            fenced = mark.group(1) if fenced is None else None
            if fenced in ("sh", "bash", "shell"):
                yield f"{name}:{number}: a block of {fenced}: make it a console block, with a prompt before each command"
        elif fenced in ("", "text") and typed.match(line.strip()):
            yield f"{name}:{number}: a command outside of a console block: {line.strip()[:60]}"


def map_breaches():
    """docs/map.md names every room of the house, and nothing that is not there."""
    text = (ROOT / "docs/map.md").read_text()
    named = set(re.findall(r"`([\w./-]+)`", text))
    for path in sorted(name for name in named if "/" in name):
        if not (ROOT / path).exists() and not list((ROOT / path).parent.glob((ROOT / path).name + ".*")):
            yield f"docs/map.md: {path} is not there"
    folders = [path for top in ("src", "sim", "cmd") for path in (ROOT / top).iterdir() if path.is_dir()]
    folders += [ROOT / name.split("/")[0] for name in tracked() if "/" in name and not name.startswith(".")]
    for folder in sorted(set(folders)):
        name = str(folder.relative_to(ROOT)) + "/"
        if name not in named:
            yield f"docs/map.md: says nothing of {name}"
    layers = (ROOT / "src/LAYERS").read_text().split("\n", 1)[1].strip().split("\n")
    block = (ROOT / "docs/architecture.md").read_text().split("```")[1]
    # A layer may take several lines there; two blanks end the names of its modules.
    told = [word for line in block.strip().split("\n") for word in line.split("  ")[0].split()]
    for layer in layers:
        names = layer.split()
        if sorted(told[:len(names)]) != sorted(names):
            yield f"docs/architecture.md: where src/LAYERS has '{layer}' it has '{' '.join(told[:len(names)])}'"
            break
        told = told[len(names):]
    modules = set((ROOT / "src/LAYERS").read_text().split("\n", 1)[1].split())
    for folder in sorted((ROOT / "src").iterdir()):
        if folder.is_dir() and folder.name not in modules:
            yield f"src/LAYERS: says nothing of {folder.name}"


def functions(lines):
    """Line and length of every function body as clang-format lays it out: at the margin or in a class."""
    opened = {}  # margin -> line where a body begins
    begun = ("", 0)
    for number, line in enumerate(lines, 1):
        head = re.match(r"(| {4})(?!namespace|class|struct|enum|union|if|for|while|switch|return)[^\s#/}].*\(", line)
        if head:
            begun = (head[1], number)
        for margin in ("", "    "):
            if re.match(margin + r"\};?$", line) and margin in opened:
                yield opened[margin], number - opened[margin] + 1
                opened = {m: at for m, at in opened.items() if len(m) < len(margin)}
        if line.endswith("{") and begun[1] and "" not in opened and begun[0] not in opened \
                and (head or re.match(r" {5,}.*\)", line)) and not lines[begun[1] - 1].endswith(";"):
            opened[begun[0]] = begun[1]


def cycles(names):
    """Sets of two or more files of one folder tree that include each other in a circle."""
    sources = [n for n in names if n.endswith((".h", ".cpp")) and n.split("/")[0] in {"src", "sim", "guard"}
               and not n.endswith(("_test.cpp", "_bench.cpp")) and "/cases/" not in n]
    uses = {}
    for name in sources:
        unit = name.rsplit(".", 1)[0]
        for target in re.findall(r'^#include "([^"]+)"', (ROOT / name).read_text(errors="replace"), re.M):
            for top in ("src/", ""):
                if top + target in names:
                    uses.setdefault(unit, set()).add((top + target).rsplit(".", 1)[0])
    reach = {}

    def reached(unit):
        if unit not in reach:
            found, todo = set(), list(uses.get(unit, ()))
            while todo:
                one = todo.pop()
                if one not in found:
                    found.add(one)
                    todo.extend(uses.get(one, ()))
            reach[unit] = found
        return reach[unit]

    left = {unit for unit in uses if any(unit in uses.get(other, ()) for other in reached(unit) - {unit})}
    while left:
        unit = min(left)
        circle = {unit} | {other for other in reached(unit) if unit in reached(other)}
        if len(circle) > 1:
            yield circle
        left -= circle


def structure_breaches(names):
    circles = list(cycles(set(names)))
    for circle in circles:
        if not any(circle <= set(agreed.split()) for agreed in AGREED_CYCLES):
            yield "include each other in a circle: " + " ".join(sorted(circle))
    for agreed in AGREED_CYCLES:
        if set(agreed.split()) not in circles:
            yield f"tests/tidy: no such circle any more, take what has left it out of the list: {agreed}"
    for name in AGREED_LONG:
        if (ROOT / name).read_text().count("\n") <= MOST_LINES:
            yield f"tests/tidy: {name} is within the rule, take it out of AGREED_LONG"
    for name in AGREED_LONG_FUNCTIONS:
        if all(length <= MOST_FUNCTION_LINES for _, length in functions((ROOT / name).read_text().splitlines())):
            yield f"tests/tidy: {name} has no long function, take it out of AGREED_LONG_FUNCTIONS"
    for name in names:
        if name.endswith(".cpp") and not name.endswith("_test.cpp") and name.split("/")[0] in {"src", "sim", "cmd", "guard"} and "/cases/" not in name:
            lines = (ROOT / name).read_text(errors="replace").splitlines()
            for number, length in functions(lines):
                if length > MOST_FUNCTION_LINES and name not in AGREED_LONG_FUNCTIONS:
                    yield f"{name}:{number}: a function of {length} lines, over {MOST_FUNCTION_LINES}"


def breaches():
    yield from structure_breaches(tracked())
    yield from map_breaches()
    for name in tracked():
        path = pathlib.PurePosixPath(name)
        words = {part for piece in path.parts for part in re.split(r"[._-]", piece.lower())}
        for word in sorted(words & BANNED):
            yield f"{name}: '{word}' hides what it holds"
        is_case = "cases" in path.parts  # what a test reads is not ours to sign
        if path.suffix in {".cpp", ".h", ".py"} and not is_case or path.name in {"check", "quickstart", "run"}:
            yield from source_breaches(name, (ROOT / name).read_text(errors="replace"))
        if path.suffix == ".md":
            yield from link_breaches(name, (ROOT / name).read_text(errors="replace"))
        if name == "README.md" or name.startswith(("docs/guide/", "docs/tutorial/")):
            yield from block_breaches(name, (ROOT / name).read_text())
    for folder in sorted((ROOT / "src").iterdir()):
        if folder.is_dir() and not list(folder.glob("*_test.cpp")):
            yield f"src/{folder.name}: no unit test"


found = list(breaches())
print("\n".join(found) if found else "the tree is tidy")
sys.exit(1 if found else 0)
