// SPDX-License-Identifier: Apache-2.0
//
// `aliquot mig apply` and `aliquot run` where a call fails once: refused with the reason and nothing half
// made, or done as if nothing had been.
#include <gmock/gmock.h>

#include <cstring>

#include "sim/node/node.h"
#include "tests/faults/faulted_process.h"

namespace aliquot::faults {
namespace {

using std::chrono_literals::operator""s;
using testing::AnyOf;
using testing::ElementsAre;

using testing::HasSubstr;

class NodeFaults : public testing::Test {
protected:
    [[nodiscard]] fs::path state() const { return directory_.path() / "node"; }
    [[nodiscard]] std::string output() const { return text_of(directory_.path() / "output"); }
    [[nodiscard]] std::vector<std::string> calls() const {
        return lines_of(directory_.path() / "log");
    }

    void make_node(const std::string& model) {
        fs::remove_all(state());
        auto made =
            sim::Node::create(state(), {.gpus = {{.model = model, .count = 1}}},
                              ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", ALIQUOT_SIM_DIR "/nvidia-smi");
        ASSERT_TRUE(made) << made.error().message;
        node_.emplace(*std::move(made));
    }
    /// Its exit code; -1: a signal ended it, or nothing did in time.
    int run(std::vector<std::string> words, const fs::path& under, const Fault& fault,
            const std::map<std::string, std::string>& more = {}) {
        fs::remove(directory_.path() / "log");
        fs::remove(directory_.path() / "output");
        words.insert(words.begin(), ALIQUOT_BIN_DIR "/aliquot");
        auto command = with_fault(std::move(words), under, directory_.path() / "log", fault,
                                  directory_.path() / "output", true);
        for (const auto& [name, value] : more) command.environment[name] = value;
        auto process = os::Process::start(command);
        EXPECT_TRUE(process) << process.error().message;
        const auto exit = process->wait(120s);
        return exit && exit->signal == 0 ? exit->code : -1;
    }

    os::TemporaryDirectory directory_;
    std::optional<sim::Node> node_;
};

class MigApplyFaults : public NodeFaults {
protected:
    int apply(const std::string& wish, const Fault& fault) {
        return run({"mig", "apply", "--node-state", state(), "--state", "/mig", "--want", wish},
                   state() / "mig", fault);
    }
    [[nodiscard]] std::string layout() const {
        std::string text;
        for (const auto& device : node_->gpus().at(0).mig_devices) text += device.profile + ' ';
        return text;
    }
};

TEST_F(MigApplyFaults, EachCallFailsOnceAndTheLayoutIsTheOldOrTheNewOne) {
    constexpr const char* kOld = "3g.20gb*2";
    constexpr const char* kNew = "2g.10gb*3";
    const auto prepare = [&] {
        make_node("a100-40");
        ASSERT_EQ(apply(kOld, {}), 0) << output();
    };
    prepare();
    const std::string before = layout();
    ASSERT_EQ(apply(kNew, {}), 0) << output();
    const std::string after = layout();
    ASSERT_NE(before, after);
    const auto log = calls();
    ASSERT_GT(log.size(), 10U);
    for (const Fault& fault : faults_for(log)) {
        SCOPED_TRACE(fault.text() + " " + log[fault.number - 1]);
        prepare();
        if (HasFatalFailure()) return;
        const int code = apply(kNew, fault);
        EXPECT_THAT(left_over(state()), ElementsAre());
        if (code == 0) {
            EXPECT_EQ(layout(), after) << output();
        } else {
            EXPECT_THAT(code, AnyOf(1, 3)) << output();
            EXPECT_THAT(output(), HasSubstr(::strerror(fault.error)));
        }
        // Whoever comes next ends what was begun, and knows of nothing that is not so.
        EXPECT_EQ(apply(kNew, {}), 0) << output();
        EXPECT_EQ(layout(), after);
        EXPECT_FALSE(fs::exists(state() / "mig/journal.json"));
        if (HasFailure()) return;
    }
    std::cout << log.size() << " calls\n";
}

class RunFaults : public NodeFaults {
protected:
    void SetUp() override {
        make_node("a2");
        const fs::path driver = state() / "lib/libcuda.so.1";
        if (!fs::exists(driver)) fs::create_symlink(ALIQUOT_SIM_DIR "/libcuda.so.1", driver);
    }
    [[nodiscard]] fs::path books() const { return directory_.path() / "books"; }

    int run_tenant(const Fault& fault) {
        return run(
            {"run", "--node-state", state(), "--guard-library",
             ALIQUOT_LIB_DIR "/libaliquot-guard.so", "--gpu-memory", "2Gi", "--",
             ALIQUOT_TEST_DIR "/cuda_tenant", "info", "alloc:1073741824", "alloc:1073741824"},
            books(), fault,
            {{"ALIQUOT_RUN_DIRECTORY", books()},
             {"ALIQUOT_AGENT", "unix:" + (directory_.path() / "agent.sock").native()},
             {"ALIQUOT_SIM_CUDA_CONTEXT_BYTES", "314572800"}});
    }
    [[nodiscard]] std::vector<std::string> runs() const {
        std::vector<std::string> names;
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(books(), none)) {
            if (entry.is_directory()) names.push_back(entry.path());
        }
        return names;
    }
};

TEST_F(RunFaults, EachCallFailsOnceAndNobodyRunsWithoutLimits) {
    constexpr const char* kLimited = "total 2147483648\nalloc 0\nalloc 2\n";
    ASSERT_EQ(run_tenant({}), 0) << output();
    ASSERT_THAT(output(), HasSubstr(kLimited));
    fs::remove_all(books());
    ASSERT_EQ(run_tenant({}), 0) << output();
    const auto log = calls();
    ASSERT_GT(log.size(), 10U);
    for (const Fault& fault : faults_for(log)) {
        SCOPED_TRACE(fault.text() + " " + log[fault.number - 1]);
        fs::remove_all(books());
        const int code = run_tenant(fault);
        EXPECT_THAT(left_over(directory_.path()), ElementsAre());
        if (code == 0) {
            EXPECT_THAT(output(), HasSubstr(kLimited));
        } else {
            EXPECT_THAT(runs(), ElementsAre());
            EXPECT_THAT(code, AnyOf(3, 126)) << output();  // 126: the program cannot be started
            EXPECT_THAT(output(), HasSubstr(::strerror(fault.error)));
        }
        EXPECT_EQ(run_tenant({}), 0) << output();
        EXPECT_THAT(output(), HasSubstr(kLimited));
        EXPECT_THAT(runs(), ElementsAre());  // also what could not be removed
        if (HasFailure()) return;
    }
    std::cout << log.size() << " calls\n";
}

}  // namespace
}  // namespace aliquot::faults
