// SPDX-License-Identifier: Apache-2.0
#include "agent/config_rollout.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "gpu/replica_id.h"

namespace aliquot::agent {
namespace {

constexpr std::chrono::milliseconds kKubeletTimeout{1000};
constexpr std::chrono::milliseconds kSlowestLook{200};

}  // namespace

ConfigRollout::ConfigRollout(const os::Root& root, os::Clock& clock, Sources sources,
                             Options options)
    : clock_(clock),
      sources_(std::move(sources)),
      options_(std::move(options)),
      record_(root, options_.record),
      content_(record_.load()),
      reader_(root, clock, options_.holds, sources_.pods),
      pause_(options_.first_look) {}

/// Whether every device is served as it is to be, so that it does not matter who holds what.
bool ConfigRollout::is_steady(const sharing::Offer& wanted) const {
    if (!settled_ || content_.incomplete) return false;
    std::size_t known = 0;
    for (const sharing::Resource& resource : wanted.resources) {
        for (const sharing::OfferedGpu& device : resource.gpus) {
            const auto served = content_.served.find(device.uuid());
            if (served == content_.served.end() ||
                !sharing::keeps_promises(served->second, resource.name, device)) {
                return false;
            }
            ++known;
        }
    }
    return known == content_.served.size();
}

std::vector<sharing::DeviceHold> ConfigRollout::holds_of(const pods::DeviceHolds& seen) {
    std::vector<sharing::DeviceHold> holds;
    for (const pods::DeviceHold& one : seen.list) {
        holds.push_back(
            {.resource = one.resource, .id = one.id, .pod = one.pod, .ending = one.ending});
    }
    sources_.grants.note_listed(holds);
    for (sharing::DeviceHold& one : sources_.grants.recent()) {
        const bool known = std::ranges::any_of(holds, [&](const sharing::DeviceHold& other) {
            return other.resource == one.resource && other.id == one.id;
        });
        if (!known) holds.push_back(std::move(one));
    }
    return holds;
}

/// The devices that are closed, and of which kubelet gives nothing away any more.
std::set<gpu::Uuid> ConfigRollout::withdrawn() {
    std::set<gpu::Uuid> devices;
    for (const auto& entry : content_.served) {
        // An earlier agent's: its sockets are gone, and kubelet with them.
        if (!offered_.contains(entry.first)) devices.insert(entry.first);
    }
    if (closed_.empty()) return devices;
    const auto given = sources_.allocatable(kKubeletTimeout);
    std::set<std::string_view> known;
    if (given) {
        for (const std::string& id : *given) known.insert(gpu::device_of(id));
    }
    const auto patience = !given && given.error().code == ErrorCode::kUnsupported
                              ? options_.kubelet_hears
                              : options_.without_answer;
    for (const auto& [uuid, since] : closed_) {
        const bool heard = given ? !known.contains(uuid.text) : clock_.now() - since >= patience;
        if (heard) devices.insert(uuid);
    }
    return devices;
}

sharing::RolloutFacts ConfigRollout::facts(const sharing::Offer& wanted,
                                           const gpu::Inventory& inventory) {
    sharing::RolloutFacts facts{.served = content_.served,
                                .records_lost = content_.incomplete,
                                .holds = {},
                                .holds_problem = {},
                                .record_problem = record_problem_,
                                .withdrawn = {}};
    unsettled_holds_ = false;
    if (looked_ && is_steady(wanted)) return facts;
    if (!std::exchange(looked_, true)) {
        // Mostly nobody holds anything that is served in another way now; then kubelet need not be
        // asked, which waits for our devices.
        const pods::DeviceHolds written = reader_.written();
        facts.holds = holds_of(written);
        facts.holds_problem = written.problem;
        facts.withdrawn = withdrawn();
        if (sharing::roll_out(wanted, inventory, facts).is_settled()) return facts;
    }
    const pods::DeviceHolds seen = reader_.look();
    facts.holds = holds_of(seen);
    facts.holds_problem = seen.problem;
    facts.withdrawn = withdrawn();
    unsettled_holds_ = seen.unsettled;
    return facts;
}

std::optional<sharing::Rollout> ConfigRollout::begin(const sharing::Offer& wanted,
                                                     const gpu::Inventory& inventory) {
    if (inventory.gpus.empty()) {  // the driver has told of no GPU: nothing is known to change
        return sharing::Rollout{.offer = wanted,
                                .served = content_.served,
                                .records_lost = content_.incomplete,
                                .waiting = {},
                                .closing = {},
                                .switched = {}};
    }
    if (!record_problem_.empty()) {
        const auto written = record_.write(content_);
        record_problem_ = written ? "" : written.error().message;
    }
    constexpr int kTries = 2;  // the second one knows that nothing can be recorded
    for (int i = 0; i < kTries; ++i) {
        const std::uint64_t version = sources_.grants.version();
        sharing::Rollout round = sharing::roll_out(wanted, inventory, facts(wanted, inventory));
        const bool done = commit(round, version);
        if (done) {
            note(round);
            return round;
        }
        if (record_problem_.empty()) break;  // a grant came between
    }
    settled_ = false;
    pause_ = options_.first_look;
    return std::nullopt;
}

/// Whether it is to be recorded before it is offered: kubelet waits for the devices, and whole ones
/// that are new say by their ids what their holders were promised.
bool ConfigRollout::must_come_first(const ServedRecord::Content& next) const {
    if (next.incomplete != content_.incomplete) return true;
    return std::ranges::any_of(next.served, [&](const auto& entry) {
        const auto before = content_.served.find(entry.first);
        if (before == content_.served.end()) return entry.second.device.replicas > 1;
        return !sharing::is_same_service({*before}, {entry});
    });
}

/// Makes the round the one that holds. False: it cannot, since somebody was granted something
/// meanwhile, or since it cannot be recorded (then record_problem_ says why).
bool ConfigRollout::commit(const sharing::Rollout& round, std::uint64_t version) {
    if (!round.switched.empty() && !sources_.grants.close(round.switched, version)) return false;
    ServedRecord::Content next{.served = round.served, .incomplete = round.records_lost};
    // Before the first device is taken from kubelet: whether the end of it could be recorded.
    const bool begins = !round.closing.empty() && !closing_;
    const auto saved = begins                  ? record_.write(next)
                       : must_come_first(next) ? record_.save(next)
                                               : Result<Done>(Done{});
    if (!saved && record_problem_.empty()) {
        record_problem_ = saved.error().message;
        log::error("served.not_recorded", {{"why", record_problem_}});
        sources_.grants.open();
        return false;
    }
    content_ = std::move(next);
    return true;
}

void ConfigRollout::note(const sharing::Rollout& round) {
    const bool was_closing = std::exchange(closing_, !round.closing.empty());
    settled_ = round.is_settled();
    if (closing_) {
        pause_ = was_closing ? std::min(2 * pause_, kSlowestLook) : options_.first_look;
    } else {
        pause_ = options_.between_looks;
    }
    if (round.waiting == told_) return;
    for (const sharing::WaitingDevice& one : round.waiting) {
        if (std::ranges::find(told_, one) != told_.end()) continue;
        log::info("config.waits", {{"device", one.uuid.text}, {"what", sharing::to_text(one)}});
    }
    told_ = round.waiting;
}

void ConfigRollout::finish(const sharing::Offer& offer) {
    std::set<gpu::Uuid> open;
    for (const sharing::Resource& resource : offer.resources) {
        for (const sharing::OfferedGpu& device : resource.gpus) {
            if (device.healthy() && (!device.only || !device.only->empty())) {
                open.insert(device.uuid());
            }
        }
    }
    for (const gpu::Uuid& uuid : open) {
        offered_.insert(uuid);
        closed_.erase(uuid);
    }
    std::erase_if(closed_,
                  [&](const auto& entry) { return !content_.served.contains(entry.first); });
    for (const auto& entry : content_.served) {
        if (!open.contains(entry.first)) closed_.try_emplace(entry.first, clock_.now());
    }
    sources_.grants.open();
    const auto saved = record_.save(content_);
    if (saved || !record_problem_.empty()) return;
    record_problem_ = saved.error().message;
    log::error("served.not_recorded", {{"why", record_problem_}});
}

std::optional<std::chrono::milliseconds> ConfigRollout::next_look() const {
    if (settled_ && record_problem_.empty()) return std::nullopt;
    return pause_;
}

}  // namespace aliquot::agent
