// SPDX-License-Identifier: Apache-2.0
// The arguments that are rendered for the controller are those that it takes.
#include <gtest/gtest.h>

#include "controller/options.h"
#include "install/rendered.h"

namespace aliquot::install {
namespace {

/// As its container gets them.
std::vector<std::string> arguments_of(const Values& values) {
    std::vector<std::string> words{"aliquot-controller"};
    const Value deployment = object(values, "Deployment", "aliquot-controller");
    const Value* const args = at(deployment, "spec.template.spec.containers.0.args");
    for (const Value& one : args == nullptr ? std::vector<Value>() : args->items)
        words.push_back(one.scalar);
    return words;
}

std::variant<controller::Options, controller::EarlyExit> read(const Values& values) {
    const auto words = arguments_of(values);
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    return controller::read_options(static_cast<int>(pointers.size()), pointers.data(), {});
}

TEST(InstallOptions, AreTakenByTheController) {
    const std::vector<Values> all{
        {},
        {.placement = true},
        {.placement = true,
         .placement_preemption = true,
         .placement_strict = true,
         .placement_extender_ca = "kube-root-ca.crt"},
        {.dra = "auto", .claims = true, .claims_preemption = true},
        {.pools = true},
        {.jobs = true},
        {.jobs_api = "jobs-tls"},
        {.cost_store = "temporary"},
        {.cost_store = "postgresql://db.lab/aliquot", .cost_secret = "database"},
        {.webhook_client_ca = "clients", .webhook_client_names = {"a", "b"}},
        {.dra = "auto",
         .placement = true,
         .claims = true,
         .pools = true,
         .jobs = true,
         .jobs_idle_after = "1h",
         .jobs_api = "jobs-tls",
         .cost_store = "claim/costs"}};
    for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_TRUE(check(all[i])) << i;
        const auto answer = read(all[i]);
        if (const auto* const wrong = std::get_if<controller::EarlyExit>(&answer))
            ADD_FAILURE() << i << ": " << wrong->text;
    }
}

TEST(InstallOptions, OfIdleJobsMeanTheSameThere) {
    using std::chrono::seconds;
    Values values{.jobs = true,
                  .jobs_idle_after = "2.5m",
                  .jobs_idle_action = "end",
                  .jobs_idle_grace = "0s",
                  .jobs_idle_min_run = "1h"};
    const auto answer = read(values);
    ASSERT_TRUE(std::holds_alternative<controller::Options>(answer));
    const auto& options = std::get<controller::Options>(answer);
    EXPECT_EQ(options.idle.after, seconds(150));
    EXPECT_TRUE(options.idle.ends);
    EXPECT_EQ(options.idle.grace, seconds(0));
    EXPECT_EQ(options.idle.min_run, seconds(3'600));
    EXPECT_EQ(options.page.agents_service, "aliquot-agent.aliquot-system.svc:9400");
    // Whatever time the one refuses the other does not take, and the reverse.
    for (const char* const text : {"", "59s", "60s", "1m", "1.5s", "90", "3660d", "3661d", "1h30m",
                                   "off", "-5m", "0.5h", "500ms", "1e3s", " 5m"}) {
        values.jobs_idle_after = text;
        const bool taken = std::holds_alternative<controller::Options>(read(values));
        EXPECT_EQ(check(values).ok(), taken) << "'" << text << "'";
    }
}

}  // namespace
}  // namespace aliquot::install
