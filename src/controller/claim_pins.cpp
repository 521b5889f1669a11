// SPDX-License-Identifier: Apache-2.0
#include "controller/claim_pins.h"

#include <algorithm>

#include "base/log.h"
#include "controller/placement_informers.h"
#include "document/json.h"
#include "dra/names.h"

namespace aliquot::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kPinGlance{1'000};  // while pods wait
constexpr seconds kPinIdle{60};
constexpr seconds kUntilSeen{2};  // until the watch surely shows what was written
constexpr seconds kBetweenTold{60};
constexpr char kPinManager[] = "aliquot-controller";

const kube_client::Resource& claims_resource() {
    static const kube_client::Resource kResource{"resource.k8s.io", "v1", "resourceclaims",
                                                 "ResourceClaim", true};
    return kResource;
}

const kube_client::Resource& slices_resource() {
    static const kube_client::Resource kResource{"resource.k8s.io", "v1", "resourceslices",
                                                 "ResourceSlice", false};
    return kResource;
}

kube_client::InformerOptions pinned_pods() {
    return {.label_selector =
                std::string(admission::kClaimLabel) + "=" + std::string(admission::kPinned)};
}

kube_client::InformerOptions our_slices() {
    return {.field_selector = "spec.driver=" + std::string(dra::kDriver)};
}

}  // namespace

ClaimPins::ClaimPins(PlacementWorld world, const ClaimPinOptions& options)
    : world_(std::move(world)),
      options_(options),
      events_(world_.api,
              {.controller = "aliquot.dev/controller", .instance = "aliquot-controller"}),
      pods_(world_.api, kube_client::resources::pods(), pinned_pods(),
            [this](const auto&, const auto&, const auto&) { wake(); }),
      nodes_(world_.api, kube_client::resources::nodes(), nodes_of_cluster()),
      slices_(world_.api, slices_resource(), our_slices(),
              [this](const auto&, const auto&, const auto&) { wake(); }),
      claims_(world_.api, claims_resource(), {},
              [this](const auto&, const auto&, const auto&) { wake(); }) {}

ClaimPins::~ClaimPins() { stop(); }

void ClaimPins::start() {
    pods_.start();
    nodes_.start();
    slices_.start();
    claims_.start();
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void ClaimPins::stop() { thread_ = {}; }

void ClaimPins::wake() {
    {
        const std::scoped_lock lock(mutex_);
        look_ = true;
    }
    changed_.notify_all();
}

bool ClaimPins::is_synced() const {
    return pods_.state().synced && nodes_.state().synced && slices_.state().synced &&
           claims_.state().synced;
}

void ClaimPins::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const bool soon = !is_synced() || (world_.elector.leads() && tend(stop));
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, soon ? kPinGlance : milliseconds(kPinIdle),
                          [this] { return look_; });
        look_ = false;
    }
}

pins::World ClaimPins::look() const {
    pins::World world;
    pods_.store().visit([&](const kube_client::Object& object) {
        if (auto pod = pins::read_pinned_pod(object.json)) world.pods.push_back(*std::move(pod));
    });
    slices_.store().visit([&](const kube_client::Object& object) {
        const auto value = document::parse_json(object.json);
        if (value) world.slices.push_back(claims::read_slice(*value));
    });
    claims_.store().visit([&](const kube_client::Object& object) {
        if (auto claim = pins::read_known_claim(object.json)) {
            world.claims.push_back(*std::move(claim));
        }
    });
    nodes_.store().visit([&](const kube_client::Object& object) {
        if (auto node = k8s::parse_node(object.json)) world.nodes.push_back(*std::move(node));
    });
    return world;
}

bool ClaimPins::tend(const std::stop_token& stop) {
    const auto now = Steady::now();
    std::erase_if(busy_, [&](const auto& one) { return now - one.second > kUntilSeen; });
    std::erase_if(told_, [&](const auto& one) { return now - one.second > kBetweenTold; });
    if (pods_.store().size() == 0) return false;
    pins::World world = look();
    const bool waits = std::ranges::any_of(world.pods, [](const pins::PinnedPod& pod) {
        return pod.pod.node.empty() && !pod.pod.is_over;
    });
    for (const pins::Act& act : pins::decide(world, options_.rules, world_.now())) {
        if (stop.stop_requested() || !world_.elector.leads()) break;
        if (!busy_.contains(act.pod_uid)) carry_out(act, stop);
    }
    return waits;
}

void ClaimPins::carry_out(const pins::Act& act, const std::stop_token& stop) {
    using Kind = pins::Act::Kind;
    const auto call = world_.elector.call(stop);
    if (!call) return;
    if (act.kind == Kind::kSay) return tell(act);
    const auto done = act.kind == Kind::kEvict ? evict(act, *call) : write(act, *call);
    busy_[act.pod_uid] = Steady::now();
    if (!done) {
        log::warning("claims.not_made", {{"pod", act.name_space + "/" + act.pod},
                                         {"claim", act.claim},
                                         {"reason", done.failure().message}});
        return;
    }
    tell(act);
}

/// A claim that was allocated meanwhile is another version of it, and stays.
kube_client::Outcome<Done> ClaimPins::write(const pins::Act& act, const kube_client::Call& call) {
    const kube_client::ObjectKey key{act.name_space, act.claim};
    if (act.kind == pins::Act::Kind::kReplace) {
        auto removed = world_.api.remove(
            claims_resource(), key,
            {.uid = act.old_uid, .resource_version = act.old_version, .call = call});
        if (!removed && !removed.failure().is(kube_client::Reason::kNotFound)) {
            return std::move(removed).failure();
        }
    }
    auto made = world_.api.create(claims_resource(), act.name_space, act.json,
                                  {.field_manager = kPinManager, .call = call});
    if (!made && !made.failure().is(kube_client::Reason::kAlreadyExists)) {
        return std::move(made).failure();
    }
    log::info("claims.made", {{"pod", act.name_space + "/" + act.pod},
                              {"claim", act.claim},
                              {"again", act.kind == pins::Act::Kind::kReplace}});
    return Done{};
}

kube_client::Outcome<Done> ClaimPins::evict(const pins::Act& act, const kube_client::Call& call) {
    for (const auto& [name_space, name] : act.victims) {
        auto gone = world_.api.evict({name_space, name}, {}, {.call = call});
        if (!gone && !gone.failure().is(kube_client::Reason::kNotFound)) {
            return std::move(gone).failure();
        }
        log::info("claims.evicted",
                  {{"pod", name_space + "/" + name}, {"for", act.name_space + "/" + act.pod}});
    }
    return Done{};
}

void ClaimPins::tell(const pins::Act& act) {
    if (act.note.empty() || told_.contains(act.pod_uid)) return;
    told_[act.pod_uid] = Steady::now();
    events_.record({.regarding = {.api_version = "v1",
                                  .kind = "Pod",
                                  .namespace_name = act.name_space,
                                  .name = act.pod,
                                  .uid = act.pod_uid},
                    .warning = true,
                    .reason = "WaitsForGpu",
                    .action = "Place",
                    .note = act.note});
}

}  // namespace aliquot::controller
