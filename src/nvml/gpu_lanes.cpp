// SPDX-License-Identifier: Apache-2.0
#include "nvml/gpu_lanes.h"

#include <algorithm>
#include <utility>

#include "nvml/device_facts.h"
#include "nvml/silence.h"

namespace aliquot::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Scores = std::vector<std::vector<gpu::LinkScore>>;

}  // namespace

GpuLanes::GpuLanes(std::shared_ptr<Attachment> attachment, const os::Root& root,
                   DriverOptions options)
    : attachment_(std::move(attachment)),
      root_(root),
      options_(std::move(options)),
      kernel_(root, options_.driver_root),
      whole_(attachment_, root_, options_, std::nullopt),
      across_(attachment_, root_, options_, std::nullopt),
      faults_(attachment_, root_, options_) {}

std::shared_ptr<Lane> GpuLanes::lane_of(unsigned index) {
    const std::lock_guard lock(mutex_);
    auto& lane = lanes_[index];
    if (!lane) lane = std::make_shared<Lane>(attachment_, root_, options_, index);
    return lane;
}

std::optional<unsigned> GpuLanes::place_of(const gpu::Uuid& gpu) {
    const std::lock_guard lock(mutex_);
    for (const auto& [index, known] : known_) {
        if (known.last.gpu.uuid == gpu && !gpu.text.empty()) return index;
    }
    return std::nullopt;
}

bool GpuLanes::forget_place(const gpu::Uuid& gpu) {
    const auto index = place_of(gpu);
    const std::lock_guard lock(mutex_);
    if (index) known_.erase(*index);
    return index.has_value();
}

Result<unsigned> GpuLanes::index_of(const gpu::Uuid& gpu) {
    if (const auto index = place_of(gpu)) return *index;
    const auto inventory = enumerate(gpu::Links::kLeaveOut);
    if (!inventory) return inventory.error();
    if (const auto index = place_of(gpu)) return *index;
    // One that cannot tell its UUID may be the wanted one.
    for (const gpu::Gpu& one : inventory->gpus) {
        if (one.health.ok() || !(one.uuid.text.empty() || one.uuid == gpu)) continue;
        return Error{ErrorCode::kUnavailable, gpu.text + ": " + one.health.reason};
    }
    return Error{ErrorCode::kNotFound, gpu.text + ": the driver lists no such GPU"};
}

Result<Survey> GpuLanes::survey(std::chrono::milliseconds patience) {
    const auto asked_at = SteadyClock::now();
    const auto asked = whole_.begin<Survey>("count of the GPUs", options_.deadline,
                                            [](Session& session) { return session.survey(); });
    auto survey = whole_.wait(asked, asked_at + patience);
    if (!survey) return survey;
    note_answered(asked_at);
    survey->gpus = std::min(survey->gpus, kMostGpus);
    const std::lock_guard lock(mutex_);
    count_ = survey->gpus;
    known_.erase(known_.lower_bound(count_), known_.end());
    return survey;
}

void GpuLanes::note_answered(SteadyClock::time_point asked) {
    const std::lock_guard lock(mutex_);
    proof_ = std::max(proof_, asked);
}

void GpuLanes::note(unsigned index, const Description& seen) {
    if (seen.gpu.uuid.text.empty()) return;  // it keeps its name
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [&](const auto& other) {
        return other.first != index && other.second.last.gpu.uuid == seen.gpu.uuid;
    });
    known_[index] = {.last = seen, .looked = true};
}

/// What is known of a GPU that does not answer now.
Description GpuLanes::recall(unsigned index, const Error& problem) {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(index);
    if (known != known_.end() && known->second.looked) {
        Description last = known->second.last;
        last.handle = nullptr;
        return last;
    }
    Description nameless;
    nameless.gpu.index = nameless.gpu.minor = index;
    nameless.gpu.health = {gpu::Health::State::kUnhealthy, problem.message};
    return nameless;
}

std::optional<Hang> GpuLanes::hang_of(unsigned index) {
    std::optional<Hang> first = faults_.hang(index);
    gpu::Uuid uuid;
    std::shared_ptr<Lane> lane;
    {
        const std::lock_guard lock(mutex_);
        const auto found = lanes_.find(index);
        if (found != lanes_.end()) lane = found->second;
        const auto known = known_.find(index);
        if (known != known_.end()) uuid = known->second.last.gpu.uuid;
    }
    const auto heed = [&first](std::optional<Hang> hang) {
        if (hang && (!first || hang->since < first->since)) first = std::move(hang);
    };
    if (lane) heed(lane->hang());
    if (!uuid.text.empty()) heed(attachment_->hang_of(uuid));
    return first;
}

/// The GPUs that hang by themselves.
std::map<unsigned, Hang> GpuLanes::hanging() {
    unsigned count = 0;
    {
        const std::lock_guard lock(mutex_);
        count = count_;
    }
    std::map<unsigned, Hang> hangs;
    for (unsigned index = 0; index < count; ++index) {
        if (auto hang = hang_of(index)) hangs.emplace(index, *std::move(hang));
    }
    // A call about two GPUs hangs for the one that hangs otherwise too.
    if (hangs.empty()) {
        auto hang = across_.hang();
        const auto asked = static_cast<unsigned>(asking_->load());
        if (hang && asked < count) hangs.emplace(asked, *std::move(hang));
    }
    std::vector<SilentGpu> silent;
    silent.reserve(hangs.size());
    for (const auto& [index, hang] : hangs) silent.push_back({index, hang.since});
    SteadyClock::time_point proof;
    {
        const std::lock_guard lock(mutex_);
        proof = proof_;
    }
    const auto guilty = silent_by_themselves(silent, proof);
    std::erase_if(hangs, [&](const auto& hang) { return !guilty.contains(hang.first); });
    return hangs;
}

GpuLanes::Descriptions GpuLanes::describe_all(unsigned count) {
    const auto asked_at = SteadyClock::now();
    const auto minors = std::make_shared<SharedMinors>();
    std::vector<Lane::Asked<Description>> asked;
    asked.reserve(count);
    for (unsigned index = 0; index < count; ++index) {
        asked.push_back(lane_of(index)->begin<Description>(
            "look at GPU " + std::to_string(index), options_.deadline,
            [minors](Session& session) { return session.describe(*minors); }));
    }
    Descriptions seen;
    for (unsigned index = 0; index < count; ++index) {
        bool known = false;
        {
            const std::lock_guard lock(mutex_);
            const auto found = known_.find(index);
            known = found != known_.end() && found->second.looked;
        }
        const auto patience = known ? std::min(options_.deadline, kPatience) : options_.deadline;
        auto answer = lane_of(index)->wait(asked[index], asked_at + patience);
        if (answer) {
            note_answered(asked_at);
            note(index, *answer);
        }
        seen.push_back(answer ? *std::move(answer) : recall(index, answer.error()));
    }
    for (auto& [index, hang] : hanging()) {
        if (index >= seen.size()) continue;
        seen[index].handle = nullptr;
        seen[index].gpu.health = {gpu::Health::State::kUnhealthy, hang.error.message};
    }
    return seen;
}

Scores GpuLanes::read_links(const Descriptions& seen) {
    const auto patience = std::min(options_.deadline, kPatience);
    const auto asked = across_.begin<Scores>(
        "links of the GPUs", options_.deadline,
        [seen, asking = asking_](Session& session) { return session.links(seen, *asking); });
    auto links = across_.wait(asked, SteadyClock::now() + patience);
    return links ? *std::move(links) : Scores{};
}

/// While a GPU waits for a reset nobody may have it open between two questions.
void GpuLanes::note_pending(const gpu::Inventory& inventory) {
    const bool pending = std::ranges::any_of(inventory.gpus, &gpu::Gpu::mig_pending);
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(pending_, pending) == pending) return;
    }
    attachment_->keep(!pending);
    if (!pending) {
        (void)survey(options_.deadline);  // it is held again from now on
        return;
    }
    const FaultWatch::Pause pause(faults_);
    (void)whole_.ask<Done>("release of the driver", options_.deadline,
                           [](Session& session) -> Result<Done> {
                               session.end();
                               return Done{};
                           });
}

Result<gpu::Inventory> GpuLanes::enumerate(gpu::Links links) {
    const auto survey = this->survey(options_.deadline);
    if (!survey) return survey.error();
    Descriptions seen = describe_all(survey->gpus);
    gpu::Inventory inventory{.driver_version = survey->driver_version,
                             .cuda_version = survey->cuda_version};
    for (const Description& one : seen) inventory.gpus.push_back(one.gpu);
    name_the_lost(kernel_, inventory.gpus);
    for (unsigned index = 0; index < seen.size(); ++index) {
        seen[index].gpu = inventory.gpus[index];
        const std::lock_guard lock(mutex_);
        const bool named = !seen[index].gpu.uuid.text.empty();
        if (named) known_.try_emplace(index, Known{.last = seen[index], .looked = false});
    }
    if (links == gpu::Links::kRead) inventory.links = read_links(seen);
    note_pending(inventory);
    return inventory;
}

Result<std::vector<gpu::Probe>> GpuLanes::probe(const std::vector<gpu::Uuid>& gpus) {
    const auto patience = std::min(options_.deadline, kPatience);
    const auto surveyed = survey(patience);
    // One that does not answer at all may hang for a single GPU, which is seen below.
    if (!surveyed && !whole_.hang() && surveyed.error().code != ErrorCode::kUnavailable) {
        return surveyed.error();
    }
    struct Question {
        std::optional<unsigned> index;
        std::optional<Lane::Asked<gpu::Probe>> asked;
    };
    const auto asked_at = SteadyClock::now();
    std::vector<Question> questions;
    for (const gpu::Uuid& gpu : gpus) {
        Question question{.index = place_of(gpu), .asked = {}};
        if (question.index) {
            question.asked =
                lane_of(*question.index)
                    ->begin<gpu::Probe>("probe of " + gpu.text, options_.deadline,
                                        [gpu](Session& session) { return session.probe(gpu); });
        }
        questions.push_back(std::move(question));
    }
    std::map<gpu::Uuid, gpu::Probe> answers;
    std::optional<Error> failure;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const Question& question = questions[i];
        if (!question.asked) continue;
        auto answer = lane_of(*question.index)->wait(*question.asked, asked_at + patience);
        if (answer) {
            note_answered(asked_at);
            answers[gpus[i]] = *std::move(answer);
        } else {
            failure = answer.error();
        }
    }
    const auto hangs = hanging();
    std::vector<gpu::Probe> probes;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const auto& index = questions[i].index;
        const auto hang = index ? hangs.find(*index) : hangs.end();
        const auto answer = answers.find(gpus[i]);
        if (hang != hangs.end()) {
            probes.push_back({.gpu = gpus[i], .problem = hang->second.error.message});
        } else if (answer != answers.end()) {
            probes.push_back(answer->second);
        } else if (!index && surveyed) {
            probes.push_back({.gpu = gpus[i], .problem = "the driver lists no such GPU"});
        }
    }
    if (probes.empty() && !surveyed) return surveyed.error();
    if (probes.empty() && failure) return *failure;
    return probes;
}

Result<std::vector<gpu::FaultEvent>> GpuLanes::wait_faults(std::chrono::milliseconds slice,
                                                           std::chrono::milliseconds timeout) {
    unsigned count = 0;
    {
        const std::lock_guard lock(mutex_);
        count = count_;
    }
    if (count == 0) {
        const auto found = survey(options_.deadline);
        if (!found) return found.error();
        count = found->gpus;
    }
    return faults_.wait(count, slice, timeout);
}

}  // namespace aliquot::nvml
