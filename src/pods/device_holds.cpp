// SPDX-License-Identifier: Apache-2.0
#include "pods/device_holds.h"

#include <algorithm>
#include <utility>

#include "k8s/cgroup.h"
#include "pods/host_view.h"

namespace aliquot::pods {
namespace {

constexpr std::size_t kMostProcesses = 100'000;

std::string text_of(const PodName& name) { return name.pod_namespace + "/" + name.pod; }

/// What kubelet lists, by what a hold is compared with.
struct Listed {
    explicit Listed(const HoldEvidence& evidence) {
        if (!evidence.listed) return;
        for (const kubelet::Holder& holder : evidence.listed->holders) {
            for (const std::string& id : holder.ids) {
                held[{holder.resource, id}] = holder.pod_namespace + "/" + holder.pod;
            }
        }
        std::set<PodName> explained;
        for (const auto& [uid, name] : evidence.names) explained.insert(name);
        for (const auto& [pod_namespace, pod] : evidence.listed->pods) {
            active.insert({pod_namespace, pod});
            unexplained = unexplained || !explained.contains({pod_namespace, pod});
        }
    }

    std::map<std::pair<std::string, std::string>, std::string> held;  // resource, id -> pod
    std::set<PodName> active;
    bool unexplained = false;  // an active pod has no logs yet: its uid is not known
};

/// Whether the pod of an entry that is not listed may still be there.
bool may_live(const CheckpointEntry& entry, const HoldEvidence& evidence, const Listed& listed) {
    if (evidence.running && evidence.running->contains(entry.pod_uid)) return true;
    const auto name = evidence.names.find(entry.pod_uid);
    if (name == evidence.names.end()) return listed.unexplained;
    if (!listed.active.contains(name->second)) return false;
    // A pod of this name is active; it is this one, unless another uid has the name and processes.
    const auto& names = evidence.names;
    return std::none_of(names.begin(), names.end(), [&](const auto& other) {
        return other.first != entry.pod_uid && other.second == name->second && evidence.running &&
               evidence.running->contains(other.first);
    });
}

/// Whether something is written down that kubelet, which answers, does not list.
bool has_unlisted(const HoldEvidence& evidence) {
    if (!evidence.listed || !evidence.written) return false;
    const Listed listed(evidence);
    const auto is_unlisted = [&](const CheckpointEntry& entry) {
        return std::ranges::any_of(entry.ids, [&](const std::string& id) {
            return !listed.held.contains({entry.resource, id});
        });
    };
    return std::ranges::any_of(*evidence.written, is_unlisted);
}

std::string name_of(const CheckpointEntry& entry, const HoldEvidence& evidence) {
    const auto found = evidence.names.find(entry.pod_uid);
    return found == evidence.names.end() ? std::string() : text_of(found->second);
}

void make_unique(std::vector<DeviceHold>& holds) {
    std::ranges::sort(holds);
    holds.erase(std::unique(holds.begin(), holds.end()), holds.end());
}

}  // namespace

DeviceHolds HoldJudge::judge(const HoldEvidence& evidence, os::TimePoint now) {
    DeviceHolds holds;
    const Listed listed(evidence);
    for (const auto& [device, pod] : listed.held) {
        holds.list.push_back({.resource = device.first, .id = device.second, .pod = pod});
    }
    if (!evidence.written) {
        holds.problem = "kubelet's checkpoint cannot be read";
        make_unique(holds.list);
        return holds;
    }
    const auto settle = evidence.running ? limits_.settle : limits_.settle_blind;
    std::map<CheckpointEntry, os::TimePoint> missed;
    for (const CheckpointEntry& entry : *evidence.written) {
        std::vector<DeviceHold> own;
        for (const std::string& id : entry.ids) {
            if (listed.held.contains({entry.resource, id})) continue;
            own.push_back({.resource = entry.resource, .id = id, .pod = name_of(entry, evidence)});
        }
        if (own.empty()) continue;
        if (evidence.listed && !may_live(entry, evidence, listed)) {
            const auto before = missed_.find(entry);
            const os::TimePoint since = before == missed_.end() ? now : before->second;
            missed.emplace(entry, since);
            if (now - since >= settle) continue;
            holds.unsettled = true;
            for (DeviceHold& one : own) one.ending = evidence.running.has_value();
        }
        holds.list.insert(holds.list.end(), own.begin(), own.end());
    }
    missed_ = std::move(missed);
    make_unique(holds.list);
    return holds;
}

HoldReader::HoldReader(const os::Root& root, os::Clock& clock, HoldOptions options, List list)
    : root_(root),
      clock_(clock),
      options_(std::move(options)),
      list_(std::move(list)),
      names_(root, options_.pod_logs, options_.container_logs),
      judge_(options_.limits) {}

std::optional<std::vector<CheckpointEntry>> HoldReader::read_checkpoint() const {
    const auto text = root_.read(options_.checkpoint, kMostCheckpointBytes);
    if (!text) {
        // A kubelet that never had a device to give has none.
        if (text.error().code == ErrorCode::kNotFound) return std::vector<CheckpointEntry>();
        return std::nullopt;
    }
    auto entries = parse_checkpoint(*text);
    if (!entries) return std::nullopt;
    return *std::move(entries);
}

const std::optional<std::set<std::string>>& HoldReader::running_pods() {
    const os::TimePoint now = clock_.now();
    if (!walked_ || now - *walked_ >= options_.between_walks) {
        running_ = walk();
        walked_ = now;
    }
    return running_;
}

std::optional<std::set<std::string>> HoldReader::walk() const {
    const HostView view = look_at_proc(root_, options_.proc);
    if (view != HostView::kMachine && view != HostView::kNode) return std::nullopt;
    const auto pids = root_.list(options_.proc, kMostProcesses);
    if (!pids) return std::nullopt;
    std::set<std::string> uids;
    for (const std::string& pid : *pids) {
        if (pid.empty() || pid.front() < '0' || pid.front() > '9') continue;
        const auto text = root_.read(options_.proc + "/" + pid + "/cgroup", k8s::kMostCgroupBytes);
        if (!text) continue;  // it has ended
        if (const auto place = k8s::place_of(*text)) uids.insert(place->pod_uid);
    }
    return uids;
}

DeviceHolds HoldReader::written() {
    HoldEvidence evidence{.written = read_checkpoint(), .listed = {}, .names = {}, .running = {}};
    return judge_.judge(evidence, clock_.now());
}

DeviceHolds HoldReader::look() {
    HoldEvidence evidence{.written = read_checkpoint(), .listed = {}, .names = {}, .running = {}};
    auto listed = list_(options_.list_timeout);
    const std::string silent = listed ? "" : listed.error().message;
    if (listed) evidence.listed = *std::move(listed);
    names_.refresh();
    if (evidence.written) {
        for (const CheckpointEntry& entry : *evidence.written) {
            const PodName* const name = names_.pod(entry.pod_uid);
            if (name != nullptr) evidence.names.emplace(entry.pod_uid, *name);
        }
    }
    if (evidence.listed) {
        for (const auto& [pod_namespace, pod] : evidence.listed->pods) {
            for (const std::string& uid : names_.uids_of({pod_namespace, pod})) {
                evidence.names.emplace(uid, PodName{pod_namespace, pod});
            }
        }
    }
    if (has_unlisted(evidence)) evidence.running = running_pods();
    DeviceHolds holds = judge_.judge(evidence, clock_.now());
    if (!holds.problem.empty() && !silent.empty()) holds.problem += ", and " + silent;
    return holds;
}

}  // namespace aliquot::pods
