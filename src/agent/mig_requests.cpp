// SPDX-License-Identifier: Apache-2.0
#include "agent/mig_requests.h"

#include <algorithm>

#include "base/log.h"
#include "mig/board.h"
#include "mig/state_directory.h"
#include "mig/well_known.h"

namespace aliquot::agent {
namespace {

using namespace std::chrono_literals;
using State = node::MigTold::State;
using GpuState = mig::GpuReport::State;

constexpr std::chrono::milliseconds kApplyLimit{120'000};
constexpr std::chrono::milliseconds kLockWait{30'000};
constexpr std::chrono::milliseconds kConfirmLimit{10'000};
constexpr std::chrono::milliseconds kDrainLook{3000};  // kubelet limits all its askers together
constexpr std::chrono::milliseconds kNothingAsked = std::chrono::hours(1);
constexpr std::size_t kMostNamed = 5;

node::MigTold failed(const std::string& config, std::string why) {
    return {.state = State::kFailed, .config = config, .problem = std::move(why)};
}

std::string joined(const std::vector<std::string>& pods) {
    std::string text;
    for (std::size_t i = 0; i < pods.size(); ++i) {
        if (i == kMostNamed) return text + ", ...";
        text += (i == 0 ? "" : ", ") + pods[i];
    }
    return text;
}

bool is_reached(const mig::Report& report) {
    return std::ranges::all_of(
        report.gpus, [](const mig::GpuReport& gpu) { return gpu.state == GpuState::kUnchanged; });
}

bool is_refused(const mig::Report& report) {
    return std::ranges::any_of(
        report.gpus, [](const mig::GpuReport& gpu) { return gpu.state == GpuState::kRefused; });
}

std::string why_refused(const mig::Report& report) {
    for (const mig::GpuReport& gpu : report.gpus) {
        if (gpu.state != GpuState::kRefused) continue;
        return "GPU " + std::to_string(gpu.index) + ": " +
               (gpu.refusal ? gpu.refusal->reason : gpu.message);
    }
    return report.problem;
}

std::string device_of(const std::string& id) { return id.substr(0, id.find("::")); }

/// Ends a cordon whatever happens.
class Lifted {
public:
    explicit Lifted(Cordon& cordon) : cordon_(cordon) {}
    ~Lifted() { cordon_.set({}, ""); }
    Lifted(const Lifted&) = delete;
    Lifted& operator=(const Lifted&) = delete;

private:
    Cordon& cordon_;
};

}  // namespace

Result<std::vector<mig::GpuWish>> mig_wishes(const std::string& name,
                                             const std::optional<std::string>& text,
                                             const std::string& place,
                                             const gpu::Inventory& inventory,
                                             const std::vector<mig::Board>& boards,
                                             const GeometryOf& geometry) {
    std::vector<mig::GpuWish> wishes;
    std::string known = "there is no " + place;
    if (text) {
        const auto read = mig::read_config(*text);
        if (!read.problems.empty()) {
            return Error{ErrorCode::kInvalidInput, mig::to_text(place, read.problems.front())};
        }
        if (const auto* const config = read.config.find(name)) {
            const auto targets = mig::targets_of(*config, boards);
            if (!targets) return targets.error();
            for (const mig::Target& target : *targets) {
                const gpu::Gpu* const gpu = inventory.find(target.board.gpu);
                if (gpu == nullptr) continue;
                wishes.push_back({.gpu = gpu->uuid,
                                  .index = gpu->index,
                                  .enabled = target.enabled,
                                  .wish = target.wish,
                                  .known_geometry = geometry(*gpu)});
            }
            return wishes;
        }
        known = place + " has ";
        for (const auto& config : read.config.configs) known += config.name + ", ";
        known.resize(known.size() - 2);
    }
    bool capable = false;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (!gpu.mig_capable) continue;
        capable = true;
        auto shape = geometry(gpu);
        if (!shape) continue;
        auto meaning = mig::well_known(name, *shape);
        if (!meaning) {
            return Error{ErrorCode::kNotFound, "nobody knows it: " + known + "; GPU " +
                                                   std::to_string(gpu.index) + " knows " +
                                                   mig::well_known_names(*shape)};
        }
        wishes.push_back({.gpu = gpu.uuid,
                          .index = gpu.index,
                          .enabled = meaning->enabled,
                          .wish = std::move(meaning->wish),
                          .known_geometry = std::move(shape)});
    }
    // MIG off is what a GPU without MIG has.
    if (!capable && name == "all-disabled") return wishes;
    if (wishes.empty()) {
        return Error{ErrorCode::kUnsupported,
                     capable ? "nobody knows it: " + known
                             : "no GPU of this node has MIG; time-slicing or MPS can share them"};
    }
    return wishes;
}

std::vector<std::string> pods_in_the_way(const mig::Report& report, const gpu::Inventory& inventory,
                                         const std::vector<kubelet::Holder>& holders) {
    std::set<std::string> devices;
    for (const mig::GpuReport& one : report.gpus) {
        const gpu::Gpu* const gpu = inventory.find(one.gpu);
        if (one.state != GpuState::kRefused || gpu == nullptr) continue;
        const bool named = one.refusal && !one.refusal->blocking.empty();
        if (!named) devices.insert(gpu->uuid.text);
        for (const gpu::MigDevice& device : gpu->mig_devices) {
            const bool blocks =
                !named || std::ranges::any_of(one.refusal->blocking, [&](const auto& instance) {
                    return instance.start == device.placement.start;
                });
            if (blocks) devices.insert(device.uuid.text);
        }
    }
    std::set<std::string> pods;
    for (const kubelet::Holder& holder : holders) {
        const bool holds = std::ranges::any_of(
            holder.ids, [&](const std::string& id) { return devices.contains(device_of(id)); });
        if (holds) pods.insert(holder.pod_namespace + "/" + holder.pod);
    }
    return {pods.begin(), pods.end()};
}

MigRequests::MigRequests(const os::Root& root, os::Clock& clock, Sources sources, Options options)
    : root_(root),
      clock_(clock),
      sources_(std::move(sources)),
      options_(std::move(options)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void MigRequests::run(const std::stop_token& stop) {
    std::uint64_t seen = 0;
    std::chrono::milliseconds wait = 0ms;
    while (!stop.stop_requested()) {
        const auto asked = sources_.cluster.wait_mig_asked(seen, wait, stop);
        if (stop.stop_requested()) return;
        seen = asked.version;
        if (asked.config.empty()) {
            sources_.cluster.tell_mig({});
            wait = kNothingAsked;
            continue;
        }
        const auto told = attempt(asked, stop);
        if (stop.stop_requested()) return;  // "pending" stays: the next agent goes on
        sources_.cluster.tell_mig(told);
        wait = told.state == State::kFailed ? options_.retry : kNothingAsked;
    }
}

Result<std::vector<mig::GpuWish>> MigRequests::wishes_of(const ClusterLink::MigAsked& asked) {
    auto inventory = sources_.driver.enumerate(gpu::Links::kLeaveOut);
    if (!inventory) return inventory.error();
    inventory_ = *std::move(inventory);
    const auto open = sources_.driver.open();
    if (!open) return open.error();
    return mig_wishes(asked.config, asked.text, "MIG ConfigMap", inventory_,
                      mig::boards_of(root_, inventory_),
                      [&](const gpu::Gpu& gpu) -> std::optional<mig::Geometry> {
                          if (const auto now = (*open)->look(gpu.uuid)) {
                              if (auto shape = mig::geometry_of(*now)) return *std::move(shape);
                          }
                          return mig::known_geometry(gpu);
                      });
}

Result<mig::Report> MigRequests::change(const std::vector<mig::GpuWish>& wishes, bool dry_run) {
    auto holders = sources_.holders();
    if (!holders) {
        return Error{ErrorCode::kUnavailable,
                     "kubelet does not say which pods hold GPUs: " + holders.error().message};
    }
    holders_ = *std::move(holders);
    mig::ApplyOptions options{.limit = kApplyLimit, .dry_run = dry_run};
    for (const kubelet::Holder& holder : holders_) {
        for (const std::string& id : holder.ids) options.held.insert(device_of(id));
    }
    const auto open = sources_.driver.open();
    if (!open) return open.error();
    const auto state =
        mig::StateDirectory::open(root_, options_.state_directory, kLockWait, clock_);
    if (!state) return state.error();
    return mig::apply(**open, *state, wishes, options, clock_);
}

node::MigTold MigRequests::attempt(const ClusterLink::MigAsked& asked,
                                   const std::stop_token& stop) {
    const std::string& config = asked.config;
    const auto wishes = wishes_of(asked);
    if (!wishes) return failed(config, wishes.error().message);
    const auto planned = change(*wishes, true);
    if (!planned) return failed(config, planned.error().message);
    if (is_reached(*planned)) return {.state = State::kSuccess, .config = config};
    if (is_refused(*planned)) {
        const auto pods = pods_in_the_way(*planned, inventory_, holders_);
        if (pods.empty()) return failed(config, why_refused(*planned));
        if (options_.drain == ClusterOptions::Drain::kRefuse) {
            return failed(config, why_refused(*planned) + "; held by " + joined(pods) +
                                      ": delete these pods, or let the agent do it by --mig-drain");
        }
    }
    return carry_out(config, *wishes, *planned, stop);
}

void MigRequests::evict(const std::vector<std::string>& pods) {
    for (const std::string& pod : pods) {
        const std::size_t slash = pod.find('/');
        const auto done = sources_.evict(pod.substr(0, slash), pod.substr(slash + 1));
        if (!done) log::warning("mig.not_evicted", {{"pod", pod}, {"why", done.error().message}});
        if (done) log::info("mig.evicted", {{"pod", pod}});
    }
}

std::string MigRequests::drain(const std::string& config, const std::vector<mig::GpuWish>& wishes,
                               const std::stop_token& stop) {
    const os::TimePoint limit = clock_.now() + options_.drain_timeout;
    while (true) {
        const auto report = change(wishes, true);
        std::string why = report ? "" : report.error().message;
        if (report && !is_refused(*report)) return {};
        if (report) {
            const auto pods = pods_in_the_way(*report, inventory_, holders_);
            why = why_refused(*report);
            // Not by a pod: by a process of the host, or not at all.
            if (pods.empty() && options_.drain == ClusterOptions::Drain::kRefuse) return why;
            if (!pods.empty()) {
                why += "; held by " + joined(pods);
                if (options_.drain == ClusterOptions::Drain::kRefuse) return why;
                if (options_.drain == ClusterOptions::Drain::kEvict) evict(pods);
            }
        }
        if (clock_.now() >= limit) {
            return "not free within " +
                   std::to_string(
                       std::chrono::duration_cast<std::chrono::seconds>(options_.drain_timeout)
                           .count()) +
                   " s: " + why;
        }
        sources_.cluster.tell_mig(
            {.state = State::kPending, .config = config, .problem = "waits: " + why});
        if (!clock_.sleep_for(std::min(kDrainLook, options_.drain_timeout), stop)) return why;
        // Somebody asks for something else by now.
        if (sources_.cluster.mig_asked().config != config) return "no longer asked for";
    }
}

node::MigTold MigRequests::carry_out(const std::string& config,
                                     const std::vector<mig::GpuWish>& wishes,
                                     const mig::Report& planned, const std::stop_token& stop) {
    std::set<gpu::Uuid> affected;
    for (const mig::GpuReport& gpu : planned.gpus) {
        if (gpu.state != GpuState::kUnchanged) affected.insert(gpu.gpu);
    }
    sources_.cluster.tell_mig(
        {.state = State::kPending, .config = config, .problem = "GPUs are being cut"});
    const Lifted lifted(sources_.cordon);
    sources_.cordon.set(affected, "is being cut as MIG configuration '" + config + "' says");
    if (!sources_.cordon.wait_confirmed(clock_, kConfirmLimit, stop)) {
        return failed(config, "the device plugin could not take the GPUs back from kubelet");
    }
    if (!clock_.sleep_for(options_.settle, stop)) return failed(config, "the agent ends");
    const std::string held = drain(config, wishes, stop);
    if (!held.empty()) return failed(config, held);
    const auto report = change(wishes, false);
    if (!report) return failed(config, report.error().message);
    if (!report->reached) return failed(config, report->problem);
    log::info("mig.config", {{"config", config}});
    // Until the new devices have been seen, the old ones must not be offered.
    (void)clock_.sleep_for(2 * options_.settle, stop);
    return {.state = State::kSuccess, .config = config};
}

}  // namespace aliquot::agent
