// SPDX-License-Identifier: Apache-2.0
//
// Claims on disks that are full, broken or read-only: each call that writes fails once while claims are prepared and
// given back. A claim is refused with the reason and is prepared when it is asked for again; none is left behind.
#include <algorithm>
#include <cstring>

#include "tests/e2e/claims_node.h"
#include "tests/faults/faulted_process.h"

namespace aliquot::faults {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// What a run of calls is done with.
struct Way {
    std::string mode;
    std::function<sim::ClaimReference(const std::string& name)> first;
    std::function<sim::ClaimReference(const std::string& name)> second;
};

/// Some thirty of them; all with ALIQUOT_ALL_FAULTS=1.
class ClaimFaults : public DynamicMig {
protected:
    static constexpr std::size_t kTried = 30;
    [[nodiscard]] std::filesystem::path log() const { return temporary_.path() / "calls"; }

    /// Ready to prepare, whatever a fault did to the start.
    void serve(const std::string& mode, const Fault& fault) {
        std::filesystem::remove(temporary_.path() / "agent.log");
        const auto with = with_fault({}, temporary_.path() / "run", log(), fault, {});
        environment_ = with.environment;
        start_agent({"--dra", mode});
        if (!serves()) {
            EXPECT_TRUE(agent_->poll()) << "does not serve and does not end: " << agent_log();
            EXPECT_THAT(agent_log(), HasSubstr(::strerror(fault.error)));
            environment_ = os::current_environment();
            start_agent({"--dra", mode});
            ASSERT_TRUE(serves()) << agent_log();
        }
        ASSERT_TRUE(soon([&] { return !devices().empty(); }));
    }
    /// False: it has ended, or a minute is over.
    bool serves() {
        bool registered = false;
        (void)soon([&] {
            registered = agent_log().contains("dra.registered");
            return registered || agent_->poll();
        });
        return registered;
    }
    /// Twice at most: a fault comes once.
    template <class Call>
    void done(const char* what, const Fault& fault, Call call) {
        const auto first = call();
        if (first) return;
        ++refused_;
        EXPECT_THAT(first.error().message, HasSubstr(::strerror(fault.error))) << what;
        const auto second = call();
        EXPECT_TRUE(second) << what << ": " << second.error().message;
    }
    void prepare(const sim::ClaimReference& claim, const Fault& fault) {
        done("prepare", fault,
             [&] { return kubelet_->prepare_claims("u-" + claim.name, {claim}); });
        const auto text = root_.read(cdi_path(claim.uid));
        ASSERT_TRUE(text) << "prepared without a CDI file";
        EXPECT_TRUE(Json::accept(*text)) << *text;
    }
    void unprepare(const sim::ClaimReference& claim, const Fault& fault) {
        done("unprepare", fault, [&] { return kubelet_->unprepare_claims("u-" + claim.name); });
        EXPECT_FALSE(root_.exists(cdi_path(claim.uid)));
    }
    /// One run; what can fail in it from the first claim on.
    std::vector<Fault> run(const Way& way, const Fault& fault) {
        std::filesystem::remove(log());
        refused_ = 0;
        serve(way.mode, fault);
        if (HasFatalFailure()) return {};
        const std::size_t before = lines_of(log()).size();
        const std::string number = std::to_string(++runs_);
        const auto a = way.first("a" + number);
        const auto b = way.second("b" + number);
        prepare(a, fault);
        prepare(b, fault);
        unprepare(a, fault);
        unprepare(b, fault);
        EXPECT_LE(refused_, fault.number == 0 ? 0U : 1U) << agent_log();
        EXPECT_FALSE(agent_->poll()) << agent_log();
        EXPECT_EQ(agent_->terminate(60s).code, 0) << agent_log();
        agent_.reset();
        EXPECT_EQ(cut(0), "") << "an instance is left";
        const auto left = left_over(temporary_.path() / "run");
        EXPECT_THAT(left, testing::ElementsAre());
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator(temporary_.path() / "run")) {
            EXPECT_THAT(entry.path().filename().native(), testing::Not(HasSubstr(a.uid)));
            EXPECT_THAT(entry.path().filename().native(), testing::Not(HasSubstr(b.uid)));
        }
        for (const auto& claim : {a, b}) ask("DELETE", std::string(kClaims) + "/" + claim.name);
        std::vector<Fault> faults = faults_for(lines_of(log()));
        std::erase_if(faults, [&](const Fault& one) { return one.number <= before; });
        return faults;
    }
    void run_all(const Way& way) {
        // One and the same, as on a host.
        std::filesystem::create_directories(temporary_.path() / "run");
        std::filesystem::create_directories(temporary_.path() / "var");
        if (!std::filesystem::exists(temporary_.path() / "var" / "run"))
            std::filesystem::create_directory_symlink("../run", temporary_.path() / "var" / "run");
        const auto faults = run(way, {});
        ASSERT_GT(faults.size(), 20U);
        const bool all =
            ::getenv("ALIQUOT_ALL_FAULTS") != nullptr;  // NOLINT(concurrency-mt-unsafe)
        const std::size_t step = all ? 1 : std::max<std::size_t>(7, faults.size() / kTried);
        unsigned met = 0;
        for (std::size_t i = 0; i < faults.size(); i += step) {
            SCOPED_TRACE(faults[i].text());
            run(way, faults[i]);
            if (HasFailure()) return;
            met += refused_;
        }
        EXPECT_GT(met, 0U) << "the faults were not met";
        std::cout << faults.size() << " faults, every " << step << ". tried, " << met
                  << " refused\n";
    }
    unsigned runs_ = 0;
    unsigned refused_ = 0;
};

TEST_F(ClaimFaults, EachCallFailsOnceAndSharesAreRefusedOrWhole) {
    const auto share = [&](const std::string& name) {
        return allocate(name, devices().front()["name"], "3Gi", "25");
    };
    run_all({"consumable", share, share});
}

TEST_F(ClaimFaults, EachCallFailsOnceAndInstancesAreRefusedOrWhole) {
    const auto part = [&](const char* end) {
        return [this, end](const std::string& name) {
            for (const Json& device : devices()) {
                if (device["name"].get<std::string>().ends_with(end))
                    return allocate_all(name, device["name"]);
            }
            return sim::ClaimReference{};
        };
    };
    run_all({"dynamic-mig", part("-mig-3g-20gb-4"), part("-mig-1g-5gb-0")});
}

}  // namespace
}  // namespace aliquot::faults
