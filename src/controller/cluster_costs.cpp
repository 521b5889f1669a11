// SPDX-License-Identifier: Apache-2.0
#include "controller/cluster_costs.h"

#include <algorithm>
#include <filesystem>

#include "base/log.h"
#include "base/text.h"
#include "cost/share.h"
#include "gpu/replica_id.h"
#include "http/address.h"
#include "kube_client/resource.h"
#include "os/root.h"
#include "pools/read.h"
#include "telemetry/split.h"

namespace aliquot::controller {
namespace {

using cost::TimeMs;

constexpr unsigned kMibShift = 20;
constexpr std::uint64_t kNsPerMicro = 1'000;
constexpr std::chrono::minutes kLostAfter{5};
constexpr std::size_t kMostPriceBytes = std::size_t{16} << 20U;

std::uint32_t mib_of(std::optional<std::uint64_t> bytes) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(bytes.value_or(0) >> kMibShift, UINT32_MAX));
}

/// Of its GPU, in billionths: what it may use of the MIG devices that it holds, or of all of the part where it does not say
/// which.
std::uint32_t share_of(const telemetry::Tenant& tenant, const telemetry::Part& part,
                       const gpu::Gpu& gpu) {
    const auto holds = [&tenant](const gpu::Uuid& uuid) {
        return std::ranges::any_of(
            tenant.ids, [&uuid](const std::string& id) { return gpu::device_of(id) == uuid.text; });
    };
    const bool says = std::ranges::any_of(part.mig_devices, holds);
    std::uint64_t whole = 0;
    std::uint64_t held = 0;
    for (const gpu::MigDevice& mig : gpu.mig_devices) {
        if (!part.gpu_instance || mig.gpu_instance != *part.gpu_instance) continue;
        if (says && !holds(mig.uuid)) continue;
        whole += cost::share_of(gpu, mig);
        ++held;
    }
    if (held == 0) whole = cost::kWholeGpu;
    // A part of each: of two devices it may use 2000000 millionths.
    const std::uint64_t devices = says ? std::max<std::uint64_t>(held, 1) : 1;
    const std::uint64_t ppm = std::min(tenant.entitlement_ppm, devices * telemetry::kMillion);
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(whole * ppm / (devices * telemetry::kMillion), cost::kWholeGpu));
}

cost::NodeSight sight_of(const telemetry::Snapshot& snapshot, const NodeFacts& node,
                         const cost::PriceFile& prices, TimeMs now) {
    cost::NodeSight sight{.name = snapshot.node,
                          .model = {},
                          .devices = {},
                          .cpu_milli = node.cpu_milli,
                          .memory_mib = node.memory_mib,
                          .price = {}};
    cost::Machine machine = node.machine;
    for (const telemetry::Device& device : snapshot.devices) {
        const std::string& uuid = device.gpu.uuid.text;
        if (uuid.empty()) continue;
        sight.devices.push_back(uuid);
        if (sight.model.empty()) sight.model = device.gpu.model;
        if (!device.gpu.health.ok()) {
            sight.marks[uuid] = cost::State::kBroken;
        } else if (node.cordoned) {
            sight.marks[uuid] = cost::State::kDraining;
        } else if (!node.ready) {
            sight.marks[uuid] = cost::State::kWarming;
        }
    }
    machine.name = snapshot.node;
    machine.gpu = sight.model;
    machine.gpus = static_cast<std::uint32_t>(sight.devices.size());
    sight.price = cost::price_of(machine, now, prices);
    return sight;
}

/// What a tenant has used since it was noted last.
cost::Use use_of(const telemetry::Tenant& tenant, std::map<std::string, TenantCounters>& all,
                 const std::string& key, std::uint64_t share_ppm) {
    const auto [at, is_new] = all.try_emplace(key);
    TenantCounters& before = at->second;
    constexpr std::uint64_t kFreshNs = 30'000'000'000;
    if (is_new && tenant.held_ns > kFreshNs) {
        // It was there before we were: what it has used since counts.
        before = {.busy_ns = tenant.amounts.busy_ns.value_or(0),
                  .energy_millijoules = tenant.amounts.energy_millijoules.value_or(0),
                  .held_ns = tenant.held_ns,
                  .denied = tenant.denied.value_or(0)};
    }
    const auto grown = [](std::uint64_t now, std::uint64_t& then) {
        const std::uint64_t more = now >= then ? now - then : now;  // its agent began anew
        then = now;
        return more;
    };
    cost::Use use{.gpu_memory_mib = mib_of(tenant.memory_peak_bytes ? tenant.memory_peak_bytes
                                                                    : tenant.amounts.memory_bytes)};
    if (tenant.amounts.energy_millijoules) {
        use.energy_millijoules =
            grown(*tenant.amounts.energy_millijoules, before.energy_millijoules);
    }
    use.out_of_memory = grown(tenant.denied.value_or(0), before.denied) != 0;
    const std::uint64_t held = grown(tenant.held_ns, before.held_ns) / kNsPerMicro;
    if (!tenant.amounts.busy_ns) return use;
    use.measured_us = held;
    const std::uint64_t busy = grown(*tenant.amounts.busy_ns, before.busy_ns) / kNsPerMicro;
    // Of its share's time, which it may exceed while others leave theirs.
    use.busy_us = share_ppm == 0
                      ? 0
                      : std::min(held, telemetry::scaled(busy, telemetry::kMillion, share_ppm));
    return use;
}

/// A container may hold several slots of one part: they are one share.
struct Noted {
    cost::Holding holding;
    cost::Use use;
};

void note_tenant(const telemetry::Device& device, const telemetry::Part& part,
                 const telemetry::Tenant& tenant, const PodFacts& pod,
                 std::map<std::string, TenantCounters>& before,
                 std::map<std::string, Noted>& noted) {
    const std::string uuid = device.gpu.uuid.text;
    const std::string of_part =
        part.gpu_instance && !part.mig_devices.empty() ? part.mig_devices.front().text : "";
    const std::string key = join(
        std::vector<std::string>{tenant.owner.pod_uid, tenant.owner.container, uuid, of_part}, "/");
    const bool first = std::ranges::none_of(noted, [&](const auto& one) {
        return one.first.starts_with(tenant.owner.pod_uid + "/" + tenant.owner.container + "/");
    });
    Noted& one = noted[key];
    const bool is_new = one.holding.device.empty();
    cost::Holding& holding = one.holding;
    if (is_new) {
        holding = {.space = tenant.owner.pod_namespace,
                   .queue = pod.queue,
                   .user = pod.user,
                   .job = pod.job,
                   .pod = tenant.owner.pod,
                   .container = tenant.owner.container,
                   .workflow = pod.workflow,
                   .device = uuid,
                   .part = of_part};
        const auto container = pod.containers.find(tenant.owner.container);
        if (first && container != pod.containers.end()) {
            holding.cpu_milli = container->second.cpu_milli;
            holding.memory_mib = container->second.memory_mib;
        }
    }
    const std::uint32_t share = share_of(tenant, part, device.gpu);
    holding.share = std::min(cost::kWholeGpu, holding.share + share);
    const auto all = part.metrics.whole(gpu::Metric::kMemoryTotalBytes);
    const std::uint64_t mine = telemetry::scaled(all.value_or(device.gpu.memory_bytes),
                                                 tenant.entitlement_ppm, telemetry::kMillion);
    holding.gpu_memory_mib +=
        mib_of(tenant.memory_limit_bytes ? tenant.memory_limit_bytes : std::optional(mine));
    const cost::Use use =
        use_of(tenant, before, key + "\n" + tenant.resource, tenant.entitlement_ppm);
    one.use.busy_us += use.busy_us;
    one.use.measured_us += use.measured_us;
    one.use.energy_millijoules += use.energy_millijoules;
    one.use.gpu_memory_mib += use.gpu_memory_mib;
    one.use.out_of_memory |= use.out_of_memory;
}

kube_client::InformerOptions pods_of_costs() {
    return {.projection = kube_client::keep_fields({"metadata.labels", "metadata.ownerReferences",
                                                    "spec.nodeName", "spec.containers.name",
                                                    "spec.containers.resources", "status.phase"})};
}

kube_client::InformerOptions nodes_of_costs() {
    return {.projection = kube_client::keep_fields({"metadata.labels", "spec.unschedulable",
                                                    "status.capacity", "status.conditions.type",
                                                    "status.conditions.status"})};
}

Result<cost::PriceFile> prices_of(const CostOptions& options) {
    if (options.prices.empty()) return cost::PriceFile{};
    const auto text =
        os::Root().read(std::filesystem::absolute(options.prices).native(), kMostPriceBytes);
    if (!text) return text.error();
    auto read = cost::read_prices(options.prices, *text);
    if (!read.has_errors()) return std::move(read.file);
    std::erase_if(read.problems, [](const auto& one) { return one.is_warning; });
    read.problems.resize(1);
    std::string told = pools::text_of(options.prices, read.problems);
    told.pop_back();
    return Error{ErrorCode::kInvalidInput, std::move(told)};
}

}  // namespace

cost::PriceFile held_by_namespace(cost::PriceFile prices) {
    for (cost::Budget& budget : prices.budgets) {
        if (!budget.hold || budget.by == cost::Budget::By::kNamespace) continue;
        budget.hold = false;
        log::warning("cost.budget_only_warns",
                     {{"budget", concat({cost::word(budget.by), " ", budget.name})},
                      {"why",
                       "whoever makes a pod writes its labels; in a cluster the budget of a "
                       "namespace can hold"}});
    }
    return prices;
}

void note_node(cost::Recorder& recorder, TimeMs now, const telemetry::Snapshot& snapshot,
               const NodeFacts& node,
               const std::function<PodFacts(const std::string&, const std::string&)>& facts,
               const cost::PriceFile& prices, std::map<std::string, TenantCounters>& before) {
    std::map<std::string, Noted> noted;
    for (const telemetry::Device& device : snapshot.devices) {
        for (const telemetry::Part& part : device.parts) {
            for (const telemetry::Tenant& tenant : part.tenants) {
                if (tenant.resource.empty() || tenant.ended || tenant.entitlement_ppm == 0)
                    continue;
                const PodFacts pod = facts(tenant.owner.pod_namespace, tenant.owner.pod);
                if (pod.ended) continue;
                note_tenant(device, part, tenant, pod, before, noted);
            }
        }
    }
    const std::string& name = snapshot.node;
    // Use first: it is of the time before now.
    for (const auto& [key, one] : noted) recorder.use(name, key, one.use, now);
    recorder.watch(sight_of(snapshot, node, prices, now), now);
    for (const auto& [key, one] : noted) recorder.hold(name, key, one.holding, now);
    for (const std::string& key : recorder.keys(name)) {
        if (!noted.contains(key)) recorder.release(name, key, now);
    }
    std::erase_if(before, [&](const auto& one) {
        return !noted.contains(one.first.substr(0, one.first.find('\n')));
    });
}

ClusterCosts::ClusterCosts(const CostOptions& options, Dependencies dependencies)
    : options_(options),
      world_(std::move(dependencies)),
      gate_(world_.api),
      pods_(world_.api, kube_client::resources::pods(), pods_of_costs(),
            [this](const kube_client::ObjectKey& key, const kube_client::StoredObject& /*before*/,
                   const kube_client::StoredObject& after) { pod_changed(key, after); }),
      nodes_(world_.api, kube_client::resources::nodes(), nodes_of_costs()) {}

ClusterCosts::~ClusterCosts() = default;

std::string ClusterCosts::held(const std::string& name_space) const {
    return accounts_->hold_reason("", "", name_space);
}

PodFacts ClusterCosts::facts_of(const std::string& pod_namespace, const std::string& pod) const {
    const auto found = pods_.store().find({pod_namespace, pod});
    return found == nullptr ? PodFacts{} : pod_facts(found->json);
}

/// A pod that has ended holds nothing from then on, also before its agent says so.
void ClusterCosts::pod_changed(const kube_client::ObjectKey& /*key*/,
                               const kube_client::StoredObject& after) {
    if (after == nullptr || !world_.leads()) return;
    const PodFacts facts = pod_facts(after->json);
    if (!facts.ended || facts.node.empty()) return;
    accounts_->record([&](cost::Recorder& recorder, TimeMs now) {
        for (const std::string& key : recorder.keys(facts.node)) {
            if (key.starts_with(after->uid + "/")) recorder.release(facts.node, key, now);
        }
    });
}

void ClusterCosts::take(const telemetry::Snapshot& snapshot) {
    if (!world_.leads() || snapshot.node.empty() || !pods_.state().synced) return;
    const auto object = nodes_.store().find({"", snapshot.node});
    const NodeFacts node = object == nullptr ? NodeFacts{} : node_facts(object->json);
    const std::scoped_lock lock(mutex_);
    seen_[snapshot.node] = std::chrono::steady_clock::now();
    auto& before = counters_[snapshot.node];
    accounts_->record([&](cost::Recorder& recorder, TimeMs now) {
        note_node(
            recorder, now, snapshot, node,
            [this](const std::string& space, const std::string& pod) {
                return facts_of(space, pod);
            },
            accounts_->prices(), before);
    });
}

void ClusterCosts::forget_lost_nodes() {
    const auto now = std::chrono::steady_clock::now();
    const std::scoped_lock lock(mutex_);
    for (auto at = seen_.begin(); at != seen_.end();) {
        if (now - at->second < kLostAfter) {
            ++at;
            continue;
        }
        accounts_->record([&](cost::Recorder& recorder, TimeMs) {
            // It ends where it was seen last.
            recorder.leave(at->first, 0);
        });
        counters_.erase(at->first);
        at = seen_.erase(at);
    }
}

Result<std::unique_ptr<ClusterCosts>> ClusterCosts::start(const CostOptions& options,
                                                          const PageOptions& agents,
                                                          Dependencies dependencies) {
    auto prices = prices_of(options);
    if (!prices) return std::move(prices).error();
    auto gather = gathering(agents);
    if (!gather) return std::move(gather).error();
    std::unique_ptr<ClusterCosts> made(new ClusterCosts(options, std::move(dependencies)));
    cost_store::AccountsOptions accounts{
        .where = options.store, .prices = held_by_namespace(*std::move(prices)), .now = {}};
    accounts.look = [costs = made.get()](cost_store::Accounts& /*accounts*/) {
        if (costs->started_) costs->forget_lost_nodes();
    };
    accounts.records = made->world_.leads;
    accounts.may_be_away = true;  // pods are placed and webhooks answered all the same
    auto opened = cost_store::Accounts::open(std::move(accounts));
    if (!opened) return std::move(opened).error();
    made->accounts_ = *std::move(opened);
    auto gatherer = scaling::Gatherer::make(
        *std::move(gather),
        [costs = made.get()](const telemetry::Snapshot& snapshot, auto) { costs->take(snapshot); });
    if (!gatherer) return std::move(gatherer).error();
    made->gatherer_ = *std::move(gatherer);
    made->pods_.start();
    made->nodes_.start();
    made->started_ = true;
    made->gatherer_->start();
    if (auto listening = made->listen(agents); !listening) return std::move(listening).error();
    return made;
}

/// What is answered over HTTP: on loopback to all of this machine, else to who has a token.
Result<Done> ClusterCosts::listen(const PageOptions& agents) {
    if (options_.listen == "off") return Done{};
    PageOptions where = agents;
    where.listen = options_.listen;
    auto server = server_of(where);
    if (!server) return std::move(server).error();
    const bool local = http::check_local(options_.listen).ok();
    auto listening =
        http::Server::listen(*std::move(server), [this, local](const http::Request& request) {
            if (!local) {
                page::Pass pass = gate_.admit(request);
                if (pass.refusal) return *std::move(pass.refusal);
                // Costs are of all namespaces.
                if (!pass.only.empty()) return http::Response{.status = 403, .body = "forbidden\n"};
            }
            return accounts_->answer(request);
        });
    if (!listening) return std::move(listening).error();
    server_ = *std::move(listening);
    log::info("cost.served", {{"address", options_.listen}, {"port", server_->port()}});
    return Done{};
}

}  // namespace aliquot::controller
