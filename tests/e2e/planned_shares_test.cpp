// SPDX-License-Identifier: Apache-2.0
// What `aliquot plan` answers to the questions of src/plan/questions, taken at its word: the built agent reads
// the file on a simulated node with these GPUs, offers what was planned, and every workload gets its share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/kubelet.h"
#include "sim/node/node.h"
#include "tests/case_files.h"
#include "tests/e2e/agent_process.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr std::chrono::seconds kPatience{120};  // the machine may be busy

/// A question that has an answer, about GPUs of one model that can be simulated.
struct Question {
    std::string name;
    std::vector<std::string> words;
    std::string input;
    std::string model;  // of the simulated driver
    unsigned count = 1;
};

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
        } else if (c == ' ' && !quoted) {
            words.emplace_back();
        } else {
            words.back() += c;
        }
    }
    return words;
}

std::optional<Question> question_of(const std::filesystem::path& path) {
    static const std::map<std::string, std::string> kSimulated{{"gtx-1070", "gtx-1070"},
                                                               {"rtx-3090", "rtx-3090"},
                                                               {"rtx-4090", "rtx-4090"},
                                                               {"a2", "a2"},
                                                               {"t4", "t4"},
                                                               {"l4", "l4"},
                                                               {"l40s", "l40s"},
                                                               {"a100-40", "a100-40"},
                                                               {"a100-80", "a100-80"},
                                                               {"h100", "h100-80"},
                                                               {"h200", "h200-141"}};
    const std::string text = cases::read(path);
    if (text.find("--- exit 0\n") == std::string::npos) return std::nullopt;
    Question made{.name = cases::name(path), .words = words_of(text.substr(0, text.find('\n')))};
    const auto gpu = std::ranges::find(made.words, "--gpu");
    if (made.words.front() != "plan" || gpu == made.words.end()) return std::nullopt;
    if (std::ranges::count(made.words, "--gpu") != 1) return std::nullopt;
    std::string model = *(gpu + 1);
    // "2x t4", but not "rtx pro 6000".
    const auto x = model.find_first_not_of("0123456789");
    if (x != 0 && x != std::string::npos && model.substr(x).starts_with("x ")) {
        made.count = static_cast<unsigned>(std::stoul(model));
        model = model.substr(x + 2);
    }
    if (!kSimulated.contains(model)) return std::nullopt;
    made.model = kSimulated.at(model);
    const std::string begin = "--- input\n";
    if (const auto from = text.find(begin); from != std::string::npos) {
        made.input = text.substr(from + begin.size(), text.find("--- exit") - from - begin.size());
    }
    return made;
}

std::vector<Question> questions() {
    std::vector<Question> all;
    for (const auto& path : cases::files({"src/plan/questions"})) {
        if (auto one = question_of(path)) all.push_back(*std::move(one));
    }
    return all;
}

class PlannedShares : public testing::TestWithParam<Question> {
protected:
    void TearDown() override {
        if (HasFailure()) std::cerr << "agent's log:\n" << read("agent.log") << '\n';
        if (agent_) agent_->terminate(kPatience);
    }

    std::string read(const std::string& name) { return cases::read(directory_.path() / name); }

    std::string plan(const std::string& format) {
        auto words = GetParam().words;
        words.insert(words.begin(), ALIQUOT_BIN_DIR "/aliquot");
        words.insert(words.end(), {"-o", format});
        std::ofstream(directory_.path() / "input.yaml") << GetParam().input;
        std::ranges::replace(words, "-", (directory_.path() / "input.yaml").string());
        auto process = os::Process::start({.argv = words,
                                           .environment = os::current_environment(),
                                           .output_path = (directory_.path() / format).string()});
        EXPECT_TRUE(process && process->wait(kPatience));
        return read(format);
    }

    void start(const Json& plan, const std::string& config) {
        auto node =
            sim::Node::create(directory_.path() / "driver",
                              {.gpus = {{.model = GetParam().model, .count = GetParam().count}}},
                              ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", ALIQUOT_SIM_DIR "/nvidia-smi");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(*std::move(node));
        std::map<unsigned, std::string> layouts;
        for (const Json& share : plan["workloads"]) {
            if (share["mode"] != "mig") continue;
            std::string& layout = layouts[share["gpu"]];
            layout += (layout.empty() ? "" : ",") + share["mig_profile"].get<std::string>() + "@" +
                      std::to_string(share["mig_start"].get<unsigned>());
        }
        for (const auto& [gpu, layout] : layouts) ASSERT_TRUE(node_->cut(gpu, layout)) << layout;
        kubelet_ = std::make_unique<sim::Kubelet>(root_, sim::KubeletOptions{});
        ASSERT_TRUE(kubelet_->start());
        ASSERT_TRUE(root_.write_atomically("/etc/config.yaml", config));
        auto process =
            e2e::start_agent_on(directory_.path(), {"--config-file", "/etc/config.yaml"});
        ASSERT_TRUE(process) << process.error().message;
        agent_.emplace(*std::move(process));
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    std::optional<sim::Node> node_;
    std::unique_ptr<sim::Kubelet> kubelet_;
    std::optional<os::Process> agent_;
};

TEST_P(PlannedShares, AreOfferedByTheAgentAndGivenToEachWorkload) {
    const std::string config = plan("aliquot");
    const Json made = Json::parse(plan("json"), nullptr, false);
    ASSERT_FALSE(made.is_discarded()) << read("json");
    start(made, config);
    ASSERT_FALSE(HasFatalFailure());
    // A workload on several GPUs is one pod.
    std::map<std::string, std::map<std::string, unsigned>> pods;
    std::set<std::pair<std::string, int>> queued;
    for (const Json& share : made["workloads"]) {
        const std::string resource = share["resource"];
        if (resource.empty()) continue;
        const bool later =
            share["mode"] == "serial" && !queued.insert({resource, share["gpu"].get<int>()}).second;
        if (later) continue;
        const auto name = share["workload"].get<std::string>() + "-" +
                          std::to_string(share["replica"].get<unsigned>());
        ++pods[name][resource];
    }
    ASSERT_FALSE(pods.empty());
    std::map<std::string, std::size_t> needed;
    for (const auto& [name, limits] : pods) {
        for (const auto& [resource, count] : limits) needed[resource] += count;
    }
    const auto end = std::chrono::steady_clock::now() + kPatience;
    for (const auto& [resource, count] : needed) {
        while (kubelet_->resources()[resource].allocatable < count) {
            ASSERT_LT(std::chrono::steady_clock::now(), end)
                << resource << ": " << kubelet_->resources()[resource].allocatable << " of "
                << count << "\n"
                << config;
            std::this_thread::sleep_for(10ms);
        }
    }
    for (const auto& [name, limits] : pods) {
        sim::PodRequest pod{.uid = name, .name = name, .init_containers = {}, .containers = {}};
        pod.containers.push_back({.name = "main", .limits = {limits.begin(), limits.end()}});
        const auto grants = kubelet_->admit(pod);
        EXPECT_TRUE(grants) << name << ": " << grants.error().message;
    }
}

INSTANTIATE_TEST_SUITE_P(Questions, PlannedShares, testing::ValuesIn(questions()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot
