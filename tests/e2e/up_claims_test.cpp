// SPDX-License-Identifier: Apache-2.0
// Pods with ResourceClaims under `aliquot up`.
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGINT by its number is POSIX

#include <map>

#include "tests/e2e/up_run.h"

namespace aliquot {
namespace {

TEST_F(UpTest, GivesPartsOfAGpuByClaimsAndSaysWhyTheLastWaits) {
    const fs::path folder = example("a2-claims");
    const Ran ran =
        run({"--gpu", "a2", folder.native(), "--once", "-o", "json", "--state", state().native()});
    ASSERT_EQ(ran.code, 0) << ran.err << read(state() / "logs/agent.log");
    const json state = json::parse(ran.out);
    ASSERT_EQ(state["gpus"].size(), 1U);
    EXPECT_EQ(state["gpus"][0]["claims"], 3);
    ASSERT_EQ(state["pods"].size(), 4U);
    std::map<std::string, unsigned> phases;
    for (const json& pod : state["pods"]) {
        ++phases[pod["phase"].get<std::string>()];
        if (pod["phase"] == "Running") {
            EXPECT_EQ(pod["gpus"], json::array({state["gpus"][0]["uuid"]}));
            EXPECT_EQ(pod["devices"].size(), 1U);
        } else {
            EXPECT_THAT(pod["reason"].get<std::string>(), HasSubstr("cannot allocate all claims"));
            EXPECT_THAT(pod["reason"].get<std::string>(), HasSubstr("capacity "));
        }
    }
    EXPECT_EQ(phases, (std::map<std::string, unsigned>{{"Running", 3}, {"Pending", 1}}));
}

// What kube-scheduler booked is what the container gets: the guard refuses the rest, and top tells the limit.
TEST_F(UpTest, HoldsAClaimToItsMemoryAndTopTellsIt) {
    const auto pod = [](const std::string& name, const std::string& memory) {
        return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
               "}\nspec:\n  restartPolicy: Never\n"
               "  resourceClaims: [{name: gpu, resourceClaimTemplateName: share}]\n"
               "  containers:\n  - name: main\n    image: i:1\n"
               "    command: [aliquot-cuda-sample, --memory, " +
               memory + ", --hold]\n    resources: {claims: [{name: gpu}]}\n";
    };
    const fs::path manifest = file(
        "pods.yaml",
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: share}\n"
        "spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.aliquot.dev,"
        " capacity: {requests: {memory: 3Gi, compute: \"25\"}}}}]}}}\n" +
            pod("within", "2Gi") + pod("beyond", "4Gi"));
    os::Process up = start({"--gpu", "a2", manifest, "--state", state()});
    const auto ask = [&]() -> json {
        const auto answer =
            os::exchange({.argv = {fs::path(ALIQUOT_BIN_DIR) / "aliquot", "top", "--once", "-o",
                                   "json", "--agent", "unix:" + (state() / "agent.sock").native()},
                          .environment = os::current_environment()},
                         "", {.deadline = 60s});
        return answer ? json::parse(answer->output, nullptr, false) : json();
    };
    json seen;
    EXPECT_TRUE(eventually([&] {
        seen = ask();
        const auto tenants = tenants_with_processes(seen, "within");
        return tenants.size() == 1 && tenants[0].value("memoryLimitBytes", 0LL) == 3LL << 30U;
    })) << seen.dump(1)
        << read(directory_.path() / "err");
    EXPECT_TRUE(eventually([&] {
        return read(directory_.path() / "out").find("beyond: Failed") != std::string::npos;
    })) << read(directory_.path() / "out");
    EXPECT_THAT(log_of("beyond", "main"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
    up.signal(SIGINT);
    ASSERT_TRUE(up.wait(std::chrono::milliseconds(kPatience)));
}

TEST_F(UpTest, CutsAGpuForClaimsAndSaysWhyTheWholeOneWaits) {
    const fs::path folder = example("a100-mig-claims");
    const Ran ran = run(
        {"--gpu", "a100-40", folder.native(), "--once", "-o", "json", "--state", state().native()});
    ASSERT_EQ(ran.code, 0) << ran.err << read(state() / "logs/agent.log");
    const json now = json::parse(ran.out);
    std::map<std::string, unsigned> shares;
    for (const json& pod : now["pods"]) {
        if (pod["phase"] == "Running") {
            const std::string device = pod["devices"].at(0);
            ++shares[device.substr(device.find("-mig-") + 5, 7)];
            ASSERT_EQ(pod["gpus"].size(), 1U);
            EXPECT_THAT(pod["gpus"][0].get<std::string>(), HasSubstr("MIG-"));
        } else {
            EXPECT_THAT(pod["reason"].get<std::string>(), HasSubstr("counter "));
        }
    }
    EXPECT_EQ(shares, (std::map<std::string, unsigned>{{"3g-20gb", 1}, {"1g-5gb-", 2}}));
    EXPECT_THAT(log_of("trainer", "trainer"), HasSubstr("3g.20gb"));
}

}  // namespace
}  // namespace aliquot
