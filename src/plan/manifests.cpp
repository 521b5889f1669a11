// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/number.h"
#include "catalog/models.h"
#include "document/path.h"
#include "document/yaml.h"
#include "k8s/quantity.h"
#include "k8s/workload.h"
#include "plan/workload.h"
#include "sizing/text.h"

namespace aliquot::plan {
namespace {

using document::Value;

constexpr double kMibPerByte = 1.0 / (1024.0 * 1024.0);
constexpr std::size_t kMostWorkloads = 1000;

Kind kind_of(const Value& object) {
    const std::string kind = text_at(object, {"kind"});
    return kind == "Job" || kind == "CronJob" || kind == "PyTorchJob" ? Kind::kTraining
                                                                      : Kind::kInference;
}

/// What a container asks of a resource: its limit, else its request; empty: nothing.
std::string asked(const Value& container, std::string_view resource) {
    for (const std::string_view part : {"limits", "requests"}) {
        const Value* const list = at_path(container, {"resources", part});
        const Value* const value = list == nullptr ? nullptr : list->find(resource);
        if (value != nullptr) return value->scalar;
    }
    return {};
}

/// Which GPU resource a container asks for, and how many; empty and 0: none.
std::pair<std::string_view, unsigned> gpus_of(const Value& container) {
    for (const std::string_view resource : {"nvidia.com/gpu", "nvidia.com/gpu.shared"}) {
        const auto count = leading_number<unsigned>(asked(container, resource)).value_or(0);
        if (count > 0) return {resource, std::min(count, 64U)};
    }
    return {};
}

/// Adds what one container wants of the host; requests, since the scheduler goes by them.
void add_host(Workload& workload, const Value& container) {
    std::string cpu = text_at(container, {"resources", "requests", "cpu"});
    if (cpu.empty()) cpu = asked(container, "cpu");
    std::string memory = text_at(container, {"resources", "requests", "memory"});
    if (memory.empty()) memory = asked(container, "memory");
    workload.cpu += k8s::quantity_value(cpu).value_or(0);
    workload.host_memory_mib += k8s::quantity_value(memory).value_or(0) * kMibPerByte;
}

/// The kind that a word of the table of images means.
Kind kind_of(std::string_view word) {
    for (const Kind kind :
         {Kind::kTraining, Kind::kNotebook, Kind::kCi, Kind::kBatch, Kind::kVideo}) {
        if (word == to_text(kind)) return kind;
    }
    return Kind::kInference;
}

/// Returns whether the container uses a GPU.
bool add_container(Workload& workload, const Value& container) {
    add_host(workload, container);
    const auto [resource, gpus] = gpus_of(container);
    if (gpus > 0) {
        workload.asked_resource = resource;
        workload.asked_count = gpus;
    }
    const std::string image = text_at(container, {"image"});
    const catalog::KnownImage* const known = catalog::find_known_image(image);
    if (gpus == 0 && (known == nullptr || known->memory_gib == 0)) return false;
    workload.gpus = std::max({workload.gpus, gpus, 1U});
    if (known == nullptr) return true;
    workload.memory_gib += known->memory_gib;
    workload.memory_reason = "usual for " + std::string(known->what);
    workload.bursty = known->bursty;
    workload.duty_percent = known->duty_percent;
    if (const Kind kind = kind_of(known->kind); kind != Kind::kInference) workload.kind = kind;
    if (known->takes_whole_gpu) workload.features.emplace_back("whole");
    return true;
}

void add_object(const Value& object, std::vector<Workload>& workloads) {
    const auto& containers = items_at(k8s::read_workload(object).spec, {"containers"});
    if (containers.empty()) return;
    Workload workload;
    workload.mark = object.mark;
    workload.name = text_at(object, {"metadata", "name"});
    if (workload.name.empty()) workload.name = "unnamed";
    workload.namespace_name = text_at(object, {"metadata", "namespace"});
    workload.tenant = text_at(object, {"metadata", "labels", "tenant"});
    workload.kind = kind_of(object);
    const Value* const replicas = at_path(object, {"spec", "replicas"});
    constexpr double kMost = 1000;
    const double count = sizing::number_of(replicas).value_or(1);
    if (count == 0) return;
    workload.replicas = static_cast<unsigned>(std::clamp(std::floor(count), 1.0, kMost));
    bool uses_gpu = false;
    for (const Value& container : containers) {
        uses_gpu = add_container(workload, container) || uses_gpu;
    }
    if (!uses_gpu) return;
    fill_guesses(workload);
    workloads.push_back(std::move(workload));
}

}  // namespace

Result<std::vector<Workload>> workloads_of_manifests(std::string_view file, std::string_view text) {
    const auto stream = document::parse_yaml(text);
    if (!stream.errors.empty()) {
        const auto& error = stream.errors.front();
        return Error{ErrorCode::kInvalidInput,
                     std::string(file) + ':' + std::to_string(error.mark.line) + ':' +
                         std::to_string(error.mark.column) + ": " + error.message};
    }
    std::vector<Workload> workloads;
    for (const Value& document : stream.documents) {
        const Value* const items = document.find("items");
        if (items == nullptr || !items->is_sequence()) {
            add_object(document, workloads);
            continue;
        }
        for (const Value& object : items->items) add_object(object, workloads);
    }
    if (workloads.size() > kMostWorkloads) {
        return Error{ErrorCode::kInvalidInput, std::string(file) + ": more than 1000 workloads"};
    }
    return workloads;
}

}  // namespace aliquot::plan
