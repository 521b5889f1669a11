// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/task_list.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>

#include "base/nearest_word.h"
#include "base/text.h"
#include "sim/trace/csv.h"
#include "sim/trace/pair_list.h"

namespace aliquot::sim::trace {
namespace {

enum Column : std::size_t {
    kName,
    kCpu,
    kMemory,
    kGpus,
    kMilli,
    kSpec,
    kCreation,
    kDeletion,
    kGpuMemory,
    kProfile,
    kSelector,
    kTolerations,
    kAntiAffinity,
    kCount,
    kMovable,
    kWeight
};
constexpr std::array<std::string_view, 16> kTaskColumnNames{
    "name",          "cpu_milli",     "memory_mib",     "num_gpu",     "gpu_milli", "gpu_spec",
    "creation_time", "deletion_time", "gpu_memory_mib", "mig_profile", "selector",  "tolerations",
    "anti_affinity", "count",         "movable",        "weight"};
constexpr std::size_t kTaskColumns = 5;
constexpr CsvLimits kTaskLimits{};
constexpr std::int64_t kMostAmount = 2'000'000'000;
constexpr std::int64_t kMostGang = 10'000;
constexpr std::int64_t kMostSeconds = 100'000'000'000;
constexpr std::int64_t kNone = 0;
constexpr std::int64_t kOne = 1;

class TaskListReader {
public:
    TaskListReader(std::string name, std::string_view text, const NodeList* nodes)
        : csv_(std::move(name), text, kTaskLimits), table_(csv_), nodes_(nodes) {}

    Result<TaskList> read() {
        auto header = table_.read_header("a task list", kTaskColumnNames, kTaskColumns);
        if (!header) return std::move(header).error();
        list_.has_times = table_.has(kCreation) && table_.has(kDeletion);
        while (true) {
            auto row = table_.next();
            if (!row) return std::move(row).error();
            if (!*row) break;
            auto task = read_row();
            if (!task) return std::move(task).error();
            list_.asks_gpu_memory = list_.asks_gpu_memory || task->request.mib > 0;
            list_.tasks.push_back(*std::move(task));
        }
        if (list_.tasks.empty()) return csv_.wrong(1, "no task: a line for each task was expected");
        return std::move(list_);
    }

private:
    Result<Task> read_row() {
        Task task;
        task.name = table_.field(kName).text;
        if (task.name.empty()) return table_.wrong(kName, "the name of the task was expected");
        const auto [known, is_new] = lines_.emplace(task.name, csv_.line());
        if (!is_new) {
            return table_.wrong(kName, "this name stands in line " + std::to_string(known->second) +
                                           " already; every task needs its own");
        }
        Result<Done> done = Done{};
        table_.take(kCpu, 0, kMostAmount, task.request.cpu_milli, done);
        table_.take(kMemory, 0, kMostAmount, task.request.memory_mib, done);
        table_.take(kCount, 1, kMostGang, task.count, done, &kOne);
        if (!done) return std::move(done).error();
        auto weight = table_.decimal(kWeight, 1'000'000, 1'000'000'000);
        if (!weight) return std::move(weight).error();
        if (!table_.field(kWeight).text.empty()) {
            task.weight = static_cast<double>(*weight) / 1'000'000.0;
        }
        if (!table_.field(kMovable).text.empty()) {
            auto movable = table_.flag(kMovable);
            if (!movable) return std::move(movable).error();
            task.movable = *movable;
        }
        mig_milli_ = 0;
        done = read_gpu(task.request);
        task.mig_milli = mig_milli_;
        if (done) done = read_constraints(task.request);
        if (done) done = read_times(task);
        if (!done) return std::move(done).error();
        task.models = task.request.models;
        auto request = placement::checked(std::move(task.request));
        if (!request) return table_.wrong(kGpus, request.error().message);
        task.request = *std::move(request);
        return task;
    }

    Result<Done> read_gpu(placement::Request& request) {
        Result<Done> done = Done{};
        table_.take(kGpus, 0, placement::kMostDevices, request.gpus, done);
        table_.take(kMilli, 0, kMostAmount, request.milli, done);
        table_.take(kGpuMemory, 0, kMostAmount, request.mib, done, &kNone);
        if (!done) return done;
        request.milli = std::min(request.milli, placement::kWholeGpu);
        request.mig_profile = table_.field(kProfile).text;
        if (request.gpus == 0) {
            if (request.mib > 0) return table_.wrong(kGpuMemory, "num_gpu is 0: 0 was expected");
            if (!request.mig_profile.empty()) {
                return table_.wrong(kProfile, "num_gpu is 0: write num_gpu 1, or no profile");
            }
            request.milli = 0;
            return Done{};
        }
        if (!request.mig_profile.empty()) {
            if (request.gpus != 1) {
                return table_.wrong(kGpus, "1 was expected: a MIG profile is a part of one GPU");
            }
            if (request.mib > 0) {
                return table_.wrong(kGpuMemory, "a MIG profile has its own memory: write 0");
            }
            request.milli = 0;  // the profile says it
            done = read_profile(request.mig_profile);
            return done ? read_spec(request) : done;
        }
        if (request.gpus > 1 && request.milli < placement::kWholeGpu) {
            return table_.wrong(kMilli, "num_gpu is " + std::to_string(request.gpus) +
                                            ", so 1000 was expected: a share is of one GPU");
        }
        if (request.milli == 0 && request.mib == 0) {
            return table_.wrong(kMilli,
                                "num_gpu is 1, so 1 to 1000 was expected (0 only with "
                                "gpu_memory_mib)");
        }
        return read_spec(request);
    }

    /// Its part of a GPU by memory slices, which is how the engine counts what is free.
    Result<Done> read_profile(const std::string& name) {
        if (nodes_ == nullptr) return Done{};
        std::string known;
        for (const placement::MigGeometry& geometry : nodes_->geometries) {
            for (const placement::MigProfile& profile : geometry.profiles) {
                if (profile.name == name) {
                    mig_milli_ = placement::kWholeGpu * profile.width / 8;
                    return Done{};
                }
                if (known.size() < 80) known += (known.empty() ? "" : ", ") + profile.name;
            }
        }
        return table_.wrong(kProfile, known.empty() ? "no node has a GPU in MIG mode"
                                                    : "the nodes have the profiles " + known);
    }

    Result<Done> read_spec(placement::Request& request) {
        for (const std::string_view model : parts_of(table_.field(kSpec).text, '|')) {
            if (model.empty()) continue;
            if (nodes_ != nullptr &&
                !std::binary_search(nodes_->models.begin(), nodes_->models.end(), model,
                                    std::less<>())) {
                return table_.wrong(kSpec, unknown_model(model));
            }
            request.models.emplace_back(model);
        }
        return Done{};
    }

    [[nodiscard]] std::string unknown_model(std::string_view model) const {
        const std::vector<std::string_view> known(nodes_->models.begin(), nodes_->models.end());
        const std::string_view near = nearest_word(model, known);
        std::string text = "no node has the GPU model " + shown(model);
        if (!near.empty()) return text + "; did you mean '" + std::string(near) + "'?";
        std::string names = join(std::span(known).first(std::min<std::size_t>(known.size(), 8)));
        if (known.size() > 8) names += ", ...";
        return text + (names.empty() ? "; the node list has no GPU" : "; the nodes have " + names);
    }

    Result<Done> read_constraints(placement::Request& request) {
        auto selector = parse_pairs(table_.field(kSelector).text, nullptr);
        if (!selector) return table_.wrong(kSelector, selector.error().message);
        request.selector = *std::move(selector);
        auto tolerations = parse_pairs(table_.field(kTolerations).text, "*");
        if (!tolerations) return table_.wrong(kTolerations, tolerations.error().message);
        request.tolerations = *std::move(tolerations);
        request.anti_affinity = table_.field(kAntiAffinity).text;
        return Done{};
    }

    Result<Done> read_times(Task& task) {
        Result<Done> done = Done{};
        table_.take(kCreation, 0, kMostSeconds, task.creation, done, &kNone);
        if (!done || table_.field(kDeletion).text.empty()) return done;
        std::int64_t deletion = 0;
        table_.take(kDeletion, 0, kMostSeconds, deletion, done);
        if (done && deletion < task.creation) {
            return table_.wrong(kDeletion, "creation_time is " + std::to_string(task.creation) +
                                               ": a time from then on was expected");
        }
        if (done) task.deletion = deletion;
        return done;
    }

    CsvReader csv_;
    CsvTable table_;
    const NodeList* nodes_;
    std::int32_t mig_milli_ = 0;  // of the current row
    TaskList list_;
    std::unordered_map<std::string, unsigned> lines_;
};

}  // namespace

std::int64_t TaskList::gpu_milli() const {
    std::int64_t milli = 0;
    for (const Task& task : tasks) milli += task.gpu_milli();
    return milli;
}

Result<TaskList> read_task_list(std::string name, std::string_view text, const NodeList* nodes) {
    return TaskListReader(std::move(name), text, nodes).read();
}

std::vector<std::pair<placement::Request, double>> workload_of(const TaskList& list) {
    std::vector<std::pair<placement::Request, double>> tasks;
    tasks.reserve(list.tasks.size());
    for (const Task& task : list.tasks) {
        tasks.emplace_back(task.request, task.weight * static_cast<double>(task.count));
        if (task.request.gpus > 0) tasks.back().first.models = task.models;
    }
    return tasks;
}

}  // namespace aliquot::sim::trace
