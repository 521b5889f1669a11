// SPDX-License-Identifier: Apache-2.0
// What is rendered for GPU jobs.
#include <gtest/gtest.h>

#include "install/render.h"
#include "install/rendered.h"

namespace aliquot::install {
namespace {

std::string json_of(const Values& values, const char* kind, const char* name) {
    const auto all = render(values);
    const Manifest* const found = find(all, kind, name);
    return found == nullptr ? "" : to_json(*found);
}

TEST(RenderJobs, JobsOverHttpComeWithAServiceItsCertificateAndTheRightsForThem) {
    EXPECT_EQ(find(render({}), "Service", "aliquot-jobs"), nullptr);
    const auto all = render({.jobs_api = "jobs-tls"});
    const Value service = node_of(*find(all, "Service", "aliquot-jobs"));
    EXPECT_EQ(text_at(service, "spec.ports.0.targetPort"), "jobs");
    const std::string runs = to_json(*find(all, "Deployment", "aliquot-controller"));
    for (const char* const part :
         {R"("--jobs-listen=:8082")", R"("--jobs-web-config=/etc/aliquot/jobs-api/web.yaml")",
          R"("secretName": "jobs-tls")", R"("containerPort": 8082)"}) {
        EXPECT_TRUE(runs.contains(part)) << part << runs;
    }
    const Value file = node_of(*find(all, "ConfigMap", "aliquot-jobs-api"));
    EXPECT_TRUE(at(file, "data")
                    ->entries.front()
                    .second.scalar.contains("cert_file: /etc/aliquot/jobs-tls/tls.crt"));
    const auto may = [](const Values& values, const char* what) {
        return to_json(*find(render(values), "ClusterRole", "aliquot-controller")).contains(what);
    };
    for (const char* const right : {"tokenreviews", "subjectaccessreviews", "pods/log"}) {
        EXPECT_TRUE(may({.jobs_api = "jobs-tls"}, right)) << right;
        EXPECT_FALSE(may({.jobs = true}, right)) << right;
    }
    EXPECT_FALSE(check({.webhook = false, .jobs_api = "jobs-tls"}));
    EXPECT_FALSE(check({.jobs_api = "Jobs TLS"}));
    EXPECT_TRUE(check({.jobs_api = "jobs-tls"}));
}

TEST(RenderJobs, IdleJobsAreLookedForWithTheAgentsAndTheRightsForIt) {
    const Values idle{.jobs = true, .jobs_idle_after = "30m", .jobs_idle_action = "end"};
    const std::string runs = json_of(idle, "Deployment", "aliquot-controller");
    for (const char* const part :
         {R"("--jobs-idle-after=30m")", R"("--jobs-idle-action=end")", R"("--jobs-idle-grace=10m")",
          R"("--jobs-idle-min-run=10m")",
          R"("--page-agents-service=aliquot-agent.aliquot-system.svc:9400")"}) {
        EXPECT_TRUE(runs.contains(part)) << part << runs;
    }
    const auto role = [](const Values& values) {
        return json_of(values, "ClusterRole", "aliquot-controller");
    };
    EXPECT_TRUE(role(idle).contains("events.k8s.io"));
    EXPECT_TRUE(role(idle).contains("pods"));
    EXPECT_FALSE(role({.jobs = true}).contains("events.k8s.io"));
    // Without --jobs-idle-after nothing of it is there, and the agents are asked once where costs ask them too.
    EXPECT_FALSE(json_of({.jobs = true}, "Deployment", "aliquot-controller").contains("idle"));
    Values both = idle;
    both.cost_store = "temporary";
    const std::string asked = json_of(both, "Deployment", "aliquot-controller");
    EXPECT_EQ(asked.find("--page-agents-service"), asked.rfind("--page-agents-service"));
}

TEST(RenderJobs, IdleTimesAreThoseThatTheControllerTakes) {
    EXPECT_FALSE(check({.jobs_idle_after = "30m"}));  // without --jobs
    EXPECT_TRUE(check({.jobs = true, .jobs_idle_after = "1.5h", .jobs_idle_grace = "0s"}));
    for (const char* const text : {"", "5s", "0s", "30", "-1h", "Off", "half an hour", "40000d"})
        EXPECT_FALSE(check({.jobs = true, .jobs_idle_after = text})) << text;
    for (const char* const text : {"", "off", "10", "1ms", "ten"}) {
        EXPECT_FALSE(check({.jobs = true, .jobs_idle_grace = text})) << text;
        EXPECT_FALSE(check({.jobs = true, .jobs_idle_min_run = text})) << text;
    }
    EXPECT_EQ(check({.jobs = true, .jobs_idle_grace = "x"}).error().message,
              "grace period of idle jobs 'x': expected a duration, as 90s, 10m or 2h");
    EXPECT_EQ(check({.jobs = true, .jobs_idle_min_run = "x"}).error().message,
              "minimum run time of idle jobs 'x': expected a duration, as 90s, 10m or 2h");
    const auto wrong = check({.jobs = true, .jobs_idle_action = "kill"});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().message, "action for idle jobs 'kill': expected one of tell, end");
}

}  // namespace
}  // namespace aliquot::install
