# SPDX-License-Identifier: Apache-2.0
"""Changes: patches, server-side apply, subresources."""
import json

from session import APPS, CORE, config_map, deployment, fields_of, managers, pod


def step_json_patch(s):
    s.post(CORE + "configmaps", config_map("jp", {"a": "1", "b": "2"}))
    path = CORE + "configmaps/jp"
    done = s.json_patch(path, [{"op": "test", "path": "/data/a", "value": "1"},
                               {"op": "replace", "path": "/data/a", "value": "9"},
                               {"op": "add", "path": "/data/c", "value": "3"},
                               {"op": "remove", "path": "/data/b"},
                               {"op": "copy", "from": "/data/c", "path": "/data/d"},
                               {"op": "move", "from": "/data/d", "path": "/data/e"}])
    s.expect("done", (done.status, done.at("data")), (200, {"a": "9", "c": "3", "e": "3"}))
    tested = s.json_patch(path, [{"op": "test", "path": "/data/a", "value": "1"}])
    s.expect("test fails", (tested.status, tested.at("reason")), (422, "Invalid"))
    absent = s.json_patch(path, [{"op": "remove", "path": "/data/none"}])
    s.expect("absent", (absent.status, absent.at("reason")), (422, "Invalid"))
    s.expect("no list", s.json_patch(path, {"op": "x"}).status, 400)
    escaped = s.json_patch(path, [{"op": "add", "path": "/metadata/annotations", "value": {}},
                                  {"op": "add", "path": "/metadata/annotations/example.com~1x", "value": "y"}])
    s.expect("escaped", escaped.at("metadata.annotations"), {"example.com/x": "y"})
    unknown = s.ask("PATCH", path, "{}", "application/json")
    s.expect("unknown kind", unknown.status, 415)
    s.expect("none there", s.json_patch(CORE + "configmaps/none", []).status, 404)


def step_merge_patch(s):
    s.post(CORE + "configmaps", config_map("mp", {"a": "1", "b": "2"}))
    done = s.merge(CORE + "configmaps/mp", {"data": {"a": None, "c": "3"}, "metadata": {"labels": {"l": "m"}}})
    s.expect("done", (done.at("data"), done.at("metadata.labels")), ({"b": "2", "c": "3"}, {"l": "m"}))
    stale = s.merge(CORE + "configmaps/mp", {"metadata": {"resourceVersion": "1"}, "data": {"x": "y"}})
    s.expect("stale", (stale.status, stale.at("reason")), (409, "Conflict"))
    s.expect("managers", managers(done.json), ["session/Update"])
    s.post(APPS + "deployments", deployment("mp"))
    whole = s.merge(APPS + "deployments/mp", {"spec": {"template": {"spec": {"containers": [
        {"name": "other", "image": "o:1"}]}}}})
    s.expect("lists are replaced", [c["name"] for c in whole.json["spec"]["template"]["spec"]["containers"]], ["other"])


def step_strategic_patch(s):
    s.post(APPS + "deployments", deployment("sp"))
    path = APPS + "deployments/sp"

    def containers(reply):
        return [(c["name"], c["image"]) for c in reply.json["spec"]["template"]["spec"]["containers"]]

    def patch(*items, **more):
        return s.strategic(path, {"spec": {"template": {"spec": {"containers": list(items), **more}}}})

    s.expect("added in front", containers(patch({"name": "side", "image": "s:1"})),
             [("side", "s:1"), ("main", "busybox:1")])
    s.expect("changed", containers(patch({"name": "main", "image": "m:2"})), [("side", "s:1"), ("main", "m:2")])
    ordered = patch({"name": "main"}, {"name": "side"},
                    **{"$setElementOrder/containers": [{"name": "main"}, {"name": "side"}]})
    s.expect("ordered", containers(ordered), [("main", "m:2"), ("side", "s:1")])
    s.expect("deleted", containers(patch({"name": "side", "$patch": "delete"})), [("main", "m:2")])
    s.expect("replaced", containers(patch({"name": "new", "image": "n:1"}, {"$patch": "replace"})), [("new", "n:1")])
    env = patch({"name": "new", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]})
    env = patch({"name": "new", "env": [{"name": "B", "value": "3"}]})
    s.expect("env", env.json["spec"]["template"]["spec"]["containers"][0]["env"],
             [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}])
    no_key = patch({"image": "x"})
    s.expect("no key", no_key.status, lambda status: status in (400, 422, 500))
    recreate = s.strategic(path, {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}})
    s.expect("retain keys", recreate.at("spec.strategy"), {"type": "Recreate"})
    finalizers = s.strategic(path, {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}})
    finalizers = s.strategic(path, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}})
    s.expect("primitive list", finalizers.at("metadata.finalizers"), ["example.com/b"])
    s.strategic(path, {"metadata": {"finalizers": None}})
    node = s.post("/api/v1/nodes", {"metadata": {"name": "{NS}-sp"}, "spec": {"taints": [
        {"key": "a", "value": "1", "effect": "NoSchedule"}]}})
    s.expect("node", node.status, 201)
    taint = s.strategic("/api/v1/nodes/{NS}-sp", {"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}})
    s.expect("taints are one whole", [t["key"] for t in taint.json["spec"]["taints"]], ["b"])
    status = s.strategic("/api/v1/nodes/{NS}-sp/status", {"status": {"conditions": [
        {"type": "GpuHealthy", "status": "True"}], "capacity": {"nvidia.com/gpu": "4"}}})
    status = s.strategic("/api/v1/nodes/{NS}-sp/status", {"status": {"conditions": [
        {"type": "Ready", "status": "True"}]}})
    s.expect("conditions by type", sorted(c["type"] for c in status.json["status"]["conditions"]),
             ["GpuHealthy", "Ready"])
    s.delete("/api/v1/nodes/{NS}-sp")


def step_apply(s):
    path = CORE + "configmaps/ssa"
    base = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ssa", "labels": {"l": "1"}}, "data": {"a": "1", "b": "2"}}
    made = s.apply(path, base, "first")
    s.expect("made", (made.status, managers(made.json)), (201, ["first/Apply"]))
    s.expect("fields", fields_of(made.json, "first"),
             {"f:data": {"f:a": {}, "f:b": {}}, "f:metadata": {"f:labels": {"f:l": {}}}})
    again = s.apply(path, base, "first")
    s.expect("nothing new", (again.status, again.at("metadata.resourceVersion")),
             (200, made.at("metadata.resourceVersion")))
    nobody = s.ask("PATCH", path, base, "application/apply-patch+yaml")
    s.expect("who", (nobody.status, nobody.causes), (422, [("FieldValueRequired", "fieldManager")]))
    theirs = {**base, "metadata": {"name": "ssa"}, "data": {"a": "2", "c": "3"}}
    conflict = s.apply(path, theirs, "second")
    s.expect("conflict", (conflict.status, conflict.at("reason"), conflict.causes),
             (409, "Conflict", [("FieldManagerConflict", ".data.a")]))
    s.expect("message", conflict.at("message"), 'Apply failed with 1 conflict: conflict with "first": .data.a')
    s.expect("cause", conflict.at("details.causes.0.message"), 'conflict with "first"')
    shared = s.apply(path, {**theirs, "data": {"a": "1", "c": "3"}}, "second")
    s.expect("same value is shared", (shared.status, fields_of(shared.json, "second")),
             (200, {"f:data": {"f:a": {}, "f:c": {}}}))
    forced = s.apply(path, theirs, "second", force=True)
    s.expect("forced", (forced.at("data"), fields_of(forced.json, "first")),
             ({"a": "2", "b": "2", "c": "3"}, {"f:data": {"f:b": {}}, "f:metadata": {"f:labels": {"f:l": {}}}}))
    less = s.apply(path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ssa"}, "data": {"a": "2"}}, "second")
    s.expect("left out is removed", less.at("data"), {"a": "2", "b": "2"})
    nameless = s.apply(path, {"apiVersion": "v1", "kind": "ConfigMap"}, "first")
    s.expect("a name is needed", (nameless.status, nameless.at("reason")), (400, "BadRequest"))
    none = s.apply(path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ssa"}}, "first")
    s.expect("all left out", (none.at("data"), none.at("metadata.labels")), ({"a": "2"}, None))
    update = s.merge(path, {"data": {"a": "5"}})
    s.expect("an update takes", (managers(update.json), fields_of(update.json, "session")),
             (["session/Update"], {"f:data": {"f:a": {}}}))
    blocked = s.apply(path, theirs, "second")
    s.expect("conflict with update", (blocked.status, blocked.at("details.causes.0.message")),
             (409, 'conflict with "session" using v1'))
    kindless = s.apply(path, {"data": {"a": "1"}}, "first")
    s.expect("kind is needed", kindless.status, 400)
    versioned = s.apply(path, {**theirs, "metadata": {"name": "ssa", "resourceVersion": "1"}}, "second", force=True)
    s.expect("stale version", (versioned.status, versioned.at("reason")), (409, "Conflict"))
    yaml = s.apply(CORE + "configmaps/ssa-yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ssa-yaml\ndata:\n  k: v\n", "first")
    s.expect("yaml", (yaml.status, yaml.at("data")), (201, {"k": "v"}))


def step_apply_lists(s):
    path = APPS + "deployments/ssal"
    base = deployment("ssal")
    base["spec"]["template"]["spec"]["containers"][0].update(
        env=[{"name": "A", "value": "1"}], ports=[{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}])
    made = s.apply(path, base, "owner")
    s.expect("made", made.status, 201)
    container = fields_of(made.json, "owner")["f:spec"]["f:template"]["f:spec"]["f:containers"]['k:{"name":"main"}']
    s.expect("owned", container,
             {".": {}, "f:env": {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}}, "f:image": {}, "f:name": {},
              "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                          'k:{"containerPort":81,"protocol":"UDP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}}}})
    side = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "ssal"},
            "spec": {"template": {"spec": {"containers": [
                {"name": "side", "image": "s:1"}, {"name": "main", "env": [{"name": "B", "value": "2"}]}]}}}}
    both = s.apply(path, side, "injector")
    spec = both.json["spec"]["template"]["spec"]["containers"]
    s.expect("both", {c["name"]: sorted(e["name"] for e in c.get("env", [])) for c in spec},
             {"main": ["A", "B"], "side": []})
    base["spec"]["template"]["spec"]["containers"][0]["env"] = []
    base["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]
    less = s.apply(path, base, "owner")
    main = [c for c in less.json["spec"]["template"]["spec"]["containers"] if c["name"] == "main"][0]
    s.expect("own elements go", (main["env"], main["ports"]),
             ([{"name": "B", "value": "2"}], [{"containerPort": 80, "protocol": "TCP"}]))
    gone = s.apply(path, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "ssal"}}, "injector")
    spec = gone.json["spec"]["template"]["spec"]["containers"]
    s.expect("the injected go", [(c["name"], c.get("env")) for c in spec], [("main", None)])
    doubled = deployment("ssal")
    doubled["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    twice = s.apply(path, doubled, "owner")
    s.expect("an element twice", (twice.status, 'duplicate entries for key [name="A"]' in twice.text.replace('\\"', '"')),
             (500, True))
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": s.namespace + "-ssa"}}
    s.apply("/api/v1/nodes/{NS}-ssa", {**node, "metadata": {**node["metadata"], "labels": {"a": "1"}}}, "one")
    other = s.apply("/api/v1/nodes/{NS}-ssa", {**node, "metadata": {**node["metadata"], "labels": {"b": "1"}}}, "two")
    s.expect("labels of two", other.at("metadata.labels"), {"a": "1", "b": "1"})
    status = s.apply("/api/v1/nodes/{NS}-ssa/status", {**node, "status": {"conditions": [
        {"type": "Gpu", "status": "True"}], "capacity": {"x.dev/y": "1"}}}, "one", force=True)
    s.expect("status", (status.status, [c["type"] for c in status.json["status"]["conditions"]], managers(status.json)),
             (200, ["Gpu"], ["one/Apply", "one/Apply/status", "two/Apply"]))
    s.delete("/api/v1/nodes/{NS}-ssa")


def step_managed_fields(s):
    made = s.post(CORE + "configmaps", config_map("mf", {"a": "1"}, labels={"x": "1"}))
    entry = made.json["metadata"]["managedFields"][0]
    s.expect("entry", (entry["manager"], entry["operation"], entry["apiVersion"], entry["fieldsType"], entry["fieldsV1"]),
             ("session", "Update", "v1", "FieldsV1",
              {"f:data": {".": {}, "f:a": {}}, "f:metadata": {"f:labels": {".": {}, "f:x": {}}}}))
    named = s.ask("PATCH", CORE + "configmaps/mf?fieldManager=other", {"data": {"a": "2", "b": "1"}},
                  "application/merge-patch+json")
    s.expect("other", (fields_of(named.json, "other"), fields_of(named.json, "session")),
             ({"f:data": {"f:a": {}, "f:b": {}}}, {"f:data": {}, "f:metadata": {"f:labels": {".": {}, "f:x": {}}}}))
    cleared = s.merge(CORE + "configmaps/mf", {"metadata": {"managedFields": [{}]}})
    s.expect("cleared", cleared.json["metadata"].get("managedFields"), None)


def step_scale(s):
    s.post(APPS + "deployments", deployment("scaled", replicas=2))
    path = APPS + "deployments/scaled/scale"
    scale = s.get(path)
    s.expect("scale", (scale.at("kind"), scale.at("apiVersion"), scale.at("spec"), scale.at("status")),
             ("Scale", "autoscaling/v1", {"replicas": 2}, {"replicas": 0, "selector": "app=scaled"}))
    up = s.put(path, {**scale.json, "spec": {"replicas": 5}})
    s.expect("up", (up.status, up.at("spec.replicas"), s.get(APPS + "deployments/scaled").at("spec.replicas")), (200, 5, 5))
    stale = s.put(path, {**scale.json, "spec": {"replicas": 6}})
    s.expect("stale", stale.status, 409)
    down = s.merge(path, {"spec": {"replicas": 1}})
    s.expect("down", down.at("spec.replicas"), 1)
    s.expect("below nothing", s.merge(path, {"spec": {"replicas": -1}}).status, 422)
    s.expect("no scale", s.get(CORE + "configmaps/one/scale").status, 404)


def step_binding_and_eviction(s):
    s.post("/api/v1/nodes", {"metadata": {"name": "{NS}-n"}})
    s.post(CORE + "pods", pod("bound"))
    bound = s.post(CORE + "pods/bound/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "bound"},
                                                 "target": {"apiVersion": "v1", "kind": "Node", "name": s.namespace + "-n"}})
    s.expect("bound", (bound.status, bound.at("kind"), bound.at("status")), (201, "Status", "Success"))
    there = s.get(CORE + "pods/bound")
    s.expect("there", (there.at("spec.nodeName"), there.at("status.conditions.0.type"),
                       there.at("status.conditions.0.status")), (s.namespace + "-n", "PodScheduled", "True"))
    waits = pod("told")
    waits["metadata"].update({"labels": {"app": "told", "kept": "yes"}, "annotations": {"a": "before", "b": "kept"}})
    s.post(CORE + "pods", waits)
    binding = {"apiVersion": "v1", "kind": "Binding", "target": {"apiVersion": "v1", "kind": "Node", "name": s.namespace + "-m"},
               "metadata": {"name": "told", "labels": {"app": "bound"}, "annotations": {"a": "after", "c": "new"}}}
    other = dict(binding, metadata=dict(binding["metadata"], name="another"))
    s.expect("of another name", s.post(CORE + "pods/told/binding", other).status, 400)
    stale = dict(binding, metadata=dict(binding["metadata"], uid="00000000-0000-0000-0000-000000000000"))
    s.expect("of another pod", s.post(CORE + "pods/told/binding", stale).status, 409)
    s.expect("with words", s.post(CORE + "pods/told/binding", binding).status, 201)
    told = s.get(CORE + "pods/told").json["metadata"]
    s.expect("its annotations are the pod's", {k: told["annotations"].get(k) for k in "abc"}, {"a": "after", "b": "kept", "c": "new"})
    s.expect("its labels are the pod's", {k: told["labels"].get(k) for k in ("app", "kept")}, {"app": "bound", "kept": "yes"})
    again = s.post(CORE + "pods/bound/binding", {"target": {"name": "other"}, "metadata": {"name": "bound"}})
    s.expect("again", (again.status, again.at("reason")), (409, "Conflict"))
    mine = s.get("/api/v1/pods?fieldSelector=spec.nodeName%3D{NS}-n")
    s.expect("by node", [i["metadata"]["name"] for i in mine.json["items"]], ["bound"])
    s.merge(CORE + "pods/bound/status", {"status": {"phase": "Running"}})
    budget = s.post("/apis/policy/v1/namespaces/{NS}/poddisruptionbudgets",
                    {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "bound"}}}})
    s.expect("budget", budget.status, 201)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "bound", "namespace": s.namespace}}
    refused = s.post(CORE + "pods/bound/eviction", eviction)
    s.expect("refused", (refused.status, refused.at("reason")), (429, "TooManyRequests"))
    s.delete("/apis/policy/v1/namespaces/{NS}/poddisruptionbudgets/b")
    evicted = s.post(CORE + "pods/bound/eviction", eviction)
    s.expect("evicted", (evicted.status, evicted.at("status")), (201, "Success"))
    leaving = s.get(CORE + "pods/bound")
    s.expect("leaving", (leaving.at("metadata.deletionTimestamp") is not None,
                         leaving.at("metadata.deletionGracePeriodSeconds")), (True, 30))
    now = s.delete(CORE + "pods/bound?gracePeriodSeconds=0")
    s.expect("now", (now.status, s.get(CORE + "pods/bound").status), (200, 404))
    s.expect("nobody", s.post(CORE + "pods/none/eviction", {**eviction, "metadata": {"name": "none"}}).status, 404)
    s.delete("/api/v1/nodes/{NS}-n")


def step_two_apis_of_one_thing(s):
    event = s.post("/apis/events.k8s.io/v1/namespaces/{NS}/events", {
        "metadata": {"name": "e1"}, "eventTime": "2026-01-02T03:04:05.000006Z", "reportingController": "aliquot.dev/x",
        "reportingInstance": "i", "action": "Act", "reason": "Why", "type": "Warning", "note": "a note",
        "regarding": {"kind": "Pod", "namespace": s.namespace, "name": "p", "apiVersion": "v1"}})
    s.expect("event", (event.status, event.at("note")), (201, "a note"))
    core = s.get(CORE + "events/e1")
    s.expect("core", (core.at("message"), core.at("involvedObject.name"), core.at("reportingComponent"),
                      core.at("eventTime")), ("a note", "p", "aliquot.dev/x", "2026-01-02T03:04:05.000006Z"))
    found = s.get(CORE + "events?fieldSelector=involvedObject.name%3Dp,type%3DWarning")
    s.expect("found", len(found.json["items"]), 1)
    s.post("/apis/autoscaling/v1/namespaces/{NS}/horizontalpodautoscalers", {
        "metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 70, "scaleTargetRef": {
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}})
    two = s.get("/apis/autoscaling/v2/namespaces/{NS}/horizontalpodautoscalers/h")
    s.expect("v2", two.at("spec.metrics"),
             [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}])
    one = s.get("/apis/autoscaling/v1/namespaces/{NS}/horizontalpodautoscalers/h")
    s.expect("v1", (one.at("spec.targetCPUUtilizationPercentage"), one.at("spec.minReplicas")), (70, 1))


def step_secrets(s):
    made = s.post(CORE + "secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}, "data": {"c": "ZA=="}})
    s.expect("made", (made.status, made.at("data"), made.at("type"), made.at("stringData")),
             (201, {"a": "Yg==", "c": "ZA=="}, "Opaque", None))
    s.expect("no base64", s.post(CORE + "secrets", {"metadata": {"name": "t"}, "data": {"c": "%"}}).status, 400)
    fixed = s.post(CORE + "configmaps", {**config_map("fixed"), "immutable": True})
    s.expect("fixed", fixed.status, 201)
    changed = s.merge(CORE + "configmaps/fixed", {"data": {"z": "1"}})
    s.expect("stays", (changed.status, changed.causes), (422, [("FieldValueForbidden", "data")]))


def step_quotas(s):
    s.post(CORE + "limitranges", {"metadata": {"name": "r"}, "spec": {"limits": [
        {"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "500m"}}]}})
    ranged = s.post(CORE + "pods?dryRun=All", pod("ranged"))
    s.expect("ranged", ranged.at("spec.containers.0.resources"), {"limits": {"cpu": "2"}, "requests": {"cpu": "500m"}})
    s.delete(CORE + "limitranges/r")


def step_json_is_kept(s):
    text = json.dumps({"metadata": {"name": "text", "annotations": {"u": "\u00e4 \u20ac \U0001f600 \" \\ \n",
                                                                   "token": "eyNSx.NS"}}})
    made = s.post(CORE + "configmaps", text)
    s.expect("text", made.at("metadata.annotations.u"), "\u00e4 \u20ac \U0001f600 \" \\ \n")
    s.expect("what a server gave goes back as it is", made.at("metadata.annotations.token"), "eyNSx.NS")
