// SPDX-License-Identifier: Apache-2.0
//
// SIGKILL at every step of a MIG change, on the simulated driver library: whoever comes next finds
// the spec reached or everything as it was.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "mig/apply.h"
#include "mig/converge.h"
#include "nvml/driver.h"
#include "os/temporary_directory.h"
#include "sim/node/node.h"

namespace aliquot {
namespace {

class MigKill : public ::testing::Test {
protected:
    void SetUp() override {
        auto node =
            sim::Node::create(directory_, {.gpus = {{.model = "a100-40"}, {.model = "h100-80"}}},
                              std::filesystem::path(ALIQUOT_SIM_DIR) / "libnvidia-ml.so.1",
                              std::filesystem::path(ALIQUOT_SIM_DIR) / "nvidia-smi");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(std::move(*node));
    }
    void TearDown() override { (void)sim::Node::destroy(directory_); }

    /// Runs `body` in a process of its own, as the library keeps threads. Returns how it ended.
    static int in_child(const std::function<bool()>& body) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(body() ? 0 : 1);
        int status = 0;
        ::waitpid(child, &status, 0);
        return status;
    }

    bool with_node(const std::function<bool(nvml::Driver&, const gpu::Inventory&)>& body) const {
        const os::Root root(directory_);
        const auto driver = nvml::Driver::open(root, {.driver_root = "/lib/libnvidia-ml.so.1"});
        if (!driver) return false;
        const auto inventory = (*driver)->enumerate(gpu::Links::kLeaveOut);
        return inventory && body(**driver, *inventory);
    }

    /// Changes both GPUs, or does what a restart begins with; ended at its `last` step.
    int act(bool recovery, unsigned last, const std::string& spec) const {
        return in_child([&] {
            return with_node([&](nvml::Driver& driver, const gpu::Inventory& inventory) {
                os::SystemClock clock;
                const os::Root root(directory_);
                unsigned steps = 0;
                mig::ApplyOptions options;
                options.checkpoint = [&](std::string_view) {
                    if (++steps == last) ::kill(::getpid(), SIGKILL);
                };
                const auto state =
                    mig::StateDirectory::open(root, "/mig", std::chrono::seconds{30}, clock);
                if (!state) return false;
                if (recovery) return mig::recover(driver, *state, options, clock).ok();
                std::vector<mig::GpuSpec> specs;
                for (const gpu::Gpu& gpu : inventory.gpus) {
                    specs.push_back({.gpu = gpu.uuid,
                                     .index = gpu.index,
                                     .spec = *mig::parse_layout_spec(spec)});
                }
                const auto report = mig::apply(driver, *state, specs, options, clock);
                return report && report->reached;
            });
        });
    }

    /// "3g.20gb@0 1g.5gb@4 / off" of the driver; '!' behind what has no compute instance.
    std::string layout() const {
        const auto file = temporary_.path() / "layout";
        const int status = in_child([&] {
            return with_node([&](nvml::Driver& driver, const gpu::Inventory& inventory) {
                std::ofstream out(file);
                for (const gpu::Gpu& gpu : inventory.gpus) {
                    const auto now = driver.partitions(gpu.uuid);
                    if (!now) return false;
                    out << (gpu.index == 0 ? "" : " / ") << (now->enabled ? "" : "off");
                    for (const auto& instance : mig::partitioning_of(*now).instances) {
                        out << instance.profile.substr(0, 2) << '@' << instance.start
                            << (instance.compute.empty() ? "!" : "") << ' ';
                    }
                }
                return true;
            });
        });
        EXPECT_EQ(status, 0);
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    os::TemporaryDirectory temporary_;
    std::filesystem::path directory_ = temporary_.path() / "node";
    std::optional<sim::Node> node_;
};

TEST_F(MigKill, AtAnyStepLeavesNothingHalf) {
    constexpr const char* kDesired = "2g@0 1g@2 1g@3 3g@4  / 1g@0 1g@1 2g@2 3g@4 ";
    for (unsigned last = 1;; ++last) {
        ASSERT_TRUE(node_->cut(0, "7g.40gb"));
        ASSERT_TRUE(node_->cut(1, "1g.10gb@0,1g.10gb@6"));
        const std::string before = layout();
        const int status = act(false, last, "slices=3,slices=2,slices=1*2");
        ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "step " << last;
        ASSERT_EQ(act(true, 0, ""), 0) << "step " << last;
        const std::string now = layout();
        EXPECT_TRUE(now == before || now == kDesired) << "step " << last << ": " << now;
        EXPECT_FALSE(std::filesystem::exists(directory_ / "mig/journal.json"));
        if (!WIFSIGNALED(status)) {
            EXPECT_EQ(now, kDesired);
            EXPECT_GT(last, 20U);
            break;
        }
        ASSERT_LT(last, 200U);
    }
}

}  // namespace
}  // namespace aliquot
