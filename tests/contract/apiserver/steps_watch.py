# SPDX-License-Identifier: Apache-2.0
"""Watches."""
from session import CORE, config_map, dig


def step_watch(s):
    version = s.get(CORE + "configmaps").at("metadata.resourceVersion")
    watch = s.watch("/api/v1/namespaces/{NS}/configmaps?watch=1&allowWatchBookmarks=true&resourceVersion=" + version)
    s.expect("status", watch.status, 200)
    made = s.post(CORE + "configmaps", config_map("watched")).json
    changed = s.merge(CORE + "configmaps/watched", {"data": {"a": "2"}}).json
    s.delete(CORE + "configmaps/watched")
    events = [e for e in watch.wait(3) if e["type"] != "BOOKMARK"]
    s.expect("events", [(e["type"], e["object"]["metadata"]["name"]) for e in events],
             [("ADDED", "watched"), ("MODIFIED", "watched"), ("DELETED", "watched")])
    s.expect("objects", (events[0]["object"], events[1]["object"]), (made, changed))
    s.expect("end has a version", int(dig(events[2], "object.metadata.resourceVersion")) >
             int(changed["metadata"]["resourceVersion"]), True)
    watch.close()


def step_watch_selection(s):
    version = s.get(CORE + "configmaps").at("metadata.resourceVersion")
    watch = s.watch("/api/v1/configmaps?watch=true&labelSelector=team%3D{NS}&resourceVersion=" + version)
    s.post(CORE + "configmaps", config_map("sel"))
    s.merge(CORE + "configmaps/sel", {"metadata": {"labels": {"team": s.namespace}}})
    s.merge(CORE + "configmaps/sel", {"data": {"b": "1"}})
    s.merge(CORE + "configmaps/sel", {"metadata": {"labels": {"team": "other"}}})
    events = watch.wait(3)
    s.expect("comes, changes, leaves", [e["type"] for e in events], ["ADDED", "MODIFIED", "DELETED"])
    s.expect("as it was", events[2]["object"]["metadata"]["labels"], {"team": s.namespace})
    watch.close()
    one = s.watch("/api/v1/namespaces/{NS}/configmaps?watch=1&fieldSelector=metadata.name%3Dsel&resourceVersion=0")
    s.expect("present", one.types(1), ["ADDED"])
    one.close()
    named = s.watch("/api/v1/watch/namespaces/{NS}/configmaps/sel?resourceVersion=0")
    s.expect("old path", named.types(1), ["ADDED"])
    named.close()


def step_watch_list(s):
    s.post(CORE + "configmaps", config_map("wl", labels={"wl": "1"}))
    watch = s.watch("/api/v1/namespaces/{NS}/configmaps?watch=1&sendInitialEvents=true&labelSelector=wl"
                    "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
    events = watch.wait(2)
    s.expect("events", [e["type"] for e in events], ["ADDED", "BOOKMARK"])
    s.expect("mark", dig(events[1], "object.metadata.annotations"), {"k8s.io/initial-events-end": "true"})
    s.expect("kind", (events[1]["object"]["kind"], events[1]["object"]["apiVersion"]), ("ConfigMap", "v1"))
    s.merge(CORE + "configmaps/wl", {"data": {"x": "y"}})
    s.expect("goes on", [e["type"] for e in watch.wait(3)], ["ADDED", "BOOKMARK", "MODIFIED"])
    watch.close()
    alone = s.get(CORE + "configmaps?watch=1&sendInitialEvents=true")
    s.expect("needs a match", (alone.status, alone.at("reason")), (422, "Invalid"))
    match = s.get(CORE + "configmaps?watch=1&resourceVersionMatch=NotOlderThan")
    s.expect("match alone", match.status, 422)


def step_watch_end(s):
    watch = s.watch("/api/v1/namespaces/{NS}/configmaps?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dnone")
    s.until(lambda: watch.ended, 15)
    s.expect("ends in order", (watch.ended, watch.events), (True, []))
    future = s.get(CORE + "configmaps?watch=1&timeoutSeconds=2&resourceVersion=999999999")
    s.expect("future", future.status, lambda status: status in (504, 200))
    bad = s.get(CORE + "configmaps?watch=1&resourceVersion=abc")
    s.expect("no version", bad.status, lambda status: status in (400, 422, 500))


def step_watch_forms(s):
    s.post(CORE + "configmaps", config_map("wf"))
    connection = s.connect()
    headers = {**s.headers(), "Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
    connection.request("GET", ("/api/v1/namespaces/{NS}/configmaps?watch=1&resourceVersion=0&timeoutSeconds=1"
                               "&fieldSelector=metadata.name%3Dwf").replace("{NS}", s.namespace), headers=headers)
    lines = connection.getresponse().read().decode().strip().split("\n")
    s.expect("metadata", ('"PartialObjectMetadata"' in lines[0], '"data"' in lines[0]), (True, False))
    connection.close()
