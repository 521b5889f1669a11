// SPDX-License-Identifier: Apache-2.0
#include "pins/room.h"

#include <algorithm>

#include "dra/names.h"
#include "placement/engine.h"

namespace aliquot::pins {
namespace {

constexpr unsigned kAll = 100;
constexpr std::int32_t kMilliOfPercent = 10;
constexpr std::uint64_t kMebibyteBits = 20;
constexpr unsigned kMostPlaces = 4096;  // that are looked at for one pod
const std::string kOurs(dra::kDriver);

std::string text_of(const claims::Device& device, std::string_view name) {
    const auto found = device.attributes.find(claims::qualified(name, kOurs));
    const auto* const text =
        found == device.attributes.end() ? nullptr : found->second.as<std::string>();
    return text == nullptr ? std::string() : *text;
}

std::uint64_t ones_of(const k8s::Quantity& amount) {
    const auto ones = amount.ones();
    return ones && *ones > 0 ? static_cast<std::uint64_t>(*ones) : 0;
}

std::uint64_t consumed_of(const claims::Allocated& part, std::string_view name) {
    for (const auto& [key, amount] : part.consumed) {
        if (claims::short_name(key, kOurs) == name) return ones_of(amount);
    }
    return 0;
}

std::optional<Gpu> gpu_of(const claims::Slice& slice, const claims::Device& device) {
    const bool tainted = std::ranges::any_of(device.taints, [](const k8s::Taint& taint) {
        return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
    });
    Gpu gpu{.id = {slice.driver, slice.pool, device.name},
            .node = slice.reach.node_name,
            .uuid = text_of(device, text_of(device, "type") == "mig" ? "parentUUID" : "uuid"),
            .model = text_of(device, "productName"),
            .shared = device.shared};
    const std::string type = text_of(device, "type");
    const auto memory = device.capacity.find(claims::qualified("memory", kOurs));
    if (tainted || !is_plain_uuid(gpu.uuid) || memory == device.capacity.end()) return std::nullopt;
    if (type != "gpu" && type != "share" && type != "mig") return std::nullopt;
    gpu.whole_gpu = type == "gpu";
    gpu.consumes = device.consumes;
    if (type == "mig") gpu.mig_profile = text_of(device, "profile");
    gpu.memory_bytes = ones_of(memory->second.value);
    if (memory->second.policy && memory->second.policy->step) {
        gpu.memory_step = std::max<std::uint64_t>(1, ones_of(*memory->second.policy->step));
    }
    return gpu;
}

/// What the engine asks, and what is used of a GPU, in its words.
placement::Request request_of(std::uint64_t bytes, unsigned percent) {
    const bool whole = percent >= kAll;
    return {.gpus = 1,
            .milli = static_cast<std::int32_t>(percent) * kMilliOfPercent,
            .mib = whole ? 0
                         : static_cast<std::int32_t>((bytes + (1ULL << kMebibyteBits) - 1) >>
                                                     kMebibyteBits)};
}

}  // namespace

Room::Room(const std::vector<claims::Slice>& slices, const std::vector<k8s::Node>& nodes) {
    std::map<std::string, std::int64_t> newest;
    for (const claims::Slice& slice : slices) {
        if (slice.driver != kOurs) continue;
        auto& generation = newest[slice.pool];
        generation = std::max(generation, slice.generation);
    }
    for (const claims::Slice& slice : slices) {
        if (slice.driver != kOurs || slice.generation != newest[slice.pool]) continue;
        if (slice.reach.node_name.empty()) continue;
        for (const auto& [set, counters] : slice.counters) {
            for (const auto& [name, amount] : counters) {
                counters_[{slice.pool, set, name}].all = amount.nanos();
            }
        }
        for (const claims::Device& device : slice.devices) {
            if (auto gpu = gpu_of(slice, device)) gpus_.push_back(*std::move(gpu));
        }
    }
    // MIG devices stay in the order in which kube-scheduler takes them.
    std::ranges::stable_sort(gpus_, {}, [](const Gpu& one) {
        return std::pair(one.node, one.mig_profile.empty() ? one.id.device : one.uuid);
    });
    for (const k8s::Node& node : nodes) nodes_.emplace(node.name, node);
}

Part Room::part_of(const Gpu& gpu, const admission::ClaimRequest& request) {
    if (request.is_whole()) return {.bytes = gpu.memory_bytes, .percent = kAll};
    const std::uint64_t steps = (request.memory_bytes + gpu.memory_step - 1) / gpu.memory_step;
    return {.bytes = steps * gpu.memory_step, .percent = request.percent()};
}

bool Room::has_counters(const Gpu& gpu) const {
    for (const auto& [set, amounts] : gpu.consumes) {
        for (const auto& [name, amount] : amounts) {
            const auto counter = counters_.find({gpu.id.pool, set, name});
            if (counter == counters_.end()) return false;
            if (counter->second.used + amount.nanos() > counter->second.all) return false;
        }
    }
    return true;
}

void Room::change(Gpu& gpu, const Part& part, const std::string& claim, bool take) {
    if (take == gpu.holders.contains(claim)) return;
    // Counted once, however many claims share the device.
    if (gpu.holders.size() == (take ? 0U : 1U)) {
        for (const auto& [set, amounts] : gpu.consumes) {
            for (const auto& [name, amount] : amounts) {
                counters_[{gpu.id.pool, set, name}].used += (take ? 1 : -1) * amount.nanos();
            }
        }
    }
    if (take) {
        gpu.holders.insert(claim);
        gpu.used_bytes += part.bytes;
        gpu.used_percent += part.percent;
    } else {
        gpu.holders.erase(claim);
        gpu.used_bytes -= std::min(gpu.used_bytes, part.bytes);
        gpu.used_percent -= std::min(gpu.used_percent, part.percent);
    }
}

void Room::change(const KnownClaim& known, const admission::ClaimRequest* request, bool take) {
    const std::string name = known.claim.full_name();
    if (known.claim.allocation) {
        for (const claims::Allocated& part : known.claim.allocation->devices) {
            if (part.admin || part.device.driver != kOurs) continue;
            const auto gpu = std::ranges::find(gpus_, part.device, &Gpu::id);
            if (gpu == gpus_.end()) continue;
            const bool partly = gpu->shared && !part.share.empty();
            change(*gpu,
                   partly ? Part{.bytes = consumed_of(part, "memory"),
                                 .percent = static_cast<unsigned>(consumed_of(part, "compute"))}
                          : Part{.bytes = gpu->memory_bytes, .percent = kAll},
                   name, take);
        }
        return;
    }
    if (request == nullptr) return;
    unsigned left = request->count;
    for (const std::string& uuid : known.gpus) {
        for (Gpu& gpu : gpus_) {
            const bool other = gpu.uuid != uuid || gpu.mig_profile != request->mig_profile;
            const bool held = gpu.holders.contains(name);
            if (left == 0 || other || (take ? held || !fits(gpu, *request) : !held)) continue;
            change(gpu, part_of(gpu, *request), name, take);
            --left;
            if (!request->is_mig()) break;  // of MIG devices one GPU may have several
        }
    }
}

void Room::take(const KnownClaim& claim, const admission::ClaimRequest* request) {
    change(claim, request, true);
}

void Room::give_back(const KnownClaim& claim, const admission::ClaimRequest* request) {
    change(claim, request, false);
}

bool Room::fits(const Gpu& gpu, const admission::ClaimRequest& request) const {
    const Part part = part_of(gpu, request);
    if (gpu.mig_profile != request.mig_profile) return false;
    if (gpu.holders.empty() && !has_counters(gpu)) return false;
    if (request.is_mig()) return gpu.holders.empty();
    if (request.is_whole() && !gpu.whole_gpu) return false;
    if (!gpu.shared) return gpu.holders.empty() && part.bytes <= gpu.memory_bytes;
    return gpu.used_bytes + part.bytes <= gpu.memory_bytes &&
           gpu.used_percent + part.percent <= kAll;
}

bool Room::fits_without(const Gpu& gpu, const admission::ClaimRequest& request,
                        const std::vector<const KnownClaim*>& gone) const {
    Room after(*this);
    for (const KnownClaim* const one : gone) after.give_back(*one, nullptr);
    const auto same = std::ranges::find(after.gpus_, gpu.id, &Gpu::id);
    return after.fits(*same, request);
}

bool Room::admits(const Gpu& gpu, const scheduling::GpuPod& pod) const {
    const auto found = nodes_.find(gpu.node);
    if (found == nodes_.end()) return false;
    const k8s::Node& node = found->second;
    if (!node.is_ready() || node.is_cordoned || !pod.where.matches(node.name, node.labels)) {
        return false;
    }
    return std::ranges::all_of(node.taints, [&](const k8s::NodeTaint& taint) {
        return !taint.keeps_away() || k8s::tolerates(pod.tolerations, taint);
    });
}

bool Room::consumes() const { return gpus_.empty() || std::ranges::any_of(gpus_, &Gpu::shared); }

bool Room::could_ever(const PinnedPod& pod) const {
    Room empty = *this;
    for (Gpu& gpu : empty.gpus_) {
        gpu.used_bytes = gpu.used_percent = 0;
        gpu.holders.clear();
    }
    for (auto& [id, counter] : empty.counters_) counter.used = 0;
    if (pod.request.count > 1) return empty.choose_together(pod, {}).has_value();
    return std::ranges::any_of(empty.gpus_, [&](const Gpu& gpu) {
        return admits(gpu, pod.pod) && empty.fits(gpu, pod.request);
    });
}

Room Room::part(std::span<const Gpu> gpus) const {
    Room part;
    part.gpus_.assign(gpus.begin(), gpus.end());
    const std::string& pool = gpus.front().id.pool;
    for (auto one = counters_.lower_bound({pool, "", ""});
         one != counters_.end() && std::get<0>(one->first) == pool; ++one) {
        part.counters_.insert(*one);
    }
    return part;
}

/// What is used already is filled first.
unsigned Room::fill(const admission::ClaimRequest& request, const std::set<std::string>& without,
                    std::vector<std::string>& gpus) {
    std::map<std::string, unsigned> used;
    for (const Gpu& gpu : gpus_) {
        used[gpu.uuid] += gpu.used_percent + (gpu.holders.empty() ? 0 : 1);
    }
    std::vector<Gpu*> candidates;
    for (Gpu& gpu : gpus_) {
        if (!without.contains(gpu.uuid)) candidates.push_back(&gpu);
    }
    std::ranges::stable_sort(candidates, std::greater<>(),
                             [&](const Gpu* gpu) { return used.at(gpu->uuid); });
    unsigned count = 0;
    for (Gpu* const gpu : candidates) {
        if (count == request.count) break;
        const bool chosen = std::ranges::find(gpus, gpu->uuid) != gpus.end();
        if ((chosen && !request.is_mig()) || !fits(*gpu, request)) continue;
        change(*gpu, part_of(*gpu, request), "one of them", true);
        if (!chosen) gpus.push_back(gpu->uuid);
        ++count;
    }
    return count;
}

std::optional<Room::Place> Room::choose_together(const PinnedPod& pod,
                                                 const std::set<std::string>& without) const {
    std::optional<Place> best;
    std::ptrdiff_t least = 0;
    for (auto begin = gpus_.begin(); begin != gpus_.end();) {
        const std::string& node = begin->node;
        const auto end =
            std::find_if(begin, gpus_.end(), [&](const Gpu& one) { return one.node != node; });
        const std::span<const Gpu> here(begin, end);
        begin = end;
        if (!admits(here.front(), pod.pod)) continue;
        Place place;
        if (part(here).fill(pod.request, without, place.gpus) < pod.request.count) continue;
        // The node with the least room for it, so that others keep theirs for what needs it.
        const auto room =
            std::ranges::count_if(here, [&](const Gpu& one) { return fits(one, pod.request); });
        if (best && room >= least) continue;
        place.consumes = !pod.request.is_mig() && std::ranges::any_of(here, &Gpu::shared);
        best = std::move(place);
        least = room;
    }
    return best;
}

std::optional<Room::Place> Room::choose(const PinnedPod& pod,
                                        const std::set<std::string>& without) {
    if (pod.request.count > 1 || pod.request.is_mig()) return choose_together(pod, without);
    if (auto shared = choose_shared(pod, without)) return shared;
    return choose_whole(pod, without);
}

/// The engine sees what is used of each GPU, and ranks the places.
std::optional<Room::Place> Room::choose_shared(const PinnedPod& pod,
                                               const std::set<std::string>& without) {
    placement::Engine engine;
    std::map<placement::NodeId, std::vector<const Gpu*>> by_node;
    const auto take = [&](const std::vector<const Gpu*>& gpus) {
        if (gpus.empty()) return;
        const Gpu& first = *gpus.front();
        // A node with more GPUs than the engine's nodes have is several of them.
        placement::NodeSpec spec{.name = first.node + "/" + first.id.device,
                                 .devices = static_cast<std::uint8_t>(gpus.size()),
                                 .model = first.model.empty() ? "?" : first.model};
        std::uint64_t memory = first.memory_bytes;
        for (const Gpu* const gpu : gpus) memory = std::min(memory, gpu->memory_bytes);
        spec.device_mib = static_cast<std::int32_t>(memory >> kMebibyteBits);
        const auto node = engine.add_node(std::move(spec));
        if (!node) return;
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            const Gpu& gpu = *gpus[i];
            if (gpu.holders.empty()) continue;
            const auto used = request_of(std::min(gpu.used_bytes, memory), gpu.used_percent);
            (void)engine.restore(used, {.node = *node, .devices = {static_cast<std::uint8_t>(i)}});
        }
        by_node.emplace(*node, gpus);
    };
    std::vector<const Gpu*> of_node;
    for (const Gpu& gpu : gpus_) {
        const bool full = of_node.size() == placement::kMostDevices;
        if (!of_node.empty() && (of_node.front()->node != gpu.node || full)) {
            take(of_node);
            of_node.clear();
        }
        const bool cut = gpu.holders.empty() && !has_counters(gpu);  // into MIG devices
        if (gpu.shared && !cut && admits(gpu, pod.pod)) of_node.push_back(&gpu);
    }
    take(of_node);
    if (by_node.empty()) return std::nullopt;
    const Gpu& any = *by_node.begin()->second.front();
    const Part part = part_of(any, pod.request);
    const auto request = request_of(part.bytes, part.percent);
    engine.set_workload(placement::typical_types(std::vector{std::pair(request, 1.0)}));
    const auto count = static_cast<unsigned>(std::min<std::size_t>(by_node.size(), kMostPlaces));
    for (const placement::Placement& place : engine.alternatives(request, count)) {
        const auto& gpus = by_node.at(place.node);
        if (place.devices.empty()) continue;
        const Gpu& best = *gpus[place.devices.front()];
        if (fits(best, pod.request) && !without.contains(best.uuid))
            return Place{{best.uuid}, true};
        for (const Gpu* const gpu : gpus) {  // the engine names one of each node
            if (fits(*gpu, pod.request) && !without.contains(gpu->uuid))
                return Place{{gpu->uuid}, true};
        }
    }
    return std::nullopt;
}

/// A device for one claim: the smallest that is enough.
std::optional<Room::Place> Room::choose_whole(const PinnedPod& pod,
                                              const std::set<std::string>& without) {
    const Gpu* best = nullptr;
    for (const Gpu& gpu : gpus_) {
        if (gpu.shared || without.contains(gpu.uuid) || !fits(gpu, pod.request)) continue;
        if (!admits(gpu, pod.pod)) continue;
        if (best == nullptr || gpu.memory_bytes < best->memory_bytes) best = &gpu;
    }
    if (best == nullptr) return std::nullopt;
    return Place{{best->uuid}, false};
}

}  // namespace aliquot::pins
