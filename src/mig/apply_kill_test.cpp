// SPDX-License-Identifier: Apache-2.0
// SIGKILL at every step of a change: whoever comes next finds the spec reached or everything as it
// was, never half.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "mig/apply.h"
#include "mig/stub_partitioner.h"
#include "os/temporary_directory.h"

namespace aliquot::mig {
namespace {

/// A node that outlives the process that changes it.
class SharedNode {
public:
    SharedNode()
        : memory_(::mmap(nullptr, sizeof(StubNode), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        if (memory_ == MAP_FAILED) std::abort();
        node_ = new (memory_) StubNode;
    }
    ~SharedNode() { ::munmap(memory_, sizeof(StubNode)); }
    SharedNode(const SharedNode&) = delete;
    SharedNode& operator=(const SharedNode&) = delete;
    StubNode& operator*() { return *node_; }

private:
    void* memory_;
    StubNode* node_;
};

struct Scenario {
    friend void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }
    const char* name;
    std::array<const char*, 2> before;
    std::array<const char*, 2> spec;
    std::array<const char*, 2> after;
    bool resetless = true;
    bool fails = false;  // the last create of GPU 1 fails: the way back is tested
};

class Kill : public testing::TestWithParam<Scenario> {
protected:
    static std::vector<GpuSpec> specs(const StubPartitioner& gpus) {
        std::vector<GpuSpec> all;
        for (unsigned i = 0; i < 2; ++i) {
            const std::string_view text = GetParam().spec[i];
            GpuSpec spec{.gpu = {"GPU-" + std::to_string(i)}, .index = i, .enabled = text != "off"};
            if (spec.enabled) spec.spec = *parse_layout_spec(text);
            spec.known_geometry = gpus.geometry();
            all.push_back(std::move(spec));
        }
        return all;
    }

    /// What a process does: the change, or what a restart begins with; ended at its `last` step.
    /// Returns whether it could do what it does, when it was not ended.
    static bool act(const os::Root& root, StubNode& node, bool recovery, unsigned last) {
        os::SystemClock clock;
        StubPartitioner gpus(node);
        if (GetParam().fails) {
            gpus.fault = [](unsigned gpu, std::string_view call) -> Result<Done> {
                if (gpu == 1 && call == "create_compute") {
                    return Error{ErrorCode::kUnsupported, "no luck"};
                }
                return Done{};
            };
        }
        unsigned steps = 0;
        ApplyOptions options;
        options.checkpoint = [&](std::string_view) {
            if (++steps == last) ::kill(::getpid(), SIGKILL);
        };
        const auto state = StateDirectory::open(root, "/mig", std::chrono::seconds{10}, clock);
        if (!state) return false;
        const auto report = recovery ? recover(gpus, *state, options, clock)
                                     : apply(gpus, *state, specs(gpus), options, clock);
        return report.ok();
    }

    /// True: it was killed. False: it came to its end.
    static bool killed(const os::Root& root, StubNode& node, bool recovery, unsigned last) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(act(root, node, recovery, last) ? 0 : 1);
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        return WIFSIGNALED(status);
    }

    static void set_up(StubNode& node) {
        StubPartitioner gpus(node);
        for (unsigned i = 0; i < 2; ++i) {
            gpus.cut(i, GetParam().before[i]);
            node.gpus[i].resetless = GetParam().resetless;
        }
    }

    static void expect_whole(const os::Root& root, StubNode& node, const std::string& when) {
        const StubPartitioner gpus(node);
        const std::string now = gpus.text(0) + " / " + gpus.text(1);
        const Scenario& scenario = GetParam();
        const std::string before = std::string(scenario.before[0]) + " / " + scenario.before[1];
        const std::string after = std::string(scenario.after[0]) + " / " + scenario.after[1];
        EXPECT_TRUE(now == before || (now == after && !scenario.fails)) << when << ": " << now;
        EXPECT_FALSE(root.exists("/mig/journal.json")) << when;
    }
};

TEST_P(Kill, AtAnyStepLeavesNothingHalf) {
    unsigned steps = 0;
    for (unsigned last = 1;; ++last) {
        const os::TemporaryDirectory directory;
        const os::Root root(directory.path());
        SharedNode node;
        set_up(*node);
        const bool dead = killed(root, *node, false, last);
        ASSERT_FALSE(killed(root, *node, true, 0));
        expect_whole(root, *node, "killed at step " + std::to_string(last));
        if (!dead) {
            steps = last - 1;
            break;
        }
        ASSERT_LT(last, 500U);
    }
    EXPECT_GE(steps, 12U);
}

TEST_P(Kill, AtAnyStepOfTheRecoveryTooLeavesNothingHalf) {
    // Some steps of the change, and there some steps of what fixes it.
    for (unsigned last = 2;; last += 5) {
        bool dead = false;
        for (unsigned again = 1;; again += 4) {
            const os::TemporaryDirectory directory;
            const os::Root root(directory.path());
            SharedNode node;
            set_up(*node);
            dead = killed(root, *node, false, last);
            const bool dead_again = killed(root, *node, true, again);
            ASSERT_FALSE(killed(root, *node, true, 0));
            expect_whole(root, *node,
                         "killed at " + std::to_string(last) + " and " + std::to_string(again));
            if (!dead_again) break;
            ASSERT_LT(again, 500U);
        }
        if (!dead) break;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Changes, Kill,
    testing::Values(Scenario{.name = "NewInstances",
                             .before = {"none", "2g.10gb@2:busy"},
                             .spec = {"3g.20gb,1g.5gb*2", "2g.10gb,3g.20gb"},
                             .after = {"1g.5gb@0,1g.5gb@1,3g.20gb@4", "2g.10gb@2:busy,3g.20gb@4"}},
                    Scenario{.name = "OtherInstances",
                             .before = {"4g.20gb@0,1g.5gb@5,1g.5gb@6", "3g.20gb@0,3g.20gb@4"},
                             .spec = {"7g.40gb", "3g.20gb,1g.5gb*2"},
                             .after = {"7g.40gb@0", "1g.5gb@0,1g.5gb@1,3g.20gb@4"}},
                    Scenario{.name = "ModeWithReset",
                             .before = {"off", "1g.5gb@6"},
                             .spec = {"3g.20gb*2", "off"},
                             .after = {"3g.20gb@0,3g.20gb@4", "off"},
                             .resetless = false},
                    Scenario{.name = "WayBack",
                             .before = {"2g.10gb@0,2g.10gb@2", "off"},
                             .spec = {"3g.20gb", "7g.40gb"},
                             .after = {"", ""},
                             .fails = true}),
    [](const auto& scenario) { return std::string(scenario.param.name); });

}  // namespace
}  // namespace aliquot::mig
