// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "placement/cluster.h"
#include "placement/engine.h"
#include "queue/queue.h"

namespace aliquot::queue {

struct State;

/// Jobs that wait and run on the devices of a cluster or of one machine. Not thread-safe: one writer.
/// `now` never goes back; an earlier one counts as the latest seen. What a plan starts is booked at once.
class Planner {
public:
    explicit Planner(Options options = {});
    ~Planner();
    Planner(Planner&&) noexcept;
    Planner& operator=(Planner&&) noexcept;

    /// Geometry of a MIG-capable model; before the first node of it in MIG mode.
    Result<Done> add_geometry(placement::MigGeometry geometry);
    /// A node, at any time. errors: as placement::Engine::add_node()
    Result<placement::NodeId> add_node(placement::NodeSpec spec);
    /// A queue, new or changed. errors: kInvalidInput
    Result<Done> set_queue(const Queue& queue);

    /// Whether it would start with nothing else there: it fits on the nodes and in its quota.
    bool could_ever_start(const Job& job);
    /// A job that waits from now on. errors: kInvalidInput; kConflict: there is one with this id
    Result<Done> submit(const Job& job, Time now);
    /// A job that runs already, where it runs: after a restart of the caller.
    /// errors: as submit(); kConflict: the place is taken
    Result<Done> started(const Job& job, const std::vector<placement::Placement>& where, Time since,
                         Time now);
    /// The same of a job that others have started, nobody knows where: it takes the place that would be chosen now.
    /// errors: as submit(); kConflict: there is none
    Result<Done> started_somewhere(const Job& job, Time since, Time now);
    /// Starts what may start. Asking twice at one time starts nothing twice.
    Plan decide(Time now);
    /// A job, waiting or running, is over; its devices are free. errors: kNotFound
    Result<Done> ended(JobId id, Time now, Outcome outcome = Outcome::kCompleted);
    /// A running job waits again: preempted, or it could not be started. `expected` is what is left of its run;
    /// 0: as before. errors: kNotFound
    Result<Done> requeue(JobId id, Time now, Time expected = 0);

    /// Position and time of all waiting jobs, in order. Bounds are learned from how earlier forecasts came true, each
    /// job's first counting.
    std::vector<Eta> forecast(Time now);

    /// Why a job waits. errors: kNotFound
    Result<Explanation> explain(JobId id, Time now);

    [[nodiscard]] std::size_t waiting() const;
    [[nodiscard]] std::size_t running() const;
    /// Where a running job runs; empty: it does not run.
    [[nodiscard]] std::vector<placement::Placement> where(JobId id) const;
    [[nodiscard]] const placement::Engine& devices() const;
    /// Empty: books, engine and lists agree; else what differs. For tests.
    [[nodiscard]] std::string self_check();

private:
    std::unique_ptr<State> state_;
};

}  // namespace aliquot::queue
