# SPDX-License-Identifier: Apache-2.0
"""Who may do what. Needs a server with roles on, and an administrator who may impersonate."""
from session import CORE, config_map

RBAC = "/apis/rbac.authorization.k8s.io/v1/"


def step_reviews(s):
    me = s.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    s.expect("me", (me.status, "system:masters" in me.at("status.userInfo.groups")), (201, True))
    may = s.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                 {"spec": {"resourceAttributes": {"verb": "delete", "resource": "nodes"}}})
    s.expect("may", (may.status, may.at("status.allowed")), (201, True))
    unclear = s.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {}})
    s.expect("unclear", unclear.status, 422)
    wrong = s.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "nonsense"}})
    s.expect("token", (wrong.status, wrong.at("status.authenticated")), (201, None))


def step_service_account_token(s):
    s.post(CORE + "serviceaccounts", {"metadata": {"name": "robot"}})
    short = s.post(CORE + "serviceaccounts/robot/token", {"spec": {"expirationSeconds": 60}})
    s.expect("too short", short.status, 422)
    made = s.post(CORE + "serviceaccounts/robot/token", {"spec": {"expirationSeconds": 3600}})
    s.expect("made", (made.status, made.at("kind")), (201, "TokenRequest"))
    token = made.at("status.token")

    def asked():
        return s.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token}})

    s.until(lambda: asked().at("status.authenticated"))
    review = asked()
    s.expect("who", (review.at("status.authenticated"), review.at("status.user.username")),
             (True, "system:serviceaccount:%s:robot" % s.namespace))
    s.expect("groups", "system:serviceaccounts:" + s.namespace in review.at("status.user.groups"), True)
    denied = s.get(CORE + "configmaps", Authorization="Bearer " + token)
    s.expect("denied", (denied.status, denied.at("reason")), (403, "Forbidden"))
    s.expect("message", denied.at("message"),
             'configmaps is forbidden: User "system:serviceaccount:%s:robot" cannot list resource "configmaps" in API '
             'group "" in the namespace "%s"' % (s.namespace, s.namespace))
    s.expect("bad token", s.get(CORE + "configmaps", Authorization="Bearer nonsense").status, 401)


def step_roles(s):
    def as_user(method, path, body=None, **headers):
        return s.ask(method, path, body, Impersonate_User="dora", **headers)

    s.expect("before", as_user("GET", CORE + "configmaps").status, 403)
    role = s.post(RBAC + "namespaces/{NS}/roles", {"metadata": {"name": "reader"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["update", "patch"], "resourceNames": ["mine"]},
        {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}]})
    s.expect("role", role.status, 201)
    bound = s.post(RBAC + "namespaces/{NS}/rolebindings", {
        "metadata": {"name": "reader"}, "roleRef": {"kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": [{"kind": "User", "name": "dora"}]})
    s.expect("bound", (bound.status, bound.at("subjects.0.apiGroup")), (201, "rbac.authorization.k8s.io"))
    s.expect("may list", s.until(lambda: as_user("GET", CORE + "configmaps").status == 200), True)
    s.expect("may not watch all", as_user("GET", "/api/v1/configmaps").status, 403)
    s.expect("may not create", as_user("POST", CORE + "configmaps", config_map("x")).status, 403)
    s.post(CORE + "configmaps", config_map("mine"))
    change = '{"data":{"z":"1"}}'
    s.expect("mine", as_user("PATCH", CORE + "configmaps/mine", change, kind="application/merge-patch+json").status, 200)
    s.expect("others", as_user("PATCH", CORE + "configmaps/one", change, kind="application/merge-patch+json").status, 403)
    s.expect("not deleted", as_user("DELETE", CORE + "configmaps/mine").status, 403)
    s.expect("secrets", as_user("GET", CORE + "secrets").status, 403)
    s.expect("eviction allowed, pod absent", as_user("POST", CORE + "pods/none/eviction", {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "none"}}).status, 404)
    review = s.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {"user": "dora", "resourceAttributes": {
        "namespace": s.namespace, "verb": "get", "resource": "configmaps"}}})
    s.expect("review", review.at("status.allowed"), True)
    other = s.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {"user": "dora", "resourceAttributes": {
        "namespace": "default", "verb": "get", "resource": "configmaps"}}})
    s.expect("elsewhere", other.at("status.allowed"), False)
    rules = as_user("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": s.namespace}})
    s.expect("rules", ["configmaps"] in [r["resources"] for r in rules.at("status.resourceRules")], True)
    changed = s.merge(RBAC + "namespaces/{NS}/rolebindings/reader", {"roleRef": {"name": "other"}})
    s.expect("role of a binding is fixed", (changed.status, changed.causes), (422, [("FieldValueInvalid", "roleRef")]))
    s.delete(RBAC + "namespaces/{NS}/rolebindings/reader")
    s.expect("after", s.until(lambda: as_user("GET", CORE + "configmaps").status == 403), True)
    s.expect("anyone's discovery", as_user("GET", "/apis").status, 200)
