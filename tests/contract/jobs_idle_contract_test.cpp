// SPDX-License-Identifier: Apache-2.0
//
// aliquot-controller --jobs-idle-after: Jobs that leave their GPUs idle, by what an agent tells.
#include <mutex>

#include "http/server.h"
#include "telemetry/json.h"
#include "tests/contract/jobs_world.h"

namespace aliquot::contract {
namespace {

constexpr std::uint64_t kMinute = 60'000'000'000;

/// An agent's /api/v1/state, with a GPU for each pod.
class ToldAgent {
public:
    ToldAgent()
        : server_(http::Server::listen({.address = "127.0.0.1:0"}, [this](const http::Request&) {
              const std::scoped_lock lock(mutex_);
              return http::Response{.body = telemetry::to_json(snapshot_)};
          })) {
        snapshot_.node = "node-of-agent";
    }
    void set(const std::string& space, const std::string& pod, const std::string& uid,
             std::uint64_t idle_minutes) {
        telemetry::Tenant tenant;
        tenant.owner.pod_namespace = space;
        tenant.owner.pod = pod;
        tenant.owner.pod_uid = uid;
        tenant.owner.container = "main";
        tenant.resource = "nvidia.com/gpu";
        tenant.source = telemetry::Source::kWhole;
        tenant.held_ns = 120 * kMinute;
        tenant.idle_ns = idle_minutes * kMinute;
        telemetry::Device device;
        device.gpu.uuid = {"GPU-" + pod};
        device.read_at.emplace();
        device.parts.emplace_back().tenants.push_back(tenant);
        const std::scoped_lock lock(mutex_);
        std::erase_if(snapshot_.devices,
                      [&](const auto& one) { return one.gpu.uuid == device.gpu.uuid; });
        snapshot_.devices.push_back(std::move(device));
    }
    [[nodiscard]] std::string address() const {
        return "127.0.0.1:" + std::to_string((*server_)->port());
    }

private:
    std::mutex mutex_;
    telemetry::Snapshot snapshot_;
    Result<std::unique_ptr<http::Server>> server_;
};

class JobsIdleContract : public JobsContract {
protected:
    /// A Job with one pod that runs, as it is known by its Job.
    std::string add_job(const std::string& name) {
        EXPECT_TRUE(ClusterJobs(api(), space_).submit(request(name), ""));
        const auto job = api().get(resources::jobs(), key(name));
        EXPECT_TRUE(job);
        Json pod = pod_of(name + "-x", 1, false);
        pod["metadata"]["labels"] = {{"batch.kubernetes.io/controller-uid", job->uid}};
        pod["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "batch/v1"},
                                                           {"kind", "Job"},
                                                           {"name", name},
                                                           {"uid", job->uid},
                                                           {"controller", true}}});
        create(pod);
        return api().get(resources::pods(), key(name + "-x"))->uid;
    }
    std::string idle_of(const std::string& name) {
        return annotation(name, cluster_jobs::kIdleAnnotation);
    }

    ToldAgent agent_;
};

// R74.
TEST_P(JobsIdleContract, AJobThatIsIdleIsToldThenEndedAndOneThatIsUsedAgainGoesOn) {
    for (const auto& [name, minutes] :
         {std::pair<std::string, unsigned>{"idle", 40}, {"again", 40}, {"busy", 5}, {"part", 40}})
        agent_.set(space_, name + "-x", add_job(name), minutes);
    // A second pod of which no agent tells.
    Json other = pod_of("part-y", 1, false);
    other["metadata"]["labels"] = {
        {"batch.kubernetes.io/controller-uid", api().get(resources::jobs(), key("part"))->uid}};
    create(other);
    const auto controller =
        start_jobs({"--page-agents", agent_.address(), "--jobs-idle-after", "30m",
                    "--jobs-idle-action", "end", "--jobs-idle-grace", "20s"});
    ASSERT_TRUE(becomes_true([&] { return !idle_of("idle").empty() && !idle_of("again").empty(); }))
        << controller->said();
    EXPECT_THAT(ClusterJobs(api(), space_).find("idle")->reason, HasSubstr("idle since"));
    agent_.set(space_, "again-x", api().get(resources::pods(), key("again-x"))->uid, 0);
    ASSERT_TRUE(becomes_true([&] { return is_suspended("idle"); })) << controller->said();
    const auto ended = ClusterJobs(api(), space_).find("idle");
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->cause, jobs::Cause::kIdle);
    EXPECT_THAT(ended->reason, HasSubstr("its GPUs were idle for 40m"));
    EXPECT_TRUE(becomes_true([&] { return idle_of("again").empty(); })) << controller->said();
    for (const char* const name : {"again", "busy", "part"}) {
        EXPECT_FALSE(is_suspended(name)) << name;
        EXPECT_EQ(idle_of(name), "") << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Api, JobsIdleContract,
                         testing::Values(KubeParam{"simulated", simulated_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
