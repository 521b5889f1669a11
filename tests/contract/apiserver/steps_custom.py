# SPDX-License-Identifier: Apache-2.0
"""Kinds that are made at run time."""
from session import fields_of, managers


def definition(group):
    text = {"type": "string"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets." + group},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
                     "versions": [{
                         "name": "v1", "served": True, "storage": True,
                         "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                                                                  "statusReplicasPath": ".status.replicas",
                                                                  "labelSelectorPath": ".status.selector"}},
                         "selectableFields": [{"jsonPath": ".spec.color"}],
                         "additionalPrinterColumns": [
                             {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
                             {"name": "Ready", "type": "string",
                              "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
                             {"name": "Wide", "type": "integer", "jsonPath": ".spec.size", "priority": 1}],
                         "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
                             "spec": {"type": "object", "required": ["size"], "properties": {
                                 "size": {"type": "integer", "minimum": 1, "maximum": 10},
                                 "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                                 "replicas": {"type": "integer"},
                                 "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                                 "amount": {"x-kubernetes-int-or-string": True},
                                 "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                 "map": {"type": "object", "additionalProperties": text},
                                 "parts": {"type": "array", "x-kubernetes-list-type": "map",
                                           "x-kubernetes-list-map-keys": ["id"],
                                           "items": {"type": "object", "required": ["id"], "properties": {
                                               "id": text, "note": text}}}}},
                             "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}}


def step_custom_kinds(s):
    s.group = s.namespace + ".example.com"
    s.custom = "/apis/" + s.group + "/v1/namespaces/{NS}/widgets"
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    bad = definition(s.group)
    bad["metadata"]["name"] = "wrong." + s.group
    refused = s.post(crds, bad)
    s.expect("bad name", (refused.status, ("FieldValueInvalid", "metadata.name") in refused.causes), (422, True))
    made = s.post(crds, definition(s.group))
    s.expect("made", (made.status, made.at("spec.names.singular"), made.at("spec.names.listKind"),
                      made.at("spec.conversion.strategy")), (201, "widget", "WidgetList", "None"))

    def established():
        now = s.get(crds + "/widgets." + s.group)
        return {"Established": "True"} in [{c["type"]: c["status"]} for c in now.at("status.conditions") or []]

    s.expect("established", s.until(established), True)
    s.expect("served", s.until(lambda: s.get(s.custom).status == 200), True)
    s.expect("discovered", s.until(lambda: "widgets" in [
        r["name"] for r in s.get("/apis/" + s.group + "/v1").json.get("resources", [])]), True)
    empty = s.get(s.custom)
    s.expect("empty", (empty.at("kind"), empty.at("items")), ("WidgetList", []))
    names = [r["name"] for r in s.get("/apis/" + s.group + "/v1").json["resources"]]
    s.expect("subresources", sorted(names), ["widgets", "widgets/scale", "widgets/status"])


def widget(called, **spec):
    return lambda s: {"apiVersion": s.group + "/v1", "kind": "Widget", "metadata": {"name": called},
                      "spec": {"size": 3, **spec}}


def step_custom_objects(s):
    made = s.post(s.custom, {**widget("w", junk=1, free={"any": [1, {"x": "y"}]})(s), "status": {"replicas": 9}})
    s.expect("made", (made.status, made.at("spec"), made.at("status"), made.at("metadata.generation")),
             (201, {"size": 3, "color": "red", "free": {"any": [1, {"x": "y"}]}}, None, 1))
    s.expect("warned", made.headers.get("Warning"), '299 - "unknown field \\"spec.junk\\""')

    def refused(**spec):
        reply = s.post(s.custom, widget("x", **spec)(s))
        return (reply.status, reply.causes)

    s.expect("enum", refused(color="green"), (422, [("FieldValueNotSupported", "spec.color")]))
    s.expect("maximum", refused(size=11), (422, [("FieldValueInvalid", "spec.size")]))
    s.expect("type", refused(size="big"), (422, [("FieldValueTypeInvalid", "spec.size")]))
    s.expect("pattern", refused(name="A"), (422, [("FieldValueInvalid", "spec.name")]))
    s.expect("length", refused(name="abcdef"), (422, [("FieldValueTooLong", "spec.name")]))
    s.expect("int or string", refused(amount=True)[0], 422)
    s.expect("twice", refused(parts=[{"id": "a"}, {"id": "a"}]), (422, [("FieldValueDuplicate", "spec.parts[1]")]))
    nothing = s.post(s.custom, {"apiVersion": s.group + "/v1", "kind": "Widget", "metadata": {"name": "x"}})
    s.expect("required", (nothing.status, nothing.causes), (422, [("FieldValueRequired", "spec")]))
    kindless = s.post(s.custom, {"metadata": {"name": "x"}, "spec": {"size": 1}})
    s.expect("kind is needed", kindless.status, 400)
    put = s.put(s.custom + "/w", widget("w")(s))
    s.expect("put needs version", (put.status, put.causes), (422, [("FieldValueInvalid", "metadata.resourceVersion")]))
    changed = s.merge(s.custom + "/w", {"spec": {"size": 4}, "status": {"x": 1}})
    s.expect("changed", (changed.at("spec.size"), changed.at("status"), changed.at("metadata.generation")), (4, None, 2))
    status = s.merge(s.custom + "/w/status", {"spec": {"size": 9}, "metadata": {"labels": {"a": "b"}}, "status": {
        "replicas": 1, "selector": "app=w", "conditions": [{"type": "Ready", "status": "True"}]}})
    s.expect("status", (status.at("spec.size"), status.at("status.replicas"), status.at("metadata.generation"),
                        status.at("metadata.labels")), (4, 1, 2, None))
    strategic = s.strategic(s.custom + "/w", {"spec": {"size": 5}})
    s.expect("no strategic patches", strategic.status, 415)
    scale = s.merge(s.custom + "/w/scale", {"spec": {"replicas": 7}})
    s.expect("scale", (scale.status, scale.at("spec.replicas"), scale.at("status")),
             (200, 7, {"replicas": 1, "selector": "app=w"}))
    s.expect("scaled", s.get(s.custom + "/w").at("spec.replicas"), 7)
    table = s.get(s.custom, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    s.expect("columns", [(c["name"], c["type"], c["priority"]) for c in table.json["columnDefinitions"]],
             [("Name", "string", 0), ("Color", "string", 0), ("Ready", "string", 0), ("Wide", "integer", 1)])
    s.expect("cells", table.json["rows"][0]["cells"], ["w", "red", "True", 4])
    s.post(s.custom, widget("blue", color="blue")(s))
    chosen = s.get(s.custom + "?fieldSelector=spec.color%3Dblue")
    s.expect("by field", [i["metadata"]["name"] for i in chosen.json["items"]], ["blue"])
    s.expect("no such field", s.get(s.custom + "?fieldSelector=spec.size%3D3").status, 400)


def step_custom_apply(s):
    path = s.custom + "/applied"
    one = s.apply(path, widget("applied", parts=[{"id": "a", "note": "1"}], map={"k": "v"})(s), "one")
    s.expect("made", (one.status, managers(one.json)), (201, ["one/Apply"]))
    s.expect("fields", fields_of(one.json, "one"),
             {"f:spec": {"f:map": {"f:k": {}}, "f:parts": {'k:{"id":"a"}': {".": {}, "f:id": {}, "f:note": {}}},
                         "f:size": {}}})
    body = {"apiVersion": s.group + "/v1", "kind": "Widget", "metadata": {"name": "applied"}, "spec": {"parts": [{"id": "b", "note": "2"}]}}
    two = s.apply(path, body, "two")
    s.expect("merged by key", two.at("spec.parts"), [{"id": "a", "note": "1"}, {"id": "b", "note": "2"}])
    conflict = s.apply(path, {**body, "spec": {"size": 4}}, "two")
    s.expect("conflict", (conflict.status, conflict.causes), (409, [("FieldManagerConflict", ".spec.size")]))
    status = s.apply(path + "/status", {"apiVersion": s.group + "/v1", "kind": "Widget", "metadata": {"name": "applied"}, "status": {"a": 1}}, "two")
    s.expect("status", (status.status, status.at("status.a"), managers(status.json)),
             (200, 1, ["one/Apply", "two/Apply", "two/Apply/status"]))


def step_custom_end(s):
    watch = s.watch(s.custom + "?watch=1&resourceVersion=0")
    watch.wait(3)
    s.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets." + s.group)
    s.expect("gone", s.until(lambda: s.get(s.custom).status == 404), True)
    watch.close()
