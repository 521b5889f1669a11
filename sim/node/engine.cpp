// SPDX-License-Identifier: Apache-2.0
#include "sim/node/engine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>

#include "sim/node/instances.h"
#include "sim/node/model.h"
#include "sim/node/processes.h"
#include "sim/node/shared_state.h"
#include "sim/node/usage.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kWindowNs = 200'000'000;  // over which a process's share is measured
constexpr unsigned kExactSlices = 1U << 16;       // of one look; after so many they grow

const EngineState* engine_of(const State& state, unsigned gpu, const Instance& where) {
    if (where.whole_gpu()) return &state.gpus[gpu].engine;
    const auto* const compute = find_compute_instance(state, gpu, where);
    return compute == nullptr ? nullptr : &compute->engine;
}

/// The processes of an engine that have work left, by their place in the table.
struct Runners {
    std::array<std::uint16_t, kMaxProcesses> entries;
    std::array<std::uint64_t, kMaxProcesses> backlog_ns;
    std::size_t count = 0;

    void add(unsigned entry, std::uint64_t backlog) {
        entries[count] = static_cast<std::uint16_t>(entry);
        backlog_ns[count] = backlog;
        ++count;
    }
    void remove(std::size_t index) {
        for (std::size_t i = index + 1; i < count; ++i) {
            entries[i - 1] = entries[i];
            backlog_ns[i - 1] = backlog_ns[i];
        }
        --count;
    }
};

template <class Visit>
void for_each_worker(const State& state, unsigned gpu, Visit&& visit) {
    for (unsigned word = 0; word < kMaxProcesses / 64; ++word) {
        for (std::uint64_t bits = state.workers[gpu][word]; bits != 0; bits &= bits - 1) {
            const unsigned entry = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
            const ProcessState& process = state.processes[entry];
            if (process.pid != 0 && process.gpu == gpu) visit(entry, process);
        }
    }
}

void find_runners(const State& state, unsigned gpu, const Instance& where, Runners& runners) {
    for_each_worker(state, gpu, [&](unsigned entry, const ProcessState& process) {
        const WorkState& work = state.work[entry];
        if (work.executed_ns >= work.submitted_ns || process.where() != where) return;
        runners.add(entry, work.submitted_ns - work.executed_ns);
    });
}

struct Step {
    unsigned entry;
    std::uint64_t duration_ns;
};

/// Whose turn it is, in time: gives the stretches of running work one after the other.
class Rotation {
public:
    Rotation(Runners& runners, const EngineState& engine, std::uint64_t slice_ns)
        : runners_(runners),
          turn_(engine.turn),
          used_ns_(engine.slice_used_ns),
          slice_ns_(slice_ns) {
        used_ns_ = std::min(used_ns_, slice_ns_ - 1);
    }

    [[nodiscard]] bool idle() const { return runners_.count == 0; }

    /// The next stretch, at most `limit_ns` long.
    Step next(std::uint64_t limit_ns) {
        if (++steps_ % kExactSlices == 0) slice_ns_ *= 2;
        std::size_t index = 0;
        while (index < runners_.count && runners_.entries[index] < turn_) ++index;
        if (index == runners_.count) index = 0;
        const unsigned entry = runners_.entries[index];
        if (entry != turn_) used_ns_ = 0;
        turn_ = entry;
        std::uint64_t duration = std::min(limit_ns, runners_.backlog_ns[index]);
        if (runners_.count > 1) {
            duration = std::min(duration, slice_ns_ - used_ns_);
            used_ns_ += duration;
        } else {
            used_ns_ = (used_ns_ + duration) % slice_ns_;
        }
        runners_.backlog_ns[index] -= duration;
        const bool done = runners_.backlog_ns[index] == 0;
        if (done || used_ns_ >= slice_ns_) {
            turn_ = entry + 1;
            used_ns_ = 0;
        }
        if (done) runners_.remove(index);
        return {entry, duration};
    }

    void store(EngineState& engine) const {
        engine.turn = turn_;
        engine.slice_used_ns = used_ns_;
    }

private:
    Runners& runners_;
    unsigned turn_;
    std::uint64_t used_ns_;
    std::uint64_t slice_ns_;
    unsigned steps_ = 0;
};

std::uint64_t slice_of(const State& state) {
    return std::max<std::uint64_t>(state.time_slice_ns, 1000);
}

/// Work of one process ran from `start_ns` on.
void run(WorkState& work, std::uint64_t start_ns, std::uint64_t duration_ns) {
    const std::uint64_t from = work.executed_ns;
    const std::uint64_t to = from + duration_ns;
    const std::uint64_t kept =
        std::min<std::uint64_t>(work.marks_end - work.marks_begin, kMaxMarks);
    for (std::uint64_t i = work.marks_end - kept; i != work.marks_end; ++i) {
        MarkState& mark = work.marks[i % kMaxMarks];
        if (mark.reached_ns != 0 || mark.position_ns > to) continue;
        mark.reached_ns = start_ns + (mark.position_ns - std::min(mark.position_ns, from));
    }
    work.executed_ns = to;
    work.ran_until_ns = start_ns + duration_ns;
}

/// How busy each process was in its last window.
void measure(State& state, unsigned gpu, const Instance& where, std::uint64_t now_ns) {
    for_each_worker(state, gpu, [&](unsigned entry, const ProcessState& process) {
        if (process.where() != where) return;
        WorkState& work = state.work[entry];
        const std::uint64_t elapsed = now_ns - std::min(now_ns, work.window_start_ns);
        if (elapsed < kWindowNs) return;
        const auto percent = static_cast<std::uint32_t>(std::min<std::uint64_t>(
            (work.executed_ns - work.window_executed_ns) * 100 / elapsed, 100));
        work.window_start_ns = now_ns;
        work.window_executed_ns = work.executed_ns;
        if (percent == process.sm_percent) return;
        settle_gpu(state, gpu, now_ns);
        state.gpus[gpu].load_changed_us = epoch_us();
        state.processes[entry].sm_percent = percent;
    });
}

}  // namespace

void advance_engine(State& state, unsigned gpu, const Instance& where, std::uint64_t now_ns) {
    auto* const engine = const_cast<EngineState*>(engine_of(state, gpu, where));
    if (engine == nullptr || now_ns <= engine->clock_ns) return;
    Runners runners;
    find_runners(state, gpu, where, runners);
    if (!runners.count) {
        engine->clock_ns = now_ns;
        measure(state, gpu, where, now_ns);
        return;
    }
    Rotation rotation(runners, *engine, slice_of(state));
    std::uint64_t time = engine->clock_ns;
    while (time < now_ns && !rotation.idle()) {
        const Step step = rotation.next(now_ns - time);
        // First the time, then the work: a writer killed in between loses a stretch, and none runs
        // twice.
        engine->clock_ns = time + step.duration_ns;
        run(state.work[step.entry], time, step.duration_ns);
        time += step.duration_ns;
    }
    rotation.store(*engine);
    engine->clock_ns = now_ns;
    measure(state, gpu, where, now_ns);
}

void advance_gpu(State& state, unsigned gpu, std::uint64_t now_ns) {
    for_each_worker(state, gpu, [&](unsigned, const ProcessState& process) {
        advance_engine(state, gpu, process.where(), now_ns);
    });
}

std::uint64_t submit_work(State& state, unsigned entry, std::uint64_t duration_ns) {
    WorkState& work = state.work[entry];
    std::uint64_t& workers = state.workers[state.processes[entry].gpu][entry / 64];
    const std::uint64_t bit = std::uint64_t{1} << entry % 64;
    if ((workers & bit) == 0) {
        const auto* const engine =
            engine_of(state, state.processes[entry].gpu, state.processes[entry].where());
        work.window_start_ns = engine == nullptr ? 0 : engine->clock_ns;
        work.window_executed_ns = work.executed_ns;
        workers |= bit;
    }
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() / 2;
    work.submitted_ns += std::min(duration_ns, kMost - std::min(kMost, work.submitted_ns));
    return work.submitted_ns;
}

std::optional<std::uint64_t> set_mark(State& state, unsigned entry, std::uint64_t position_ns) {
    WorkState& work = state.work[entry];
    if (work.marks_end > work.marks_begin) {
        const std::uint64_t last = work.marks_end - 1;
        if (work.marks[last % kMaxMarks].position_ns == position_ns) return last;
    }
    while (work.marks_begin < work.marks_end && work.marks_end - work.marks_begin >= kMaxMarks) {
        if (work.marks[work.marks_begin % kMaxMarks].reached_ns == 0) return std::nullopt;
        ++work.marks_begin;
    }
    work.marks[work.marks_end % kMaxMarks] = {.position_ns = position_ns, .reached_ns = 0};
    return work.marks_end++;
}

std::uint64_t predicted_end(const State& state, unsigned entry, std::uint64_t position_ns) {
    const ProcessState& process = state.processes[entry];
    const WorkState& work = state.work[entry];
    const auto* const engine = engine_of(state, process.gpu, process.where());
    if (work.executed_ns >= position_ns || engine == nullptr) return 0;
    Runners runners;
    find_runners(state, process.gpu, process.where(), runners);
    Rotation rotation(runners, *engine, slice_of(state));
    std::uint64_t time = engine->clock_ns;
    std::uint64_t left = std::min(position_ns, work.submitted_ns) - work.executed_ns;
    while (left > 0 && !rotation.idle()) {
        const Step step = rotation.next(std::numeric_limits<std::uint64_t>::max());
        if (step.entry == entry) {
            if (step.duration_ns >= left) return time + left;
            left -= step.duration_ns;
        }
        time += step.duration_ns;
    }
    return time;
}

void forget_work(State& state, unsigned entry) {
    const unsigned gpu = state.processes[entry].gpu;
    state.workers[gpu][entry / 64] &= ~(std::uint64_t{1} << entry % 64);
    state.work[entry] = {};
}

}  // namespace aliquot::sim
