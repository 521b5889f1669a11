// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <cctype>

#include "cluster_jobs/cluster_jobs.h"
#include "cluster_jobs/queue_file.h"
#include "cluster_jobs/workload.h"
#include "document/json.h"
#include "document/path.h"
#include "tests/contract/placement_world.h"
#include "tests/contract/refusing_api.h"

/// GPU jobs of a cluster beside a queue that is played here as Kueue plays it: Workloads with quota, admission checks, gates.
namespace aliquot::contract {

using cluster_jobs::ClusterJobs;
using jobs::State;
using testing::HasSubstr;

inline const kube_client::Resource kDefinitions{.group = "apiextensions.k8s.io",
                                                .version = "v1",
                                                .plural = "customresourcedefinitions",
                                                .kind = "CustomResourceDefinition",
                                                .namespaced = false};

inline Json definition_of(const kube_client::Resource& of) {
    const Json anything{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
    // As Kueue's: checks are a list by name, conditions one by type.
    const auto by = [&](const char* key) {
        return Json{{"type", "array"},
                    {"items",
                     {{"type", "object"},
                      {"x-kubernetes-preserve-unknown-fields", true},
                      {"required", Json::array({key})},
                      {"properties", {{key, {{"type", "string"}}}}}}},
                    {"x-kubernetes-list-type", "map"},
                    {"x-kubernetes-list-map-keys", Json::array({key})}};
    };
    const Json status{
        {"type", "object"},
        {"x-kubernetes-preserve-unknown-fields", true},
        {"properties", {{"admissionChecks", by("name")}, {"conditions", by("type")}}}};
    const Json schema{
        {"openAPIV3Schema",
         {{"type", "object"}, {"properties", {{"spec", anything}, {"status", status}}}}}};
    std::string singular = of.kind;
    for (char& c : singular) c = static_cast<char>(std::tolower(c));
    return {{"metadata", {{"name", of.plural + "." + of.group}}},
            {"spec",
             {{"group", of.group},
              {"scope", of.namespaced ? "Namespaced" : "Cluster"},
              {"names", {{"plural", of.plural}, {"kind", of.kind}, {"singular", singular}}},
              {"versions", Json::array({{{"name", of.version},
                                         {"served", true},
                                         {"storage", true},
                                         {"schema", schema},
                                         {"subresources", {{"status", Json::object()}}}}})}}}};
}

class JobsContract : public PlacementContract {
protected:
    void SetUp() override {
        PlacementContract::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        resource_ = "nvidia.com/gpu";
    }
    void install_kueue() {
        for (const auto& kind : {cluster_jobs::workloads(), cluster_jobs::cluster_queues(),
                                 cluster_jobs::local_queues(), cluster_jobs::resource_flavors(),
                                 cluster_jobs::admission_checks()}) {
            make(kDefinitions, definition_of(kind).dump());
            ASSERT_TRUE(becomes_true([&] { return static_cast<bool>(api().list(kind)); }));
        }
    }
    void apply_queues(const std::string& text) {
        const auto objects = cluster_jobs::read_queue_file(text);
        ASSERT_TRUE(objects) << objects.error().message;
        for (const auto& object : *objects) {
            const std::string kind = document::text_at(object, {"kind"});
            const auto resource = api().find_resource("kueue.x-k8s.io/v1beta2", kind);
            ASSERT_TRUE(resource);
            const auto done = api().apply(*resource,
                                          {document::text_at(object, {"metadata", "namespace"}),
                                           document::text_at(object, {"metadata", "name"})},
                                          document::to_json_line(object), true);
            ASSERT_TRUE(done) << done.failure().message;
        }
    }
    jobs::Request request(const std::string& name, unsigned gpus = 1) {
        jobs::Request made;
        made.name = name;
        made.image = "none.invalid/c:1";
        made.command = {"true"};
        made.gpu_count = gpus;
        made.gpu_type = "any";
        made.user = "ada";
        return made;
    }
    /// What Kueue makes of a Job of a queue.
    void take_into_queue(const std::string& name, unsigned gpus) {
        const auto job = api().get(resources::jobs(), key(name));
        ASSERT_TRUE(job);
        const Json whole = Json::parse(job->json);
        Json spec = whole["spec"]["template"]["spec"];
        spec["containers"][0]["resources"]["limits"] = {{resource_, std::to_string(gpus)}};
        // A node that nobody heartbeats is tainted; that is not what is tested.
        spec["tolerations"] = Json::array({{{"operator", "Exists"}}});
        Json metadata{{"name", "job-" + name},
                      {"labels", {{"kueue.x-k8s.io/job-uid", job->uid}}},
                      {"ownerReferences", Json::array({{{"apiVersion", "batch/v1"},
                                                        {"kind", "Job"},
                                                        {"name", name},
                                                        {"uid", job->uid},
                                                        {"controller", true}}})}};
        const auto annotations = whole["metadata"].value("annotations", Json::object());
        if (annotations.contains(cluster_jobs::kGatedBy))
            metadata["annotations"] = {
                {cluster_jobs::kGatedBy, annotations[cluster_jobs::kGatedBy]}};
        make(
            cluster_jobs::workloads(),
            Json{
                {"metadata", metadata},
                {"spec",
                 {{"active", true},
                  {"queueName", "vision"},
                  {"podSets",
                   Json::array({{{"name", "main"},
                                 {"count", 1},
                                 {"template", {{"metadata", Json::object()}, {"spec", spec}}}}})}}}}
                .dump());
    }
    void say_of(const std::string& name, const Json& status) {
        const auto done =
            api().patch(cluster_jobs::workloads(), key("job-" + name),
                        Json{{"status", status}}.dump(), {.write = {.subresource = "status"}});
        ASSERT_TRUE(done) << done.failure().message;
    }
    void reserve_quota(const std::string& name) {
        say_of(
            name,
            {{"conditions", Json::array({{{"type", "QuotaReserved"}, {"status", "True"}}})},
             {"admission",
              {{"clusterQueue", "vision"},
               {"podSetAssignments",
                Json::array(
                    {{{"name", "main"}, {"count", 1}, {"flavors", {{resource_, "any"}}}}})}}},
             {"admissionChecks", Json::array({{{"name", "aliquot-placement"}, {"state", "Pending"}},
                                              {{"name", "other"}, {"state", "Pending"}}})}});
    }
    Json check_of(const std::string& name, const std::string& check) {
        const auto found = api().get(cluster_jobs::workloads(), key("job-" + name));
        const Json whole = found ? Json::parse(found->json) : Json::object();
        for (const Json& one : whole.value("/status/admissionChecks"_json_pointer, Json::array()))
            if (one["name"] == check) return one;
        return Json::object();
    }
    std::string state_of(const std::string& name, const std::string& check = "aliquot-placement") {
        return check_of(name, check).value("state", std::string());
    }
    std::string annotation(const std::string& name, const char* which) {
        const auto job = api().get(resources::jobs(), key(name));
        if (!job) return {};
        return Json::parse(job->json)["metadata"]
            .value("annotations", Json::object())
            .value(which, std::string());
    }
    void set_job_status(const std::string& name, const char* condition) {
        const Json status{{"conditions", Json::array({{{"type", condition}, {"status", "True"}}})}};
        const auto done = api().patch(resources::jobs(), key(name), Json{{"status", status}}.dump(),
                                      {.write = {.subresource = "status"}});
        ASSERT_TRUE(done) << done.failure().message;
    }
    bool is_suspended(const std::string& name) {
        const auto job = api().get(resources::jobs(), key(name));
        return job && kube_client::bool_at(job->json, "/spec/suspend").value_or(false);
    }
    std::unique_ptr<ControllerProcess> start_jobs(std::vector<std::string> more = {}) {
        more.insert(more.begin(), "--jobs");
        return std::make_unique<ControllerProcess>(world_->kubeconfig(), space_, space_, more);
    }
    static constexpr char kQueues[] =
        "queues: [{name: vision, namespaces: [@], gpus: {any: 8}, "
        "check-placement: true}]";
    std::string queues() const {
        std::string text = kQueues;
        return text.replace(text.find('@'), 1, space_);
    }
};

}  // namespace aliquot::contract
