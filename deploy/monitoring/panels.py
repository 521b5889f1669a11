# SPDX-License-Identifier: Apache-2.0
"""Panels and dashboards of Grafana as plain values: what generate.py and uses.py are written with."""

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
GPU = 'node=~"$node",gpu=~"$gpu"'
POD = GPU + ',namespace=~"$namespace",pod=~"$pod"'
GUARD = 'namespace=~"$namespace",pod=~"$pod"'
NODE = 'node=~"$node"'
AT = "{{node}}/{{gpu}}"
OWNER = "{{namespace}}/{{pod}}"
GRID = 24


def stat(title, expr, unit="none", steps=((None, "text"),), help_text="", decimals=None):
    defaults = {"unit": unit, "color": {"mode": "thresholds"}, "mappings": [],
                "thresholds": {"mode": "absolute", "steps": [{"color": c, "value": v} for v, c in steps]}}
    if decimals is not None:
        defaults["decimals"] = decimals
    return {"type": "stat", "title": title, "description": help_text, "w": 3, "h": 4,
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                        "colorMode": "value", "graphMode": "area", "justifyMode": "auto", "orientation": "auto",
                        "textMode": "auto"},
            "targets": [target("A", expr, "")]}


def target(ref, expr, legend, table=False):
    made = {"refId": ref, "datasource": SOURCE, "expr": expr, "legendFormat": legend,
            "range": not table, "instant": table}
    if table:
        made["format"] = "table"
    return made


def graph(title, queries, unit="short", stack=False, most=None, width=12, help_text="", fill=10):
    defaults = {"unit": unit, "min": 0, "color": {"mode": "palette-classic"}, "mappings": [],
                "thresholds": {"mode": "absolute", "steps": [{"color": "green", "value": None}]},
                "custom": {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 60 if stack else fill,
                           "stacking": {"mode": "normal" if stack else "none", "group": "A"},
                           "showPoints": "never", "spanNulls": False}}
    if most is not None:
        defaults["max"] = most
    if isinstance(queries, tuple):
        queries = [queries]
    return {"type": "timeseries", "title": title, "description": help_text, "w": width, "h": 8,
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": {"legend": {"displayMode": "table", "placement": "bottom", "showLegend": True,
                                   "calcs": ["lastNotNull", "max"]},
                        "tooltip": {"mode": "multi", "sort": "desc"}},
            "targets": [target(chr(65 + i), expr, legend) for i, (expr, legend) in enumerate(queries)]}


def timeline(title, expr, legend, texts, width=12, help_text=""):
    mappings = [{"type": "value", "options": {str(value): {"text": text, "color": color, "index": i}
                                              for i, (value, text, color) in enumerate(texts)}}]
    return {"type": "state-timeline", "title": title, "description": help_text, "w": width, "h": 8,
            "fieldConfig": {"defaults": {"mappings": mappings, "color": {"mode": "thresholds"},
                                         "custom": {"fillOpacity": 70, "lineWidth": 0},
                                         "thresholds": {"mode": "absolute",
                                                        "steps": [{"color": "green", "value": None}]}},
                            "overrides": []},
            "options": {"mergeValues": True, "showValue": "never", "alignValue": "left", "rowHeight": 0.9,
                        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                        "tooltip": {"mode": "single", "sort": "none"}},
            "targets": [target("A", expr, legend)]}


def table(title, columns, labels, sort, width=24, help_text=""):
    """columns: (title, unit, expr); labels: what the rows are about; sort: title of a column."""
    overrides = [{"matcher": {"id": "byName", "options": name}, "properties": [{"id": "unit", "value": unit}]}
                 for name, unit, _ in columns]
    refs = [chr(65 + i) for i in range(len(columns))]
    return {"type": "table", "title": title, "description": help_text, "w": width, "h": 9,
            "fieldConfig": {"defaults": {"custom": {"align": "auto", "filterable": True}, "mappings": [],
                                         "thresholds": {"mode": "absolute",
                                                        "steps": [{"color": "green", "value": None}]}},
                            "overrides": overrides},
            "options": {"showHeader": True, "cellHeight": "sm", "sortBy": [{"displayName": sort, "desc": True}]},
            "targets": [target(ref, expr, "", table=True) for ref, (_, _, expr) in zip(refs, columns)],
            "transformations": [
                {"id": "merge", "options": {}},
                {"id": "organize", "options": {
                    "excludeByName": {"Time": True},
                    "indexByName": {name: i for i, name in enumerate(labels)},
                    "renameByName": {"Value" if len(refs) == 1 else f"Value #{ref}": name
                                     for ref, (name, _, _) in zip(refs, columns)}}}]}


def by(labels, expr):
    return f"sum by ({', '.join(labels)}) ({expr})"


def variable(name, query, label):
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE, "definition": query,
            "query": {"qryType": 1, "query": query, "refId": "StandardVariableQuery"},
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
            "multi": True, "includeAll": True, "allValue": ".*", "refresh": 2, "sort": 1, "hide": 0,
            "regex": "", "skipUrlSync": False, "options": []}


def place(panels, y):
    """Gives panels their place from left to right; returns them and the line beneath."""
    x = height = 0
    placed = []
    for panel in panels:
        panel = dict(panel)
        w, h = panel.pop("w"), panel.pop("h")
        if x + w > GRID:
            x, y, height = 0, y + height, 0
        panel["gridPos"] = {"h": h, "w": w, "x": x, "y": y}
        panel["datasource"] = SOURCE
        x += w
        height = max(height, h)
        placed.append(panel)
    return placed, y + height


def dashboard(uid, title, rows):
    """rows: (title, panels, collapsed)"""
    panels, y, number = [], 0, 0
    for name, own, collapsed in rows:
        row = {"type": "row", "title": name, "collapsed": collapsed, "panels": [],
               "gridPos": {"h": 1, "w": GRID, "x": 0, "y": y}}
        placed, below = place(own, y + 1)
        panels.append(row)
        if collapsed:
            row["panels"] = placed
            y += 1
        else:
            panels += placed
            y = below
        for panel in [row] + placed:
            number += 1
            panel["id"] = number
    variables = [{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "current": {},
                  "hide": 0, "refresh": 1, "regex": "", "multi": False, "includeAll": False, "options": []},
                 variable("node", "label_values(gpu_info, node)", "Node"),
                 variable("gpu", 'label_values(gpu_info{node=~"$node"}, gpu)', "GPU"),
                 variable("namespace", 'label_values(gpu_pod_info{node=~"$node"}, namespace)', "Namespace"),
                 variable("pod", 'label_values(gpu_pod_info{namespace=~"$namespace"}, pod)', "Pod")]
    return {"id": None, "uid": uid, "title": title, "tags": ["gpu", "aliquot"],
            "schemaVersion": 39, "version": 1, "editable": True, "refresh": "30s",
            "time": {"from": "now-6h", "to": "now"}, "timezone": "", "graphTooltip": 1, "fiscalYearStartMonth": 0,
            "weekStart": "", "templating": {"list": variables}, "links": [], "panels": panels,
            "annotations": {"list": [{
                "name": "GPU alerts", "datasource": SOURCE, "enable": True, "iconColor": "red",
                "expr": 'ALERTS{alertname=~"Gpu.*",alertstate="firing",severity="critical"}',
                "titleFormat": "{{alertname}}", "textFormat": "{{node}} {{gpu}} {{namespace}} {{pod}}"}]}}
