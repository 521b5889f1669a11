# SPDX-License-Identifier: Apache-2.0
"""The queries of deploy/monitoring and the names in them. Standard library only."""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy" / "monitoring"

# What other programs export, or Prometheus makes itself.
FOREIGN = {"up", "ALERTS", "kube_pod_status_phase", "kube_pod_status_unschedulable",
           "kube_pod_container_resource_requests", "gha_job_startup_duration_seconds_bucket",
           "gha_job_execution_duration_seconds_bucket", "gha_job_execution_duration_seconds_sum",
           "gha_job_execution_duration_seconds_count"}
WORDS = {"and", "or", "unless", "by", "without", "on", "ignoring", "group_left", "group_right", "bool", "offset", "inf",
         "nan", "sum", "avg", "min", "max", "count", "topk", "bottomk", "stddev", "quantile", "group"}


def catalogue():
    """Names that the agents can answer, by api/metrics.yaml."""
    return set(re.findall(r"^  - name: (\S+)$", (ROOT / "api" / "metrics.yaml").read_text(), re.M))


def by_choice():
    """Of these, what is there only when the agent is told so."""
    text = (ROOT / "api" / "metrics.yaml").read_text()
    blocks = re.split(r"^  - name: ", text, flags=re.M)[1:]
    return {block.split("\n", 1)[0].strip() for block in blocks if re.search(r"^    listed: yes$", block, re.M)}


def dashboards():
    """path -> content: ours, and that of each use in examples/."""
    paths = [DEPLOY / "dashboard.json", *sorted((ROOT / "examples").glob("*/cluster/dashboard.json"))]
    return {path: json.loads(path.read_text()) for path in paths}


def panels(dashboard):
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def dashboard_queries(board=None):
    """(where, expression) of every panel, of the annotations and of the variables; of all dashboards where none is given."""
    if board is None:
        for path, one in dashboards().items():
            yield from ((f"{path.relative_to(ROOT)}: {where}", query) for where, query in dashboard_queries(one))
        return
    for panel in panels(board):
        for target in panel.get("targets", []):
            yield f"panel {panel['title']!r} {target['refId']}", target["expr"]
    for note in board["annotations"]["list"]:
        yield f"annotation {note['name']!r}", note["expr"]
    for variable in board["templating"]["list"]:
        found = re.fullmatch(r"label_values\((.*), *\w+\)", variable["query"]["query"]
                             if isinstance(variable["query"], dict) else "")
        if found:
            yield f"variable {variable['name']}", found.group(1)


def rule_queries():
    """(where, expression) of the rules; `expr: |` blocks are joined."""
    lines = (DEPLOY / "rules.yaml").read_text().splitlines()
    name = ""
    for number, line in enumerate(lines):
        if found := re.match(r"\s+- (?:alert|record): (\S+)", line):
            name = found.group(1)
        if found := re.match(r"(\s+)expr: (.*)", line):
            text = found.group(2)
            if text == "|":
                block = []
                for below in lines[number + 1:]:
                    if below.strip() and len(below) - len(below.lstrip()) <= len(found.group(1)):
                        break
                    block.append(below.strip())
                text = " ".join(block)
            yield f"rule {name}", text


def recipe_queries():
    """Those of KEDA and of prometheus-adapter, with their templates filled in for the pods of the scenes."""
    keda = (DEPLOY / "keda.yaml").read_text()
    for query in re.findall(r"^\s+query: (.*)$", keda, re.M):
        yield "keda.yaml", query.replace("vision-service-", "cat-watcher-").replace('"default"', '"team-a"')
    adapter = (DEPLOY / "prometheus-adapter.yaml").read_text()
    series = [text.replace("\\\"", '"') for text in re.findall(r"seriesQuery: '(.*)'$", adapter, re.M)]
    for query, own in zip(re.findall(r"metricsQuery: (.*)$", adapter, re.M), series):
        name = own.split("{")[0]
        yield f"prometheus-adapter.yaml {name}", own
        filled = query.replace("<<.Series>>", name).replace("<<.GroupBy>>", "pod").replace(
            "<<.LabelMatchers>>", 'namespace="team-a",pod=~"cat-watcher-.*"')
        yield f"prometheus-adapter.yaml {name}", filled


def controller():
    """Names that the controller writes itself; they stand in no catalogue of a node's metrics."""
    source = ROOT / "src"
    sources = [*(source / "controller").glob("*counters.cpp"), source / "controller" / "pool_role.cpp", source / "cost_store" / "accounts.cpp"]
    return set().union(*(re.findall(r'"(aliquot_[a-z_]+)"', source.read_text()) for source in sources))


def vision_worker():
    """Names that the vision worker writes, histograms in their parts."""
    text = "".join(path.read_text() for path in (ROOT / "src" / "vision_worker").glob("*.cpp"))
    names = set(re.findall(r'"(vision_[a-z_]+)"', text))
    return names | {name + part for name in names for part in ("_bucket", "_sum", "_count")}


def records():
    return set(re.findall(r"- record: (\S+)", (DEPLOY / "rules.yaml").read_text()))


def alerts():
    return re.findall(r"- alert: (\S+)", (DEPLOY / "rules.yaml").read_text())


def filled(query, node=".*"):
    """As Grafana fills in its variables when all is chosen, or one node."""
    query = query.replace('"$node"', f'"{node}"')
    for name in ("gpu", "namespace", "pod"):
        query = query.replace(f'"${name}"', '".*"')
    return query.replace("$__rate_interval", "1m").replace("$__range", "1h")


def metrics_in(query):
    """Names of metrics in a query: words that are no function, no keyword, no label."""
    text = re.sub(r'"(\\.|[^"\\])*"', '""', query)
    text = re.sub(r"\{[^}]*\}", "", text)
    text = re.sub(r"\[[^\]]*\]", "", text)
    text = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", text)
    found = set()
    for match in re.finditer(r"[A-Za-z_][A-Za-z0-9_:]*", text):
        before = text[match.start() - 1] if match.start() else " "
        after = text[match.end():].lstrip()
        if before.isdigit() or before == ".":  # 3.6e6, 5m
            continue
        if match.group() in WORDS or (after.startswith("(") and match.group() not in WORDS):
            continue
        found.add(match.group())
    return found
