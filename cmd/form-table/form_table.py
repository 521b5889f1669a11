#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes data/schema_forms.tsv: the forms of documents, from the schemas that their projects publish.

usage: form_table.py DATE OUTPUT SOURCE...
  SOURCE  swagger:FILE           the OpenAPI document of Kubernetes
          crd:FILE[,FILE]        CustomResourceDefinitions
          schema:NAME:FILE       a JSON Schema of a document; the form gets that name
          values:NAME:FILE[=KIND]  values of a chart: what stands there tells the types; KIND is a form that came
                         before, whose spec the chart fills from its values
Only names, types, words, ranges and which keys are required are taken; a pod inside a kind of its own
is left out, since pods are checked wherever they stand.
"""
import collections
import copy
import json
import re
import sys

import yaml

from shared_parts import share

KINDS = """Pod Deployment StatefulSet DaemonSet ReplicaSet Job CronJob Service ConfigMap Secret ServiceAccount
PersistentVolume PersistentVolumeClaim Namespace ResourceQuota LimitRange Role RoleBinding ClusterRole
ClusterRoleBinding NetworkPolicy Ingress StorageClass PriorityClass RuntimeClass PodDisruptionBudget
HorizontalPodAutoscaler ResourceClaim ResourceClaimTemplate DeviceClass Node""".split()
PARTS = {"PodSpec": "pod", "Container": "container", "ObjectMeta": "metadata", "Probe": "probe",
         "Toleration": "toleration", "Taint": "taint"}
DEEPEST = 14


class Node:
    def __init__(self, kind="any", words=()):
        self.kind, self.words, self.required, self.full = kind, list(words), "", False
        self.keys, self.any, self.items, self.part = {}, None, None, None

    def rows(self, path=()):
        kind = "@" + self.part if self.part else "full" if self.full and self.kind == "map" else self.kind
        below = []
        words = list(self.words)
        if not self.part:
            for key in sorted(self.keys):
                child = self.keys[key]
                if re.search(r"\s", key) or key == "*":
                    continue
                if child.is_free() and self.kind in ("map", "closed") and self.kind != "any":
                    words.append(key)
                else:
                    below += child.rows(path + (key,))
            if self.any:
                below += self.any.rows(path + ("*",))
            if self.items:
                below += self.items.rows(path + ("[]",))
        return [(" ".join(path) or "-", kind, " ".join(words) or "-",
                 self.required or "-")] + below

    def can_be_part(self):
        return self.kind in ("map", "closed") and bool(self.keys) and not self.part and not self.any

    def is_free(self):
        return (self.kind == "any" and not self.part and not self.required and not self.keys and not self.items
                and not self.any)


def merge(a, b):
    """What both allow."""
    if a.part or b.part:
        return a if a.part else b
    made = Node(a.kind if a.kind == b.kind else "any")
    if {a.kind, b.kind} <= {"map", "closed", "open"} and a.kind != b.kind:
        made.kind = "open" if "open" in (a.kind, b.kind) else "map"
    scalars = {"scalar", "text", "whole", "number", "flag", "quantity", "count"}
    if a.kind in scalars and b.kind in scalars and a.kind != b.kind:
        made.kind = "scalar"
    made.words = sorted(set(a.words) | set(b.words)) if a.words and b.words else []
    for one, other in ((a, b), (b, a)):
        if one.words and one.kind == "scalar" and other.kind == "list":
            made.words = one.words
    made.required, made.full = a.required and b.required, a.full and b.full
    for key in {**a.keys, **b.keys}:
        one, other = a.keys.get(key), b.keys.get(key)
        made.keys[key] = merge(one, other) if one and other else one or other
        if not (one and other):
            made.keys[key].required = ""
    made.any = merge(a.any, b.any) if a.any and b.any else a.any or b.any
    made.items = merge(a.items, b.items) if a.items and b.items else a.items or b.items
    return made


def holds_pod(properties):
    containers = properties.get("containers", {})
    return containers.get("type") == "array" and "nodeSelector" in properties


class Reader:
    def __init__(self, definitions=None, named=None, jsonschema=False):
        self.definitions, self.named, self.jsonschema = definitions or {}, named or {}, jsonschema
        self.parts = {}

    def read(self, schema, depth=0, key=""):
        if depth > DEEPEST or not isinstance(schema, dict):
            return Node()
        if "$ref" in schema:
            name = schema["$ref"].split("/")[-1]
            return self.reference(name, schema["$ref"], depth, key)
        choices = schema.get("oneOf") or schema.get("anyOf")
        if self.jsonschema and (choices or schema.get("allOf")):
            return self.choices(schema, choices, depth, key)
        words = [str(one) for one in schema.get("enum", []) if one not in ("", None)]
        if "const" in schema:
            words = [str(schema["const"])]
        if any(re.search(r"\s", one) for one in words):
            words, schema = [], {"type": "string"}
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            quantity = "numKMGTPE" in schema.get("pattern", "") or "KMGTPE" in schema.get("pattern", "")
            return Node("quantity" if quantity else "scalar")
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = [one for one in kind if one != "null"]
            if len(kinds) != 1:
                plain = not set(kinds) & {"object", "array"}
                if plain:
                    return Node("scalar", words)
                return self.choices({}, [dict(schema, type=one) for one in kinds], depth, key)
            kind = kinds[0]
        if kind == "object" or "properties" in schema or "patternProperties" in schema:
            return self.mapping(schema, depth, key)
        if kind == "array":
            node = Node("list")
            node.items = self.read(schema.get("items", {}), depth + 1, key)
            if node.items.is_free():
                node.items = None
            return node
        if kind == "string" and schema.get("pattern"):
            pattern = schema["pattern"]
            if "[0-9]+)y" in pattern and "ms" in pattern:
                return Node("span")
            if pattern.startswith("^([0-9]+(s|m|h))+$") or pattern.startswith("^([0-9]+(s|m|h)"):
                return Node("duration", ["Never"] if "Never" in pattern else [])
            if "100|[0-9]{1,2})%" in pattern:
                return Node("share")
        if kind == "string":
            if words or self.jsonschema:
                return Node("scalar", words)
            return Node("text")
        if kind == "integer":
            node = Node("whole")
            low, high = schema.get("minimum"), schema.get("maximum")
            if low is not None or high is not None:
                low = int(low) if low is not None else -2**31
                node.words = ["%d..%s" % (low, "" if high is None or high > 2**31 else int(high))]
                if low <= -2**31 and (high is None or high > 2**31):
                    node.words = []
            return node
        if kind in ("number", "boolean"):
            return Node("number" if kind == "number" else "flag")
        return Node("scalar", words) if words else Node()

    def reference(self, name, ref, depth, key):
        short = name.split(".")[-1]
        if self.jsonschema:
            target = self.root
            for step in ref.lstrip("#/").split("/"):
                target = target.get(step, {}) if isinstance(target, dict) else {}
            part = self.prefix + re.sub(r"[^A-Za-z0-9]", "_", name)
            if part not in self.parts:
                self.parts[part] = None
                self.parts[part] = self.read(target, 0, key)
            made = self.parts[part]
            if made is None:  # it holds itself
                return Node()
            if not made.can_be_part():
                return copy.deepcopy(made)
            node = Node("map")
            node.part = part
            return node
        if short == "Quantity":
            return Node("quantity")
        if short in ("IntOrString",):
            return Node("scalar")
        if short in ("Time", "MicroTime", "JSONSchemaProps", "FieldsV1", "RawExtension"):
            return Node()
        target = self.definitions[name]
        if "properties" not in target:
            return self.read(target, depth + 1, key)
        if short == "PodSpec":
            return Node()
        part = PARTS.get(short) or ("k8s." + short)
        if part in self.named:
            node = Node("map")
            node.part = part
            return node
        if part not in self.parts:
            self.parts[part] = None
            self.parts[part] = self.read(target, 0, key)
        node = Node("map")
        node.part = part
        return node

    def choices(self, schema, choices, depth, key):
        rest = {name: value for name, value in schema.items() if name not in ("oneOf", "anyOf", "allOf")}
        read = []
        for one in choices or []:
            if isinstance(one, dict) and set(one) <= {"required", "not", "description", "if", "then"}:
                continue
            node = self.read(one, depth + 1, key)
            if node.part and len(choices) > 1:
                node = self.parts.get(node.part) or Node()
            read.append(node)
        made = read[0] if read else None
        for one in read[1:]:
            made = merge(made, one)
        for one in schema.get("allOf", []):
            if isinstance(one, dict) and ("if" in one or "not" in one):
                continue
            node = self.read(one, depth + 1, key)
            if node.part:
                node = self.parts.get(node.part) or Node()
            made = node if made is None else self.both(made, node)
        if rest.get("properties") or rest.get("patternProperties"):
            own = self.mapping(rest, depth, key)
            made = own if made is None else self.both(own, made)
        if made is None:
            made = self.read(rest, depth + 1, key) if rest.get("type") else Node()
        return made

    @staticmethod
    def both(a, b):
        made = merge(a, b)
        if a.words or b.words:
            made.words = []
        return made

    def mapping(self, schema, depth, key):
        properties = schema.get("properties", {})
        more = schema.get("additionalProperties")
        patterns = {name: value for name, value in schema.get("patternProperties", {}).items() if "x-" not in name}
        free = schema.get("x-kubernetes-preserve-unknown-fields") or bool(more) or bool(patterns)
        if not self.jsonschema and holds_pod(properties) and key == "spec":
            return Node()
        if not properties:
            node = Node("open" if free or not self.jsonschema else "map")
            child = more if isinstance(more, dict) else next(iter(patterns.values()), None)
            if child:
                node.any = self.read(child, depth + 1, key)
                if node.any.is_free():
                    node.any = None
            return node
        node = Node("map")
        if self.jsonschema and more is False and not patterns:
            node.kind = "closed"
        node.full = not free and not self.jsonschema
        for name, child in properties.items():
            if name == "status" and depth == 0 or not re.match(r"^[A-Za-z0-9_./$-]+$", name):
                node.keys[name] = Node()
                continue
            if not isinstance(child, dict):
                node.keys[name] = Node()
                continue
            plain = not child.get("properties") and not child.get("additionalProperties")
            if name == "metadata" and not self.jsonschema and plain and "$ref" not in child:
                node.keys[name] = Node("map")
                node.keys[name].part = "metadata"
                continue
            node.keys[name] = self.read(child, depth + 1, name)
        for name in schema.get("required", []):
            if name in node.keys and not (isinstance(properties[name], dict) and "default" in properties[name]):
                node.keys[name].required = "required" if self.definitions or self.jsonschema else "needed"
        if isinstance(more, dict) and more:
            node.any = self.read(more, depth + 1, key)
        elif patterns:
            node.any = self.read(next(iter(patterns.values())), depth + 1, key)
        return node


def of_values(value):
    """Values of a chart: the type that stands there; an empty one says nothing."""
    if isinstance(value, bool):
        return Node("flag")
    if isinstance(value, dict):
        node = Node("map" if value else "open")
        node.full = bool(value)
        node.keys = {key: of_values(one) for key, one in value.items() if isinstance(key, str)}
        return node
    if isinstance(value, list):
        return Node("list")
    return Node() if value in (None, "") else Node("scalar")


def add_types(values, spec):
    """The keys and types of a kind whose objects are made of the values."""
    for key, child in spec.keys.items():
        own = values.keys.get(key)
        if own is None:
            values.keys[key] = copy.deepcopy(child)
            values.keys[key].required = ""
        elif own.kind in ("map", "open") and child.kind == "map" and child.keys:
            own.kind = "map"
            add_types(own, child)
        elif own.kind in ("any", "scalar", "open", "list"):
            values.keys[key] = copy.deepcopy(child)
            values.keys[key].required = ""
            if values.keys[key].kind == "text":
                values.keys[key].kind = "scalar"


def load_crds(paths):
    for path in paths.split(","):
        text = "\n".join(line for line in open(path, encoding="utf-8").read().split("\n") if "{{" not in line)
        for one in yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if one and one.get("kind") == "CustomResourceDefinition":
                yield one["spec"]


def main():
    date, output = sys.argv[1:3]
    forms = {}
    for source in sys.argv[3:]:
        what, rest = source.split(":", 1)
        if what == "swagger":
            document = json.load(open(rest, encoding="utf-8"))
            reader = Reader(document["definitions"], named={"pod"})
            kinds = collections.OrderedDict()
            for name, schema in document["definitions"].items():
                for one in schema.get("x-kubernetes-group-version-kind", []):
                    if one["kind"] in KINDS and "properties" in schema:
                        kinds.setdefault((one["group"] or "core") + "/" + one["kind"], []).append((name, schema))
            for form, found in kinds.items():
                node = None
                for _, schema in found:
                    one = reader.read(schema)
                    node = one if node is None else merge(node, one)
                forms[form] = node
            for name, part in (("io.k8s.api.core.v1.PodSpec", "pod"), ("io.k8s.api.core.v1.Container", "container"),
                               ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "metadata"),
                               ("io.k8s.api.core.v1.Probe", "probe"), ("io.k8s.api.core.v1.Toleration", "toleration"),
                               ("io.k8s.api.core.v1.Taint", "taint")):
                forms[part] = reader.read(document["definitions"][name])
            forms.update({name: node for name, node in reader.parts.items() if name not in forms})
        elif what == "crd":
            for spec in load_crds(rest):
                node = None
                for version in spec["versions"]:
                    schema = version.get("schema", {}).get("openAPIV3Schema", {})
                    one = Reader().read(schema)
                    node = one if node is None else merge(node, one)
                for name in ("apiVersion", "kind", "metadata"):
                    node.keys.pop(name, None)
                node.keys["apiVersion"], node.keys["kind"] = Node(), Node()
                node.keys["metadata"] = Node("map")
                node.keys["metadata"].part = "metadata"
                form = spec["group"] + "/" + spec["names"]["kind"]
                forms[form] = merge(forms[form], node) if form in forms else node
        elif what == "schema":
            name, path = rest.split(":", 1)
            reader = Reader(jsonschema=True)
            reader.root, reader.prefix = json.load(open(path, encoding="utf-8")), name + "."
            forms[name] = reader.read(reader.root)
            forms.update(reader.parts)
        elif what == "values":
            name, path = rest.split(":", 1)
            path, _, kind = path.partition("=")
            forms[name] = of_values(yaml.safe_load(open(path, encoding="utf-8")))
            if kind:
                add_types(forms[name], forms[kind].keys["spec"])
        else:
            sys.exit("%s: expected swagger:, crd:, schema: or values:" % source)
    for name, node in forms.items():
        if node.part:
            forms[name] = forms[node.part]
    share(forms)
    with open(output, "w", encoding="utf-8") as out:
        out.write("# date: %s\n# source: written by cmd/form-table/form_table.py from the published schemas: see "
                  "docs/internals/lint.md\n" % date)
        out.write("form\tpath\ttype\tvalues\tmore\n")
        for form in sorted(forms):
            for path, kind, words, required in forms[form].rows():
                out.write("\t".join((form, path, kind, words, required)) + "\n")


main()
