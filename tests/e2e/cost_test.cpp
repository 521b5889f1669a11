// SPDX-License-Identifier: Apache-2.0
// What jobs of a machine have cost, recorded by `aliquot serve` and told by `aliquot cost`.
#include <fstream>

#include "tests/e2e/job_machine.h"

namespace aliquot {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CostTest : public JobTest {
protected:
    void SetUp() override {
        write_prices("");
        more_ = {"--prices", prices().native()};
        JobTest::SetUp();
    }
    /// An hour of the machine costs 3600: a millisecond of each of its two GPUs less than half a thousandth.
    void write_prices(const std::string& budgets) {
        std::ofstream(prices()) << "apiVersion: aliquot.dev/v1alpha1\nkind: Prices\nversion: '1'\n"
                                   "currency: EUR\nprices:\n- {gpu: a2, perHour: 3600}\n"
                                << budgets;
    }
    [[nodiscard]] std::filesystem::path prices() const { return directory_.path() / "prices.yaml"; }
    json cost(std::vector<std::string> words) {
        words.insert(words.begin(), "cost");
        words.insert(words.end(), {"-o", "json"});
        const auto done = run(words);
        EXPECT_EQ(done.exit.code, 0) << done.output;
        return json::parse(done.output, nullptr, false);
    }
    static double line(const json& report, const std::string& key) {
        for (const json& one : report["lines"]) {
            if (one["key"] == key) return one["cost"];
        }
        return 0;
    }
    static double sum(const json& report) {
        double all = 0;
        for (const json& one : report["lines"]) all += one["cost"].get<double>();
        return all;
    }
};

TEST_F(CostTest, LinesAddUpToTheBillAndTheStoreSaysTheSame) {
    const std::string id = submit("true", {"--gpu", "1", "--queue", "train", "--name", "first"});
    EXPECT_EQ(run({"job", "wait", id}).exit.code, 0);
    json by_job;
    eventually([&] {
        by_job = cost({"--by", "job"});
        return line(by_job, "first") > 0 && line(by_job, "free") > 0;
    });
    EXPECT_NEAR(sum(by_job), by_job["bill"], 1e-5);
    EXPECT_EQ(by_job["currency"], "EUR");
    EXPECT_EQ(line(cost({"--by", "queue"}), "train"), line(by_job, "first"));
    const auto stored =
        run({"cost", "--by", "job", "--store", (state() / "cost.sqlite").native(), "-o", "csv"});
    EXPECT_EQ(stored.exit.code, 0) << stored.output;
    EXPECT_THAT(stored.output, HasSubstr("\nfirst,false,USD,"));
    EXPECT_THAT(run({"cost", "-o", "focus"}).output, HasSubstr("BilledCost,"));
    EXPECT_THAT(run({"cost", "-o", "wide"}).output, HasSubstr("KWH"));
}

TEST_F(CostTest, AServerThatIsKilledLosesWhatWasOpenAndNeverASum) {
    const std::string id = submit("while [ ! -e go ]; do sleep 0.05; done", {"--name", "long"});
    reaches(id, "Running");
    double before = 0;
    eventually([&] { return (before = line(cost({"--by", "job"}), "long")) > 0; });
    kill_server();
    start_server();
    eventually([&] { return line(cost({"--by", "job"}), "long") > before; });
    std::ofstream(directory_.path() / "go") << "";
    EXPECT_EQ(run({"job", "wait", id}).exit.code, 0);
    const json report = cost({"--by", "job"});
    EXPECT_NEAR(sum(report), report["bill"], 1e-5);
}

TEST_F(CostTest, ASpentBudgetHoldsWhatIsNew) {
    const std::string first = submit("true", {"--queue", "train"});
    EXPECT_EQ(run({"job", "wait", first}).exit.code, 0);
    eventually([&] { return line(cost({"--by", "queue"}), "train") > 0.001; });
    kill_server();
    write_prices("budgets:\n- {queue: train, amount: 0.001, hold: true}\n");
    start_server();
    eventually([&] { return cost({})["budgets"][0]["isSpent"] == true; });
    std::string held = submit("true", {"--queue", "train"});
    eventually(
        [&] { return show(held).value("reason", "").starts_with("it is held: the budget"); });
    const std::string other = submit("true", {"--queue", "test"});
    EXPECT_EQ(run({"job", "wait", other}).exit.code, 0);
    EXPECT_EQ(state_of(held), "Queued");
}

TEST_F(CostTest, SaysWhatAJobWouldCostBeforeItRuns) {
    const auto told = run({"job", "forecast", "--gpu", "2", "--time", "2h", "--", "true"});
    EXPECT_EQ(told.exit.code, 0);
    EXPECT_THAT(told.output, HasSubstr(" EUR by its time limit"));
    const auto submitted = run({"job", "submit", "--time", "1h", "--name", "again", "--", "true"});
    EXPECT_THAT(submitted.output, HasSubstr("aliquot: cost: at most"));
    EXPECT_EQ(run({"job", "wait", "1"}).exit.code, 0);
    EXPECT_THAT(run({"job", "forecast", "--name", "again", "--", "true"}).output,
                HasSubstr("1 earlier run"));
}

TEST_F(CostTest, AsksNoClusterWhateverKubeconfigThereIs) {
    kill_server();
    std::ofstream(directory_.path() / "kubeconfig")
        << "apiVersion: v1\nkind: Config\ncurrent-context: lab\n"
           "clusters:\n- {name: lab, cluster: {server: 'http://127.0.0.1:1'}}\n"
           "users:\n- {name: me, user: {}}\n"
           "contexts:\n- {name: lab, context: {cluster: lab, user: me}}\n";
    for (const char* const named : {"kubeconfig", "not-there"}) {
        variables_ = {{"ALIQUOT_JOBS", ""},
                      {"HOME", directory_.path().native()},
                      {"XDG_RUNTIME_DIR", directory_.path().native()},
                      {"KUBECONFIG", (directory_.path() / named).native()}};
        const auto cost = run({"cost"});
        EXPECT_EQ(cost.exit.code, 3) << cost.output;
        EXPECT_THAT(cost.output, HasSubstr("jobs.sock: nobody listens there; costs are told by "
                                           "aliquot serve"));
        EXPECT_THAT(cost.output, HasSubstr("--cost-listen, whose address --server names"));
        const auto forecast = run({"job", "forecast", "--gpu", "1", "--", "true"});
        EXPECT_EQ(forecast.exit.code, 3) << forecast.output;
        EXPECT_THAT(forecast.output, HasSubstr("jobs.sock: nobody listens there; start it with "
                                               "aliquot serve"));
    }
    EXPECT_EQ(run({"cost", "--context", "lab"}).exit.code, 2);
    EXPECT_EQ(run({"job", "forecast", "-n", "team", "--", "true"}).exit.code, 2);
    variables_.clear();
    start_server();
}

TEST_F(CostTest, SaysWhatIsWrong) {
    const auto by = run({"cost", "--by", "colour"});
    EXPECT_EQ(by.exit.code, 2);
    const auto since = run({"cost", "--since", "soon"});
    EXPECT_EQ(since.exit.code, 2) << since.output;
    EXPECT_THAT(since.output, HasSubstr("since: 'soon' found"));
    const auto store = run({"cost", "--store", "/nowhere/cost.sqlite"});
    EXPECT_EQ(store.exit.code, 3) << store.output;
    std::ofstream(prices()) << "kind: Prices\n";
    EXPECT_EQ(run({"price", "check", prices().native()}).exit.code, 1);
}

}  // namespace
}  // namespace aliquot
