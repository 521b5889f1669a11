// SPDX-License-Identifier: Apache-2.0
#include "dra/prepare.h"

#include <algorithm>

#include "base/text.h"
#include "dra/gpu_config.h"

namespace aliquot::dra {
namespace {

constexpr unsigned kAll = 100;
constexpr std::string_view kAllOf = ".all.";
constexpr std::string_view kPartOf = ".part.";

std::string main_request(const std::string& request) {
    return request.substr(0, request.find('/'));
}

Error refused(ErrorCode code, const ClaimName& claim, const std::string& what) {
    return {code, "claim " + to_text(claim) + ": " + what};
}

std::optional<std::uint64_t> consumed(const claims::Allocated& result, std::string_view capacity) {
    for (const auto& [name, amount] : result.consumed) {
        if (claims::short_name(name, kDriver) != capacity) continue;
        const auto whole = amount.ones();
        if (whole && *whole >= 0) return static_cast<std::uint64_t>(*whole);
    }
    return std::nullopt;
}

/// On one GPU; of a lost note's MIG device only it is known.
bool is_beside(const PreparedDevice& held, const PreparedDevice& wanted) {
    return held.gpu == wanted.gpu || (!wanted.uuid.empty() && held.uuid == wanted.uuid);
}

class Decision {
public:
    Decision(const ClaimName& asked, const claims::Claim& claim, const PrepareInput& input)
        : asked_(asked), claim_(claim), input_(input) {}

    Result<PreparedClaim> run() {
        if (claim_.uid != asked_.uid) {
            return refused(
                ErrorCode::kConflict, asked_,
                "replaced: its uid is " + claim_.uid + ", " + asked_.uid + " was asked for");
        }
        if (!claim_.allocation) return refused(ErrorCode::kConflict, asked_, "is not allocated");
        if (claim_.reserved_for.empty()) {
            return refused(ErrorCode::kConflict, asked_, "is reserved for no pod");
        }
        PreparedClaim made{.claim = asked_};
        for (const claims::Consumer& consumer : claim_.reserved_for) {
            if (consumer.resource == "pods") made.pods.push_back(consumer.uid);
        }
        for (const claims::Allocated& result : claim_.allocation->devices) {
            if (result.device.driver != kDriver) continue;
            auto device = prepare(result);
            if (!device) return device.error();
            if (!device->uuid.empty()) {
                device->cdi_name =
                    device_name(asked_.uid, made.devices.size(), device->whole, device->uuid);
            }
            if (auto fits = check(*device, made.devices); !fits) return fits.error();
            made.devices.push_back(*std::move(device));
        }
        if (made.devices.empty()) {
            return refused(ErrorCode::kConflict, asked_,
                           "none of its devices is of " + std::string(kDriver));
        }
        return made;
    }

private:
    /// What a class or a claim says of a device.
    struct Chosen {
        grant::Limits limits;
        bool by_claim = false;
        std::optional<unsigned> class_weight;
        /// Whoever makes a claim may go down from what was booked, or from what the class gives; else everybody would
        /// write the largest weight, and what was booked would mean nothing.
        [[nodiscard]] std::optional<unsigned> weight_of(unsigned booked) const {
            if (!by_claim || !limits.weight) return limits.weight;
            return std::min(*limits.weight, class_weight.value_or(booked));
        }
    };

    Result<PreparedDevice> prepare(const claims::Allocated& result) const {
        const auto known = std::ranges::find(input_.devices, result.device.device, &Device::name);
        if (result.device.pool != input_.pool || known == input_.devices.end()) {
            return refused(ErrorCode::kNotFound, asked_,
                           "this node has no device " + to_text(result.device));
        }
        PreparedDevice made{.request = main_request(result.request),
                            .pool = result.device.pool,
                            .device = result.device.device,
                            .share = result.share,
                            .uuid = known->uuid.text,
                            .gpu = known->gpu.text,
                            .kind = known->kind,
                            .admin = result.admin};
        auto config = configure(result, *known);
        if (!config) return config.error();
        if (result.admin) {
            // What is made for somebody else is seen through its GPU, also before it is there.
            if (made.uuid.empty()) made.uuid = made.gpu;
            return made;
        }
        made.cut = known->cut;
        auto sized = known->consumable && !result.share.empty()
                         ? take_part(result, *known, *config, made)
                         : take_all(*known, *config, made);
        if (!sized) return sized.error();
        return made;
    }

    /// Limits are what was booked, and nothing else.
    Result<Done> take_part(const claims::Allocated& result, const Device& device,
                           const Chosen& config, PreparedDevice& made) const {
        if (config.limits.are_firm()) {
            return refused(ErrorCode::kInvalidInput, asked_,
                           "GpuConfig: guard: the size of its part of " + device.name +
                               " is what capacity.requests booked; only weight may be given");
        }
        const auto memory = consumed(result, kMemory);
        const auto compute = consumed(result, kCompute);
        if (!memory || !compute || *memory == 0 || *compute > kAll) {
            return refused(ErrorCode::kConflict, asked_,
                           "its allocation does not tell how much memory and compute it takes of " +
                               device.name + " (consumedCapacity)");
        }
        made.memory_bytes = *memory;
        made.compute_percent = static_cast<unsigned>(*compute);
        made.whole = *memory >= device.memory_bytes && *compute == kAll;
        if (made.whole) return Done{};
        made.limits.memory_bytes = *memory;
        if (*compute > 0 && *compute < kAll) made.limits.compute_percent = made.compute_percent;
        // Who was promised nothing waits for who was promised something.
        const unsigned booked = std::max(1U, made.compute_percent);
        made.limits.weight = config.weight_of(booked).value_or(booked);
        return Done{};
    }

    Result<Done> take_all(const Device& device, const Chosen& config, PreparedDevice& made) const {
        made.whole = device.kind != Device::Kind::kShare;
        made.limits = device.limits;
        made.memory_bytes = device.kind == Device::Kind::kShare
                                ? device.limits.memory_bytes.value_or(0)
                                : device.memory_bytes;
        made.compute_percent =
            device.kind == Device::Kind::kShare ? device.limits.compute_percent.value_or(0) : kAll;
        const auto narrow = [](auto& limit, const auto& wanted) {
            if (wanted && (!limit || *wanted < *limit)) limit = wanted;
        };
        narrow(made.limits.memory_bytes, config.limits.memory_bytes);
        narrow(made.limits.compute_percent, config.limits.compute_percent);
        const unsigned booked =
            device.limits.weight.value_or(std::max(1U, device.limits.compute_percent.value_or(0)));
        const auto weight = made.whole ? config.limits.weight : config.weight_of(booked);
        if (weight) made.limits.weight = weight;
        return Done{};
    }

    /// Of all that applies to this result the last one: the claim's stand behind the class's.
    Result<Chosen> configure(const claims::Allocated& result, const Device& device) const {
        const bool mig = device.kind == Device::Kind::kMig;
        Chosen chosen;
        for (const auto& [source, one] : claim_.allocation->configurations) {
            const document::Value* driver = one.opaque.find("driver");
            if (driver == nullptr || driver->scalar != kDriver) continue;
            const bool named = std::ranges::any_of(one.requests, [&](const std::string& request) {
                return request == result.request || request == main_request(result.request);
            });
            if (!named && !one.requests.empty()) continue;
            static const document::Value kNone;
            const document::Value* parameters = one.opaque.find("parameters");
            auto read = read_gpu_config(parameters == nullptr ? kNone : *parameters);
            if (!read) return refused(read.error().code, asked_, read.error().message);
            if ((read->kind == GpuConfig::Kind::kMig) != mig) {
                if (!named) continue;
                return refused(ErrorCode::kInvalidInput, asked_,
                               std::string(mig ? "GpuConfig" : "MigDeviceConfig") + ": request " +
                                   result.request + " got " + device.name + ", which is " +
                                   (mig ? "a MIG device" : "no MIG device"));
            }
            chosen.by_claim = source != "FromClass";
            if (!chosen.by_claim) chosen.class_weight = read->limits.weight;
            chosen.limits = read->limits;
        }
        return chosen;
    }

    Result<Done> check(const PreparedDevice& wanted, const std::vector<PreparedDevice>& own) const {
        if (wanted.admin) return Done{};
        std::uint64_t memory = wanted.memory_bytes;
        std::uint64_t compute = wanted.compute_percent;
        bool parts = false;
        const auto look = [&](const PreparedDevice& held, const std::string& who) -> Result<Done> {
            if (held.admin || !is_beside(held, wanted)) return Done{};
            if (const std::string why = in_the_way(wanted, held); !why.empty()) {
                return refused(ErrorCode::kConflict, asked_,
                               wanted.device + " " + why + " by claim " + who);
            }
            if (wanted.kind == Device::Kind::kMig) return Done{};
            memory += held.memory_bytes;
            // What other configurations gave away counts as well.
            if (!held.share.empty() || held.kind == Device::Kind::kShare) {
                compute += held.compute_percent;
            }
            parts = true;
            return Done{};
        };
        for (const auto& [uid, other] : input_.prepared) {
            if (uid == asked_.uid) continue;
            if (other.holds_unknown())
                return refused(ErrorCode::kUnavailable, asked_, holds_unknown_text(other));
            for (const PreparedDevice& held : other.devices) {
                if (auto fits = look(held, to_text(other.claim)); !fits) return fits;
            }
        }
        for (const PreparedDevice& held : own) {
            if (auto fits = look(held, to_text(asked_)); !fits) return fits;
        }
        return parts ? check_sums(wanted, memory, compute) : Result<Done>(Done{});
    }

    [[nodiscard]] Result<Done> check_sums(const PreparedDevice& wanted, std::uint64_t memory,
                                          std::uint64_t compute) const {
        const auto known = std::ranges::find(input_.devices, wanted.device, &Device::name);
        const bool share = known->kind == Device::Kind::kShare;
        if (!known->consumable && !share) return Done{};
        const std::uint64_t all_memory = share ? known->gpu_memory_bytes : known->memory_bytes;
        const unsigned all_compute = share ? known->gpu_compute_percent : kAll;
        if (wanted.memory_bytes > 0 && memory > all_memory) {
            return refused(ErrorCode::kConflict, asked_,
                           wanted.device + ": with it " + std::to_string(memory >> 20U) + "Mi of " +
                               std::to_string(all_memory >> 20U) + "Mi would be given away");
        }
        if (wanted.compute_percent > 0 && compute > all_compute) {
            return refused(ErrorCode::kConflict, asked_,
                           wanted.device + ": with it " + std::to_string(compute) + " of " +
                               std::to_string(all_compute) +
                               " percent of its time would be given away");
        }
        return Done{};
    }

    const ClaimName& asked_;
    const claims::Claim& claim_;
    const PrepareInput& input_;
};

}  // namespace

std::string device_name(std::string_view uid, std::size_t number, bool whole,
                        std::string_view uuid) {
    return concat({uid, "-", std::to_string(number), whole ? kAllOf : kPartOf, uuid});
}

std::string device_id_of(std::string_view cdi_name) {
    const auto all = cdi_name.find(kAllOf);
    if (all != std::string_view::npos) return std::string(cdi_name.substr(all + kAllOf.size()));
    const auto part = cdi_name.find(kPartOf);
    if (part == std::string_view::npos) return {};
    const std::string_view before = cdi_name.substr(0, part);
    const std::string number(before.substr(before.rfind('-') + 1));
    return concat({cdi_name.substr(part + kPartOf.size()), "::", number});
}

std::string to_text(const ClaimName& claim) {
    if (claim.name.empty()) return "with uid " + claim.uid;
    return claim.name_space + "/" + claim.name;
}

std::string in_the_way(const PreparedDevice& wanted, const PreparedDevice& held) {
    if (held.admin || !is_beside(held, wanted)) return {};
    if (wanted.kind == Device::Kind::kMig && held.kind == Device::Kind::kMig) {
        if (held.device == wanted.device && !wanted.device.empty()) return "is held";
        if (wanted.cut && held.cut) return wanted.cut->overlaps(*held.cut) ? "is held in part" : "";
        return !wanted.uuid.empty() && held.uuid == wanted.uuid ? "is held" : "";
    }
    if (held.whole) return "is held whole";
    if (wanted.whole) return "is held in part";
    if (held.device == wanted.device && held.kind == Device::Kind::kShare) return "is held";
    return {};
}

bool PreparedClaim::needs_cut() const {
    return std::ranges::any_of(devices,
                               [](const PreparedDevice& one) { return one.cut.has_value(); });
}

bool PreparedClaim::limited() const {
    return std::ranges::any_of(devices, [](const PreparedDevice& one) { return one.limits.any(); });
}

Result<PreparedClaim> decide_prepare(const ClaimName& asked, const claims::Claim& claim,
                                     const PrepareInput& input) {
    return Decision(asked, claim, input).run();
}

std::string holds_unknown_text(const PreparedClaim& claim) {
    return "the note of the claim " + to_text(claim.claim) +
           " cannot be read and no CDI file tells which GPU it holds; nothing more is given away "
           "until its pod has "
           "ended (if it has, remove " +
           claim.claim.uid + ".claim.bad)";
}

std::vector<grant::Grant::Share> shares_of(const PreparedClaim& claim) {
    std::map<std::string, std::vector<grant::Limits>> by_uuid;
    for (const PreparedDevice& device : claim.devices) {
        if (!device.admin && device.limits.any()) by_uuid[device.uuid].push_back(device.limits);
    }
    std::vector<grant::Grant::Share> shares;
    for (const auto& [uuid, limits] : by_uuid) {
        shares.push_back({.gpu_uuid = uuid,
                          .replicas = static_cast<unsigned>(limits.size()),
                          .limits = grant::sum(limits),
                          .guarded = true});
    }
    return shares;
}

}  // namespace aliquot::dra
