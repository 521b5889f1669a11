// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/cluster.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGTERM to groups is POSIX

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "gpu/replica_id.h"
#include "sim/cluster/injection.h"

namespace aliquot::sim::cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kSettleTime = 700ms;  // a container that runs this long is called running
constexpr unsigned kMaxRefusals = 5;
constexpr auto kFirstRetry = 500ms;

std::string uid_of(std::size_t number) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "00000000-0000-4000-8000-%012zx", number);
    return text.data();
}

bool is_retried(WorkloadKind kind) {
    return kind != WorkloadKind::kPod && kind != WorkloadKind::kJob;
}

/// "ours:theirs" for the two variables that are search paths; ours must come first.
void put_in_front(Environment& environment, const Environment& ours) {
    for (const auto& entry : ours) {
        std::string& value = environment[entry.first];
        const bool search_path = entry.first == "PATH" || entry.first == "LD_LIBRARY_PATH";
        if (!search_path || value.empty()) {
            value = entry.second;
        } else {
            value.insert(0, ":").insert(0, entry.second);
        }
    }
}

sim::ContainerRequest request_of(const Container& container) {
    return {.name = container.name, .limits = container.devices};
}

}  // namespace

Cluster::Cluster(Host& host, sim::Kubelet& kubelet, PodProcesses& processes,
                 std::unique_ptr<ClaimsOfNode> claims, sharing::Offer offer,
                 gpu::Inventory inventory, Labels labels, std::vector<Workload> workloads)
    : host_(host),
      kubelet_(kubelet),
      processes_(processes),
      claims_(std::move(claims)),
      offer_(std::move(offer)),
      inventory_(std::move(inventory)),
      labels_(std::move(labels)),
      workloads_(std::move(workloads)) {
    for (const Workload& workload : workloads_) {
        if (workload.kind == WorkloadKind::kJob) {
            jobs_.push_back({.workload = &workload});
            run_job(jobs_.back(), {});
            continue;
        }
        for (unsigned i = 0; i < workload.replicas; ++i) add_pod(workload, workload.replicas > 1);
    }
}

std::string Cluster::free_name(const Workload& workload, bool numbered) const {
    const auto taken = [&](const std::string& name) {
        return std::ranges::any_of(pods_, [&](const auto& pod) {
            return pod->identity.name == name &&
                   pod->identity.pod_namespace == workload.pod_namespace;
        });
    };
    if (!numbered && !taken(workload.name)) return workload.name;
    unsigned number = 0;
    while (taken(workload.name + "-" + std::to_string(number))) ++number;
    return workload.name + "-" + std::to_string(number);
}

Pod& Cluster::add_pod(const Workload& workload, bool numbered) {
    auto pod = std::make_unique<Pod>();
    pod->workload = &workload;
    pod->identity = {.name = free_name(workload, numbered),
                     .pod_namespace = workload.pod_namespace,
                     .uid = uid_of(pods_.size() + 1),
                     .node = labels_["kubernetes.io/hostname"],
                     .labels = workload.pod.labels};
    pods_.push_back(std::move(pod));
    return *pods_.back();
}

void Cluster::tick(TimePoint now) {
    look_at_node(now);
    run_pods(now);
    for (Job& job : jobs_) run_job(job, now);
    schedule(now);
    run_pods(now);  // what has just been admitted starts now
    for (Job& job : jobs_) run_job(job, now);
    show_processes(now);
}

void Cluster::look_at_node(TimePoint now) {
    resources_ = kubelet_.resources();
    if (!ready_ && claims_) {
        ready_ = claims_->is_ready(kubelet_);
    } else if (!ready_) {
        ready_ = std::ranges::all_of(offer_.resources, [&](const sharing::Resource& resource) {
            const auto found = resources_.find(resource.name);
            return found != resources_.end() && found->second.connected &&
                   found->second.capacity == resource.devices().size();
        });
    }
    if (now < next_look_) return;
    next_look_ = now + (host_.node_directory().empty() ? 2000ms : 200ms);
    if (auto inventory = host_.look()) inventory_ = *std::move(inventory);
}

NodeView Cluster::node_view() const {
    NodeView view{.name = labels_.at("kubernetes.io/hostname"), .labels = labels_};
    for (const auto& entry : resources_) {
        if (entry.second.capacity == 0) continue;
        OfferedResource& resource = view.resources[entry.first];
        resource.allocatable = entry.second.allocatable;
        resource.unhealthy = entry.second.capacity - entry.second.allocatable;
        resource.used = entry.second.allocated;
        for (const sharing::Resource& offered : offer_.resources) {
            if (offered.name == entry.first) resource.shared = offered.shared;
        }
        for (const auto& pod : pods_) {
            if (pod->devices.contains(entry.first)) {
                resource.holders.push_back(pod->identity.name);
            }
        }
        std::ranges::sort(resource.holders);
    }
    return view;
}

void Cluster::schedule(TimePoint now) {
    for (const auto& pod : pods_) {
        if (pod->phase != Phase::kPending || pod->run || now < pod->not_before) continue;
        if (!ready_) {
            pod->reason = "waiting for the agent to register its devices";
            continue;
        }
        const PodTemplate& wanted = pod->workload->pod;
        std::string why =
            why_pending(claims_ ? claims_->without_claimed(wanted) : wanted, node_view());
        pod->blocked = !why.empty();
        if (pod->blocked) {
            pod->reason = std::move(why);
        } else if (give_claims(*pod, now)) {
            admit(*pod, now);
            resources_ = kubelet_.resources();
        }
    }
}

void Cluster::admit(Pod& pod, TimePoint now) {
    const PodTemplate& wanted =
        claims_ ? claims_->without_claimed(pod.workload->pod) : pod.workload->pod;
    sim::PodRequest request{.uid = pod.identity.uid,
                            .pod_namespace = pod.identity.pod_namespace,
                            .name = pod.identity.name};
    std::ranges::transform(wanted.init_containers, std::back_inserter(request.init_containers),
                           request_of);
    std::ranges::transform(wanted.containers, std::back_inserter(request.containers), request_of);
    const auto grants = kubelet_.admit(request);
    if (!grants) {
        refuse(pod, "UnexpectedAdmissionError: " + grants.error().message, now);
        return;
    }
    auto started = start(pod, *grants);
    if (!started) {
        take_devices(pod);
        refuse(pod, "CreateContainerError: " + started.error().message, now);
    }
}

/// A bare pod has failed for good then; a controller would make another one.
void Cluster::refuse(Pod& pod, const std::string& why, TimePoint now) {
    pod.reason = why;
    ++pod.refusals;
    if (!is_retried(pod.workload->kind) || pod.refusals > kMaxRefusals) {
        pod.phase = Phase::kFailed;
        return;
    }
    pod.not_before = now + kFirstRetry * (1U << pod.refusals);
}

Result<ContainerPlan> Cluster::plan_of(const Pod& pod, const Container& container,
                                       const grant::Grant& grant) {
    auto injection = inject(host_.root(), grant, inventory_);
    if (!injection) return std::move(injection).error();
    const std::string unique =
        pod.identity.pod_namespace + "_" + pod.identity.name + "_" + container.name;
    auto folder = host_.working_directory(unique);
    if (!folder) return std::move(folder).error();

    ContainerPlan plan{.name = container.name, .working_directory = *std::move(folder)};
    Environment variables =
        container_environment(grant.environment, container.variables, pod.identity);
    plan.argv = container_argv(container, variables);
    plan.environment = {{"HOME", plan.working_directory}, {"HOSTNAME", pod.identity.name}};
    for (const auto& entry : variables) plan.environment[entry.first] = entry.second;
    for (const auto& entry : injection->environment) plan.environment[entry.first] = entry.second;
    put_in_front(plan.environment, host_.driver_environment(injection->gpus));
    plan.log_path = (host_.logs() / (unique + ".log")).native();
    return plan;
}

Result<Done> Cluster::start(Pod& pod, const std::vector<sim::ContainerGrant>& grants) {
    const PodTemplate& wanted = pod.workload->pod;
    std::vector<ContainerRun> init_containers;
    std::vector<ContainerRun> containers;
    for (std::size_t i = 0; i < grants.size(); ++i) {
        const bool init = i < wanted.init_containers.size();
        const Container& container =
            init ? wanted.init_containers[i] : wanted.containers[i - wanted.init_containers.size()];
        grant::Grant grant = grants[i].grant;
        const auto claimed = pod.claimed.names.find(container.name);
        if (claimed != pod.claimed.names.end()) {
            grant.cdi_devices.insert(grant.cdi_devices.end(), claimed->second.begin(),
                                     claimed->second.end());
        }
        auto plan = plan_of(pod, container, grant);
        if (!plan) return std::move(plan).error();
        if (plan->argv.empty()) {
            notes_.push_back(pod.identity.name + ": container " + container.name +
                             " has no command: the image's own entry point is not run here, it "
                             "holds its devices and waits");
        }
        if (!init && pod.log.empty() && !plan->argv.empty()) pod.log = plan->log_path;
        for (const auto& held : grants[i].devices) {
            std::vector<std::string>& ids = pod.devices[held.first];
            for (const std::string& id : held.second) {
                if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
            }
        }
        pod.granted.insert(grants[i].grant.environment.begin(), grants[i].grant.environment.end());
        (init ? init_containers : containers).emplace_back(*std::move(plan));
    }
    pod.granted_devices = pod.devices;
    pod.reason.clear();
    pod.blocked = false;
    pod.run = std::make_unique<PodRun>(wanted.restart_policy, std::move(init_containers),
                                       std::move(containers));
    return Done{};
}

void Cluster::run_pods(TimePoint now) {
    for (const auto& pod : pods_) {
        if (!pod->run || pod->is_finished()) continue;
        pod->run->tick(now);
        pod->reason = pod->run->reason();
        if (pod->run->phase() == Phase::kSucceeded || pod->run->phase() == Phase::kFailed) {
            finish(*pod, pod->run->phase(), pod->run->reason());
        }
        pod->phase = pod->run ? pod->run->phase() : pod->phase;
    }
}

void Cluster::show_processes(TimePoint now) {
    for (const auto& pod : pods_) {
        if (!pod->run) continue;
        for (const ContainerRun& container : pod->run->init_containers()) {
            processes_.note(pod->identity, container);
        }
        for (const ContainerRun& container : pod->run->containers()) {
            processes_.note(pod->identity, container);
        }
    }
    processes_.refresh(now);
    if (auto problem = processes_.take_problem()) notes_.push_back(*std::move(problem));
}

/// The pod is over: its devices are free for others.
void Cluster::finish(Pod& pod, Phase phase, std::string reason) {
    pod.phase = phase;
    pod.reason = std::move(reason);
    take_devices(pod);
}

void Cluster::stop(std::chrono::milliseconds grace) {
    for (const auto& pod : pods_) {
        if (pod->run) pod->run->signal(SIGTERM);
    }
    const auto deadline = std::chrono::steady_clock::now() + grace;
    for (const auto& pod : pods_) {
        if (!pod->run) continue;
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pod->run->stop(std::max(left, 0ms));
    }
}

bool Cluster::is_settled(TimePoint now) const {
    if (!ready_) return false;
    return std::ranges::all_of(pods_, [&](const auto& pod) {
        if (pod->is_finished()) return true;
        if (!pod->run) return pod->blocked;
        if (pod->run->is_crashing()) return true;
        return pod->phase == Phase::kRunning && now - pod->run->changed() >= kSettleTime;
    });
}

bool Cluster::is_finished() const {
    return std::ranges::all_of(pods_, [](const auto& pod) { return pod->is_finished(); }) &&
           std::ranges::all_of(jobs_, &Job::over);
}

std::vector<std::string> Cluster::take_notes() { return std::exchange(notes_, {}); }

PodRow Cluster::row_of(const Pod& pod) const {
    DeviceWords words = describe_devices(pod.granted_devices, offer_);
    PodRow row{.name = pod.identity.name,
               .pod_namespace = pod.identity.pod_namespace,
               .phase = pod.phase,
               .gpus = std::move(words.gpus),
               .environment = pod.granted,
               .gpu_text = std::move(words.gpu),
               .share_text = std::move(words.share),
               .reason = pod.reason,
               .log = pod.log};
    if (!pod.claimed.devices.empty()) {
        row.gpus = pod.claimed.gpus;
        row.devices = pod.claimed.devices;
        row.gpu_text = gpu_text(row.gpus, inventory_);
        row.share_text = pod.claimed.text;
    }
    if (pod.is_finished()) row.share_text = "-";  // given back
    for (const auto& held : pod.granted_devices) {
        row.devices.insert(row.devices.end(), held.second.begin(), held.second.end());
    }
    row.troubled = (pod.phase == Phase::kFailed && !pod.replaced) ||
                   (!pod.is_finished() && pod.run && pod.run->is_crashing());
    return row;
}

Snapshot Cluster::snapshot() const {
    Snapshot snapshot;
    std::set<std::string> unhealthy;
    for (const auto& resource : resources_) {
        for (const std::string& id : resource.second.unhealthy)
            unhealthy.emplace(gpu::device_of(id));
    }
    std::map<std::string, unsigned> used;
    for (const auto& pod : pods_) {
        for (const auto& held : pod->devices) {
            for (const std::string& id : held.second) ++used[std::string(gpu::device_of(id))];
        }
        if (!pod->claimed.names.empty()) {
            for (const std::string& uuid : pod->claimed.gpus) ++used[uuid];
        }
        snapshot.pods.push_back(row_of(*pod));
    }
    for (const gpu::Gpu& gpu : inventory_.gpus) {
        const bool healthy = !unhealthy.contains(gpu.uuid.text);
        snapshot.gpus.push_back({.index = gpu.index,
                                 .uuid = gpu.uuid.text,
                                 .model = gpu.model,
                                 .memory_bytes = gpu.memory_bytes,
                                 .healthy = healthy,
                                 .problem = healthy ? "" : gpu.health.reason,
                                 .shares_total = claims_ ? 0 : shares_of(gpu.uuid, offer_),
                                 .shares_used = shares_used(gpu, used),
                                 .by_claims = claims_ != nullptr});
    }
    return snapshot;
}

}  // namespace aliquot::sim::cluster
