// SPDX-License-Identifier: Apache-2.0
// `aliquot up` as a user runs it: the built programs, the examples, a simulated node.
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX

#include <set>

#include "sim/node/node.h"
#include "tests/e2e/up_run.h"

namespace aliquot {
namespace {

TEST_F(UpTest, LetsTwoServicesShareAnA2AndSaysWhyTheThirdWaits) {
    const json state = once("a2-tts-stt", {"a2"});
    ASSERT_TRUE(state.is_object());
    ASSERT_EQ(state["gpus"].size(), 1U);
    EXPECT_EQ(state["gpus"][0]["model"], "NVIDIA A2");
    EXPECT_EQ(state["gpus"][0]["health"], "Healthy");
    EXPECT_EQ(state["gpus"][0]["sharesTotal"], 2);
    EXPECT_EQ(state["gpus"][0]["sharesUsed"], 2);
    const json uuid = state["gpus"][0]["uuid"];
    ASSERT_EQ(state["pods"].size(), 3U);
    std::set<std::string> devices;
    for (const std::size_t i : {0U, 1U}) {
        const json& pod = state["pods"][i];
        EXPECT_EQ(pod["phase"], "Running") << pod;
        EXPECT_EQ(pod["gpus"], json::array({uuid}));
        EXPECT_EQ(pod["env"]["NVIDIA_VISIBLE_DEVICES"], uuid);
        devices.insert(pod["devices"].at(0).get<std::string>());
    }
    EXPECT_EQ(devices.size(), 2U);
    const json& waiting = state["pods"][2];
    EXPECT_EQ(waiting["phase"], "Pending");
    EXPECT_EQ(waiting["reason"],
              "0/1 nodes are available: 1 Insufficient nvidia.com/gpu: 2 of 2 shares in use by "
              "faster-whisper, kokoro");
    EXPECT_THAT(log_of("kokoro", "kokoro"), HasSubstr("GPU 0: NVIDIA A2"));
    EXPECT_THAT(log_of("kokoro", "kokoro"), HasSubstr("holds 3Gi"));
}

TEST_F(UpTest, GivesMigDevicesEachAlone) {
    const fs::path folder = example("a100-mig");
    const Ran ran =
        run({"--gpu", "a100-40", "--mig", "3g.20gb,1g.5gb*2", "--config", folder / "config.yaml",
             folder.native(), "--once", "-o", "json", "--state", state().native()});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const json state = json::parse(ran.out);
    EXPECT_EQ(state["gpus"][0]["sharesTotal"], 3);
    EXPECT_EQ(state["gpus"][0]["sharesUsed"], 2);
    ASSERT_EQ(state["pods"].size(), 2U);
    std::set<json> devices;
    for (const json& pod : state["pods"]) {
        EXPECT_EQ(pod["phase"], "Running") << pod;
        devices.insert(pod["devices"]);
        std::ifstream file(pod["log"].get<std::string>());
        const std::string log{std::istreambuf_iterator<char>(file), {}};
        const bool small = pod["name"] == "notebook";
        EXPECT_THAT(log, HasSubstr(small ? "  MIG 1g.5gb " : "  MIG 3g.20gb "));
        EXPECT_THAT(log, testing::Not(HasSubstr("Device  1")));
        EXPECT_THAT(log, HasSubstr(small ? "3Gi held" : "12Gi held"));
    }
    EXPECT_EQ(devices.size(), 2U);
}

TEST_F(UpTest, GivesWholeGpusByCdi) {
    const json state = once("a100-vision", {"a100-40:2"});
    ASSERT_EQ(state["pods"].size(), 2U);
    std::set<json> uuids;
    for (const json& pod : state["pods"]) {
        EXPECT_EQ(pod["phase"], "Running") << pod;
        ASSERT_EQ(pod["gpus"].size(), 1U);
        uuids.insert(pod["gpus"][0]);
        // Its process sees that GPU and no other.
        const std::string log = log_of(pod["name"], "vision");
        EXPECT_THAT(log, HasSubstr(pod["gpus"][0].get<std::string>()));
        EXPECT_THAT(log, testing::Not(HasSubstr("GPU 1:")));
    }
    EXPECT_EQ(uuids.size(), 2U);
}

TEST_F(UpTest, RunsTheOtherExamples) {
    const json detectors = once("gtx1070-two-detectors", {"gtx-1070"});
    for (const json& pod : detectors.at("pods")) {
        EXPECT_EQ(pod["phase"], "Running") << pod;
    }
    EXPECT_EQ(once("v100-a100-job", {"v100-16"})["pods"].at(0)["phase"], "Running");
}

TEST_F(UpTest, SaysWhichLabelANodeLacks) {
    const json state = once("v100-a100-job", {"a2"});
    EXPECT_EQ(state["pods"].at(0)["phase"], "Pending");
    EXPECT_THAT(state["pods"].at(0)["reason"].get<std::string>(),
                HasSubstr("the node has nvidia.com/gpu.product=NVIDIA-A2, the pod wants "
                          "nvidia.com/gpu.product in ("));
}

TEST_F(UpTest, StartsAPendingPodWhenAGpuBecomesFree) {
    const fs::path folder = example("t4-ci-runner");
    const Ran ran = run({"--gpu", "t4", "--config", folder / "config.yaml", folder, "-o", "json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const json state = json::parse(ran.out, nullptr, false);
    ASSERT_TRUE(state.is_object()) << ran.out;
    ASSERT_EQ(state["pods"].size(), 2U);
    for (const json& pod : state["pods"]) EXPECT_EQ(pod["phase"], "Succeeded") << pod;
    EXPECT_THAT(ran.err, HasSubstr("ci-runner-1: Pending: 0/1 nodes are available: 1 Insufficient "
                                   "nvidia.com/gpu: 1 of 1 GPUs in use by ci-runner-0"));
    EXPECT_THAT(ran.err, HasSubstr("ci-runner-1: Running on GPU 0 Tesla T4 (whole)"));
}

TEST_F(UpTest, StartsNothingForABadManifest) {
    const fs::path manifest = file("bad.yaml",
                                   "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
                                   "  containers:\n  - name: c\n    image: i:1\n"
                                   "    resources: {requests: {nvidia.com/gpu: 1}}\n");
    const Ran ran = run({"--gpu", "a2", manifest, "--once", "--state", state()});
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("bad.yaml:8:44: spec.containers[0].resources.requests."
                                   "nvidia.com/gpu: there must be a limit too"));
    EXPECT_TRUE(fs::is_empty(state()));
}

TEST_F(UpTest, StartsNothingForABadConfiguration) {
    const fs::path config =
        file("config.yaml", "version: v1\nsharing:\n  timeSlicing:\n    replicas: 2\n");
    const Ran ran = run({"--gpu", "a2", "--config", config, example("a2-tts-stt"), "--once"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("config.yaml:4:5"));
}

TEST_F(UpTest, ReportsAPodThatFailed) {
    const fs::path manifest = file("fails.yaml",
                                   "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
                                   "  restartPolicy: Never\n  containers:\n"
                                   "  - name: c\n    image: i:1\n"
                                   "    command: [sh, -c, 'echo last words; exit 3']\n");
    const Ran ran = run({"--gpu", "a2", manifest, "--once"});
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("Failed"));
    EXPECT_THAT(ran.out, HasSubstr("container c: exit code 3"));
    EXPECT_THAT(ran.err, HasSubstr("last words"));
}

TEST_F(UpTest, TriesAJobAgainAndGivesUpAtItsLimit) {
    const fs::path manifest = file("job.yaml",
                                   "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n"
                                   "  backoffLimit: 1\n  template:\n    spec:\n"
                                   "      restartPolicy: Never\n      containers:\n"
                                   "      - {name: c, image: 'i:1', command: ['false']}\n");
    const Ran ran = run({"--gpu", "a2", manifest, "-o", "json"});
    EXPECT_EQ(ran.code, 1) << ran.err;
    const json state = json::parse(ran.out, nullptr, false);
    ASSERT_TRUE(state.is_object()) << ran.out;
    ASSERT_EQ(state["pods"].size(), 2U);
    for (const json& pod : state["pods"]) EXPECT_EQ(pod["phase"], "Failed") << pod;
}

TEST_F(UpTest, ShowsAGpuThatFallsOffTheBusAndEndsWhenTold) {
    const fs::path folder = example("a2-tts-stt");
    os::Process up =
        start({"--gpu", "a2", "--config", folder / "config.yaml", folder, "--state", state()});
    const auto out = [&] { return read(directory_.path() / "out"); };
    ASSERT_TRUE(eventually([&] { return out().find("kokoro: Running") != std::string::npos; }))
        << out() << read(directory_.path() / "err");
    {
        auto node = sim::Node::open(state() / "node");
        ASSERT_TRUE(node) << node.error().message;
        ASSERT_TRUE(node->inject(0, sim::FaultKind::kXid, 79));
    }
    EXPECT_TRUE(eventually([&] { return out().find("gpu 0: Unhealthy") != std::string::npos; }));
    up.signal(SIGTERM);
    const auto exit = up.wait(std::chrono::milliseconds(kPatience));
    ASSERT_TRUE(exit);
    EXPECT_NE(exit->code, 0);
    EXPECT_FALSE(fs::exists(state() / "node"));
}

/// Pids of the processes whose command line has `word` in it.
std::set<pid_t> processes_with(const std::string& word) {
    std::set<pid_t> pids;
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator("/proc", problem)) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::ifstream file(entry.path() / "cmdline");
        std::string line;  // empty where the process has ended meanwhile
        if (std::getline(file, line) && line.find(word) != std::string::npos) {
            pids.insert(std::stoi(name));
        }
    }
    return pids;
}

TEST_F(UpTest, StartsAKilledAgentAgainAndDisturbsNobody) {
    const fs::path manifest = file("one.yaml",
                                   "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
                                   "  containers:\n  - name: c\n    image: i:1\n"
                                   "    command: [sh, -c, 'echo started; exec sleep 1000']\n"
                                   "    resources: {limits: {nvidia.com/gpu: 1}}\n");
    os::Process up = start({"--gpu", "a2", manifest, "--state", state()});
    ASSERT_TRUE(eventually([&] { return log_of("a", "c") == "started\n"; }))
        << read(directory_.path() / "err");
    const std::string root = tmp().native();  // the agent's --root is in there
    const auto first = processes_with(root);
    ASSERT_EQ(first.size(), 1U);
    ::kill(*first.begin(), SIGKILL);
    EXPECT_TRUE(eventually([&] {
        const auto now = processes_with(root);
        return now.size() == 1 && now != first;
    }));
    EXPECT_EQ(log_of("a", "c"), "started\n");
    up.signal(SIGINT);
    const auto exit = up.wait(std::chrono::milliseconds(kPatience));
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 130);
    EXPECT_TRUE(processes_with(root).empty());
}

TEST_F(UpTest, TellsWhichPodTheChildOfACommandBelongsTo) {
    const auto pod = [](const std::string& name, const std::string& command) {
        return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
               "}\nspec:\n  containers:\n  - name: main\n    image: i:1\n    command: " + command +
               "\n    resources: {limits: {nvidia.com/gpu: 1}}\n";
    };
    const fs::path config = file("config.yaml",
                                 "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
                                 "    - {name: nvidia.com/gpu, replicas: 2}\n");
    const fs::path manifest =
        file("pods.yaml",
             pod("forks", "[sh, -c, '(aliquot-cuda-sample --memory 256Mi --hold &); sleep 1000']") +
                 pod("plain", "[aliquot-cuda-sample, --memory, 512Mi, --hold]"));
    os::Process up = start({"--gpu", "a2", "--config", config, manifest, "--state", state()});
    const auto ask = [&]() -> json {
        std::error_code problem;
        for (const auto& entry : fs::directory_iterator(tmp(), problem)) {
            const fs::path socket = entry.path() / "root/run/aliquot/agent.sock";
            if (!fs::exists(socket, problem)) continue;
            const auto answer =
                os::exchange({.argv = {fs::path(ALIQUOT_BIN_DIR) / "aliquot", "top", "--once", "-o",
                                       "json", "--agent", "unix:" + socket.native()},
                              .environment = os::current_environment()},
                             "", {.deadline = 60s});
            return answer ? json::parse(answer->output, nullptr, false) : json();
        }
        return {};
    };
    json seen;
    EXPECT_TRUE(eventually([&] {
        seen = ask();
        return tenants_with_processes(seen, "forks").size() == 1 &&
               tenants_with_processes(seen, "plain").size() == 1;
    })) << seen.dump(1)
        << read(directory_.path() / "err");
    for (const auto& [name, bytes] : {std::pair("forks", 256 << 20), {"plain", 512 << 20}}) {
        const json tenants = tenants_with_processes(seen, name);
        if (tenants.size() != 1) continue;  // told above
        EXPECT_EQ(tenants[0]["namespace"], "default");
        EXPECT_EQ(tenants[0]["container"], "main");
        EXPECT_EQ(tenants[0]["resource"], "nvidia.com/gpu");
        EXPECT_GE(tenants[0]["amounts"]["memoryBytes"].get<std::int64_t>(), bytes);
    }
    if (seen.is_object()) {
        EXPECT_EQ(seen["sight"]["degraded"], json::array());
    }
    up.signal(SIGINT);
    ASSERT_TRUE(up.wait(std::chrono::milliseconds(kPatience)));
}

}  // namespace
}  // namespace aliquot
