// SPDX-License-Identifier: Apache-2.0
#include "agent/claim_service.h"

#include <algorithm>
#include <filesystem>

#include "agent/host_spec.h"
#include "agent/paths.h"
#include "base/log.h"
#include "base/text.h"
#include "document/json.h"
#include "dra/joined.h"
#include "dra/places.h"
#include "dra/publishable.h"
#include "mig/board.h"

namespace aliquot::agent {
namespace {

constexpr std::chrono::milliseconds kReadDeadline{10'000};
constexpr std::chrono::milliseconds kAskDeadline{2'000};
constexpr std::string_view kNotServed =
    "claims are not served on this node (--dra, or its label aliquot.dev/dra, is off); its GPUs "
    "are offered as "
    "extended resources";

/// A reboot ends all that is prepared, and takes the notes of it away.
std::string notes_directory() { return std::string(kRunDirectory) + "/dra"; }

const kube_client::Resource& claims_resource() {
    static const kube_client::Resource kResource{"resource.k8s.io", "v1", "resourceclaims",
                                                 "ResourceClaim", true};
    return kResource;
}

Result<document::Value> read(kube_client::Api* api, const kube_client::Resource& resource,
                             const kube_client::ObjectKey& key) {
    if (api == nullptr) {
        return Error{ErrorCode::kUnavailable, "no API server to ask (--cluster=off)"};
    }
    const auto object = api->get(resource, key, {.deadline = kReadDeadline});
    if (!object) return object.error();
    return document::parse_json(object->json);
}

std::string boot_of(const os::Root& root) {
    constexpr std::string_view kBootId = "/proc/sys/kernel/random/boot_id";
    const auto told = root.read(kBootId);
    const auto id = told ? told : os::Root("/").read(kBootId);
    return id ? std::string(trim(*id)) : std::string();
}

dra::PluginPaths paths_of(const Options& options) {
    const std::filesystem::path registry(options.kubelet.plugins_registry);
    return {.plugins_registry = options.kubelet.plugins_registry,
            .plugins = (registry.parent_path() / "plugins").native(),
            .pod_uid = options.claims.pod_uid};
}

}  // namespace

std::set<gpu::Uuid> with_cut_gpus(std::set<gpu::Uuid> elsewhere, const gpu::Inventory& inventory,
                                  const std::map<gpu::Uuid, mig::Geometry>& cut) {
    for (const gpu::Gpu& gpu : inventory.gpus) {
        const bool held = std::ranges::any_of(gpu.mig_devices, [&](const gpu::MigDevice& device) {
            return elsewhere.contains(device.uuid);
        });
        if (held && cut.contains(gpu.uuid)) elsewhere.insert(gpu.uuid);
    }
    return elsewhere;
}

std::set<gpu::Uuid> devices_in(const sharing::Offer& offer) {
    std::set<gpu::Uuid> devices;
    for (const sharing::Resource& resource : offer.resources) {
        for (const sharing::OfferedGpu& one : resource.gpus) devices.insert(one.uuid());
    }
    return devices;
}

const std::optional<HeldByClaims::Gpus>& HeldByClaims::look(Result<Gpus> now) {
    if (now) {
        known_ = *std::move(now);
    } else {
        log::warning("dra.held_unknown", {{"why", now.error().message}});
    }
    return known_;
}

gpu::Inventory without_claimed(gpu::Inventory inventory,
                               const std::map<gpu::Uuid, std::string>& held) {
    const auto holder_of = [&](const gpu::Gpu& gpu) {
        auto claim = held.find(gpu.uuid);
        for (const gpu::MigDevice& part : gpu.mig_devices) {
            if (claim == held.end()) claim = held.find(part.uuid);
        }
        return claim;
    };
    for (gpu::Gpu& gpu : inventory.gpus) {
        const auto claim = holder_of(gpu);
        if (claim == held.end() || !gpu.health.ok()) continue;
        gpu.health = {.state = gpu::Health::State::kUnhealthy,
                      .reason = "ResourceClaim " + claim->second + " holds it",
                      .advice = "it is offered when the claim's pods have ended"};
    }
    return inventory;
}

bool ClaimService::has_left(const os::Root& root) {
    const auto names = root.list(notes_directory());
    if (!names) return names.error().code != ErrorCode::kNotFound;
    return std::ranges::any_of(*names, [](const std::string& name) {
        return name.ends_with(".claim") || name.ends_with(".claim.bad");
    });
}

ClaimService::ClaimService(Sources sources, const Options& options)
    : sources_(std::move(sources)),
      cutter_(sources_.root, sources_.clock, cutter_sources(),
              {.state_directory = options.state_directory + "/mig"}),
      keeper_(sources_.root, keeper_sources(),
              {.state_directory = notes_directory(),
               .cdi_directory = options.cdi_directory,
               .boot = boot_of(sources_.root)}),
      plugin_(sources_.root, paths_of(options), keeper_) {
    if (sources_.api != nullptr) {
        publisher_ = std::make_unique<dra::Publisher>(*sources_.api, sources_.node);
    }
    plugin_.start();
}

ClaimService::~ClaimService() = default;

dra::Keeper::Sources ClaimService::keeper_sources() {
    return {
        .read_claim =
            [api = sources_.api](const dra::ClaimName& claim) {
                return read(api, claims_resource(), {claim.name_space, claim.name});
            },
        .read_pod =
            [api = sources_.api](const std::string& name_space, const std::string& name) {
                return read(api, kube_client::resources::pods(), {name_space, name});
            },
        .guard =
            [&guard = sources_.guard](std::span<const std::string> ids, grant::Grant& grant) {
                return guard.complete(std::string(dra::kDriver), ids, grant);
            },
        .cut = [this](dra::PreparedClaim& claim, const dra::PreparedClaims& prepared,
                      const dra::Cutter::Note& note) { return cutter_.cut(claim, prepared, note); },
        .uncut = [this](
                     const dra::PreparedClaim& claim,
                     const dra::PreparedClaims& prepared) { return cutter_.undo(claim, prepared); },
        .unguard =
            [&guard = sources_.guard](const std::string& uid) {
                return guard.release(std::string(dra::kDriver), uid + "-");
            }};
}

dra::Cutter::Sources ClaimService::cutter_sources() {
    return {.gpus = [&driver = sources_.driver]() -> Result<std::shared_ptr<gpu::Partitioner>> {
                auto open = driver.open();
                if (!open) return std::move(open).error();
                return std::shared_ptr<gpu::Partitioner>(*std::move(open));
            },
            .inventory = [&driver =
                              sources_.driver] { return driver.enumerate(gpu::Links::kLeaveOut); },
            .look = [this] { return look_at_node(); },
            .reset_along = [this](const std::string& gpu) -> std::set<std::string> {
                const auto known = reset_along_.get().value;
                if (!known || !known->contains(gpu)) return {};
                return known->at(gpu);
            }};
}

/// Everybody is to know of what was cut: it is looked at once, for all.
Result<dra::Cutter::Seen> ClaimService::look_at_node() {
    const auto settings = settings_.get().value;
    if (!settings) return Error{ErrorCode::kUnavailable, "the node's GPUs are not known yet"};
    (void)sources_.observer.look_now();
    const auto seen = sources_.observer.observations().get().value;
    if (!seen) return Error{ErrorCode::kUnavailable, "the driver does not answer"};
    auto spec = host_spec(sources_.root, *settings, seen->inventory, {});
    if (!spec) return std::move(spec).error();
    return dra::Cutter::Seen{seen->inventory, *std::move(spec)};
}

/// What a driver tells only while MIG is on, the tables of the product may know.
void ClaimService::add_geometries(const gpu::Inventory& inventory, dra::PlaceFacts& places) {
    const auto driver = sources_.driver.open();
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (!gpu.mig_capable || gpu.uuid.text.empty()) continue;
        if (driver && !told_.contains(gpu.uuid)) {
            const auto now = (*driver)->partitions(gpu.uuid);
            auto told = now ? mig::geometry_of(*now) : Result<mig::Geometry>(now.error());
            if (told) told_.emplace(gpu.uuid, *std::move(told));
        }
        const auto told = told_.find(gpu.uuid);
        const auto known = told == told_.end() ? mig::known_geometry(gpu) : told->second;
        if (known) places.cut_by_claims.emplace(gpu.uuid, *known);
    }
}

void ClaimService::set_mode(ClaimOptions::Mode mode) {
    if (mode == wanted_) return;
    wanted_ = mode;
    mode_.reset();
    refused_.clear();
    closed_ = false;
}

Result<std::map<gpu::Uuid, std::string>> ClaimService::held() {
    if (!serves() && !closed_) {
        if (const auto closed = keeper_.close(std::string(kNotServed)); !closed) {
            return closed.error();
        }
        closed_ = true;
    }
    return keeper_.held();
}

std::string ClaimService::refusal() const {
    if (!refused_.empty() || !publisher_) return refused_;
    return publisher_->status().refused;
}

std::optional<dra::Mode> ClaimService::find_mode() {
    using Mode = ClaimOptions::Mode;
    if (mode_) return mode_;
    if (wanted_ == Mode::kWhole) mode_ = dra::Mode::kWhole;
    if (wanted_ == Mode::kFixed) mode_ = dra::Mode::kFixed;
    if (wanted_ == Mode::kConsumable) mode_ = dra::Mode::kConsumable;
    const bool asks = wanted_ == Mode::kAuto || wanted_ == Mode::kDynamicMig;
    if (asks && sources_.api != nullptr) {
        const auto consumable = keeps(dra::Feature::kConsumable);
        if (!consumable) return std::nullopt;
        mode_ = *consumable                    ? dra::Mode::kConsumable
                : wanted_ == Mode::kDynamicMig ? dra::Mode::kWhole
                                               : dra::Mode::kFixed;
    }
    if (wanted_ == Mode::kDynamicMig && mode_) {
        const auto counters = keeps(dra::Feature::kCounters);
        if (!counters) {
            mode_.reset();
            return std::nullopt;
        }
        if (!*counters) {
            refused_ =
                "the API server keeps no counters, without which a GPU and its MIG devices would "
                "be given to several (feature gate DRAPartitionableDevices, on since 1.36): serve "
                "--dra=auto";
            log::error("dra.not_published", {{"why", refused_}});
        }
    }
    if (mode_) log::info("dra.mode", {{"mode", dra::to_text(*mode_)}});
    return mode_;
}

std::optional<bool> ClaimService::keeps(dra::Feature feature) {
    const auto kept = dra::keeps(*sources_.api, sources_.node, feature, {.deadline = kAskDeadline});
    if (kept) return *kept;
    log::warning("dra.mode_unknown", {{"why", kept.error().message}});
    return std::nullopt;
}

bool ClaimService::apply(const Settings& settings, const sharing::Offer& wanted,
                         const std::set<gpu::Uuid>& elsewhere, const gpu::Inventory& inventory) {
    const auto mode = serves() ? find_mode() : std::optional(dra::Mode::kWhole);
    if (!mode) return false;
    settings_.publish(settings);
    reset_along_.publish(dra::reset_along(inventory));
    dra::PlaceFacts places = dra::read_places(sources_.root, inventory);
    if (wanted_ == ClaimOptions::Mode::kDynamicMig) add_geometries(inventory, places);
    const std::set<gpu::Uuid> hidden = with_cut_gpus(elsewhere, inventory, places.cut_by_claims);
    dra::NodeState state{.pool = sources_.node,
                         .devices = dra::devices_of(inventory, wanted, places, *mode),
                         .closed = serves() ? refused_ : std::string(kNotServed)};
    std::erase_if(state.devices, [&](const dra::Device& device) {
        const auto is_hidden = [&](const std::string& gpu) { return hidden.contains({gpu}); };
        return hidden.contains(device.uuid) || hidden.contains(device.gpu) ||
               (device.reset_along && std::ranges::any_of(*device.reset_along, is_hidden));
    });
    bool done = true;
    if (!inventory.gpus.empty()) {
        auto spec = host_spec(sources_.root, settings, inventory, {});
        if (spec) {
            state.node = *std::move(spec);
        } else {
            log::error("dra.no_driver_files", {{"why", spec.error().message}});
            done = false;
        }
    }
    const std::vector<dra::Device> devices = state.devices;
    if (const auto published = keeper_.publish(std::move(state)); !published) {
        log::warning("dra.not_published", {{"why", published.error().message}});
        done = false;
    }
    plugin_.tell_health(sources_.node, devices);
    if (!serves()) held_back_.clear();
    const bool publishes = serves() && refused_.empty();
    if (publisher_ && !publishes) publisher_->set(std::nullopt);
    if (publisher_ && publishes) done = publish(devices) && done;
    return done;
}

bool ClaimService::publish(const std::vector<dra::Device>& devices) {
    const auto prepared = keeper_.claims();
    if (!prepared) {  // nothing would be prepared either; what is published stays
        log::warning("dra.not_published", {{"why", prepared.error().message}});
        return false;
    }
    auto made = dra::publishable(devices, *prepared);
    for (const auto& [name, why] : made.held_back) {
        const auto told = held_back_.find(name);
        if (told != held_back_.end() && told->second == why) continue;
        log::info("dra.held_back", {{"device", name}, {"why", why}});
    }
    held_back_ = std::move(made.held_back);
    publisher_->set(std::move(made.devices));
    return true;
}

}  // namespace aliquot::agent
