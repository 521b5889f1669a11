// SPDX-License-Identifier: Apache-2.0
// The program as a process, over a simulated driver, and its arguments.
#include "cmd/aliquot-probe/probe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGTERM
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/node/node.h"

namespace aliquot::probe {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

Result<Arguments> read(std::vector<const char*> words) { return read_arguments(words); }

TEST(ProbeArguments, AreRead) {
    const auto all = read({"--expect-gpus", "2", "--expect-memory=3839Mi", "--hold", "9"});
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->expect_gpus, 2U);
    EXPECT_EQ(all->expect_memory_bytes, 3839ULL << 20U);
    EXPECT_EQ(all->hold_seconds, 9U);
    EXPECT_FALSE(all->time_slices);
    EXPECT_TRUE(read({"--shared-by", "time-slicing"})->time_slices);
    EXPECT_TRUE(read({"-h"})->help);
    EXPECT_EQ(read({})->work, Arguments::Work::kNone);
    const auto work = read({"--work", "cuda", "--seconds=7"});
    ASSERT_TRUE(work) << work.error().message;
    EXPECT_EQ(work->work, Arguments::Work::kGpu);
    EXPECT_EQ(work->work_seconds, 7U);
    EXPECT_EQ(read({"--work", "cpu"})->work, Arguments::Work::kCpu);
}

TEST(ProbeArguments, ThatAreWrongAreRefusedByName) {
    const std::vector<std::pair<std::vector<const char*>, std::string>> cases{
        {{"--expect-gpu", "1"}, "no option '--expect-gpu'"},
        {{"--expect-gpus"}, "--expect-gpus needs a value"},
        {{"--expect-gpus", "many"}, "--expect-gpus: 'many'"},
        {{"--expect-memory", "3 apples"}, "--expect-memory: '3 apples'"},
        {{"--expect-memory", "1Mi"}, "16Mi or more"},
        {{"--shared-by", "luck"}, "expected none, time-slicing"},
        {{"--hold", "-1"}, "--hold: '-1'"},
        {{"--hold", "4000"}, "at most 3600"},
        {{"--work", "tpu"}, "--work: 'tpu'"},
        {{"--seconds", "61"}, "seconds, 1 to 60"},
        {{"--seconds", "0"}, "--seconds: '0'"}};
    for (const auto& [words, part] : cases) {
        const auto read = read_arguments(words);
        ASSERT_FALSE(read) << part;
        EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().message;
    }
}

class Probe : public testing::Test {
protected:
    void make_node(const std::vector<sim::GpuRequest>& gpus) {
        auto node = sim::Node::create(directory_.path() / "node", {.gpus = gpus},
                                      ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(*std::move(node));
    }

    struct Run {
        int code = -1;
        std::string text;
        Json json;
    };
    Run run(std::vector<std::string> words, const std::string& library_path = ALIQUOT_SIM_DIR) {
        auto environment = os::current_environment();
        environment["ALIQUOT_SIM_STATE"] = (directory_.path() / "node").native();
        environment["LD_LIBRARY_PATH"] = library_path;
        const std::string file = (directory_.path() / "out").native();
        std::filesystem::remove(file);
        words.insert(words.begin(), ALIQUOT_BIN_DIR "/aliquot-probe");
        auto process = os::Process::start(
            {.argv = std::move(words), .environment = environment, .output_path = file});
        EXPECT_TRUE(process) << process.error().message;
        if (!process) return {};
        const auto exit = process->wait(60s);
        EXPECT_TRUE(exit) << "it does not end";
        std::ifstream stream(file);
        Run run{.code = exit ? exit->code : -1,
                .text = std::string(std::istreambuf_iterator<char>(stream), {})};
        run.json = Json::parse(run.text, nullptr, false);
        return run;
    }

    os::TemporaryDirectory directory_;
    std::optional<sim::Node> node_;
};

TEST_F(Probe, SeesTheGpuAndComputesOnIt) {
    make_node({{.model = "a2", .count = 1}});
    const Run seen = run({"--expect-gpus", "1"});
    EXPECT_EQ(seen.code, 0) << seen.text;
    ASSERT_EQ(seen.json["gpus"].size(), 1U) << seen.text;
    EXPECT_EQ(seen.json["gpus"][0]["name"], "NVIDIA A2");
    EXPECT_EQ(seen.json["gpus"][0]["uuid"].get<std::string>().substr(0, 4), "GPU-");
    EXPECT_GT(seen.json["gpus"][0]["memoryMiB"], 14'000);
    EXPECT_EQ(seen.json["visible"]["ok"], true);
    EXPECT_EQ(seen.json["arithmetic"]["ok"], true);
    EXPECT_EQ(seen.json["arithmetic"]["elements"], 1U << 20U);
    EXPECT_TRUE(seen.json["share"]["ok"].is_null());
    EXPECT_EQ(seen.json["problem"], "");
}

TEST_F(Probe, LooksAtEveryGpu) {
    make_node({{.model = "a2", .count = 3}});
    const Run seen = run({"--expect-gpus", "1"});
    EXPECT_EQ(seen.code, 1) << seen.text;
    EXPECT_EQ(seen.json["gpus"].size(), 3U);
    EXPECT_EQ(seen.json["arithmetic"]["elements"], 3U << 20U);
    EXPECT_EQ(seen.json["visible"]["ok"], false);
    EXPECT_EQ(seen.json["problem"], "3 GPUs are visible, 1 were asked for");
}

TEST_F(Probe, TellsAShareThatNothingKeeps) {
    make_node({{.model = "a2", .count = 1}});
    const Run seen = run({"--expect-memory", "4Gi"});
    EXPECT_EQ(seen.code, 1) << seen.text;
    EXPECT_EQ(seen.json["share"]["ok"], false);
    EXPECT_EQ(seen.json["share"]["limitMiB"], 4096);
    EXPECT_EQ(seen.json["share"]["heldMiB"], 4352);
    EXPECT_TRUE(seen.json["share"]["refusedAtMiB"].is_null());
    EXPECT_NE(seen.json["problem"].get<std::string>().find("nothing limits this container"),
              std::string::npos);
}

TEST_F(Probe, TakesARefusalForAShareThatHolds) {
    make_node({{.model = "a2", .count = 1}});
    const Run seen = run({"--expect-memory", "16Gi"});  // more than the card has
    EXPECT_EQ(seen.code, 0) << seen.text;
    EXPECT_EQ(seen.json["share"]["ok"], true);
    EXPECT_GT(seen.json["share"]["refusedAtMiB"], 14'000);
    const Run small = run({"--expect-memory", "64Gi"});  // the card refuses far too early
    EXPECT_EQ(small.code, 1) << small.text;
    EXPECT_NE(small.text.find("others hold the rest"), std::string::npos) << small.text;
}

TEST_F(Probe, SaysThatTimeSlicesLimitNothing) {
    make_node({{.model = "a2", .count = 1}});
    const Run seen = run({"--expect-memory", "4Gi", "--shared-by", "time-slicing"});
    EXPECT_EQ(seen.code, 0) << seen.text;
    EXPECT_TRUE(seen.json["share"]["ok"].is_null());
    EXPECT_NE(seen.text.find("take turns"), std::string::npos) << seen.text;
}

TEST_F(Probe, SaysWhatIsMissingInOneLine) {
    const Run none = run({}, directory_.path().native());
    EXPECT_EQ(none.code, 3) << none.text;
    ASSERT_TRUE(none.json.is_object()) << none.text;
    EXPECT_NE(none.json["problem"].get<std::string>().find("no libcuda.so.1 here"),
              std::string::npos);
    std::ofstream(directory_.path() / "libcuda.so.1") << "no library";
    const Run broken = run({}, directory_.path().native());
    EXPECT_EQ(broken.code, 3);
    EXPECT_NE(broken.text.find("cannot be loaded"), std::string::npos) << broken.text;
    make_node({});
    const Run empty = run({});
    EXPECT_EQ(empty.code, 3);
    EXPECT_NE(empty.text.find("no GPU is visible"), std::string::npos) << empty.text;
}

TEST_F(Probe, HoldsTheGpuUntilItIsEnded) {
    make_node({{.model = "a2", .count = 1}});
    auto environment = os::current_environment();
    environment["ALIQUOT_SIM_STATE"] = (directory_.path() / "node").native();
    environment["LD_LIBRARY_PATH"] = ALIQUOT_SIM_DIR;
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    auto process = os::Process::start({.argv = {ALIQUOT_BIN_DIR "/aliquot-probe", "--hold", "600"},
                                       .environment = environment,
                                       .output_descriptor = ends[1]});
    ASSERT_TRUE(process) << process.error().message;
    ::close(ends[1]);
    char letter = 0;
    while (::read(ends[0], &letter, 1) == 1 && letter != '\n') {
    }
    EXPECT_FALSE(process->poll()) << "it did not stay";
    EXPECT_EQ(node_->gpus()[0].processes, 1U);
    process->signal(SIGTERM);
    const auto exit = process->wait(60s);
    ::close(ends[0]);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 0);
}

}  // namespace
}  // namespace aliquot::probe
