// SPDX-License-Identifier: Apache-2.0
// Names that nothing defines: REF001.
#include <algorithm>
#include <array>

#include "document/path.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/kept.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

std::string quoted_name(std::string_view text) { return '\'' + std::string(text) + '\''; }

std::string_view text_view(const Value* value) {
    return value == nullptr ? std::string_view() : std::string_view(value->scalar);
}

struct Reference {
    std::string_view kind;
    std::string_view path;  // [] goes through a list
    std::string_view target;
};
constexpr std::array<Reference, 16> kReferences{{
    {"LocalQueue", "spec clusterQueue", "ClusterQueue"},
    {"ClusterQueue", "spec resourceGroups [] flavors [] name", "ResourceFlavor"},
    {"ClusterQueue", "spec admissionChecks []", "AdmissionCheck"},
    {"ResourceFlavor", "spec topologyName", "Topology"},
    {"NodePool", "spec template spec nodeClassRef name", "EC2NodeClass"},
    {"ResourceClaimTemplate", "spec spec devices requests [] exactly deviceClassName",
     "DeviceClass"},
    {"ResourceClaim", "spec devices requests [] exactly deviceClassName", "DeviceClass"},
    {"Job", "metadata labels kueue.x-k8s.io/queue-name", "LocalQueue"},
    {"PyTorchJob", "metadata labels kueue.x-k8s.io/queue-name", "LocalQueue"},
    {"RayJob", "metadata labels kueue.x-k8s.io/queue-name", "LocalQueue"},
    {"RayCluster", "metadata labels kueue.x-k8s.io/queue-name", "LocalQueue"},
    {"JobSet", "metadata labels kueue.x-k8s.io/queue-name", "LocalQueue"},
    {"Job", "spec queue", "Queue"},  // of Volcano
    {"PodGroup", "spec queue", "Queue"},
    {"TrainJob", "spec runtimeRef name", "ClusterTrainingRuntime"},
    {"Deployment", "metadata labels kueue.x-k8s.io/queue-name", "LocalQueue"},
}};

/// The scalars at a path of words.
void collect(const Value& node, std::string_view path, std::vector<const Value*>& found) {
    const auto blank = path.find(' ');
    const std::string_view step = path.substr(0, blank);
    const std::string_view rest =
        blank == std::string_view::npos ? std::string_view() : path.substr(blank + 1);
    const auto go = [&](const Value& below) {
        if (!rest.empty()) {
            collect(below, rest, found);
        } else if (!below.scalar.empty()) {
            found.push_back(&below);
        }
    };
    if (step == "[]") {
        for (const Value& item : node.items) go(item);
    } else if (const Value* below = node.find(step); below != nullptr) {
        go(*below);
    }
}

/// A name is reported where a thing of nearly that name is defined, or where the same file defines
/// things of the kind and nothing near by has this one.
void check_names(const File& file, const Set& set, const Object& object, Report& report) {
    for (const Reference& reference : kReferences) {
        if (object.kind != reference.kind) continue;
        std::vector<const Value*> names;
        collect(*object.node, reference.path, names);
        if (names.empty()) continue;
        std::vector<std::string_view> known;
        bool here = false;
        for (const File* near : set.neighbours(file)) {
            for (const Object& one : near->objects) {
                if (one.kind != reference.target || one.name.empty()) continue;
                if (is_placeholder(one.name)) return;
                known.push_back(one.name);
                here = here || near == &file;
            }
        }
        if (known.empty()) continue;
        for (const Value* name : names) {
            if (is_placeholder(name->scalar) ||
                std::find(known.begin(), known.end(), name->scalar) != known.end()) {
                continue;
            }
            const std::string_view meant = nearest(name->scalar, known);
            if (meant.empty() && (!here || file.is_prose())) continue;
            report
                .add("REF001", name->mark,
                     "there is no " + std::string(reference.target) + ' ' +
                         quoted_name(name->scalar) + " here")
                .expected(meant.empty() ? "one of those defined: " + std::string(known.front())
                                        : std::string(meant))
                .severity(meant.empty() ? Severity::kWarning : Severity::kError);
        }
    }
}

enum class Sure { kOfAll, kOfNearOnes };

/// A name of the same document. `known` is all that is written there.
void check_known(const Value& name, std::string_view what,
                 const std::vector<std::string_view>& known, Report& report,
                 Sure sure = Sure::kOfAll) {
    if (name.scalar.empty() || is_placeholder(name.scalar)) return;
    if (std::find(known.begin(), known.end(), name.scalar) != known.end()) return;
    const std::string_view meant = nearest(name.scalar, known);
    if (meant.empty() && !known.empty() && sure == Sure::kOfNearOnes) return;
    report
        .add("REF001", name.mark,
             "there is no " + std::string(what) + ' ' + quoted_name(name.scalar) + " here")
        .expected(!meant.empty()  ? std::string(meant)
                  : known.empty() ? "a " + std::string(what) + " of that name"
                                  : "one of those defined: " + std::string(known.front()));
}

std::vector<std::string_view> names_in(const Value* list) {
    std::vector<std::string_view> names;
    if (list == nullptr) return names;
    for (const Value& item : list->items) {
        if (const Value* name = item.find("name"); name != nullptr) names.push_back(name->scalar);
    }
    return names;
}

/// Volumes that a StatefulSet, or a set like it, makes for its pods.
void gather_claimed(const Value& node, int depth, std::vector<std::string_view>& names) {
    constexpr int kDeepest = 6;
    if (depth > kDeepest) return;
    for (const Value::Entry& entry : node.entries) {
        if (entry.first.scalar != "volumeClaimTemplates") {
            gather_claimed(entry.second, depth + 1, names);
            continue;
        }
        for (const Value& item : entry.second.items)
            names.push_back(text_view(document::at_path(item, {"metadata", "name"})));
    }
}

/// Mounts of a pod. What an operator adds is not nearly one of those that are written down. Operators add volumes to DaemonSets: of
/// these, and of kinds that we do not know, a near miss counts.
void check_mounts(const File& file, const PodSpec& pod, Report& report) {
    const Object* object = file.object(pod);
    if (!pod.whole || object == nullptr || object->role != Role::kObject || object->broken ||
        object->templated || pod.node == nullptr || !object->is_workload()) {
        return;
    }
    std::vector<std::string_view> known = names_in(pod.volumes);
    gather_claimed(*object->node, 0, known);
    const bool complete = object->kind == "Pod" || object->kind == "Deployment" ||
                          object->kind == "Job" || object->kind == "CronJob" ||
                          object->kind == "StatefulSet";
    if (std::any_of(known.begin(), known.end(),
                    [](std::string_view name) { return is_placeholder(name); })) {
        return;
    }
    for (const char* const containers : {"containers", "initContainers"}) {
        const Value* list = pod.node->find(containers);
        if (list == nullptr) continue;
        for (const Value& container : list->items) {
            const Value* mounts = container.find("volumeMounts");
            if (mounts == nullptr) continue;
            for (const Value& mount : mounts->items) {
                const Value* name = mount.find("name");
                if (name == nullptr) continue;
                if (complete || !nearest(name->scalar, known).empty())
                    check_known(*name, "volume", known, report, Sure::kOfAll);
            }
        }
    }
}

/// Constraints and configurations name requests of the same claim.
void check_requests(const Object& object, Report& report) {
    const Value* devices = object.kind == "ResourceClaim"
                               ? document::at_path(*object.node, {"spec", "devices"})
                               : document::at_path(*object.node, {"spec", "spec", "devices"});
    if (devices == nullptr || object.templated) return;
    const std::vector<std::string_view> known = names_in(devices->find("requests"));
    for (const char* const part : {"constraints", "config"}) {
        const Value* list = devices->find(part);
        if (list == nullptr) continue;
        for (const Value& one : list->items) {
            const Value* same = one.find("matchAttribute");
            if (same != nullptr && !same->scalar.empty() && !is_placeholder(same->scalar) &&
                same->scalar.find('/') == std::string::npos) {
                report
                    .add("CEL002", same->mark,
                         "matchAttribute is " + quoted_name(same->scalar) +
                             ", without the domain of its attribute")
                    .expected("DOMAIN/NAME, as gpu.nvidia.com/" + same->scalar);
            }
            const Value* names = one.find("requests");
            if (names == nullptr) continue;
            for (const Value& name : names->items) {
                if (name.scalar.find('/') == std::string::npos)  // REQUEST/SUBREQUEST
                    check_known(name, "request", known, report);
            }
        }
    }
}

/// Jobs that a job of a workflow waits for.
void check_needs(const Object& object, Report& report) {
    const Value* jobs = object.node->find("jobs");
    if (jobs == nullptr || !jobs->is_mapping()) return;
    std::vector<std::string_view> known;
    for (const Value::Entry& job : jobs->entries) known.push_back(job.first.scalar);
    for (const Value::Entry& job : jobs->entries) {
        const Value* needs = job.second.find("needs");
        if (needs == nullptr) continue;
        if (!needs->scalar.empty()) check_known(*needs, "job", known, report);
        for (const Value& one : needs->items) check_known(one, "job", known, report);
    }
}

}  // namespace

void check_references(const File& file, const Set& set, const Facts*, Report& report) {
    if (is_kept(file)) return;
    for (const Object& object : file.objects) {
        if (object.broken) continue;
        if (object.role == Role::kWorkflow && !file.is_prose()) check_needs(object, report);
        if (object.role != Role::kObject) continue;
        check_names(file, set, object, report);
        if (object.kind == "ResourceClaim" || object.kind == "ResourceClaimTemplate")
            check_requests(object, report);
    }
    if (file.is_prose()) return;
    for (const PodSpec& pod : file.pods) check_mounts(file, pod, report);
}

}  // namespace aliquot::lint
