// SPDX-License-Identifier: Apache-2.0
// Every configuration that `aliquot plan` writes is accepted by `aliquot config check` as its reader
// reads it, and lint has no warning about it: for every GPU model of the catalogue.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

#include "catalog/gpu_models.h"
#include "cli/commands.h"
#include "os/temporary_directory.h"

namespace aliquot::cli {
namespace {

struct Outcome {
    int code = 0;
    std::string out;
};

Outcome run_words(std::vector<std::string> words) {
    constexpr auto kCommands = std::to_array<Command>(
        {{"plan", add_plan_command}, {"config", add_config_command}, {"lint", add_lint_command}});
    words.insert(words.begin(), "aliquot");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    std::ostringstream out;
    auto* const real_out = std::cout.rdbuf(out.rdbuf());
    auto* const real_err = std::cerr.rdbuf(out.rdbuf());
    const int code = run(static_cast<int>(argv.size()), argv.data(), kCommands);
    std::cout.rdbuf(real_out);
    std::cerr.rdbuf(real_err);
    return {code, out.str()};
}

constexpr std::array<std::pair<const char*, const char*>, 5> kWorkloads{
    {{"", ""},
     {"steady",
      "- {name: s, kind: inference, memory: 2, duty: 40, replicas: 3, latency_ms: 100}\n"},
     {"tenants",
      "- {name: x, memory: 4, duty: 30, tenant: one, isolation: security}\n"
      "- {name: y, memory: 4, duty: 30, tenant: two, isolation: security}\n"},
     {"mixed",
      "- {name: m1, memory: 9, duty: 30, isolation: memory}\n"
      "- {name: m2, memory: 4, duty: 20, isolation: memory, replicas: 2}\n"
      "- {name: m3, kind: batch, memory: 2, duty: 90}\n"},
     {"bursty",
      "- {name: nb, kind: notebook, memory: 2, replicas: 4, duty: 5}\n"
      "- {name: t, kind: training, memory: 20, gpus: 2}\n"}}};

class PlanOutputs : public testing::TestWithParam<catalog::GpuModel> {
protected:
    /// Writes what `plan -o format` prints; empty: it printed nothing.
    std::string plan(const std::string& gpu, const std::string& workloads, const char* format) {
        std::vector<std::string> words{"plan", "--gpu", gpu, "-o", format};
        if (!workloads.empty()) words.insert(words.end(), {"--workloads", workloads});
        const Outcome planned = run_words(std::move(words));
        EXPECT_LE(planned.code, kFindings) << planned.out;
        if (planned.out.empty()) return {};
        if (std::string_view(format) == "dra") return file("claims.yaml", planned.out, claims_);
        const bool ours = std::string_view(format) == "aliquot";
        return file(ours ? "sharing.yaml" : "nvidia.yaml", planned.out, ours ? ours_ : theirs_);
    }
    static std::string file(const std::string& name, const std::string& text,
                            const os::TemporaryDirectory& directory) {
        const auto path = directory.path() / name;
        std::ofstream(path, std::ios::binary) << text;
        return path.string();
    }
    os::TemporaryDirectory ours_;
    os::TemporaryDirectory theirs_;
    os::TemporaryDirectory claims_;
};

TEST_P(PlanOutputs, AreAcceptedByTheirReaders) {
    file(".aliquot.yaml", "plugin: aliquot\n", ours_);
    file(".aliquot.yaml", "plugin: nvidia\n", theirs_);
    const std::string model(GetParam().key);
    for (const auto& [name, text] : kWorkloads) {
        const std::string workloads =
            *name == '\0' ? "" : file(name, std::string("workloads:\n") + text, ours_);
        const std::string gpu = *name == 'm' ? "8x " + model : model;
        SCOPED_TRACE(gpu + " " + name);
        const std::string ours = plan(gpu, workloads, "aliquot");
        const std::string theirs = plan(gpu, workloads, "nvidia");
        ASSERT_FALSE(ours.empty() || theirs.empty());
        const Outcome one = run_words({"config", "check", ours});
        EXPECT_EQ(one.code, kOk) << one.out;
        const Outcome other = run_words({"config", "check", "--compat", "nvidia", theirs});
        EXPECT_EQ(other.code, kOk) << other.out;
        EXPECT_EQ(other.out.find("warning"), std::string::npos) << other.out;
        const Outcome linted = run_words({"lint", "--fail-on", "warning", ours, theirs});
        EXPECT_EQ(linted.code, kOk) << linted.out;
        const std::string claims = plan(gpu, workloads, "dra");
        const Outcome asked = run_words({"lint", "--fail-on", "warning", claims});
        EXPECT_EQ(asked.code, kOk) << asked.out;
    }
}

std::vector<catalog::GpuModel> models() {
    const auto all = catalog::gpu_models();
    return {all.begin(), all.end()};
}

INSTANTIATE_TEST_SUITE_P(Models, PlanOutputs, testing::ValuesIn(models()), [](const auto& one) {
    std::string name(one.param.key);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
    return name;
});

}  // namespace
}  // namespace aliquot::cli
