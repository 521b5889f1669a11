// SPDX-License-Identifier: Apache-2.0
//
// `aliquot placement defrag` on a simulated cluster, and on one with Kubernetes' own API server and kube-scheduler: what
// it tells is won when it is done, and the controller puts the pods that come where they are meant to be.
#include <gmock/gmock.h>

#include <fstream>

#include "base/time_text.h"
#include "os/spawner.h"
#include "tests/e2e/fleet_world.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace resources = kube_client::resources;

class PlacementDefrag : public FleetWorld, public testing::WithParamInterface<const char*> {
protected:
    PlacementDefrag() { real_ = std::string_view(GetParam()) == "real"; }
    struct Said {
        int code = -1;
        std::string out;
        std::string err;
        [[nodiscard]] Json json() const { return Json::parse(out, nullptr, false); }
    };
    /// Runs the program; who owns pods goes on making them meanwhile.
    Said defrag(std::vector<std::string> words, bool tended = true,
                const std::string& format = "json") {
        words.insert(words.begin(),
                     {ALIQUOT_BIN_DIR "/aliquot", "placement", "defrag", "--kubeconfig",
                      kubeconfig_, "-o", format, "--least-run", "0s", "--timeout", "60s"});
        const auto output = directory_.path() / ("out" + std::to_string(++runs_));
        const auto errors = directory_.path() / ("err" + std::to_string(runs_));
        words.insert(words.begin(), {"sh", "-c", R"(exec "$@" 2> "$0")", errors.native()});
        auto process = os::Process::start({.argv = words,
                                           .environment = os::current_environment(),
                                           .output_path = output.native()});
        EXPECT_TRUE(process) << process.error().message;
        if (!process) return {};
        std::optional<os::Exit> exit;
        for (unsigned i = 0; i < 3000 && !exit; ++i) {
            if (tended) tend_owners();
            exit = process->wait(50ms);
        }
        const auto text = [](const std::filesystem::path& path) {
            std::ifstream file(path);
            return std::string{std::istreambuf_iterator<char>(file), {}};
        };
        return {exit ? exit->code : -1, text(output), text(errors)};
    }
    /// Fills all GPUs with pods of one GPU or one share, and leaves few.
    void fragment() {
        for (unsigned i = 0; i < 12; ++i)
            add_owner("gpu" + std::to_string(i), {.resource = kGpu, .count = 1});
        for (unsigned i = 0; i < 24; ++i)
            add_owner("share" + std::to_string(i), {.resource = kShare, .count = 1});
        ASSERT_TRUE(settles(120s));
        // One GPU, and one share, of each node stay.
        std::set<std::pair<std::string, std::string>> seen;
        std::vector<std::string> gone;
        const auto all = pods();
        for (const auto& [name, owner] : owners_) {
            const Pod& pod = all.at(owner.pod);
            if (!seen.insert({pod.node, pod.resource}).second) gone.push_back(name);
        }
        ASSERT_EQ(seen.size(), 6U);
        for (const std::string& name : gone) remove_owner(name);
        ASSERT_TRUE(settles(120s));
    }
    std::set<std::string> names_of_pods() {
        std::set<std::string> names;
        for (const auto& [name, pod] : pods()) names.insert(name);
        return names;
    }
    std::string lease() {
        const auto found = api().get(kLeases, {"aliquot-system", "aliquot-moves"});
        return found ? found->json : std::string();
    }

    const kube_client::Resource& kLeases = resources::leases();
    unsigned runs_ = 0;
};

TEST_P(PlacementDefrag, WinsWhatItToldAndCountsItsMoves) {
    fragment();
    const auto before = names_of_pods();
    const Said plan = defrag({});
    ASSERT_EQ(plan.code, 0) << plan.err;
    const Json told = plan.json();
    // Three nodes of four GPUs with one pod each, three of two with one share each.
    EXPECT_EQ(told["before"], (Json{{"gpus", 3 * 3 + 3 * 1}, {"nodes", 0}})) << told;
    EXPECT_EQ(told["after"]["nodes"], 4) << told;
    EXPECT_EQ(told["moves"].size(), 4U) << told;
    const std::string table = defrag({"--plan"}, true, "table").out;
    EXPECT_THAT(table, HasSubstr("now          12    0\nafter        14    4\n")) << table;
    EXPECT_THAT(table, HasSubstr(told["moves"][0]["pod"].get<std::string>()));
    EXPECT_THAT(table, HasSubstr("0 of 20 moves of an hour are made; at most 10 in one run.\n"));
    EXPECT_EQ(names_of_pods(), before) << "a plan moves nobody";
    EXPECT_EQ(lease(), "");

    EXPECT_EQ(defrag({"--apply"}).code, 2) << "nobody can be asked";
    const Said done = defrag({"--apply", "--yes"});
    ASSERT_EQ(done.code, 0) << done.err << controllers_[0]->said() << controllers_[1]->said();
    EXPECT_EQ(done.json()["moves"], told["moves"]);
    ASSERT_EQ(done.json()["done"].size(), 4U) << done.out;
    for (unsigned i = 0; i < 4; ++i)
        EXPECT_EQ(done.json()["done"][i]["at"], told["moves"][i]["to"]) << i;
    ASSERT_TRUE(settles(60s));
    const Json after = defrag({}).json();
    EXPECT_EQ(after["before"], told["after"]) << after;
    EXPECT_EQ(after["moves"], Json::array()) << after;
    EXPECT_EQ(after["movedLastHour"], 4);
    EXPECT_EQ(defrag({"--moves-per-hour", "4"}).json()["moves"], Json::array());
}

TEST_P(PlacementDefrag, EndsAtTheFirstThatMayNotGoAndTakesItsNoteBack) {
    fragment();
    const auto before = names_of_pods();
    if (real_) GTEST_SKIP() << "it lets nobody fail in between";
    // The budget is used up by others between plan and eviction.
    server_->inject({.method = "POST", .resource = "pods", .status = 429, .times = 1});
    const Said done = defrag({"--apply", "--yes"}, false);
    EXPECT_EQ(done.code, 1) << done.out;
    EXPECT_THAT(done.err, HasSubstr("a PodDisruptionBudget does not let it go"));
    EXPECT_EQ(done.json()["done"], Json::array());
    EXPECT_EQ(names_of_pods(), before);
    for (const std::string& name : before) {
        const auto pod = api().get(resources::pods(), {kSpace, name});
        ASSERT_TRUE(pod);
        EXPECT_EQ(pod->json.find("aliquot.dev/move\""), std::string::npos) << name;
    }
    EXPECT_THAT(lease(), HasSubstr(R"("holderIdentity":"")")) << "others may move at once";
    // Another run that moves pods now.
    Json held = Json::parse(lease());
    held["spec"]["holderIdentity"] = "ann";
    held["spec"]["renewTime"] = rfc3339_micro(std::chrono::system_clock::now());
    ASSERT_TRUE(api().replace(kLeases, {"aliquot-system", "aliquot-moves"}, held.dump()));
    const Said second = defrag({"--apply", "--yes"});
    EXPECT_EQ(second.code, 1);
    EXPECT_THAT(second.err, HasSubstr("ann moves pods now"));
    EXPECT_EQ(names_of_pods(), before);
}

TEST_P(PlacementDefrag, LeavesPodsUnderABudgetThatIsSpent) {
    fragment();
    const kube_client::Resource budgets{.group = "policy",
                                        .version = "v1",
                                        .plural = "poddisruptionbudgets",
                                        .kind = "PodDisruptionBudget"};
    // Nobody computes a status here: no disruption is allowed.
    const Json budget{{"metadata", {{"name", "all"}}},
                      {"spec", {{"minAvailable", 6}, {"selector", Json::object()}}}};
    ASSERT_TRUE(api().create(budgets, kSpace, budget.dump()));
    const Json told = defrag({}).json();
    EXPECT_EQ(told["moves"], Json::array()) << told;
    const auto say = [&](const char* status) {
        const auto done =
            api().patch(budgets, {kSpace, "all"}, status, {.write = {.subresource = "status"}});
        EXPECT_TRUE(done) << done.failure().message;
    };
    say(R"({"status":{"disruptionsAllowed":2}})");
    EXPECT_EQ(defrag({}).json()["moves"], Json::array()) << "what was counted is another spec's";
    say(R"({"status":{"observedGeneration":1}})");
    EXPECT_EQ(defrag({}).json()["moves"].size(), 2U);
    const Said done = defrag({"--apply", "--yes"});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.json()["done"].size(), 2U) << done.out;
    EXPECT_EQ(defrag({}).json()["moves"], Json::array()) << "the API server counted them";
}

INSTANTIATE_TEST_SUITE_P(Peers, PlacementDefrag, testing::Values("simulated", "real"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace aliquot
