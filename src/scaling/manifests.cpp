// SPDX-License-Identifier: Apache-2.0
#include "scaling/manifests.h"

#include <algorithm>

#include "base/base64.h"
#include "http/certificate.h"
#include "k8s/names.h"
#include "kube_client/object.h"

namespace aliquot::scaling {
namespace {

constexpr std::string_view kAccess =
    R"(# Pods are read for their labels; nothing else of the cluster is.
apiVersion: v1
kind: ServiceAccount
metadata:
  name: aliquot-metrics-api
  namespace: @NAMESPACE@
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: aliquot-metrics-api
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: aliquot-metrics-api
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: aliquot-metrics-api
subjects:
- kind: ServiceAccount
  name: aliquot-metrics-api
  namespace: @NAMESPACE@
---
# How the API server's requests are known.
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: aliquot-metrics-api
  namespace: kube-system
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: extension-apiserver-authentication-reader
subjects:
- kind: ServiceAccount
  name: aliquot-metrics-api
  namespace: @NAMESPACE@
---
# What the autoscaler may read.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: aliquot-metrics-reader
rules:
- apiGroups: [custom.metrics.k8s.io, external.metrics.k8s.io]
  resources: ["*"]
  verbs: [get, list]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: aliquot-metrics-reader
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: aliquot-metrics-reader
subjects:
- kind: ServiceAccount
  name: horizontal-pod-autoscaler
  namespace: kube-system
)";

constexpr std::string_view kServices = R"(---
# The agents: each address of this name is a node.
apiVersion: v1
kind: Service
metadata:
  name: aliquot-agents
  namespace: @NAMESPACE@
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    app.kubernetes.io/name: aliquot
    app.kubernetes.io/component: agent
  ports:
  - name: metrics
    port: 9400
---
apiVersion: v1
kind: Service
metadata:
  name: aliquot-metrics-api
  namespace: @NAMESPACE@
spec:
  selector:
    app.kubernetes.io/name: aliquot-metrics-api
  ports:
  - name: https
    port: 443
    targetPort: https
)";

constexpr std::string_view kDeployment = R"(---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: aliquot-metrics-api
  namespace: @NAMESPACE@
  labels:
    app.kubernetes.io/name: aliquot-metrics-api
spec:
  replicas: @REPLICAS@
  selector:
    matchLabels:
      app.kubernetes.io/name: aliquot-metrics-api
  template:
    metadata:
      labels:
        app.kubernetes.io/name: aliquot-metrics-api
    spec:
      serviceAccountName: aliquot-metrics-api
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  app.kubernetes.io/name: aliquot-metrics-api
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: metrics-api
        image: "@IMAGE@"
        command:
        - aliquot
        - metrics-api
        - --listen=:6443
        - --agents-service=aliquot-agents.@NAMESPACE@.svc:9400
@CERTIFICATE_FLAGS@        ports:
        - name: https
          containerPort: 6443
        livenessProbe:
          httpGet: {path: /livez, port: https, scheme: HTTPS}
          periodSeconds: 20
        readinessProbe:
          httpGet: {path: /readyz, port: https, scheme: HTTPS}
          periodSeconds: 5
        resources:
          requests: {cpu: 20m, memory: 32Mi}
          limits: {memory: 256Mi}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [ALL]
        volumeMounts:
        - name: tmp
          mountPath: /tmp
@CERTIFICATE_MOUNT@      volumes:
      - name: tmp
        emptyDir: {}
@CERTIFICATE_VOLUME@---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: aliquot-metrics-api
  namespace: @NAMESPACE@
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: aliquot-metrics-api
)";

constexpr std::string_view kCertificateFlags = R"(        - --tls-cert-file=/certificate/tls.crt
        - --tls-key-file=/certificate/tls.key
)";
constexpr std::string_view kCertificateMount = R"(        - name: certificate
          mountPath: /certificate
          readOnly: true
)";
constexpr std::string_view kCertificateVolume = R"(      - name: certificate
        secret:
          secretName: aliquot-metrics-api
)";

constexpr std::string_view kSecret = R"(---
apiVersion: v1
kind: Secret
metadata:
  name: aliquot-metrics-api
  namespace: @NAMESPACE@
type: kubernetes.io/tls
data:
  tls.crt: @CERTIFICATE@
  tls.key: @KEY@
)";

constexpr std::string_view kApiService = R"(---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: @VERSION@.@GROUP@
spec:
  group: @GROUP@
  version: @VERSION@
  groupPriorityMinimum: 100
  versionPriority: @PRIORITY@
  service:
    name: aliquot-metrics-api
    namespace: @NAMESPACE@
    port: 443
@TRUST@)";

std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string, std::string>>& words) {
    std::string made(text);
    for (const auto& [mark, word] : words) {
        for (std::size_t at = 0; (at = made.find(mark, at)) != std::string::npos;
             at += word.size()) {
            made.replace(at, mark.size(), word);
        }
    }
    return made;
}

bool is_image(std::string_view text) {
    return !text.empty() && text.size() <= 512 && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("-._/:@").contains(c);
    });
}

std::string api_services(const ManifestOptions& options, const std::string& trust) {
    std::string text;
    for (const std::string& name : api_service_names()) {
        if (options.taken.contains(name)) {
            text += "---\n# " + name + " is not here: somebody else serves it.\n";
            continue;
        }
        const std::string version = name.substr(0, name.find('.'));
        text += filled(kApiService, {{"@VERSION@", version},
                                     {"@GROUP@", name.substr(version.size() + 1)},
                                     {"@PRIORITY@", version == "v1beta2" ? "200" : "100"},
                                     {"@NAMESPACE@", options.namespace_name},
                                     {"@TRUST@", trust}});
    }
    return text;
}

}  // namespace

const std::vector<std::string>& api_service_names() {
    static const std::vector<std::string> kNames{"v1beta2.custom.metrics.k8s.io",
                                                 "v1beta1.custom.metrics.k8s.io",
                                                 "v1beta1.external.metrics.k8s.io"};
    return kNames;
}

Result<std::string> manifests(const ManifestOptions& options) {
    if (!k8s::is_dns_label(options.namespace_name)) {
        return Error{ErrorCode::kInvalidInput,
                     "'" + options.namespace_name + "' is not a name of a namespace"};
    }
    if (!is_image(options.image)) {
        return Error{ErrorCode::kInvalidInput, "'" + options.image + "' is not an image"};
    }
    if (options.taken.size() >= api_service_names().size()) {
        return Error{ErrorCode::kInvalidInput,
                     "others serve all metrics APIs of this cluster; remove theirs first, or use "
                     "them with Prometheus"};
    }
    const bool sure = options.with_certificate;
    std::string trust = "  insecureSkipTLSVerify: true\n";
    std::string secret;
    if (sure) {
        constexpr std::chrono::hours kTenYears{24 * 3650};
        const auto authority = http::make_authority("aliquot-metrics-api", kTenYears);
        if (!authority) return authority.error();
        const std::string host = "aliquot-metrics-api." + options.namespace_name + ".svc";
        const auto own = http::issue(*authority, host, {"DNS:" + host}, kTenYears);
        if (!own) return own.error();
        trust = "  caBundle: " + encode_base64(authority->certificate) + "\n";
        secret = filled(kSecret, {{"@NAMESPACE@", options.namespace_name},
                                  {"@CERTIFICATE@", encode_base64(own->certificate)},
                                  {"@KEY@", encode_base64(own->key)}});
    }
    const std::vector<std::pair<std::string, std::string>> words{
        {"@CERTIFICATE_FLAGS@", sure ? std::string(kCertificateFlags) : ""},
        {"@CERTIFICATE_MOUNT@", sure ? std::string(kCertificateMount) : ""},
        {"@CERTIFICATE_VOLUME@", sure ? std::string(kCertificateVolume) : ""},
        {"@NAMESPACE@", options.namespace_name},
        {"@IMAGE@", options.image},
        {"@REPLICAS@", std::to_string(options.replicas)}};
    return filled(kAccess, words) + filled(kServices, words) + secret + filled(kDeployment, words) +
           api_services(options, trust);
}

std::string api_service_owner(std::string_view json) {
    const auto name = kube_client::string_at(json, "/spec/service/name");
    const auto space = kube_client::string_at(json, "/spec/service/namespace");
    return name && space ? *space + "/" + *name : "";
}

}  // namespace aliquot::scaling
