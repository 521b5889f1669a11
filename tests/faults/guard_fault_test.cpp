// SPDX-License-Identifier: Apache-2.0
//
// The guard in a program whose system calls fail: no call leaves the program without its limit, none ends
// it by a signal or makes it wait for ever, and the next program finds all in order.
#include <gmock/gmock.h>

#include <cstring>

#include "sim/node/node.h"
#include "tests/faults/faulted_process.h"

namespace aliquot::faults {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kLimited = "total 2147483648\nalloc 0\nalloc 2\n";
constexpr int kCannotTrace = 125;

class GuardFaults : public testing::Test {
protected:
    void SetUp() override {
        auto made =
            sim::Node::create(state(), {.gpus = {{.model = "a2", .count = 1}}},
                              ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", ALIQUOT_SIM_DIR "/nvidia-smi");
        ASSERT_TRUE(made) << made.error().message;
        const fs::path driver = state() / "lib/libcuda.so.1";
        if (!fs::exists(driver)) fs::create_symlink(ALIQUOT_SIM_DIR "/libcuda.so.1", driver);
    }
    [[nodiscard]] fs::path state() const { return directory_.path() / "node"; }
    [[nodiscard]] fs::path books() const { return directory_.path() / "books"; }
    [[nodiscard]] std::string output() const { return text_of(directory_.path() / "output"); }

    /// A program with a limit of 2 GiB that asks for twice 1 GiB. Its exit code; -1: nothing ended it.
    int run(const Fault& fault) {
        fs::remove(directory_.path() / "log");
        fs::remove(directory_.path() / "output");
        auto environment = os::current_environment();
        environment["ALIQUOT_RUN_DIRECTORY"] = books();
        environment["ALIQUOT_AGENT"] = "unix:" + (directory_.path() / "agent.sock").native();
        environment["ALIQUOT_SIM_CUDA_CONTEXT_BYTES"] = "314572800";
        environment["ALIQUOT_FAULT_UNDER"] = books();
        environment["ALIQUOT_FAULT_LOG"] = directory_.path() / "log";
        environment["ALIQUOT_FAULT"] = fault.text();
        auto process = os::Process::start(
            {.argv = {ALIQUOT_BIN_DIR "/aliquot", "run", "--node-state", state(), "--guard-library",
                      ALIQUOT_LIB_DIR "/libaliquot-guard.so", "--gpu-memory", "2Gi",
                      "--gpu-compute", "50", "--", ALIQUOT_TEST_DIR "/fault_tracer",
                      ALIQUOT_TEST_DIR "/cuda_tenant", "info", "alloc:1073741824",
                      "alloc:1073741824", "spin:3"},
             .environment = environment,
             .output_path = directory_.path() / "output"});
        EXPECT_TRUE(process) << process.error().message;
        const auto exit = process->wait(120s);
        return exit && exit->signal == 0 ? exit->code : -1;
    }

    os::TemporaryDirectory directory_;
};

TEST_F(GuardFaults, EachCallFailsOnceAndTheLimitHoldsOrTheProgramIsRefused) {
    const int clean = run({});
    if (clean == kCannotTrace) GTEST_SKIP() << "no program may trace another one here";
    ASSERT_EQ(clean, 0) << output();
    ASSERT_THAT(output(), HasSubstr(kLimited));
    const auto log = lines_of(directory_.path() / "log");
    ASSERT_GT(log.size(), 10U);
    constexpr std::array kOfMemory{EMFILE, ENOMEM, EIO, ENOSPC};
    unsigned refused = 0;
    for (unsigned i = 0; i < log.size(); ++i) {
        const Fault fault{.number = i + 1, .error = kOfMemory[i % kOfMemory.size()]};
        SCOPED_TRACE(fault.text() + " " + log[i]);
        const int code = run(fault);
        EXPECT_GE(code, 0) << "it hangs, or a signal ended aliquot run: " << output();
        EXPECT_LT(code, kCannotTrace) << "a signal ended it: " << output();
        EXPECT_THAT(output(), Not(HasSubstr("alloc 0\nalloc 0\n")));
        if (!output().contains(kLimited)) {
            ++refused;
            EXPECT_THAT(output(), HasSubstr("aliquot")) << "refused without a word";
            EXPECT_THAT(output(), Not(HasSubstr("alloc 0\n")));
        }
        if (HasFailure()) return;
    }
    EXPECT_EQ(run({}), 0) << output();
    EXPECT_THAT(output(), HasSubstr(kLimited));
    std::cout << log.size() << " calls, " << refused << " refusals\n";
}

}  // namespace
}  // namespace aliquot::faults
