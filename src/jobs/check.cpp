// SPDX-License-Identifier: Apache-2.0
#include "jobs/check.h"

#include <algorithm>
#include <set>

#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "catalog/gpu_models.h"
#include "jobs/preset.h"
#include "k8s/memory_amount.h"
#include "k8s/names.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"

namespace aliquot::jobs {
namespace {

constexpr std::size_t kMostWords = 4'096;
constexpr std::size_t kMostBytes = std::size_t{128} << 10U;  // of command, and of env
constexpr std::size_t kMostText = 4'096;
constexpr std::uint32_t kMostGpus = 16;
constexpr std::uint32_t kMostRetries = 100;
constexpr std::uint32_t kMostArray = 10'000;
constexpr std::uint32_t kMostGang = 64;
constexpr std::size_t kMostAfter = 100;
constexpr std::uint64_t kLeastShare = std::uint64_t{1} << 20U;

class Checker {
public:
    Checker(const Request& request, Place place) : request_(request), place_(place) {}

    std::vector<Problem> all() {
        names();
        gpus();
        host();
        words();
        variables();
        ends();
        together();
        after();
        return std::move(problems_);
    }

private:
    void wrong(std::string field, std::string message) {
        problems_.push_back({std::move(field), std::move(message), false});
    }
    void warn(std::string field, std::string message) {
        problems_.push_back({std::move(field), std::move(message), true});
    }
    void names();
    void gpus();
    void gpu_type(const std::string& field, const std::string& type);
    void share();
    void host();
    void amount(const char* field, const std::string& text, bool required);
    void words();
    void variables();
    void visible(const std::string& value);
    void ends();
    void idle();
    void together();
    void after();

    const Request& request_;
    const Place place_;
    std::vector<Problem> problems_;
};

void Checker::names() {
    if (request_.task_id.empty() && request_.name.empty()) {
        wrong("task_id", "is empty; expected whose work this is, such as ml_task_123");
    }
    if (request_.task_id.size() > 253) wrong("task_id", "has more than 253 characters");
    const auto label = [&](const char* field, const std::string& value) {
        if (value.empty()) return;
        if (const auto problem = k8s::check_dns_label(value); !problem.empty()) {
            wrong(field, "'" + one_line(value, 80) + "': " + problem);
        }
    };
    label("name", request_.name);
    label("container", request_.container);
    if (request_.container.empty()) wrong("container", "is empty; expected a name such as worker");
    label("namespace", request_.in_namespace);
    label("queue", request_.queue);
    label("workspace", request_.workspace);
    label("model_cache", request_.model_cache);
    if (place_ == Place::kCluster && trim(request_.image).empty()) {
        wrong("image", "is empty; expected an image such as agent_bus:latest");
    }
    if (request_.image.size() > kMostText) wrong("image", "is longer than 4096 bytes");
}

void Checker::gpu_type(const std::string& field, const std::string& type) {
    if (type.empty() || type == "any" || catalog::find_gpu_model(type) != nullptr) return;
    wrong(field, "'" + one_line(type, 40) + "' is no GPU model that is known" +
                     did_you_mean(catalog::nearest_gpu_model(type)) +
                     "; expected a model such as v100, a100 or t4, or any");
}

void Checker::gpus() {
    const std::uint32_t count = request_.gpu_count;
    const bool usual = count == 1 || count == 2 || count == 4 || count == 8;
    if (!usual && !(request_.any_gpu_count && count >= 1 && count <= kMostGpus)) {
        wrong("gpu_count", std::to_string(count) + (request_.any_gpu_count
                                                        ? " is not a count; expected 1 to 16"
                                                        : " is not a count; expected 1, 2, 4 or 8 "
                                                          "(any_gpu_count allows 1 to 16)"));
    }
    gpu_type("gpu_type", request_.gpu_type);
    for (std::size_t i = 0; i < request_.gpu_prefer.size(); ++i) {
        gpu_type("gpu_prefer[" + std::to_string(i) + "]", request_.gpu_prefer[i]);
    }
    if (request_.gpu_prefer.size() > 8) wrong("gpu_prefer", "names more than 8 models");
    if (!k8s::is_extended_resource(request_.gpu_resource)) {
        wrong("gpu_resource",
              "'" + one_line(request_.gpu_resource, 80) +
                  "' is not an extended resource; expected one such as nvidia.com/gpu");
    }
    share();
}

void Checker::share() {
    const bool is_share = !request_.gpu_memory.empty() || request_.gpu_compute != 0;
    if (!request_.gpu_memory.empty()) {
        const auto bytes = k8s::parse_bytes(request_.gpu_memory);
        if (!bytes || *bytes < kLeastShare) {
            wrong("gpu_memory",
                  "'" + one_line(request_.gpu_memory, 40) +
                      "' is not an amount of memory; expected 512Mi or 8Gi, at least 1Mi");
        }
    }
    if (request_.gpu_compute > 100) {
        wrong("gpu_compute",
              std::to_string(request_.gpu_compute) + " is not a percentage; expected 1 to 100");
    }
    if (!is_share) return;
    if (request_.gpu_count != 1) {
        wrong("gpu_count",
              std::to_string(request_.gpu_count) +
                  " with gpu_memory or gpu_compute: a share is of one GPU; expected 1");
    }
    if (place_ == Place::kCluster && request_.gpu_resource != "nvidia.com/gpu") {
        wrong("gpu_resource", "'" + one_line(request_.gpu_resource, 80) +
                                  "' with gpu_memory or gpu_compute: the cluster chooses the "
                                  "resource of such a share; leave one of them out");
    }
    if (place_ == Place::kCluster && !request_.queue.empty()) {
        warn("gpu_memory",
             "a quota of Kueue does not count a share that is asked for by its size; name "
             "gpu_resource for one that it counts");
    }
}

void Checker::amount(const char* field, const std::string& text, bool required) {
    if (text.empty() && !required) return;
    const auto amount = k8s::Quantity::parse(text);
    if (!amount || amount->nanos() <= 0) {
        wrong(field, "'" + one_line(text, 40) + "' is not an amount above 0; expected " +
                         (std::string_view(field) == "cpu" ? "8000m or 8" : "16Gi or 512Mi"));
    }
}

void Checker::host() {
    amount("memory", request_.memory, false);
    amount("cpu", request_.cpu, false);
    amount("shm", request_.shm, true);
    const Amounts limits = limits_of(request_);
    const auto shm = k8s::Quantity::parse(request_.shm);
    const auto memory = k8s::Quantity::parse(limits.memory);
    if (place_ == Place::kCluster && shm && memory && memory->nanos() > 0 &&
        shm->nanos() * 2 > memory->nanos()) {
        wrong("shm", request_.shm + " is more than half of the memory limit " + limits.memory +
                         ", against which it counts; expected at most half");
    }
    const auto path = [&](const char* field, const std::string& value) {
        if (value.empty()) return;
        if (!value.starts_with('/') || value.size() > kMostText || value.contains('\0')) {
            wrong(field, "'" + one_line(value, 80) + "' is not an absolute path");
        }
    };
    path("model_cache_path", request_.model_cache_path);
    path("workdir", request_.workdir);
    if (const auto problem = k8s::check_label_value(request_.instance_type); !problem.empty()) {
        wrong("instance_type", problem);
    }
    if (request_.toleration != "Equal" && request_.toleration != "Exists") {
        wrong("toleration", "'" + one_line(request_.toleration, 40) +
                                "' is not an operator; expected Equal or Exists");
    }
    if (request_.spot.empty() || request_.spot == "lifecycle" || request_.spot == "node-type")
        return;
    const auto equals = request_.spot.find('=');
    if (equals == std::string::npos || !k8s::is_label_key(request_.spot.substr(0, equals)) ||
        !k8s::is_label_value(request_.spot.substr(equals + 1))) {
        wrong("spot", "'" + one_line(request_.spot, 80) +
                          "' is not a profile; expected lifecycle, node-type or a label KEY=VALUE");
    }
}

void Checker::words() {
    if (place_ == Place::kMachine && request_.command.empty() && request_.image.empty()) {
        wrong("command", "is empty; expected the program and its arguments");
    }
    if (!request_.command.empty() && request_.command.front().empty()) {
        wrong("command[0]", "is empty; expected a program");
    }
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < request_.command.size(); ++i) {
        bytes += request_.command[i].size() + 1;
        if (request_.command[i].contains('\0')) {
            wrong("command[" + std::to_string(i) + "]", "has a NUL character");
        }
    }
    if (request_.command.size() > kMostWords || bytes > kMostBytes) {
        wrong("command", "has more than 4096 words or 128 KiB");
    }
}

void Checker::visible(const std::string& value) {
    const std::string field = "env.CUDA_VISIBLE_DEVICES";
    const auto devices = split_list(value);
    const bool mig = request_.gpu_resource.contains("/mig-");
    if (mig) {
        if (value != "0" && !(value.starts_with("MIG-") && devices.size() == 1)) {
            wrong(field, "'" + one_line(value, 80) + "' with " + request_.gpu_resource +
                             ": expected 0 or the UUID of one MIG device");
        }
        return;
    }
    if (devices.size() != request_.gpu_count) {
        wrong(field, "'" + one_line(value, 80) + "' names " + counted(devices.size(), "device") +
                         ", gpu_count is " + std::to_string(request_.gpu_count));
        return;
    }
    const bool beyond = std::any_of(devices.begin(), devices.end(), [&](std::string_view one) {
        const auto index = parse_number<std::uint32_t>(one);
        return index && *index >= request_.gpu_count;
    });
    if (beyond) {
        warn(field, "'" + one_line(value, 80) +
                        "': in a container the GPUs count from 0, so this hides some of them");
    }
}

void Checker::variables() {
    std::size_t bytes = 0;
    std::set<std::string> seen;
    for (const auto& [name, value] : request_.env) {
        const std::string field = "env." + one_line(name, 80);
        bytes += name.size() + value.size() + 2;
        if (name.empty() || name.contains('=') || name.contains('\0')) {
            wrong(field, "is not a name of a variable");
        }
        if (value.contains('\0')) wrong(field, "has a NUL character");
        if (name == "WORKER_TYPE" && value != "gpu") {
            wrong(field, "is '" + one_line(value, 40) + "'; in a GPU job it is always gpu");
        }
        if (!seen.insert(name).second) warn(field, "is given twice; the last one counts");
    }
    if (request_.env.size() > kMostWords || bytes > kMostBytes) {
        wrong("env", "has more than 4096 variables or 128 KiB");
    }
    for (auto one = request_.env.rbegin(); one != request_.env.rend(); ++one) {
        if (one->first != "CUDA_VISIBLE_DEVICES") continue;
        if (place_ == Place::kMachine) {
            wrong("env.CUDA_VISIBLE_DEVICES", "is set by the server, which chooses the GPUs");
        } else {
            visible(one->second);
        }
        return;
    }
}

void Checker::ends() {
    if (request_.deadline_seconds < 1 || request_.deadline_seconds > kMostDeadlineSeconds) {
        wrong("deadline_seconds", std::to_string(request_.deadline_seconds) +
                                      " is not allowed; expected 1 to " +
                                      std::to_string(kMostDeadlineSeconds) + " (30 days)");
    }
    if (request_.ttl_seconds < 0 || request_.ttl_seconds > INT32_MAX) {
        wrong("ttl_seconds", std::to_string(request_.ttl_seconds) +
                                 " is not allowed; expected 0 to " + std::to_string(INT32_MAX));
    }
    if (request_.retries > kMostRetries) {
        wrong("retries", std::to_string(request_.retries) + " is too many; expected 0 to 100");
    }
    if (request_.restart_policy != "OnFailure" && request_.restart_policy != "Never") {
        wrong("restart_policy", "'" + one_line(request_.restart_policy, 40) +
                                    "' is not one of a Job; expected OnFailure or Never");
    }
    if (request_.cpu_after_seconds < 0 || request_.cpu_after_seconds > kMostDeadlineSeconds) {
        wrong("cpu_after_seconds",
              "expected 0 (wait for a GPU) to " + std::to_string(kMostDeadlineSeconds));
    }
    if (place_ == Place::kCluster && request_.cpu_after_seconds != 0) {
        wrong("cpu_after_seconds", "a Kubernetes Job has no such timer; expected 0");
    }
    idle();
    if (place_ == Place::kCluster && request_.priority != 0) {
        wrong("priority", "a Kubernetes Job has classes, not numbers: name a priority_class");
    }
    if (request_.array < 1 || request_.array > kMostArray) {
        wrong("array", std::to_string(request_.array) + " is not allowed; expected 1 to 10000");
    }
    if (request_.priority < -1'000'000 || request_.priority > 1'000'000) {
        wrong("priority", std::to_string(request_.priority) + " is not in -1000000 to 1000000");
    }
}

void Checker::idle() {
    const std::int64_t after = request_.idle_after_seconds;
    if (after != 0 && (after < kLeastIdleSeconds || after > kMostDeadlineSeconds)) {
        wrong("idle_after_seconds", std::to_string(after) + " is not allowed; expected 0 or " +
                                        std::to_string(kLeastIdleSeconds) + " to " +
                                        std::to_string(kMostDeadlineSeconds));
    }
    if (place_ == Place::kCluster && after != 0) {
        wrong("idle_after_seconds", "a Kubernetes Job has no such timer; expected 0");
    }
}

void Checker::together() {
    if (request_.gang < 1 || request_.gang > kMostGang) {
        wrong("gang", std::to_string(request_.gang) + " is not allowed; expected 1 to " +
                          std::to_string(kMostGang));
    }
    if (request_.gang > 1 && request_.array > 1) {
        wrong("gang", "with array: its members start together, an array's do not; expected one");
    }
    const bool is_share = !request_.gpu_memory.empty() || request_.gpu_compute != 0;
    if (place_ == Place::kMachine && request_.gang > 1 && is_share) {
        wrong("gang", "with gpu_memory or gpu_compute: a gang has whole GPUs on one machine");
    }
    if (place_ == Place::kMachine && !request_.image.empty() && (is_share || request_.gang > 1)) {
        wrong("image",
              "with a share or a gang: on one machine these are of programs, not containers");
    }
    if (request_.image.starts_with('-')) wrong("image", "begins with '-'; expected an image");
    if (place_ == Place::kMachine && !request_.priority_class.empty()) {
        wrong("priority_class", "a machine has numbers, no classes: give a priority");
    }
    if (const auto problem = k8s::check_dns_subdomain(request_.priority_class);
        !request_.priority_class.empty() && !problem.empty()) {
        wrong("priority_class", "'" + one_line(request_.priority_class, 80) + "': " + problem);
    }
}

void Checker::after() {
    if (request_.after.size() > kMostAfter) wrong("after", "names more than 100 jobs");
    for (std::size_t i = 0; i < request_.after.size(); ++i) {
        const std::string& one = request_.after[i];
        const std::string field = "after[" + std::to_string(i) + "]";
        const auto number = parse_number<std::uint64_t>(one);
        if (place_ == Place::kMachine && (!number || *number == 0)) {
            wrong(field, "'" + one_line(one, 80) + "' is not a number of a job");
        }
        if (place_ == Place::kCluster && !k8s::is_dns_subdomain(one)) {
            wrong(field, "'" + one_line(one, 80) + "' is not a name of a Job");
        }
    }
}

}  // namespace

std::string sentence_of(const std::vector<Problem>& problems) {
    std::vector<std::string> parts;
    for (const Problem& one : problems) {
        if (!one.is_warning) parts.push_back(one.field + ": " + one.message);
    }
    return join(parts, "; ");
}

std::vector<Problem> check(const Request& request, Place place) {
    return Checker(request, place).all();
}

Result<Done> require_valid(const Request& request, Place place) {
    std::string problems = sentence_of(check(request, place));
    if (problems.empty()) return Done{};
    return Error{ErrorCode::kInvalidInput, std::move(problems)};
}

}  // namespace aliquot::jobs
