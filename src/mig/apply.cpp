// SPDX-License-Identifier: Apache-2.0
#include "mig/apply.h"

#include <algorithm>
#include <utility>

#include "mig/converge.h"
#include "mig/survey.h"

namespace aliquot::mig {
namespace {

using State = GpuReport::State;

std::string gpu_name(unsigned index) { return "GPU " + std::to_string(index); }

/// One change from the first line of its journal to the last: forward, and back when that fails.
class Change {
public:
    Change(gpu::Partitioner& gpus, const StateDirectory& state, const ApplyOptions& options,
           os::Clock& clock, Journal journal)
        : gpus_(gpus),
          state_(state),
          converger_(gpus, options, clock),
          journal_(std::move(journal)) {}

    /// Remembers what is desired; nothing has to change for it.
    Result<Done> keep() {
        if (!journal_.remember) return Done{};
        return converger_.step("remember the layout", [this] { return keep_last_applied(); });
    }

    /// Writes the journal and does what it says. `report` has one line for each of its GPUs.
    Result<Done> run(ApplyReport& report) {
        auto written = write_journal();
        if (!written) return written;
        fresh_ = true;
        return resume(report);
    }

    /// The same for a journal that is written already.
    Result<Done> resume(ApplyReport& report) {
        std::set<gpu::Uuid> together;
        for (const JournalEntry& entry : journal_.gpus) together.insert(entry.gpu);
        converger_.change_together(std::move(together));
        if (journal_.direction == Journal::Direction::kForward) {
            const auto problem = forward(report);
            if (!problem) return finish(report);
            report.problem = problem->message;
            journal_.direction = Journal::Direction::kBack;
            journal_.reason = problem->message;
            auto written = write_journal();
            if (!written) return written;
        } else {
            report.problem = journal_.reason;
        }
        return back(report);
    }

private:
    static GpuReport& line(ApplyReport& report, const JournalEntry& entry) {
        const auto found = std::ranges::find(report.gpus, entry.gpu, &GpuReport::gpu);
        if (found != report.gpus.end()) return *found;
        report.gpus.push_back({.gpu = entry.gpu, .index = entry.index});
        return report.gpus.back();
    }

    Result<Done> write_journal() {
        return converger_.step("write the journal",
                               [this] { return state_.write_journal(journal_); });
    }

    /// All are told their modes before one is reset: GPUs that are reset together take them then.
    std::optional<Error> forward_modes(ApplyReport& report) {
        std::vector<const JournalEntry*> changing;
        for (const JournalEntry& entry : journal_.gpus) {
            const bool same = fresh_ && entry.before.enabled == entry.wanted.enabled;
            if (!same) changing.push_back(&entry);
        }
        const auto each = [&](auto change) -> std::optional<Error> {
            for (const JournalEntry* const entry : changing) {
                auto mode = (converger_.*change)(entry->gpu, entry->index, entry->wanted);
                if (mode) continue;
                line(report, *entry).message = mode.error().message;
                return std::move(mode).error().during(gpu_name(entry->index));
            }
            return std::nullopt;
        };
        if (changing.size() > 1) {
            if (auto problem = each(&Converger::request_mode)) return problem;
        }
        return each(&Converger::converge_mode);
    }

    /// The first thing that went wrong; the GPUs after it are not touched.
    std::optional<Error> forward(ApplyReport& report) {
        if (auto problem = forward_modes(report)) return problem;
        for (const JournalEntry& entry : journal_.gpus) {
            GpuReport& gpu = line(report, entry);
            gpu.enabled = entry.wanted.enabled;
            gpu.layout = entry.wanted.instances;
            auto done = converger_.converge(entry.gpu, entry.index, entry.wanted);
            if (done) {
                gpu.state = State::kReached;
                continue;
            }
            gpu.message = done.error().message;
            return std::move(done).error().during(gpu_name(entry.index));
        }
        return std::nullopt;
    }

    Result<Done> finish(ApplyReport& report) {
        auto kept = keep();
        if (!kept) return kept;
        report.reached = true;
        return converger_.step("remove the journal", [this] { return state_.remove_journal(); });
    }

    Result<Done> keep_last_applied() {
        auto spec = state_.read_last_applied();
        if (!spec) spec = LastApplied{};  // a damaged one is of no use
        const LastApplied before = *spec;
        for (const JournalEntry& entry : journal_.gpus) {
            const auto known = std::ranges::find(spec->gpus, entry.gpu, &LastApplied::Entry::gpu);
            if (known != spec->gpus.end()) spec->gpus.erase(known);
            spec->gpus.push_back({entry.gpu, entry.index, entry.wanted});
        }
        std::ranges::sort(spec->gpus, {}, &LastApplied::Entry::gpu);
        return *spec == before ? Result<Done>(Done{}) : state_.write_last_applied(*spec);
    }

    Result<Done> back(ApplyReport& report) {
        converger_.restart_limit();
        bool whole = true;
        // What fails here fails again below, and is said there.
        for (const JournalEntry& entry : journal_.gpus) {
            if (journal_.gpus.size() == 1) continue;
            (void)converger_.request_mode(entry.gpu, entry.index, entry.before);
        }
        for (const JournalEntry& entry : journal_.gpus) {
            (void)converger_.converge_mode(entry.gpu, entry.index, entry.before);
        }
        for (auto entry = journal_.gpus.rbegin(); entry != journal_.gpus.rend(); ++entry) {
            GpuReport& gpu = line(report, *entry);
            auto done = converger_.converge(entry->gpu, entry->index, entry->before);
            if (done) {
                gpu.state = State::kRolledBack;
            } else if (done.error().code == ErrorCode::kNotFound && is_gone(entry->gpu)) {
                gpu.state = State::kGone;
                gpu.message = done.error().message;
            } else {
                gpu.state = State::kHalf;
                gpu.message = "could not be taken back: " + done.error().message;
                whole = false;
            }
        }
        if (!whole) return Done{};  // the journal stays: the next one tries again
        return converger_.step("remove the journal", [this] { return state_.remove_journal(); });
    }

    /// Not merely one of its profiles.
    bool is_gone(const gpu::Uuid& gpu) {
        const auto now = gpus_.partitions(gpu);
        return !now && now.error().code == ErrorCode::kNotFound;
    }

    gpu::Partitioner& gpus_;
    const StateDirectory& state_;
    Converger converger_;
    Journal journal_;
    bool fresh_ = false;  // the journal was written just now, so `before` is how it is
};

bool has_half(const ApplyReport& report) {
    return std::ranges::find(report.gpus, State::kHalf, &GpuReport::state) != report.gpus.end();
}

/// "GPU 0 reached, GPU 1 rolled back".
std::string summary(const ApplyReport& report) {
    std::string text;
    for (const GpuReport& gpu : report.gpus) {
        text += (text.empty() ? "" : ", ") + gpu_name(gpu.index) + ' ' +
                std::string(to_text(gpu.state));
        if (!gpu.message.empty()) text += " (" + gpu.message + ")";
    }
    return text;
}

/// What an earlier process left; empty: nothing. Fails where it can neither be finished nor taken
/// back and `specs` do not cover it.
Result<std::string> clear_the_way(gpu::Partitioner& gpus, const StateDirectory& state,
                                  const std::vector<GpuSpec>& specs, const ApplyOptions& options,
                                  os::Clock& clock) {
    auto earlier = recover(gpus, state, options, clock);
    if (!earlier) return std::move(earlier).error();
    for (const GpuReport& gpu : earlier->gpus) {
        if (gpu.state != State::kHalf) continue;
        if (std::ranges::find(specs, gpu.gpu, &GpuSpec::gpu) != specs.end()) continue;
        return Error{ErrorCode::kConflict, "an earlier change is unfinished, and " +
                                               gpu_name(gpu.index) + ' ' + gpu.message +
                                               "; end what is in its way and run this again"};
    }
    return earlier->gpus.empty() ? std::string() : summary(*earlier);
}

}  // namespace

std::string_view to_text(GpuReport::State state) {
    switch (state) {
        case State::kUnchanged:
            return "unchanged";
        case State::kPlanned:
            return "planned";
        case State::kRefused:
            return "refused";
        case State::kReached:
            return "reached";
        case State::kRolledBack:
            return "rolled back";
        case State::kHalf:
            return "half";
        case State::kLeft:
            return "left";
        case State::kGone:
            return "gone";
    }
    return "";
}

Result<ApplyReport> apply(gpu::Partitioner& gpus, const StateDirectory& state,
                          const std::vector<GpuSpec>& specs, const ApplyOptions& options,
                          os::Clock& clock) {
    ApplyReport report;
    if (!options.dry_run) {
        auto earlier = clear_the_way(gpus, state, specs, options, clock);
        if (!earlier) return std::move(earlier).error();
        report.recovered = std::move(*earlier);
    }
    Journal journal{.remember = options.remember};
    bool refused = false;
    bool changes = false;
    for (const GpuSpec& spec : specs) {
        auto found = survey(gpus, spec, options);
        if (!found) return std::move(found).error().during(gpu_name(spec.index));
        if (found->report.state == State::kRefused) {
            if (!refused) report.problem = gpu_name(spec.index) + ": " + found->report.message;
            refused = true;
        }
        changes = changes || found->report.state == State::kPlanned;
        report.gpus.push_back(std::move(found->report));
        journal.gpus.push_back(std::move(found->entry));
    }
    if (refused) return report;
    report.reached = true;
    if (options.dry_run) return report;
    Change change(gpus, state, options, clock, std::move(journal));
    if (!changes) {
        auto kept = change.keep();
        if (!kept) return std::move(kept).error();
        return report;
    }
    report.reached = false;
    // GPUs that are as desired take part: should they have changed meanwhile, they are fixed.
    std::vector<State> before;
    for (const GpuReport& gpu : report.gpus) before.push_back(gpu.state);
    auto done = change.run(report);
    if (!done) return std::move(done).error();
    for (std::size_t i = 0; i < before.size(); ++i) {
        const bool same = report.gpus[i].state == State::kReached && before[i] == State::kUnchanged;
        if (same) report.gpus[i].state = State::kUnchanged;
    }
    return report;
}

Result<ApplyReport> recover(gpu::Partitioner& gpus, const StateDirectory& state,
                            const ApplyOptions& options, os::Clock& clock) {
    auto journal = state.read_journal();
    if (!journal) return std::move(journal).error();
    ApplyReport report;
    report.reached = true;
    if (!*journal) return report;
    report.reached = false;
    Change change(gpus, state, options, clock, std::move(**journal));
    auto done = change.resume(report);
    if (!done) return std::move(done).error();
    report.recovered = summary(report);
    return report;
}

Result<ApplyReport> restore(gpu::Partitioner& gpus, const StateDirectory& state,
                            const ApplyOptions& options, os::Clock& clock) {
    auto report = recover(gpus, state, options, clock);
    if (!report || has_half(*report)) return report;
    auto spec = state.read_last_applied();
    if (!spec) return std::move(spec).error();
    ApplyReport restored;
    restored.recovered = report->recovered;
    restored.reached = true;
    Journal journal;
    for (const LastApplied::Entry& entry : spec->gpus) {
        GpuReport line{.gpu = entry.gpu,
                       .index = entry.index,
                       .state = State::kUnchanged,
                       .enabled = entry.cut.enabled,
                       .layout = entry.cut.instances};
        const auto now = gpus.partitions(entry.gpu);
        if (!now) {
            line.state = State::kGone;
            line.message = now.error().message;
        } else if (const Partitioning cut = partitioning_of(*now); cut != entry.cut) {
            // Whoever holds the whole GPU has it with MIG off.
            const bool held = options.held.contains(entry.gpu.text);
            const bool bare = cut.instances.empty() && entry.cut.enabled && !held;
            line.state = bare ? State::kPlanned : State::kLeft;
            if (!bare) line.message = "is cut in another way than was applied last";
            if (bare) journal.gpus.push_back({entry.gpu, entry.index, cut, entry.cut});
        }
        restored.gpus.push_back(std::move(line));
    }
    if (journal.gpus.empty() || options.dry_run) return restored;
    restored.reached = false;
    Change change(gpus, state, options, clock, std::move(journal));
    auto done = change.run(restored);
    if (!done) return std::move(done).error();
    return restored;
}

}  // namespace aliquot::mig
