// SPDX-License-Identifier: Apache-2.0
// What is expected was seen of kube-apiserver 1.36.2.
#include "sim/apiserver/pod_security.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "sim/apiserver/api_server.h"

namespace aliquot::sim::apiserver {
namespace {

constexpr const char* kGood =
    "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, "
    "runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}";

std::string judged(std::string_view level, const std::string& spec) {
    const auto parsed = parse_yaml(spec);
    EXPECT_TRUE(parsed) << spec;
    return parsed ? join(against_standard(level, Value(), parsed->value), ", ") : "";
}

/// kGood in place of "GOOD".
std::string with_good(std::string spec) {
    const std::size_t at = spec.find("GOOD");
    return at == std::string::npos ? spec : spec.replace(at, 4, kGood);
}

struct Case {
    const char* spec;
    const char* baseline;
    const char* restricted;
};

const Case kCases[] = {
    {"{containers: [{name: c, GOOD}]}", "", ""},
    {"{containers: [{name: c}]}", "",
     R"(allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"))"},
    {"{containers: [{name: c, securityContext: {privileged: true}}, {name: d, securityContext: "
     "{privileged: true}}]}",
     R"(privileged (containers "c", "d" must not set securityContext.privileged=true))",
     R"(privileged (containers "c", "d" must not set securityContext.privileged=true), allowPrivilegeEscalation != false (containers "c", "d" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (containers "c", "d" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or containers "c", "d" must set securityContext.runAsNonRoot=true), seccompProfile (pod or containers "c", "d" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"))"},
    {"{initContainers: [{name: i, securityContext: {privileged: true}}], containers: [{name: c, "
     "GOOD}]}",
     R"(privileged (container "i" must not set securityContext.privileged=true))", nullptr},
    {"{hostPID: true, hostNetwork: true, hostIPC: true, containers: [{name: c, GOOD}]}",
     "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
     "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)"},
    {"{volumes: [{name: a, hostPath: {path: /x}}, {name: b, hostPath: {path: /y}}], containers: "
     "[{name: c, GOOD}]}",
     R"(hostPath volumes (volumes "a", "b"))",
     R"(restricted volume types (volumes "a", "b" use restricted volume type "hostPath"))"},
    {"{volumes: [{name: a, nfs: {server: x, path: /}}, {name: b, emptyDir: {}}, {name: d, "
     "gcePersistentDisk: {pdName: x}}], containers: [{name: c, GOOD}]}",
     "",
     R"(restricted volume types (volumes "a", "d" use restricted volume types "gcePersistentDisk", "nfs"))"},
    {"{containers: [{name: c, ports: [{containerPort: 1, hostPort: 80}, {containerPort: 2, "
     "hostPort: 81}], GOOD}]}",
     R"(hostPort (container "c" uses hostPorts 80, 81))",
     R"(hostPort (container "c" uses hostPorts 80, 81))"},
    {"{containers: [{name: c, securityContext: {capabilities: {add: [SYS_ADMIN, CHOWN]}}}]}",
     R"(non-default capabilities (container "c" must not include "SYS_ADMIN" in securityContext.capabilities.add))",
     R"(allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]; container "c" must not include "CHOWN", "SYS_ADMIN" in securityContext.capabilities.add), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"))"},
    {"{containers: [{name: c, securityContext: {allowPrivilegeEscalation: false, runAsNonRoot: "
     "true, seccompProfile: {type: Localhost}, capabilities: {add: [NET_BIND_SERVICE, CHOWN], "
     "drop: [ALL]}}}]}",
     "",
     R"(unrestricted capabilities (container "c" must not include "CHOWN" in securityContext.capabilities.add))"},
    {"{securityContext: {runAsUser: 0}, containers: [{name: c, GOOD}]}", "",
     "runAsUser=0 (pod must not set runAsUser=0)"},
    {"{securityContext: {runAsNonRoot: true}, containers: [{name: c, securityContext: {runAsUser: "
     "0, runAsNonRoot: false, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, "
     "seccompProfile: {type: RuntimeDefault}}}]}",
     "",
     R"(runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false), runAsUser=0 (container "c" must not set runAsUser=0))"},
    {"{securityContext: {seccompProfile: {type: Unconfined}}, containers: [{name: c, GOOD}, {name: "
     "d, securityContext: {seccompProfile: {type: Unconfined}}}]}",
     R"(seccompProfile (pod and container "d" must not set securityContext.seccompProfile.type to "Unconfined"))",
     nullptr},
    {"{securityContext: {sysctls: [{name: kernel.msgmax}, {name: net.ipv4.tcp_syncookies}]}, "
     "containers: [{name: c, GOOD}]}",
     "forbidden sysctls (kernel.msgmax)", "forbidden sysctls (kernel.msgmax)"},
    {"{securityContext: {seLinuxOptions: {type: foo, user: u, role: r}}, containers: [{name: c, "
     "GOOD}]}",
     R"(seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "foo"; user may not be set; role may not be set))",
     nullptr},
    {"{securityContext: {appArmorProfile: {type: Unconfined}}, containers: [{name: c, "
     "securityContext: {appArmorProfile: {type: Unconfined}}}]}",
     R"(forbidden AppArmor profile (pod and container "c" must not set AppArmor profile type to "Unconfined"))",
     nullptr},
    {"{containers: [{name: c, livenessProbe: {httpGet: {host: 1.2.3.4}}, lifecycle: {preStop: "
     "{tcpSocket: {host: h}}}, GOOD}]}",
     R"(probe or lifecycle host (container "c" uses probe or lifecycle hosts "1.2.3.4", "h"))",
     nullptr},
    {"{securityContext: {windowsOptions: {hostProcess: true}}, hostNetwork: true, containers: "
     "[{name: c, GOOD}]}",
     "host namespaces (hostNetwork=true), hostProcess (pod must not set "
     "securityContext.windowsOptions.hostProcess=true)",
     nullptr},
    {"{hostUsers: false, containers: [{name: c, securityContext: {runAsUser: 0, procMount: "
     "Unmasked, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: "
     "{type: RuntimeDefault}}}]}",
     "", R"(procMount (container "c" must not set securityContext.procMount to "Unmasked"))"},
};

TEST(PodSecurity, SaysWhatARealServerSays) {
    for (const Case& one : kCases) {
        const std::string spec = with_good(one.spec);
        EXPECT_EQ(judged("baseline", spec), one.baseline) << spec;
        if (one.restricted != nullptr) {
            EXPECT_EQ(judged("restricted", spec), one.restricted) << spec;
        }
        EXPECT_EQ(judged("privileged", spec), "") << spec;
    }
}

class PodSecurityOfANamespace : public testing::Test {
protected:
    void SetUp() override {
        auto server = ApiServer::start({.http_address = "", .https_address = ""});
        ASSERT_TRUE(server) << server.error().message;
        server_ = *std::move(server);
        make(
            "/api/v1/namespaces",
            R"({"metadata":{"name":"s","labels":{"pod-security.kubernetes.io/enforce":"baseline","pod-security.kubernetes.io/enforce-version":"v1.30"}}})");
    }
    ApiServer::Reply make(const std::string& path, const std::string& body) {
        return server_->request("POST", path, body);
    }
    static constexpr const char* kPods = "/api/v1/namespaces/s/pods";
    std::unique_ptr<ApiServer> server_;
};

TEST_F(PodSecurityOfANamespace, RefusesThePod) {
    const auto refused = make(
        kPods,
        R"({"metadata":{"name":"p"},"spec":{"hostPID":true,"containers":[{"name":"c","image":"i"}]}})");
    EXPECT_EQ(refused.status, 403);
    EXPECT_NE(
        refused.body.find(
            R"(pods \"p\" is forbidden: violates PodSecurity \"baseline:v1.30\": host namespaces (hostPID=true))"),
        std::string::npos)
        << refused.body;
    const auto taken = make(
        kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    EXPECT_EQ(taken.status, 201) << taken.body;
    const auto changed =
        server_->request("PATCH", std::string(kPods) + "/p", R"({"metadata":{"labels":{"a":"b"}}})",
                         "application/merge-patch+json");
    EXPECT_EQ(changed.status, 200) << changed.body;
}

TEST_F(PodSecurityOfANamespace, LetsWorkloadsPassWhosePodsItWouldRefuse) {
    const auto made = make(
        "/apis/apps/v1/namespaces/s/daemonsets",
        R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"hostPID":true,"containers":[{"name":"c","image":"i"}]}}}})");
    EXPECT_EQ(made.status, 201) << made.body;
}

TEST_F(PodSecurityOfANamespace, RefusesLabelsThatSayNothing) {
    const auto refused = make(
        "/api/v1/namespaces",
        R"({"metadata":{"name":"t","labels":{"pod-security.kubernetes.io/enforce":"wrong"}}})");
    EXPECT_EQ(refused.status, 422);
    EXPECT_NE(refused.body.find("must be one of privileged, baseline, restricted"),
              std::string::npos);
}

}  // namespace
}  // namespace aliquot::sim::apiserver
