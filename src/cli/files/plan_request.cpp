// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/number.h"
#include "catalog/models.h"
#include "cli/files/config_command.h"
#include "cli/files/plan_command.h"
#include "sizing/card.h"
#include "sizing/choice.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 2000;

bool is_manifest(const fs::path& path) {
    const std::string end = path.extension().string();
    return end == ".yaml" || end == ".yml" || end == ".json";
}

/// The files that a path means: itself, or the manifests below a directory, sorted.
Result<std::vector<std::string>> files_of(const std::string& path) {
    std::error_code problem;
    if (path == "-" || !fs::is_directory(path, problem)) return std::vector<std::string>{path};
    std::vector<std::string> files;
    auto entry = fs::recursive_directory_iterator(
        path, fs::directory_options::skip_permission_denied, problem);
    const fs::recursive_directory_iterator end;
    while (!problem && entry != end) {
        std::error_code ignored;
        if (entry->is_regular_file(ignored) && is_manifest(entry->path())) {
            files.push_back(entry->path().string());
        }
        if (files.size() > kMostFiles) {
            return Error{ErrorCode::kInvalidInput, path + ": more than 2000 manifests"};
        }
        entry.increment(problem);
    }
    if (problem) {
        return Error{ErrorCode::kUnavailable, path + ": cannot read it: " + problem.message()};
    }
    std::ranges::sort(files);
    return files;
}

Result<Done> add_manifests(plan::Request& request, const std::string& path) {
    const auto files = files_of(path);
    if (!files) return files.error();
    const bool single = files->size() == 1 && files->front() == path;
    for (const std::string& file : *files) {
        const auto input = read_input(file);
        if (!input) return input.error();
        auto found = plan::workloads_of_manifests(input->name, input->text);
        if (!found && single) return found.error();
        if (!found) continue;  // a folder may hold templates, which are no YAML
        for (plan::Workload& workload : *found) request.workloads.push_back(std::move(workload));
    }
    if (request.workloads.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     path +
                         ": no workload there asks for nvidia.com/gpu or has an image that is "
                         "known to use one"};
    }
    return Done{};
}

Result<Done> add_pools(plan::Request& request, const PlanOptions& words) {
    for (const std::string& text : words.gpus) {
        auto pool = plan::parse_gpu(text);
        if (!pool) return std::move(pool).error().during("--gpu");
        request.pools.push_back(*std::move(pool));
    }
    for (const std::string& text : words.node_types) {
        auto pool = plan::parse_node_type(text);
        if (!pool) return std::move(pool).error().during("--node-type");
        request.pools.push_back(*std::move(pool));
    }
    if (!words.nodes_file.empty()) {
        const auto input = read_input(words.nodes_file);
        if (!input) return input.error();
        auto pools = plan::read_nodes(input->name, input->text);
        if (!pools) return std::move(pools).error();
        for (plan::GpuPool& pool : *pools) request.pools.push_back(std::move(pool));
    }
    return Done{};
}

/// The model of --model as a workload; without a GPU on the command line, on the cheapest that
/// holds it.
Result<Done> add_model(plan::Request& request, const PlanOptions& words) {
    const auto shape = sizing::model_by_name(words.model);
    if (!shape) return shape.error();
    auto trained = plan::training_load(*shape, words.train);
    if (!trained) return std::move(trained).error().during("--train");
    sizing::Load load = *trained;
    if (!request.pools.empty()) {
        load.dtype = sizing::usual_dtype_on(*shape, *request.pools.front().model, load.task);
    }
    if (!words.quant.empty()) {
        const auto dtype = sizing::parse_dtype(words.quant);
        if (!dtype) return Error(dtype.error()).during("--quant");
        load.dtype = *dtype;
    }
    load.context = words.context;
    load.batch = words.batch;
    plan::Workload workload;
    workload.name = words.model.substr(words.model.find_last_of('/') + 1);
    workload.format_told = !words.quant.empty() || shape->format.has_value();
    const auto filled = fill_memory_of_model(workload, *shape, load, true);
    if (!filled) return filled.error();
    if (!words.train.empty()) workload.kind = plan::Kind::kTraining;
    plan::fill_guesses(workload);
    request.workloads.push_back(std::move(workload));
    if (!request.pools.empty()) return Done{};
    const auto choice = sizing::choose_gpus(*shape, load, {});
    if (!choice) return choice.error();
    if (choice->best.empty()) {
        return Error{ErrorCode::kUnsupported,
                     words.model + ": no machine of the table holds it" +
                         (choice->cheaper.empty() ? "" : "; " + choice->cheaper)};
    }
    const sizing::GpuOption& best = choice->best.front();
    plan::GpuPool pool;
    pool.name = best.instance->type;
    pool.model = best.model;
    pool.count = best.instance->gpu_count;
    pool.instance = best.instance;
    request.pools.push_back(std::move(pool));
    plan::Workload& added = request.workloads.back();
    if (best.count > 1) {
        added.gpus = best.count;
        added.memory_gib = best.per_gpu_gib;
    }
    return Done{};
}

}  // namespace

Result<plan::Request> gather_request(const PlanOptions& words) {
    plan::Request request;
    request.services = words.services;
    request.guard = words.guard == "on";
    request.no_reboot = words.no_reboot;
    request.usd_per_kwh = words.usd_per_kwh;
    if (auto added = add_pools(request, words); !added) return std::move(added).error();
    if (!words.workloads_file.empty()) {
        const auto input = read_input(words.workloads_file);
        if (!input) return input.error();
        auto workloads = plan::read_workloads(input->name, input->text);
        if (!workloads) return std::move(workloads).error();
        request.workloads = *std::move(workloads);
    }
    for (const std::string& path : words.manifests) {
        if (auto added = add_manifests(request, path); !added) return std::move(added).error();
    }
    if (!words.model.empty()) {
        if (auto added = add_model(request, words); !added) return std::move(added).error();
    }
    if (request.pools.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     "which GPU? --gpu MODEL, --node-type TYPE, --nodes FILE or --model NAME is "
                     "needed"};
    }
    unsigned long gpus = 0;
    for (const plan::GpuPool& pool : request.pools) gpus += pool.count;
    unsigned long replicas = 0;
    for (const plan::Workload& workload : request.workloads) replicas += workload.replicas;
    if (gpus > plan::kMostGpus || replicas > plan::kMostReplicas) {
        return Error{ErrorCode::kInvalidInput,
                     std::to_string(gpus) + " GPUs and " + std::to_string(replicas) +
                         " replicas found, at most 4096 of each are planned at once"};
    }
    if (words.services > 0 && !request.workloads.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     "--services counts equal services that nothing else is known of: leave it out "
                     "when there are workloads"};
    }
    return request;
}

Result<plan::Request> changed_request(const plan::Request& request, const std::string& change) {
    const Error malformed{ErrorCode::kInvalidInput,
                          "--what-if: '" + change + "' found, add=3xNAME is expected"};
    constexpr std::string_view kAdd = "add=";
    if (!change.starts_with(kAdd)) return malformed;
    const std::string rest = change.substr(kAdd.size());
    const std::size_t x = rest.find('x');
    const unsigned count = parse_number<unsigned>(std::string_view(rest).substr(0, x)).value_or(0);
    constexpr unsigned kMost = 1000;
    if (x == std::string::npos || count == 0 || count > kMost || x + 1 == rest.size()) {
        return malformed;
    }
    const std::string name = rest.substr(x + 1);
    plan::Request changed = request;
    for (plan::Workload& workload : changed.workloads) {
        if (workload.name != name) continue;
        workload.replicas += count;
        return changed;
    }
    plan::Workload added;
    added.name = name;
    added.replicas = count;
    if (const catalog::KnownImage* const image = catalog::find_known_image(name)) {
        added.memory_gib = image->memory_gib;
        added.duty_percent = image->duty_percent;
        added.bursty = image->bursty;
        added.memory_reason = "usual for " + std::string(image->what);
    } else {
        const auto shape = sizing::model_by_name(name);
        if (!shape) {
            return Error{ErrorCode::kNotFound, "--what-if: '" + name +
                                                   "' is neither one of the workloads nor a known "
                                                   "image or model"};
        }
        sizing::Load load;
        load.dtype = sizing::usual_dtype_on(*shape, *request.pools.front().model);
        const auto filled = fill_memory_of_model(added, *shape, load, true);
        if (!filled) return filled.error();
    }
    plan::fill_guesses(added);
    changed.workloads.push_back(std::move(added));
    return changed;
}

}  // namespace aliquot::cli
