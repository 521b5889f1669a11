#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders deploy/helm/aliquot as `helm template` does, for machines that have no helm.

    render_chart.py template NAME CHART [-f VALUES.yaml] [--set KEY=VALUE,...]

Knows what our templates use of Helm's language and refuses everything else by name, so a template that outgrows
it fails the test instead of passing by accident. Where helm is on PATH, the tests ask helm.
"""
import json
import pathlib
import re
import sys

import jsonschema
import yaml

WORD = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[()|]|:=|\$[A-Za-z]*|-?\d+|[.A-Za-z][.A-Za-z0-9_]*)')


class Unknown(Exception):
    """What this program does not know of Helm's language."""


def pieces(text):
    """Splits a template into ("text", t) and ("tag", t), with the blanks that {{- and -}} take away gone."""
    out, at = [], 0
    while (start := text.find("{{", at)) >= 0:
        end = text.index("}}", start)
        before, tag = text[at:start], text[start + 2:end]
        if tag.startswith("-"):
            before, tag = before.rstrip(), tag[1:]
        out.append(("text", before))
        at = end + 2
        if tag.endswith("-"):
            tag = tag[:-1]
            at += len(text[at:]) - len(text[at:].lstrip())
        out.append(("tag", tag.strip()))
    return out + [("text", text[at:])]


def tree(parts, ends):
    """Parses until one of the tags `ends`; returns the nodes and the tag."""
    nodes = []
    while parts:
        kind, text = parts.pop(0)
        if kind == "text":
            nodes.append(("text", text))
            continue
        word = text.split(None, 1)[0]
        if word in ends:
            return nodes, text
        if text.startswith("/*"):
            continue
        if word in ("if", "with", "define"):
            body, end = tree(parts, ("else", "end"))
            other = tree(parts, ("end",))[0] if end == "else" else []
            nodes.append((word, text[len(word):].strip(), body, other))
        elif word in ("range", "block", "template", "else", "end"):
            raise Unknown(f"'{text}'")
        else:
            nodes.append(("print", text))
    return nodes, None


def to_yaml(value):
    return yaml.safe_dump(value, default_flow_style=False, sort_keys=True).rstrip("\n").removesuffix("\n...")


def indent(width, text):
    return "\n".join(" " * width + line for line in text.split("\n"))


def version_at_least(rule, version):
    wanted = re.fullmatch(r">=(\d+)\.(\d+)-0", rule)
    if wanted is None:
        raise Unknown(f"semverCompare {rule}")
    return tuple(map(int, version.lstrip("v").split(".")[:2])) >= tuple(map(int, wanted.groups()))


FUNCTIONS = {
    "quote": lambda a: json.dumps(str(a)),
    "default": lambda a, b=None: b if b else a,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "and": lambda *a: next((x for x in a if not x), a[-1]),
    "or": lambda *a: next((x for x in a if x), a[-1]),
    "not": lambda a: not a,
    "ternary": lambda a, b, c: a if c else b,
    "dict": lambda *a: dict(zip(a[::2], a[1::2])),
    "get": lambda a, b: a.get(b, ""),
    "int": int,
    "join": lambda a, b: a.join(map(str, b)),
    "hasPrefix": lambda a, b: b.startswith(a),
    "trimPrefix": lambda a, b: b.removeprefix(a),
    "regexFind": lambda a, b: (re.search(a, b) or [""])[0],
    "splitList": lambda a, b: b.split(a),
    "first": lambda a: a[0],
    "indent": indent,
    "toYaml": to_yaml,
    "semverCompare": version_at_least,
}


class Chart:
    def __init__(self, path, values):
        meta = yaml.safe_load((path / "Chart.yaml").read_text())
        self.path, self.parts = path, {}
        self.root = {"Values": values, "Chart": {"AppVersion": meta["appVersion"], "Name": meta["name"]},
                     "Release": {"Name": "aliquot", "Namespace": "default", "Service": "Helm"},
                     "Capabilities": {"KubeVersion": {"Version": "v1.36.0"}}}

    def look_up(self, path, dot):
        value = dot
        for name in path.strip(".").split("."):
            if name == "":
                continue
            value = (value or {}).get(name)
        return value

    def value(self, words, dot, names):
        """One operand; takes its words."""
        word = words.pop(0)
        if word == "(":
            result = self.pipeline(words, dot, names)
            if words.pop(0) != ")":
                raise Unknown("a parenthesis that is not closed")
            return result
        if word.startswith('"'):
            return json.loads(word)
        if word in ("true", "false") or re.fullmatch(r"-?\d+", word):
            return json.loads(word)
        if word.startswith("$"):
            return self.root if word == "$" else names[word]
        if word == "." or word.startswith("."):
            return self.look_up(word, dot) if word != "." else dot
        return self.call(word, words, dot, names, [])

    def call(self, name, words, dot, names, last):
        given = []
        while words and words[0] not in ("|", ")"):
            given.append(self.value(words, dot, names))
        given += last
        if name == "include":
            return self.render(self.parts[given[0]], given[1])
        if name == "Files.Get":
            return (self.path / given[0]).read_text()
        if name not in FUNCTIONS:
            raise Unknown(f"function {name}")
        return FUNCTIONS[name](*given)

    def pipeline(self, words, dot, names):
        if words[0] == ".Files.Get":
            words[0] = "Files.Get"
        result = self.value(words, dot, names)
        while words and words[0] == "|":
            words.pop(0)
            result = self.call(words.pop(0), words, dot, names, [result])
        return result

    def evaluate(self, text, dot, names):
        words, at = [], 0
        while at < len(text.rstrip()):
            word = WORD.match(text, at)
            if word is None:
                raise Unknown(f"'{text}'")
            words.append(word.group(1))
            at = word.end()
        if len(words) > 1 and words[1] == ":=":
            names[words[0]] = self.pipeline(words[2:], dot, names)
            return ""
        result = self.pipeline(words, dot, names)
        if words:
            raise Unknown(f"'{text}': '{words[0]}' is left over")
        return result

    def render(self, nodes, dot, outer=None):
        names, out = dict(outer or {}), []
        for node in nodes:
            if node[0] == "text":
                out.append(node[1])
            elif node[0] == "define":
                self.parts[json.loads(node[1])] = node[2]
            elif node[0] == "print":
                value = self.evaluate(node[1], dot, names)
                out.append(json.dumps(value) if isinstance(value, bool) else "" if value is None else str(value))
            else:
                value = self.evaluate(node[1], dot, names)
                chosen = node[2] if value else node[3]
                out.append(self.render(chosen, value if node[0] == "with" and value else dot, names))
        return "".join(out)


def typed(text):
    """The value that helm makes of a word behind --set."""
    if text.startswith("{") and text.endswith("}"):
        return [typed(one) for one in text[1:-1].split(",")] if text != "{}" else []
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"0|-?[1-9]\d*", text) else text


def set_value(values, words):
    for word in re.split(r",(?![^{]*\})", words):
        key, _, text = word.partition("=")
        *path, last = key.split(".")
        place = values
        for name in path:
            place = place.setdefault(name, {})
        place[last] = typed(text)


def merge(base, over):
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            merge(base[key], value)
        else:
            base[key] = value


def main(words):
    path = pathlib.Path(words[2])
    values = yaml.safe_load((path / "values.yaml").read_text())
    for flag, word in zip(words[3::2], words[4::2]):
        if flag == "-f":
            merge(values, yaml.safe_load(pathlib.Path(word).read_text()))
    for flag, word in zip(words[3::2], words[4::2]):
        if flag == "--set":
            set_value(values, word)
    try:
        jsonschema.validate(values, json.loads((path / "values.schema.json").read_text()))
    except jsonschema.ValidationError as error:
        print(f"render_chart: values: {'.'.join(map(str, error.path))}: {error.message}", file=sys.stderr)
        return 1
    chart = Chart(path, values)
    files = sorted((path / "templates").rglob("*.yaml"))
    for file in sorted((path / "templates").glob("*.tpl")) + files:
        try:
            text = chart.render(tree(pieces(file.read_text()), ())[0], chart.root)
        except Unknown as unknown:
            print(f"render_chart: {file}: {unknown}: not known here; teach it to this program", file=sys.stderr)
            return 3
        if text.strip():
            print("---\n" + text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
