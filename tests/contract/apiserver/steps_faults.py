# SPDX-License-Identifier: Apache-2.0
"""What only a simulated server does: faults on demand, garbage collection, namespaces that empty themselves."""
import http.client
import time

from session import APPS, CORE, config_map, deployment, dig, pod


def step_request_faults(s):
    s.post("/_sim/fault", {"resource": "configmaps", "verb": "list", "status": 429, "retryAfterSeconds": 7, "times": 2})
    for _ in range(2):
        busy = s.get(CORE + "configmaps")
        s.expect("busy", (busy.status, busy.at("reason"), busy.headers.get("Retry-After"),
                          busy.at("details.retryAfterSeconds")), (429, "TooManyRequests", "7", 7))
    s.expect("then not", s.get(CORE + "configmaps").status, 200)
    s.post("/_sim/fault", {"method": "POST", "path": "/api/v1/namespaces/" + s.namespace, "status": 503})
    s.expect("not others", s.get(CORE + "configmaps").status, 200)
    s.expect("away", s.post(CORE + "configmaps", config_map("f1")).status, 503)
    s.expect("nothing done", s.get(CORE + "configmaps/f1").status, 404)
    s.post("/_sim/fault", {"verb": "create", "status": 500, "afterWrite": True})
    s.expect("lost answer", s.post(CORE + "configmaps", config_map("f2")).status, 500)
    s.expect("done all the same", s.get(CORE + "configmaps/f2").status, 200)
    s.post("/_sim/fault", {"verb": "get", "breakConnection": True})
    try:
        s.get(CORE + "configmaps/f2")
        s.expect("cut", "answered", "cut")
    except (http.client.HTTPException, OSError):
        pass
    s.post("/_sim/fault", {"verb": "get", "delayMilliseconds": 200})
    begin = time.monotonic()
    s.expect("late", (s.get(CORE + "configmaps/f2").status, time.monotonic() - begin > 0.19), (200, True))
    s.post("/_sim/fault", {"verb": "get", "status": 500, "times": 5})
    s.post("/_sim/clear", {})
    s.expect("cleared", s.get(CORE + "configmaps/f2").status, 200)


def step_watch_faults(s):
    def open_watch(resource="configmaps"):
        version = s.get(CORE + resource).at("metadata.resourceVersion")
        before = s.get("/_sim/state").at("watches")
        watch = s.watch("/api/v1/namespaces/{NS}/%s?watch=1&resourceVersion=%s" % (resource, version))
        s.until(lambda: s.get("/_sim/state").at("watches") > before)
        return watch

    broken = open_watch()
    s.post("/_sim/break", {"resource": "configmaps"})
    s.expect("broken", (s.until(lambda: broken.ended), broken.events), (True, []))
    expired = open_watch()
    s.post("/_sim/expire", {})
    events = expired.wait(1)
    s.expect("expired", (events[0]["type"], dig(events[0], "object.code"), dig(events[0], "object.reason")),
             ("ERROR", 410, "Expired"))
    held, free = open_watch(), open_watch("secrets")
    s.post("/_sim/hold", {"resource": "configmaps"})
    s.post(CORE + "configmaps", config_map("held-event"))
    s.post(CORE + "secrets", {"metadata": {"name": "free-event"}})
    s.expect("the later comes first", ([e["object"]["metadata"]["name"] for e in free.wait(1)], held.events),
             (["free-event"], []))
    s.post("/_sim/release", {"resource": "configmaps"})
    s.expect("then the other", [e["object"]["metadata"]["name"] for e in held.wait(1)], ["held-event"])
    held.close()
    free.close()


def step_compaction(s):
    old = s.get(CORE + "configmaps").at("metadata.resourceVersion")
    first = s.get(CORE + "configmaps?limit=1")
    s.post(CORE + "configmaps", config_map("zz-compacted"))
    s.post("/_sim/compact", {})
    watch = s.watch("/api/v1/namespaces/{NS}/configmaps?watch=1&resourceVersion=" + old)
    events = watch.wait(1)
    s.expect("watch", (events[0]["type"], dig(events[0], "object.code")), ("ERROR", 410))
    gone = s.get(CORE + "configmaps?limit=1&continue=" + first.at("metadata.continue"))
    s.expect("token", (gone.status, gone.at("reason")), (410, "Expired"))
    rest = s.get(CORE + "configmaps?limit=500&continue=" + gone.at("metadata.continue"))
    s.expect("inconsistent rest", (rest.status, "zz-compacted" in [i["metadata"]["name"] for i in rest.json["items"]]),
             (200, True))
    exact = s.get(CORE + "configmaps?resourceVersionMatch=Exact&resourceVersion=" + old)
    s.expect("exact", exact.status, 410)


def owned(thing, owner, blocks=False):
    thing["metadata"]["ownerReferences"] = [{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks}]
    return thing


def step_garbage(s):
    for policy, stays in (("Background", False), ("Foreground", False), ("Orphan", True)):
        name = "gc-" + policy.lower()
        owner = s.post(APPS + "deployments", deployment(name)).json
        s.post(CORE + "pods", owned(pod(name), owner, True))
        s.delete(APPS + "deployments/" + name, {"propagationPolicy": policy})
        s.post("/_sim/settle", {})
        left = s.get(CORE + "pods/" + name)
        s.expect(policy, (s.get(APPS + "deployments/" + name).status, left.status), (404, 200 if stays else 404))
        if stays:
            s.expect("no owner", left.at("metadata.ownerReferences"), None)


def step_job_orphans(s):
    job = s.post("/apis/batch/v1/namespaces/{NS}/jobs", {"metadata": {"name": "orphans"}, "spec": {"template": {
        "spec": {**pod("x")["spec"], "restartPolicy": "Never"}}}}).json
    s.post(CORE + "pods", owned(pod("orphans"), job))
    s.delete("/apis/batch/v1/namespaces/{NS}/jobs/orphans")
    s.post("/_sim/settle", {})
    s.expect("pods stay when nothing is said", s.get(CORE + "pods/orphans").status, 200)


def step_namespace_end(s):
    s.post("/api/v1/namespaces", {"metadata": {"name": "{NS}-end"}})
    s.post("/api/v1/namespaces/{NS}-end/configmaps", config_map("held", finalizers=["example.com/hold"]))
    s.post("/api/v1/namespaces/{NS}-end/secrets", {"metadata": {"name": "x"}})
    ending = s.delete("/api/v1/namespaces/{NS}-end")
    s.expect("ending", ending.at("status.phase"), "Terminating")
    s.post("/_sim/settle", {})
    s.expect("waits for finalizers", (s.get("/api/v1/namespaces/{NS}-end").status,
                                      s.get("/api/v1/namespaces/{NS}-end/secrets/x").status), (200, 404))
    late = s.post("/api/v1/namespaces/{NS}-end/configmaps", config_map("late"))
    s.expect("nothing new", (late.status, late.at("details.causes.0.reason")), (403, "NamespaceTerminating"))
    s.merge("/api/v1/namespaces/{NS}-end/configmaps/held", {"metadata": {"finalizers": None}})
    s.expect("gone", s.until(lambda: s.get("/api/v1/namespaces/{NS}-end").status == 404), True)
