# SPDX-License-Identifier: Apache-2.0
"""Objects: made, read, changed, deleted, listed."""
from session import APPS, CORE, config_map, deployment, managers, pod


def step_namespace(s):
    made = s.post("/api/v1/namespaces", {"metadata": {"name": "{NS}"}})
    s.expect("status", made.status, 201)
    s.expect("phase", made.at("status.phase"), "Active")
    s.expect("finalizers", made.at("spec.finalizers"), ["kubernetes"])
    s.expect("label", made.at("metadata.labels"), {"kubernetes.io/metadata.name": s.namespace})
    again = s.post("/api/v1/namespaces", {"metadata": {"name": "{NS}"}})
    s.expect("again", (again.status, again.at("reason")), (409, "AlreadyExists"))
    s.expect("message", again.at("message"), 'namespaces "%s" already exists' % s.namespace)
    s.expect("details", (again.at("details.name"), again.at("details.kind")), (s.namespace, "namespaces"))


def step_discovery(s):
    version = s.get("/version")
    s.expect("version", (version.status, version.at("major")), (200, "1"))
    s.expect("health", (s.get("/healthz").text, s.get("/livez").text, s.get("/readyz").text), ("ok", "ok", "ok"))
    s.expect("api", s.get("/api").at("versions"), ["v1"])
    names = {g["name"]: g["preferredVersion"]["groupVersion"] for g in s.get("/apis").json["groups"]}
    for group, preferred in (("apps", "apps/v1"), ("batch", "batch/v1"), ("autoscaling", "autoscaling/v2"),
                             ("coordination.k8s.io", "coordination.k8s.io/v1"), ("policy", "policy/v1"),
                             ("rbac.authorization.k8s.io", "rbac.authorization.k8s.io/v1"),
                             ("resource.k8s.io", "resource.k8s.io/v1"), ("node.k8s.io", "node.k8s.io/v1"),
                             ("admissionregistration.k8s.io", "admissionregistration.k8s.io/v1"),
                             ("apiextensions.k8s.io", "apiextensions.k8s.io/v1")):
        s.expect("group " + group, names.get(group), preferred)
    core = {r["name"]: r for r in s.get("/api/v1").json["resources"]}
    s.expect("pods", (core["pods"]["kind"], core["pods"]["shortNames"], sorted(core["pods"]["verbs"])),
             ("Pod", ["po"], ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]))
    s.expect("eviction", (core["pods/eviction"]["group"], core["pods/eviction"]["kind"]), ("policy", "Eviction"))
    s.expect("nodes", core["nodes"]["namespaced"], False)
    s.expect("scale", {r["name"]: r["kind"] for r in s.get("/apis/apps/v1").json["resources"]}["deployments/scale"],
             "Scale")
    s.expect("unknown group", s.get("/apis/nothing.example/v1").status, 404)
    s.expect("unknown resource", s.get("/api/v1/nothings").status, 404)


def step_aggregated_discovery(s):
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    reply = s.get("/apis", Accept=accept)
    s.expect("kind", reply.at("kind"), "APIGroupDiscoveryList")
    s.expect("type", "as=APIGroupDiscoveryList" in reply.headers["Content-Type"], True)
    apps = [g for g in reply.json["items"] if g["metadata"]["name"] == "apps"][0]
    kinds = {r["resource"]: r for r in apps["versions"][0]["resources"]}
    s.expect("deployments", (kinds["deployments"]["scope"], kinds["deployments"]["responseKind"]["kind"]),
             ("Namespaced", "Deployment"))
    s.expect("subresources", sorted(x["subresource"] for x in kinds["deployments"]["subresources"]),
             ["scale", "status"])


def step_create_and_read(s):
    made = s.post(CORE + "configmaps", config_map("one", labels={"x": "y"}))
    s.expect("created", made.status, 201)
    s.expect("server fields", sorted(made.json["metadata"]),
             ["creationTimestamp", "labels", "managedFields", "name", "namespace", "resourceVersion", "uid"])
    s.expect("managers", managers(made.json), ["session/Update"])
    read = s.get(CORE + "configmaps/one")
    s.expect("same", read.json, made.json)
    missing = s.get(CORE + "configmaps/none")
    s.expect("missing", (missing.status, missing.at("reason"), missing.at("message")),
             (404, "NotFound", 'configmaps "none" not found'))
    nowhere = s.post("/api/v1/namespaces/absent/configmaps", config_map("one"))
    s.expect("no namespace", (nowhere.status, nowhere.at("message")), (404, 'namespaces "absent" not found'))
    other = s.post(CORE + "configmaps", config_map("two", namespace="default"))
    s.expect("other namespace", (other.status, other.at("reason")), (400, "BadRequest"))
    nameless = s.post(CORE + "configmaps", {"data": {"a": "b"}})
    s.expect("nameless", (nameless.status, nameless.causes), (422, [("FieldValueRequired", "metadata.name")]))
    bad = s.post(CORE + "configmaps", config_map("Bad_Name"))
    s.expect("bad name", (bad.status, bad.at("reason"), bad.causes),
             (422, "Invalid", [("FieldValueInvalid", "metadata.name")]))
    generated = s.post(CORE + "configmaps", {"metadata": {"generateName": "gen-"}})
    s.expect("generated", (generated.status, generated.at("metadata.name").startswith("gen-"),
                           len(generated.at("metadata.name"))), (201, True, 9))
    s.expect("broken json", s.post(CORE + "configmaps", "{").status, 400)
    s.expect("media type", s.ask("POST", CORE + "configmaps", "x", "text/csv").status, 415)
    s.expect("method", s.ask("PUT", CORE + "configmaps", config_map("x")).status, 405)
    s.expect("not acceptable", s.get(CORE + "configmaps", Accept="text/csv").status, 406)
    yaml = s.ask("POST", CORE + "configmaps", "metadata:\n  name: yaml\ndata:\n  k: v\n", "application/yaml")
    s.expect("yaml", (yaml.status, yaml.at("data")), (201, {"k": "v"}))
    mismatch = s.post(CORE + "configmaps", {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x"}})
    s.expect("kind mismatch", (mismatch.status, mismatch.at("reason")), (400, "BadRequest"))


def step_update(s):
    made = s.post(CORE + "configmaps", config_map("up")).json
    made["data"] = {"a": "2"}
    done = s.put(CORE + "configmaps/up", made)
    s.expect("put", (done.status, done.at("data.a")), (200, "2"))
    s.expect("version rises", int(done.at("metadata.resourceVersion")) > int(made["metadata"]["resourceVersion"]), True)
    stale = s.put(CORE + "configmaps/up", {**made, "data": {"a": "3"}})
    s.expect("stale", (stale.status, stale.at("reason")), (409, "Conflict"))
    free = s.put(CORE + "configmaps/up", config_map("up", {"a": "4"}))
    s.expect("without version", (free.status, free.at("data.a")), (200, "4"))
    same = s.put(CORE + "configmaps/up", free.json)
    s.expect("no change, no version", same.at("metadata.resourceVersion"), free.at("metadata.resourceVersion"))
    wrong = s.put(CORE + "configmaps/up", config_map("down"))
    s.expect("other name", wrong.status, 400)
    uid = s.put(CORE + "configmaps/up", config_map("up", {"a": "5"}, uid="11111111-2222-3333-4444-555555555555"))
    s.expect("other uid", (uid.status, uid.at("reason")), (409, "Conflict"))
    absent = s.put(CORE + "configmaps/absent", config_map("absent"))
    s.expect("absent", absent.status, 404)
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15,
                                                 "renewTime": "2026-01-02T03:04:05.600000Z"}}
    created = s.put("/apis/coordination.k8s.io/v1/namespaces/{NS}/leases/l", lease)
    s.expect("lease by put", (created.status, created.at("spec.renewTime")), (201, "2026-01-02T03:04:05.600000Z"))
    unconditional = s.put("/apis/coordination.k8s.io/v1/namespaces/{NS}/leases/l", lease)
    s.expect("lease needs version", (unconditional.status, unconditional.causes),
             (422, [("FieldValueInvalid", "metadata.resourceVersion")]))


def step_delete(s):
    made = s.post(CORE + "configmaps", config_map("gone")).json
    wrong = s.delete(CORE + "configmaps/gone", {"preconditions": {"uid": "x"}})
    s.expect("precondition", (wrong.status, wrong.at("reason")), (409, "Conflict"))
    dry = s.delete(CORE + "configmaps/gone?dryRun=All")
    s.expect("dry", (dry.status, s.get(CORE + "configmaps/gone").status), (200, 200))
    done = s.delete(CORE + "configmaps/gone")
    s.expect("deleted", (done.status, done.at("kind"), done.at("status"), done.at("details")),
             (200, "Status", "Success", {"name": "gone", "kind": "configmaps", "uid": made["metadata"]["uid"]}))
    s.expect("again", s.delete(CORE + "configmaps/gone").status, 404)


def step_finalizers(s):
    s.post(CORE + "configmaps", config_map("held", finalizers=["example.com/hold"]))
    marked = s.delete(CORE + "configmaps/held")
    s.expect("marked", (marked.status, marked.at("kind"), marked.at("metadata.deletionTimestamp") is not None,
                        marked.at("metadata.deletionGracePeriodSeconds")), (200, "ConfigMap", True, 0))
    added = s.merge(CORE + "configmaps/held", {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}})
    s.expect("no new ones", (added.status, added.causes), (422, [("FieldValueForbidden", "metadata.finalizers")]))
    freed = s.merge(CORE + "configmaps/held", {"metadata": {"finalizers": None}})
    s.expect("freed", freed.status, 200)
    s.expect("gone", s.get(CORE + "configmaps/held").status, 404)
    bad = s.post(CORE + "configmaps", config_map("bad", finalizers=["nonsense"]))
    s.expect("unqualified", (bad.status, bad.causes), (422, [("FieldValueInvalid", "metadata.finalizers[0]")]))


def step_lists(s):
    for i in range(5):
        s.post(CORE + "configmaps", config_map("list-%d" % i, labels={"group": "l", "n": str(i), "odd": str(i % 2)}))

    def names(query):
        reply = s.get(CORE + "configmaps?" + query)
        return [i["metadata"]["name"] for i in reply.json["items"]] if reply.status == 200 else reply.status

    s.expect("equal", names("labelSelector=group%3Dl"), ["list-%d" % i for i in range(5)])
    s.expect("set", names("labelSelector=n%20in%20(1,2)"), ["list-1", "list-2"])
    s.expect("notin", names("labelSelector=group%3Dl,n%20notin%20(1,2,3)"), ["list-0", "list-4"])
    s.expect("not equal", names("labelSelector=group%3Dl,odd!%3D1"), ["list-0", "list-2", "list-4"])
    s.expect("exists", names("labelSelector=group,!missing"), ["list-%d" % i for i in range(5)])
    s.expect("greater", names("labelSelector=n%3E3"), ["list-4"])
    s.expect("bad", names("labelSelector=a%20in%20b"), 400)
    s.expect("bad value", names("labelSelector=a%3D-b-"), 400)
    s.expect("field", names("fieldSelector=metadata.name%3Dlist-3"), ["list-3"])
    s.expect("field not", names("labelSelector=group%3Dl&fieldSelector=metadata.name!%3Dlist-3"),
             ["list-0", "list-1", "list-2", "list-4"])
    s.expect("bad field", names("fieldSelector=data.a%3Db"), 400)
    first = s.get(CORE + "configmaps?labelSelector=group%3Dl&limit=2")
    s.expect("page", ([i["metadata"]["name"] for i in first.json["items"]], bool(first.at("metadata.continue"))),
             (["list-0", "list-1"], True))
    s.post(CORE + "configmaps", config_map("list-9", labels={"group": "l"}))
    token = first.at("metadata.continue")
    second = s.get(CORE + "configmaps?labelSelector=group%3Dl&limit=9&continue=" + token)
    s.expect("rest as it was", ([i["metadata"]["name"] for i in second.json["items"]], second.at("metadata.continue")),
             (["list-2", "list-3", "list-4"], None))
    s.expect("one version", second.at("metadata.resourceVersion"), first.at("metadata.resourceVersion"))
    whole = s.get(CORE + "configmaps?limit=1")
    s.expect("remaining", whole.at("metadata.remainingItemCount"), lambda n: isinstance(n, int) and n > 5)
    s.expect("bad token", s.get(CORE + "configmaps?limit=1&continue=abc").status, 400)
    s.expect("items", (first.at("kind"), first.at("apiVersion"), first.json["items"][0].get("kind")),
             ("ConfigMapList", "v1", None if s.real else "ConfigMap"))
    version = first.at("metadata.resourceVersion")
    exact = s.get(CORE + "configmaps?labelSelector=group%3Dl&resourceVersionMatch=Exact&resourceVersion=" + version)
    s.expect("exact", (len(exact.json["items"]), exact.at("metadata.resourceVersion")), (5, version))
    s.expect("match alone", s.get(CORE + "configmaps?resourceVersionMatch=Exact").status, 422)
    future = s.get(CORE + "configmaps?resourceVersion=999999999&resourceVersionMatch=NotOlderThan")
    s.expect("future", (future.status, future.at("reason"), future.at("details.causes.0.reason")),
             (504, "Timeout", "ResourceVersionTooLarge"))
    gone = s.delete(CORE + "configmaps?labelSelector=group%3Dl")
    s.expect("collection", (gone.status, names("labelSelector=group%3Dl")), (200, []))


def step_forms(s):
    s.post(CORE + "pods", pod("formed"))
    table = s.get(CORE + "pods", Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    s.expect("table", (table.at("kind"), table.at("apiVersion")), ("Table", "meta.k8s.io/v1"))
    s.expect("columns", [(c["name"], c["priority"]) for c in table.json["columnDefinitions"]],
             [("Name", 0), ("Ready", 0), ("Status", 0), ("Restarts", 0), ("Age", 0), ("IP", 1), ("Node", 1),
              ("Nominated Node", 1), ("Readiness Gates", 1)])
    row = table.json["rows"][0]
    s.expect("cells", (row["cells"][0], row["cells"][1], row["cells"][2], str(row["cells"][3]), row["cells"][5:]),
             ("formed", "0/1", "Pending", "0", ["<none>", "<none>", "<none>", "<none>"]))
    s.expect("row object", (row["object"]["kind"], row["object"]["metadata"]["name"]),
             ("PartialObjectMetadata", "formed"))
    partial = s.get(CORE + "pods", Accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    s.expect("metadata", (partial.at("kind"), "spec" in partial.json["items"][0],
                          partial.json["items"][0]["metadata"]["name"]),
             ("PartialObjectMetadataList", False, "formed"))
    one = s.get(CORE + "pods/formed", Accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    s.expect("one", (one.at("kind"), one.at("metadata.name")), ("PartialObjectMetadata", "formed"))
    columns = {}
    for path in ("/api/v1/nodes", "/apis/apps/v1/deployments", "/apis/batch/v1/jobs", "/api/v1/events",
                 "/api/v1/services", "/api/v1/namespaces", "/api/v1/configmaps", "/apis/apps/v1/daemonsets",
                 "/apis/coordination.k8s.io/v1/leases", "/apis/scheduling.k8s.io/v1/priorityclasses",
                 "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "/apis/node.k8s.io/v1/runtimeclasses"):
        reply = s.get(path + "?limit=1", Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        columns[path.rsplit("/", 1)[1]] = [c["name"] for c in reply.json["columnDefinitions"]]
    s.expect("nodes", columns["nodes"], ["Name", "Status", "Roles", "Age", "Version", "Internal-IP", "External-IP",
                                         "OS-Image", "Kernel-Version", "Container-Runtime"])
    s.expect("deployments", columns["deployments"],
             ["Name", "Ready", "Up-to-date", "Available", "Age", "Containers", "Images", "Selector"])
    s.expect("jobs", columns["jobs"],
             ["Name", "Status", "Completions", "Duration", "Age", "Containers", "Images", "Selector"])
    s.expect("events", columns["events"], ["Last Seen", "Type", "Reason", "Object", "Subobject", "Source", "Message",
                                           "First Seen", "Count", "Name"])
    s.expect("services", columns["services"],
             ["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector"])
    s.expect("namespaces", columns["namespaces"], ["Name", "Status", "Age"])
    s.expect("configmaps", columns["configmaps"], ["Name", "Data", "Age"])
    s.expect("daemonsets", columns["daemonsets"], ["Name", "Desired", "Current", "Ready", "Up-to-date", "Available",
                                                   "Node Selector", "Age", "Containers", "Images", "Selector"])
    s.expect("leases", columns["leases"], ["Name", "Holder", "Age"])
    s.expect("priorityclasses", columns["priorityclasses"],
             ["Name", "Value", "Global-Default", "Age", "PreemptionPolicy"])
    s.expect("bindings", columns["clusterrolebindings"],
             ["Name", "Role", "Age", "Users", "Groups", "ServiceAccounts"])
    s.expect("runtimeclasses", columns["runtimeclasses"], ["Name", "Handler", "Age"])


def step_dry_run_and_validation(s):
    dry = s.post(CORE + "configmaps?dryRun=All", config_map("dry"))
    s.expect("dry", (dry.status, s.get(CORE + "configmaps/dry").status), (201, 404))
    s.expect("bad dry", s.post(CORE + "configmaps?dryRun=Some", config_map("dry")).status, 422)
    unknown = {**config_map("odd"), "spek": {"a": 1}}
    warned = s.post(CORE + "configmaps", unknown)
    s.expect("warning", (warned.status, warned.headers.get("Warning")), (201, '299 - "unknown field \\"spek\\""'))
    s.expect("dropped", "spek" in warned.json, False)
    strict = s.post(CORE + "configmaps?fieldValidation=Strict", {**unknown, "metadata": {"name": "odd2"}})
    s.expect("strict", (strict.status, strict.at("message")),
             (400, 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
                   'unknown field "spek"'))
    ignored = s.post(CORE + "configmaps?fieldValidation=Ignore", {**unknown, "metadata": {"name": "odd3"}})
    s.expect("ignored", (ignored.status, ignored.headers.get("Warning")), (201, None))
    twice = s.post(CORE + "configmaps?fieldValidation=Strict", '{"metadata":{"name":"tw"},"data":{"a":"1"},"data":{}}')
    s.expect("twice", (twice.status, 'duplicate field "data"' in twice.at("message")), (400, True))
    wrong = s.post(APPS + "deployments", deployment("typed", replicas="three"))
    s.expect("wrong type", (wrong.status, wrong.at("reason")), (400, "BadRequest"))
    deep = deployment("deep")
    deep["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    deep_reply = s.post(APPS + "deployments?fieldValidation=Strict", deep)
    s.expect("deep", 'unknown field "spec.template.spec.containers[0].imagee"' in deep_reply.at("message"), True)
    quantity = pod("amounts")
    quantity["spec"]["containers"][0]["resources"] = {"limits": {"cpu": 0.5, "memory": "1024Mi", "nvidia.com/gpu": 2}}
    amounts = s.post(CORE + "pods?dryRun=All", quantity)
    s.expect("amounts", amounts.at("spec.containers.0.resources"),
             {"limits": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"},
              "requests": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"}})


def step_invalid(s):
    def refused(path, thing):
        reply = s.post(path + "?dryRun=All", thing)
        return (reply.status, sorted(reply.causes, key=str))

    empty = pod("x")
    empty["spec"]["containers"] = []
    s.expect("no containers", refused(CORE + "pods", empty), (422, [("FieldValueRequired", "spec.containers")]))
    no_image = pod("x")
    del no_image["spec"]["containers"][0]["image"]
    s.expect("no image", refused(CORE + "pods", no_image), (422, [("FieldValueRequired", "spec.containers[0].image")]))
    twice = pod("x")
    twice["spec"]["containers"] *= 2
    s.expect("same name", refused(CORE + "pods", twice), (422, [("FieldValueDuplicate", "spec.containers[1].name")]))
    request = pod("x")
    request["spec"]["containers"][0]["resources"] = {"requests": {"nvidia.com/gpu": "1"}}
    s.expect("request alone", refused(CORE + "pods", request),
             (422, [("FieldValueRequired", "spec.containers[0].resources.limits")]))
    unequal = pod("x")
    unequal["spec"]["containers"][0]["resources"] = {"requests": {"nvidia.com/gpu": "1"},
                                                     "limits": {"nvidia.com/gpu": "2"}}
    s.expect("unequal", refused(CORE + "pods", unequal),
             (422, [("FieldValueInvalid", "spec.containers[0].resources.requests")]))
    half = pod("x")
    half["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "0.5"}}
    s.expect("half a device", refused(CORE + "pods", half)[0], 422)
    mount = pod("x")
    mount["spec"]["containers"][0]["volumeMounts"] = [{"name": "none", "mountPath": "/x"}]
    s.expect("mount", refused(CORE + "pods", mount),
             (422, [("FieldValueNotFound", "spec.containers[0].volumeMounts[0].name")]))
    restart = {"metadata": {"name": "j"}, "spec": {"template": pod("x")}}
    restart["spec"]["template"]["metadata"].pop("name")
    s.expect("job restarts", refused("/apis/batch/v1/namespaces/{NS}/jobs", restart),
             (422, [("FieldValueRequired", "spec.template.spec.restartPolicy")]))
    no_selector = deployment("x")
    del no_selector["spec"]["selector"]
    s.expect("selector", ("FieldValueRequired", "spec.selector") in refused(APPS + "deployments", no_selector)[1], True)
    unlike = deployment("x")
    unlike["spec"]["selector"]["matchLabels"] = {"other": "x"}
    s.expect("labels", refused(APPS + "deployments", unlike),
             (422, [("FieldValueInvalid", "spec.template.metadata.labels")]))
    label = config_map("x", labels={"a b": "c"})
    s.expect("label key", refused(CORE + "configmaps", label), (422, [("FieldValueInvalid", "metadata.labels")]))
    missing = pod("x", priorityClassName="absent")
    reply = s.post(CORE + "pods?dryRun=All", missing)
    s.expect("priority", (reply.status, reply.at("message")),
             (403, 'pods "x" is forbidden: no PriorityClass with name absent was found'))


def step_defaults(s):
    made = s.post(CORE + "pods", pod("defaulted")).json
    spec = made["spec"]
    for name in ("serviceAccount", "serviceAccountName", "nodeName"):
        spec.pop(name, None)
    s.expect("pod", spec, {
        "containers": [{"name": "main", "image": "busybox:1", "imagePullPolicy": "IfNotPresent", "resources": {},
                        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}],
        "dnsPolicy": "ClusterFirst", "enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0, "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "tolerations": [{"effect": "NoExecute", "key": "node.kubernetes.io/" + key, "operator": "Exists",
                         "tolerationSeconds": 300} for key in ("not-ready", "unreachable")]})
    s.expect("status", (made["status"], made["metadata"]["generation"]),
             ({"phase": "Pending", "qosClass": "BestEffort"}, 1))
    critical = s.post(CORE + "pods?dryRun=All", pod("critical", priorityClassName="system-node-critical"))
    s.expect("critical", critical.at("spec.priority"), 2000001000)
    shown = s.post(APPS + "deployments", deployment("defaulted")).json
    s.expect("deployment", {k: v for k, v in shown["spec"].items() if k not in ("template", "selector")},
             {"progressDeadlineSeconds": 600, "replicas": 1, "revisionHistoryLimit": 10,
              "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}, "type": "RollingUpdate"}})
    job = s.post("/apis/batch/v1/namespaces/{NS}/jobs",
                 {"metadata": {"name": "j"},
                  "spec": {"template": {"spec": {**pod("x")["spec"], "restartPolicy": "Never"}}}}).json
    uid = job["metadata"]["uid"]
    s.expect("job", {k: v for k, v in job["spec"].items() if k != "template"},
             {"backoffLimit": 6, "completionMode": "NonIndexed", "completions": 1, "manualSelector": False,
              "parallelism": 1, "podReplacementPolicy": "TerminatingOrFailed",
              "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}, "suspend": False})
    s.expect("job labels", job["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"], "j")
    service = s.post(CORE + "services", {"metadata": {"name": "svc"}, "spec": {"ports": [{"port": 80}]}}).json["spec"]
    s.expect("address", service["clusterIP"].startswith("10.0.") and service["clusterIPs"] == [service["clusterIP"]],
             True)
    s.expect("service", {k: v for k, v in service.items() if not k.startswith("clusterIP")},
             {"internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
              "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "sessionAffinity": "None",
              "type": "ClusterIP"})
    daemon = deployment("d")
    daemon["kind"] = "DaemonSet"
    daemon_made = s.post(APPS + "daemonsets", daemon).json
    s.expect("daemon set", (daemon_made["spec"]["updateStrategy"], daemon_made["status"],
                            daemon_made["metadata"]["annotations"]),
             ({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}, "type": "RollingUpdate"},
              {"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0},
              {"deprecated.daemonset.template.generation": "1"}))
    node = s.post("/api/v1/nodes", {"metadata": {"name": "{NS}"}}).json
    s.expect("node taint", node["spec"]["taints"],
             [{"effect": "NoSchedule", "key": "node.kubernetes.io/not-ready"}])
    s.delete("/api/v1/nodes/{NS}")


def step_generations(s):
    made = s.post(APPS + "deployments", deployment("counted")).json
    s.expect("first", made["metadata"]["generation"], 1)
    labelled = s.merge(APPS + "deployments/counted", {"metadata": {"labels": {"a": "b"}}})
    s.expect("labels do not count", labelled.at("metadata.generation"), 1)
    scaled = s.merge(APPS + "deployments/counted", {"spec": {"replicas": 3}})
    s.expect("spec counts", scaled.at("metadata.generation"), 2)
    status = s.merge(APPS + "deployments/counted/status", {"status": {"replicas": 3}, "spec": {"replicas": 9}})
    s.expect("status", (status.at("metadata.generation"), status.at("status.replicas"), status.at("spec.replicas")),
             (2, 3, 3))
    ignored = s.merge(APPS + "deployments/counted", {"status": {"replicas": 7}})
    s.expect("status at the main door", ignored.at("status.replicas"), 3)
    frozen = s.merge(APPS + "deployments/counted", {"spec": {"selector": {"matchLabels": {"app": "x"}}}})
    s.expect("selector is fixed", (frozen.status, ("FieldValueInvalid", "spec.selector") in frozen.causes), (422, True))
    fixed = s.merge(CORE + "pods/defaulted", {"spec": {"nodeSelector": {"a": "b"}}})
    s.expect("pods are fixed", (fixed.status, fixed.causes), (422, [("FieldValueForbidden", "spec")]))
    image = s.json_patch(CORE + "pods/defaulted", [{"op": "replace", "path": "/spec/containers/0/image", "value": "b:2"}])
    s.expect("but for images", (image.status, image.at("metadata.generation")), (200, 2))
