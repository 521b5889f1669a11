#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A session of kubectl: kubectl_session.py KUBECONFIG [KUBECTL]. Each step: arguments, exit code, what its
output must match. Seen of kube-apiserver 1.36.2 with kubectl 1.36."""
import os
import re
import subprocess
import sys
import tempfile
import time

NS = "kc-%d" % (time.time() * 1000 % 10_000_000)
NODE = NS + "-node"

BASE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {team: x}}
data: {k: "1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers:
      - {name: main, image: "busybox:1", env: [{name: A, value: "1"}, {name: B, value: "2"}], ports: [{containerPort: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {selector: {app: d}, ports: [{port: 80}]}
"""
CHANGED = BASE.replace('k: "1"', 'k: "2"').replace(', {name: B, value: "2"}', "").replace("busybox:1", "busybox:2")
NODE_TEXT = "apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {gpu: a100}}\n" % NODE
GROUP = NS + ".example.com"
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.%s}
spec:
  group: %s
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget, shortNames: [gd%s]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}, status: {type: object, x-kubernetes-preserve-unknown-fields: true}}
""" % (GROUP, GROUP, NS[-4:])
GADGET = "apiVersion: %s/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {size: 3}\n" % GROUP

# arguments ("-f -" reads the text), text, exit code, pattern
STEPS = [
    ("version", "", 0, r"Server Version: v1\.\d+"),
    ("create namespace %NS", "", 0, "namespace/%NS created"),
    ("create namespace %NS", "", 1, r"\(AlreadyExists\)"),
    ("apply -f -", BASE, 0, "configmap/a created\ndeployment.apps/d created\nservice/s created"),
    ("apply -f -", BASE, 0, "configmap/a unchanged\ndeployment.apps/d unchanged\nservice/s unchanged"),
    ("diff -f -", CHANGED, 1, r"\+ +image: busybox:2"),
    ("apply -f -", CHANGED, 0, "configmap/a configured\ndeployment.apps/d configured\nservice/s unchanged"),
    ("get deploy d -o jsonpath={.spec.template.spec.containers[0].env}", "", 0, r'^\[{"name":"A","value":"1"}\]$'),
    ("get cm a -o jsonpath={.data.k}", "", 0, "^2$"),
    ("apply -f - --dry-run=server", BASE, 0, r"configmap/a configured \(server dry run\)"),
    ("get cm a -o jsonpath={.data.k}", "", 0, "^2$"),
    ("apply -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z}\ndatum: {}\n", 1, 'unknown field "datum"'),
    ("get deploy -o wide", "", 0, r"NAME +READY +UP-TO-DATE +AVAILABLE +AGE +CONTAINERS +IMAGES +SELECTOR\nd +0/2 +0 +0 +\S+ +main +busybox:2 +app=d"),
    ("get deploy,svc,cm -o name", "", 0, "deployment.apps/d\nservice/s\nconfigmap/a"),
    ("get all", "", 0, r"NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE\nservice/s +ClusterIP +10\.\S+ +<none> +80/TCP"),
    ("get cm -l team=x -o name", "", 0, "configmap/a"),
    ("get cm --field-selector metadata.name=none", "", 0, "No resources found"),
    ("get cm --chunk-size=1 -o name", "", 0, "configmap/a"),
    ("get pods", "", 0, "No resources found in %NS namespace"),
    ("get pod none", "", 1, r'Error from server \(NotFound\): pods "none" not found'),
    ("describe deploy d", "", 0, r"Replicas: +2 desired \| 0 updated \| 0 total \| 0 available"),
    ("label cm a color=red", "", 0, "configmap/a labeled"),
    ("label cm a color=blue", "", 1, "already has a value"),
    ("label cm a color=blue --overwrite", "", 0, "configmap/a labeled"),
    ("label cm a color-", "", 0, "configmap/a unlabeled"),
    ("annotate cm a note=some", "", 0, "configmap/a annotated"),
    ("scale deploy d --replicas=5", "", 0, "deployment.apps/d scaled"),
    ("get deploy d -o jsonpath={.spec.replicas}", "", 0, "^5$"),
    ("wait --for=jsonpath={.spec.replicas}=5 deploy/d --timeout=5s", "", 0, "deployment.apps/d condition met"),
    ("set image deploy/d main=busybox:3", "", 0, "deployment.apps/d image updated"),
    ("rollout restart deploy/d", "", 0, "deployment.apps/d restarted"),
    ('patch deploy d -p {"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:1"}]}}}}', "", 0, "patched"),
    ('patch cm a --type=merge -p {"data":{"m":"1"}}', "", 0, "configmap/a patched"),
    ('patch cm a --type=json -p [{"op":"remove","path":"/data/m"}]', "", 0, "configmap/a patched"),
    ('patch cm a --type=json -p [{"op":"test","path":"/data/k","value":"9"}]', "", 1, "the server rejected our request|is invalid"),
    ("get deploy d -o jsonpath={.spec.template.spec.containers[*].name}", "", 0, "^side main$"),
    ("apply --server-side -f - --field-manager=one", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ss}\ndata: {a: '1'}\n", 0, "configmap/ss serverside-applied"),
    ("apply --server-side -f - --field-manager=two", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ss}\ndata: {a: '2'}\n", 1, r'conflict with "one": \.data\.a'),
    ("apply --server-side -f - --field-manager=two --force-conflicts", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ss}\ndata: {a: '2'}\n", 0, "configmap/ss serverside-applied"),
    ("get cm ss -o yaml --show-managed-fields", "", 0, r"manager: two\n +operation: Apply"),
    ("apply -f -", NODE_TEXT, 0, "created"),
    ("get nodes %NODE", "", 0, r"NAME +STATUS +ROLES +AGE +VERSION\n%NODE +Unknown +<none>"),
    ("taint nodes %NODE nvidia.com/gpu=true:NoSchedule", "", 0, "node/%NODE tainted"),
    ("get node %NODE -o jsonpath={.spec.taints[*].key}", "", 0, "nvidia.com/gpu"),
    ("taint nodes %NODE nvidia.com/gpu-", "", 0, "node/%NODE untainted"),
    ("cordon %NODE", "", 0, "node/%NODE cordoned"),
    ("get nodes %NODE", "", 0, "Unknown,SchedulingDisabled"),
    ("uncordon %NODE", "", 0, "node/%NODE uncordoned"),
    ("describe node %NODE", "", 0, r"Name: +%NODE"),
    ("run p --image=busybox --restart=Never", "", 0, "pod/p created"),
    ("get pods -o wide", "", 0, r"NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES\np +0/1 +Pending +0 "),
    ("describe pod p", "", 0, r"Status: +Pending"),
    ("drain %NODE --ignore-daemonsets --force", "", 0, "drained"),
    ("delete pod p --wait=false", "", 0, 'pod "p" deleted'),
    ("create job j --image=busybox", "", 0, "job.batch/j created"),
    ("get jobs", "", 0, r"NAME +STATUS +COMPLETIONS +DURATION +AGE\nj +Running +0/1"),
    ("create cronjob c --image=busybox --schedule=*/5_*_*_*_*", "", 0, "cronjob.batch/c created"),
    ("create secret generic sec --from-literal=x=y", "", 0, "secret/sec created"),
    ("get secret sec", "", 0, r"NAME +TYPE +DATA +AGE\nsec +Opaque +1"),
    ("create quota q --hard=pods=3", "", 0, "resourcequota/q created"),
    ("create serviceaccount robot", "", 0, "serviceaccount/robot created"),
    ("create token robot", "", 0, r"\S{20}"),
    ("create role r --verb=get --resource=pods", "", 0, "role.rbac.authorization.k8s.io/r created"),
    ("create rolebinding rb --role=r --serviceaccount=%NS:robot", "", 0, "created"),
    ("auth can-i create pods", "", 0, "yes"),
    ("auth whoami", "", 0, "system:masters"),
    ("expose deploy d --port=81 --name=e", "", 0, "service/e exposed"),
    ("autoscale deploy d --min=1 --max=3", "", 0, "autoscaled"),
    ("create pdb b --selector=app=d --min-available=1", "", 0, "poddisruptionbudget.policy/b created"),
    ("create priorityclass %NS --value=7", "", 0, "created"),
    ("delete priorityclass %NS", "", 0, "deleted"),
    ("api-resources --api-group=apps", "", 0, r"deployments +deploy +apps/v1 +true +Deployment"),
    ("api-versions", "", 0, "batch/v1"),
    ("explain pod.spec.containers", "", 0, r"FIELDS:\n"),
    ("explain deployment.spec.replicas", "", 0, r"FIELD: replicas <integer>"),
    ("get --raw /readyz", "", 0, "^ok$"),
    ("apply -f -", CRD, 0, "created"),
    ("wait --for=condition=Established crd/gadgets.%GROUP --timeout=20s", "", 0, "condition met"),
    ("apply -f -", GADGET, 0, "gadget.%GROUP/g created"),
    ("apply -f -", GADGET.replace("size: 3", "size: 4"), 0, "gadget.%GROUP/g configured"),
    ("get gadgets.%GROUP", "", 0, r"NAME +SIZE\ng +4"),
    ("apply -f -", GADGET.replace("size: 3", "size: big"), 1, "spec.size"),
    ('patch gadgets.%GROUP g --type=merge --subresource=status -p {"status":{"x":1}}', "", 0, "patched"),
    ("get gadgets.%GROUP g -o jsonpath={.status.x}", "", 0, "^1$"),
    ("delete gadgets.%GROUP g", "", 0, "deleted"),
    ("delete crd gadgets.%GROUP", "", 0, "deleted"),
    ("get events", "", 0, "No resources found"),
    ("replace -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ss}\ndata: {b: '1'}\n", 0, "configmap/ss replaced"),
    ("delete cm -l team=x", "", 0, 'configmap "a" deleted'),
    ("delete -f -", BASE, 1, 'deployment.apps "d" deleted'),
    ("delete node %NODE", "", 0, "deleted"),
    ("delete namespace %NS --wait=false", "", 0, 'namespace "%NS" deleted'),
]


def fill(text):
    return text.replace("%GROUP", GROUP).replace("%NODE", NODE).replace("%NS", NS)


def main():
    config, kubectl = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "kubectl"
    failures = 0
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "KUBECONFIG": config}
        for arguments, text, code, pattern in STEPS:
            words = [fill(w).replace("_", " ") if "schedule" in w else fill(w) for w in arguments.split(" ")]
            scoped = [] if words[0] in ("version", "api-versions", "api-resources", "explain") else ["-n", NS]
            if words[:2] == ["create", "namespace"]:
                scoped = []
            done = subprocess.run([kubectl, *scoped, *words], input=text, capture_output=True, text=True,
                                  env=environment, timeout=90, check=False)
            output = done.stdout + done.stderr
            if done.returncode != code or not re.search(fill(pattern), output):
                failures += 1
                print("FAIL kubectl %s: exit %d (expected %d), expected /%s/, got:\n%s" % (
                    " ".join(words), done.returncode, code, fill(pattern), output[:1500]))
    print("%d kubectl steps, %d differences" % (len(STEPS), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
