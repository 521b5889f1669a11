// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/churn.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <queue>
#include <utility>

#include "sim/trace/draw.h"
#include "sim/trace/published_scorer.h"

namespace aliquot::sim::trace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 86'400;
constexpr std::size_t kCurvePoints = 500;
constexpr std::size_t kTellEach = 256;
constexpr double kWarmUp = 3;  // mean lifetimes until a cluster that began empty is as it stays

TaskSize size_of(const placement::Request& request) {
    if (request.gpu_milli() == 0) return TaskSize::kCpu;
    if (request.gpu_milli() < 1000) return TaskSize::kShare;
    const std::int64_t gpus = request.gpu_milli() / 1000;
    return gpus == 1 ? TaskSize::kOne : gpus < 8 ? TaskSize::kFew : TaskSize::kEight;
}

/// Even in (0, 1]; 53 bits of a draw.
double unit(SplitMix64& random) {
    return static_cast<double>((random.next() >> 11U) + 1) * 0x1.0p-53;
}

struct End {
    double time = 0;
    std::uint64_t number = 0;  // among equals: the one that was placed first
    std::vector<placement::PlacementId> ids;
    bool operator>(const End& other) const {
        return time != other.time ? time > other.time : number > other.number;
    }
};

struct Waiting {
    std::uint32_t row = 0;
    double since = 0;
    double lifetime = 0;
};

class Churn {
public:
    Churn(const Scenario& scenario, const ChurnOptions& options)
        : scenario_(scenario),
          options_(options),
          engine_(with_published(options.engine)),
          random_(options.seed ^ 0x6368'7572'6E00'0003) {}

    Result<ChurnOutcome> run() {
        if (auto ready = prepare(); !ready) return ready.error();
        for (std::size_t i = 0; i < options_.tasks; ++i) {
            if (options_.progress && i % kTellEach == 0) options_.progress(i, options_.tasks);
            now_ += -std::log(unit(random_)) * mean_gap_;
            const auto row =
                static_cast<std::uint32_t>(random_.below(scenario_.tasks.tasks.size()));
            const double lifetime = draw_lifetime(row);
            const auto start = Clock::now();
            leave(now_);
            auto placed = arrive(row, lifetime);
            const auto spent = Clock::now() - start;
            if (!placed) return placed.error();
            spent_ += spent;
            worst_ = std::max(worst_, spent);
            look(i);
        }
        return outcome();
    }

private:
    static placement::Options with_published(placement::Options options) {
        options.published = published_scorer;
        return options;
    }

    Result<Done> prepare() {
        for (const placement::MigGeometry& geometry : scenario_.nodes.geometries) {
            auto added = engine_.add_geometry(geometry);
            if (!added) return added;
        }
        for (std::size_t row = 0; row < scenario_.nodes.nodes.size(); ++row) {
            placement::NodeSpec spec = scenario_.nodes.nodes[row];
            if (!scenario_.order.ranks.empty()) spec.rank = scenario_.order.ranks[row];
            auto added = engine_.add_node(std::move(spec));
            if (!added) return std::move(added).error();
        }
        if (!options_.engine.learn) engine_.set_workload(scenario_.workload);
        if (options_.lifetime == Lifetime::kTrace && !scenario_.tasks.has_times)
            return Error{ErrorCode::kInvalidInput,
                         "the task list has no columns creation_time and deletion_time, which "
                         "lifetime=trace needs"};
        double work = 0;  // GPU time of a mean task, with lifetimes in mean lifetimes
        for (const Task& task : scenario_.tasks.tasks) mean_seconds_ += seconds_of(task);
        mean_seconds_ /=
            static_cast<double>(std::max<std::size_t>(scenario_.tasks.tasks.size(), 1));
        for (const Task& task : scenario_.tasks.tasks)
            work += static_cast<double>(task.gpu_milli()) * mean_lifetime(task);
        work /= static_cast<double>(std::max<std::size_t>(scenario_.tasks.tasks.size(), 1));
        if (work <= 0) return Error{ErrorCode::kInvalidInput, "no task of the list asks for a GPU"};
        mean_gap_ = work / (options_.load * static_cast<double>(engine_.capacity_milli()));
        warm_from_ = std::min(kWarmUp, mean_gap_ * static_cast<double>(options_.tasks) / 2);
        return Done{};
    }

    static double seconds_of(const Task& task) {
        const auto end = task.deletion.value_or(task.creation + 86'400);
        return std::clamp(static_cast<double>(end - task.creation), 1.0, kMostSeconds);
    }
    [[nodiscard]] double mean_lifetime(const Task& task) const {
        return options_.lifetime == Lifetime::kTrace ? seconds_of(task) / mean_seconds_ : 1;
    }
    double draw_lifetime(std::uint32_t row) {
        return options_.lifetime == Lifetime::kTrace
                   ? seconds_of(scenario_.tasks.tasks[row]) / mean_seconds_
                   : -std::log(unit(random_));
    }

    /// Lets go what ends until then; with wait, those who wait take what comes free.
    void leave(double until) {
        while (!ends_.empty() && ends_.top().time <= until) {
            const double at = ends_.top().time;
            for (const auto id : ends_.top().ids) (void)engine_.release(id);
            ends_.pop();
            if (!waiting_.empty()) enter(at);
        }
    }

    /// In the order of arrival, each where it fits; of equal requests the first that fails is enough.
    void enter(double at) {
        std::vector<placement::Request> failed;
        for (auto one = waiting_.begin(); one != waiting_.end();) {
            const Task& task = scenario_.tasks.tasks[one->row];
            const bool hopeless =
                std::find(failed.begin(), failed.end(), task.request) != failed.end();
            auto ids =
                hopeless ? Result<std::vector<placement::PlacementId>>(kNowhere) : place(task);
            if (!ids) {
                if (!hopeless) failed.push_back(task.request);
                ++one;
                continue;
            }
            if (one->since >= warm_from_) waits_[index(task)].push_back(at - one->since);
            settle(task, at, one->since, one->lifetime, *std::move(ids));
            one = waiting_.erase(one);
        }
    }

    Result<Done> arrive(std::uint32_t row, double lifetime) {
        const Task& task = scenario_.tasks.tasks[row];
        if (warm()) {
            ++outcome_.sizes.at(index(task)).tasks;
            offered_ += static_cast<double>(task.gpu_milli()) * lifetime;
        }
        auto ids = place(task);
        if (ids) {
            if (options_.wait && warm()) waits_[index(task)].push_back(0);
            settle(task, now_, now_, lifetime, *std::move(ids));
            return Done{};
        }
        if (ids.error().code != ErrorCode::kUnavailable) return ids.error();
        if (options_.wait) {
            waiting_.push_back({row, now_, lifetime});
        } else {
            outcome_.sizes.at(index(task)).refused += warm() ? 1 : 0;
        }
        return Done{};
    }

    Result<std::vector<placement::PlacementId>> place(const Task& task) {
        std::vector<placement::PlacementId> ids;
        if (task.count == 1) {
            auto one = engine_.place(task.request);
            if (!one) return std::move(one).error();
            ids.push_back(one->id);
        } else {
            auto gang = engine_.place_gang(task.request, task.count);
            if (!gang) return std::move(gang).error();
            for (const auto& one : *gang) ids.push_back(one.id);
        }
        engine_.commit();
        return ids;
    }

    void settle(const Task& task, double at, double came, double lifetime,
                std::vector<placement::PlacementId> ids) {
        if (came >= warm_from_) carried_ += static_cast<double>(task.gpu_milli()) * lifetime;
        ends_.push({at + lifetime, ++placed_, std::move(ids)});
    }

    void look(std::size_t arrival) {
        if ((arrival + 1) * kCurvePoints / options_.tasks ==
            arrival * kCurvePoints / options_.tasks)
            return;
        const auto capacity = static_cast<double>(engine_.capacity_milli());
        std::size_t free = 0;
        std::size_t all = 0;
        for (placement::NodeId id = 0; id < engine_.node_count(); ++id) {
            const auto state = engine_.state(id);
            if (state.devices.empty()) continue;
            ++all;
            free += engine_.placements_on(id).empty() ? 1 : 0;
        }
        const double share = all == 0 ? 0 : static_cast<double>(free) / static_cast<double>(all);
        outcome_.curve.push_back(
            {now_, 1 - static_cast<double>(engine_.free_milli()) / capacity, share});
        if (arrival < options_.tasks / 2) return;
        ++looks_;
        outcome_.free_nodes += share;
        outcome_.fragmentation += engine_.fragmented_milli() / capacity;
    }

    ChurnOutcome outcome() {
        outcome_.policy = options_.engine.policy;
        const auto capacity = static_cast<double>(engine_.capacity_milli());
        const double time = std::max(now_ - warm_from_, 1e-9);
        outcome_.offered = offered_ / (time * capacity);
        outcome_.carried = carried_ / (time * capacity);
        outcome_.free_nodes /= std::max(looks_, 1);
        outcome_.fragmentation /= std::max(looks_, 1);
        for (const Waiting& one : waiting_)
            ++outcome_.sizes.at(index(scenario_.tasks.tasks[one.row])).unplaced;
        for (const Waiting& one : waiting_)  // as long as it has waited so far
            waits_[index(scenario_.tasks.tasks[one.row])].push_back(now_ - one.since);
        for (std::size_t i = 0; i < kTaskSizes; ++i) {
            auto& waits = waits_[i];
            if (waits.empty()) continue;
            std::sort(waits.begin(), waits.end());
            double sum = 0;
            for (const double wait : waits) sum += wait;
            outcome_.sizes[i].mean_wait = sum / static_cast<double>(waits.size());
            outcome_.sizes[i].p50_wait = waits[waits.size() / 2];
            outcome_.sizes[i].p99_wait = waits[waits.size() * 99 / 100];
        }
        outcome_.seconds = std::chrono::duration<double>(spent_).count();
        outcome_.worst_step_ms = std::chrono::duration<double, std::milli>(worst_).count();
        return std::move(outcome_);
    }

    [[nodiscard]] bool warm() const { return now_ >= warm_from_; }

    static std::size_t index(const Task& task) {
        return static_cast<std::size_t>(size_of(task.request));
    }

    inline static const Error kNowhere{ErrorCode::kUnavailable, "fits nowhere"};

    const Scenario& scenario_;
    const ChurnOptions& options_;
    placement::Engine engine_;
    SplitMix64 random_;
    double mean_seconds_ = 0;
    double mean_gap_ = 0;
    double warm_from_ = 0;
    double now_ = 0;
    std::uint64_t placed_ = 0;
    double offered_ = 0;  // milli times mean lifetimes
    double carried_ = 0;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
    std::deque<Waiting> waiting_;
    std::array<std::vector<double>, kTaskSizes> waits_;
    int looks_ = 0;
    Clock::duration spent_{};
    Clock::duration worst_{};
    ChurnOutcome outcome_;
};

}  // namespace

std::string_view to_text(TaskSize size) {
    constexpr std::array<std::string_view, kTaskSizes> kWords{"cpu", "share", "1", "2-7", "8+"};
    return kWords.at(static_cast<std::size_t>(size));
}

Result<ChurnOutcome> run_churn(const Scenario& scenario, const ChurnOptions& options) {
    return Churn(scenario, options).run();
}

}  // namespace aliquot::sim::trace
