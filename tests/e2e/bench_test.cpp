// SPDX-License-Identifier: Apache-2.0
// `aliquot bench` over a simulated driver. What the programs print is the time that counts: nothing here
// depends on how fast this machine is.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "os/exchange.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/node/node.h"

namespace aliquot {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kTenant = ALIQUOT_TEST_DIR "/cuda_tenant";

class BenchTest : public testing::Test {
protected:
    void SetUp() override {
        auto node =
            sim::Node::create(directory_.path() / "node", {.gpus = {{.model = "a2", .count = 1}}},
                              ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
        ASSERT_TRUE(node) << node.error().message;
        const fs::path driver = directory_.path() / "node/lib/libcuda.so.1";
        if (!fs::exists(driver)) fs::create_symlink(ALIQUOT_SIM_DIR "/libcuda.so.1", driver);
        environment_ = os::current_environment();
        environment_.erase("CUDA_VISIBLE_DEVICES");
        environment_["ALIQUOT_RUN_DIRECTORY"] = books_;
    }
    [[nodiscard]] os::Exchange bench(std::vector<std::string> words,
                                     const std::vector<std::string>& command = {},
                                     bool simulated = true) const {
        std::vector<std::string> argv{ALIQUOT_BIN_DIR "/aliquot", "bench", "--guard-library",
                                      ALIQUOT_LIB_DIR "/libaliquot-guard.so"};
        argv.emplace_back(simulated ? "--node-state" : "--driver-root");
        argv.push_back((directory_.path() / (simulated ? "node" : "")).native());
        argv.insert(argv.end(), words.begin(), words.end());
        if (!command.empty()) argv.emplace_back("--");
        argv.insert(argv.end(), command.begin(), command.end());
        const auto answer =
            os::exchange({.argv = argv, .environment = environment_}, "", {.deadline = 240s});
        if (!answer) throw std::runtime_error(answer.error().message);
        return *answer;
    }
    /// A program that works on the GPU, and says that it took so long.
    static std::vector<std::string> taking(const std::string& cpu, const std::string& whole,
                                           const std::string& share) {
        return {"sh", "-c",
                "if [ {device} = cpu ]; then test -z \"$CUDA_VISIBLE_DEVICES\" || exit 9; t=" +
                    cpu + "; else \"" + kTenant + "\" alloc:1048576 spin:3 || exit 8; t=" + whole +
                    "; test -z \"$ALIQUOT_GUARD_CONFIG\" || t=" + share +
                    "; fi; echo ALIQUOT_BENCH_SECONDS=$t"};
    }
    [[nodiscard]] unsigned places() const {
        unsigned count = 0;
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(books_, none)) {
            count += entry.is_directory() ? 1U : 0U;
        }
        return count;
    }

    os::TemporaryDirectory directory_;
    std::map<std::string, std::string> environment_;
    fs::path books_ = directory_.path() / "books";
};

TEST_F(BenchTest, ComparesTheFourPlacesAndSaysWhatPays) {
    const auto ran =
        bench({"--runs", "2", "--expect", "tts", "-o", "json"}, taking("4", "0.8", "1.6"));
    ASSERT_EQ(ran.exit.code, 0) << ran.output;
    const Json answer = Json::parse(ran.output);
    EXPECT_EQ(answer["verdict"], "share");
    EXPECT_EQ(answer["simulated"], true);
    EXPECT_EQ(answer["shares"], 2);
    EXPECT_EQ(answer["gpu"]["model"], "NVIDIA A2");
    EXPECT_NEAR(answer["cpu"]["median_seconds"].get<double>(), 4, 1e-9);
    EXPECT_NEAR(answer["whole_gpu"]["times_the_cpu"].get<double>(), 5, 1e-9);
    EXPECT_NEAR(answer["shares_busy"]["times_the_cpu"].get<double>(), 2.5, 1e-9);
    EXPECT_NEAR(answer["expected_times_the_cpu"].get<double>(), 2.5, 1e-9);
    EXPECT_NEAR(answer["overhead"].get<double>(), 0, 1e-9);
    EXPECT_THAT(answer["reasons"].dump(), HasSubstr("measured 5: as expected"));
    EXPECT_EQ(places(), 0U);
}

TEST_F(BenchTest, KeepsOnTheCpuWhatAGpuDoesNotSpeedUp) {
    const auto ran = bench({"--runs", "1", "--shares", "3"}, taking("1", "1", "3"));
    EXPECT_EQ(ran.exit.code, 0) << ran.output;
    EXPECT_THAT(ran.output, HasSubstr("keep it on the CPU"));
    EXPECT_THAT(ran.output, HasSubstr("a share, all 3 busy"));
    EXPECT_THAT(ran.output, HasSubstr("The GPU is simulated"));
}

TEST_F(BenchTest, ClaimsNothingOfAProgramThatLeavesTheGpuIdle) {
    const auto ran = bench({"--runs", "1", "-o", "yaml"}, {"true"});
    EXPECT_EQ(ran.exit.code, 1) << ran.output;
    EXPECT_THAT(ran.output, HasSubstr("verdict: gpu-unused"));
}

TEST_F(BenchTest, MeasuresAKernelOfItsOwn) {
    const auto ran = bench({"--runs", "1", "-o", "json"});
    ASSERT_TRUE(ran.exit.code == 0 || ran.exit.code == 1) << ran.output;
    const Json answer = Json::parse(ran.output);
    EXPECT_NE(answer["verdict"], "gpu-unused");
    for (const char* const row : {"cpu", "whole_gpu", "share_alone", "shares_busy"}) {
        EXPECT_GT(answer[row]["least_seconds"].get<double>(), 0) << row;
    }
}

TEST_F(BenchTest, SaysInOneLineWhyItCouldNotRun) {
    const auto failed = bench({"--runs", "1"}, {"sh", "-c", "echo bad model; exit 4"});
    EXPECT_EQ(failed.exit.code, 3);
    EXPECT_EQ(failed.output,
              "aliquot: 'sh' on the CPU: exited with 4; its last words: bad model\n");
    const auto late = bench({"--runs", "1", "--limit", "1"}, {"sleep", "600"});
    EXPECT_EQ(late.exit.code, 3);
    EXPECT_THAT(late.output, HasSubstr("took longer than 1 s"));
    EXPECT_EQ(bench({"--runs", "1"}, {"/no/such/program"}).exit.code, 3);
    const auto none = bench({}, {"true"}, false);
    EXPECT_EQ(none.exit.code, 3);
    EXPECT_THAT(none.output, HasSubstr("is the NVIDIA driver installed"));
    EXPECT_EQ(places(), 0U);
}

TEST_F(BenchTest, RefusesWrongWords) {
    const auto large = bench({"--gpu-memory", "12Gi"}, {"true"});
    EXPECT_EQ(large.exit.code, 2);
    EXPECT_THAT(large.output, HasSubstr("2 shares of 12Gi do not fit"));
    EXPECT_EQ(bench({"--gpu-memory", "much"}, {"true"}).exit.code, 2);
    EXPECT_EQ(bench({"--shares", "1"}, {"true"}).exit.code, 2);
    EXPECT_EQ(bench({"--runs", "0"}, {"true"}).exit.code, 2);
    const auto work = bench({"--expect", "chess"}, {"true"});
    EXPECT_EQ(work.exit.code, 2);
    EXPECT_THAT(work.output, HasSubstr("expected tts or stt"));
}

}  // namespace
}  // namespace aliquot
