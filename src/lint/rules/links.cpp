// SPDX-License-Identifier: Apache-2.0
// What objects name of each other: REF001 (names), REF002 (selectors), REF003 (ports), REF004 (keys),
// DEP005 (volumes of several replicas).
#include "lint/rules/links.h"

#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/text.h"
#include "document/path.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/kept.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

const Value* below(const Value* node, std::string_view key) {
    return node == nullptr ? nullptr : node->find(key);
}

std::string_view scalar_of(const Value* node) {
    return node == nullptr ? std::string_view() : std::string_view(node->scalar);
}

bool share_space(std::string_view a, std::string_view b) {
    return a.empty() || b.empty() || a == b || is_placeholder(a) || is_placeholder(b);
}

/// An object that a rule looks from, and what lies around it.
struct Place {
    const File& file;
    const std::vector<const File*>& near;
    const Object& object;
    Report& report;
};

/// A name that a pod has of another object.
struct Named {
    std::string_view kind;
    const Value* name = nullptr;
    const Value* key = nullptr;  // of its data
};

/// What is known of a name among the objects of its kind.
struct Search {
    std::vector<const Object*> found;  // those of the file itself, if it has any
    bool here = false;                 // the file defines some of the kind
    bool unknown = false;              // one of them has a computed name
    std::vector<std::string_view> names;
};

Search search(const Place& place, std::string_view kind, std::string_view name) {
    Search result;
    bool own = false;
    for (const File* file : place.near) {
        for (const Object& one : file->objects) {
            const bool generator = one.role == Role::kKustomization &&
                                   (one.node->find("configMapGenerator") != nullptr ||
                                    one.node->find("secretGenerator") != nullptr);
            if (generator && (kind == "ConfigMap" || kind == "Secret")) result.unknown = true;
            if (one.kind != kind || one.role != Role::kObject || one.name.empty()) continue;
            if (is_placeholder(one.name)) result.unknown = true;
            if (!share_space(one.name_space, place.object.name_space)) continue;
            if (one.name == name && (!own || file == &place.file)) {
                if (!own && file == &place.file) result.found.clear();
                own = file == &place.file;
                result.found.push_back(&one);
            }
            result.names.push_back(one.name);
            result.here = result.here || file == &place.file;
        }
    }
    return result;
}

/// objects   of one name: the examples of a folder often share it
void check_key(const Place& place, const Named& named, const std::vector<const Object*>& objects) {
    if (named.key == nullptr || named.key->scalar.empty() || is_placeholder(named.key->scalar))
        return;
    std::vector<std::string_view> keys;
    for (const Object* object : objects) {
        if (object->broken || object->templated) return;
        const std::size_t before = keys.size();
        for (const char* const part : {"data", "binaryData", "stringData"}) {
            const Value* data = object->node->find(part);
            if (data == nullptr) continue;
            for (const Value::Entry& entry : data->entries) keys.push_back(entry.first.scalar);
        }
        if (keys.size() == before) return;
    }
    if (keys.empty() || std::find(keys.begin(), keys.end(), named.key->scalar) != keys.end()) {
        return;
    }
    const std::string_view meant = nearest(named.key->scalar, keys);
    place.report
        .add("REF004", named.key->mark,
             std::string(named.kind) + " '" + objects.front()->name + "' has no key '" +
                 named.key->scalar + '\'')
        .expected(meant.empty() ? "one of its keys: " + std::string(keys.front())
                                : std::string(meant));
}

void check_named(const Place& place, const Named& named) {
    if (named.name == nullptr || named.name->scalar.empty() || is_placeholder(named.name->scalar))
        return;
    const std::string& name = named.name->scalar;
    const Search seen = search(place, named.kind, name);
    if (!seen.found.empty()) return check_key(place, named, seen.found);
    if (seen.names.empty() || seen.unknown) return;
    std::string_view meant = nearest(name, seen.names);
    if (is_sibling_name(name, meant)) meant = {};
    const bool owned = named.kind == "ServiceAccount" || named.kind == "PersistentVolumeClaim" ||
                       named.kind == "PriorityClass";
    if (meant.empty() &&
        (!seen.here || !owned || name == "default" || name.starts_with("system-"))) {
        return;
    }
    place.report
        .add("REF001", named.name->mark,
             "there is no " + std::string(named.kind) + " '" + name + "' here")
        .expected(meant.empty() ? "one of those defined: " + std::string(seen.names.front())
                                : std::string(meant))
        .severity(meant.empty() ? Severity::kWarning : Severity::kError);
}

bool is_optional(const Value& node) { return text_at(node, {"optional"}) == "true"; }

void add_source(std::vector<Named>& names, std::string_view kind, const Value* source,
                std::string_view name_key = "name") {
    if (source == nullptr || is_optional(*source)) return;
    const Value* name = source->find(name_key);
    names.push_back({kind, name, source->find("key")});
    const Value* items = source->find("items");
    if (items == nullptr) return;
    for (const Value& item : items->items) names.push_back({kind, name, item.find("key")});
}

std::vector<Named> names_of_pod(const PodSpec& pod) {
    std::vector<Named> names;
    names.push_back({"ServiceAccount", pod.node->find("serviceAccountName")});
    names.push_back({"PriorityClass", pod.node->find("priorityClassName")});
    if (pod.volumes != nullptr) {
        for (const Value& volume : pod.volumes->items) {
            names.push_back({"PersistentVolumeClaim",
                             below(volume.find("persistentVolumeClaim"), "claimName")});
            add_source(names, "ConfigMap", volume.find("configMap"));
            add_source(names, "Secret", volume.find("secret"), "secretName");
            const Value* sources = below(volume.find("projected"), "sources");
            if (sources == nullptr) continue;
            for (const Value& source : sources->items) {
                add_source(names, "ConfigMap", source.find("configMap"));
                add_source(names, "Secret", source.find("secret"));
            }
        }
    }
    for (const Container& container : pod.containers) {
        const Value* variables = container.node->find("env");
        const Value* sources = container.node->find("envFrom");
        for (const Value* const list : {variables, sources}) {
            if (list == nullptr) continue;
            for (const Value& one : list->items) {
                const Value* from = list == variables ? one.find("valueFrom") : &one;
                add_source(names, "ConfigMap",
                           below(from, list == variables ? "configMapKeyRef" : "configMapRef"));
                add_source(names, "Secret",
                           below(from, list == variables ? "secretKeyRef" : "secretRef"));
            }
        }
    }
    return names;
}

/// `httpGet: {port: http}` of a container that calls none of its ports so.
void check_probe_ports(const Container& container, Report& report) {
    std::vector<std::string_view> known;
    const Value* ports = container.node->find("ports");
    if (ports == nullptr) return;
    for (const Value& port : ports->items) {
        if (const Value* name = port.find("name"); name != nullptr) known.push_back(name->scalar);
    }
    for (const char* const probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
        for (const char* const way : {"httpGet", "tcpSocket"}) {
            const Value* port = below(below(container.node->find(probe), way), "port");
            const std::string_view name = scalar_of(port);
            if (name.empty() || is_placeholder(name) || parse_number<unsigned>(name) ||
                std::find(known.begin(), known.end(), name) != known.end()) {
                continue;
            }
            report
                .add("REF003", port->mark,
                     "container " + container.name + " has no port '" + std::string(name) + '\'')
                .expected(known.empty() ? "a number, or a name that a port has"
                                        : "a port of the container: " + std::string(known.front()));
        }
    }
}

/// Several pods at once, and a volume that one node can mount.
void check_shared_volume(const Place& place, const PodSpec& pod) {
    if (place.object.kind != "Deployment" || pod.replicas.value_or(1) < 2 ||
        pod.volumes == nullptr) {
        return;
    }
    for (const Value& volume : pod.volumes->items) {
        const Value* claim = below(volume.find("persistentVolumeClaim"), "claimName");
        if (claim == nullptr) continue;
        const Search seen = search(place, "PersistentVolumeClaim", claim->scalar);
        if (seen.found.empty()) continue;
        const Value* modes = document::at_path(*seen.found.front()->node, "spec.accessModes");
        const bool single =
            modes != nullptr && !modes->items.empty() &&
            std::all_of(modes->items.begin(), modes->items.end(), [](const Value& mode) {
                return mode.scalar == "ReadWriteOnce" || mode.scalar == "ReadWriteOncePod";
            });
        if (!single) continue;
        place.report
            .add("DEP005", claim->mark,
                 number_of_pods(*pod.replicas) + " pods mount '" + claim->scalar +
                     "', which one node at a time can mount (" + modes->items.front().scalar + ')')
            .expected("ReadWriteMany, a claim for each pod (StatefulSet), or replicas: 1");
    }
}

void check_pod(const Place& place, const PodSpec& pod) {
    if (pod.node == nullptr || !pod.node->is_mapping() || !pod.whole) return;
    for (const Named& named : names_of_pod(pod)) check_named(place, named);
    for (const Container& container : pod.containers) {
        if (container.node != nullptr) check_probe_ports(container, place.report);
    }
    check_shared_volume(place, pod);
    check_spread(pod, place.report);
}

struct Target {
    std::string_view kind;  // of the object that names it
    std::string_view name;  // path of the name
    std::string_view what;  // path of its kind; empty: `fixed`
    std::string_view fixed;
};
constexpr std::array<Target, 6> kTargets{{
    {"HorizontalPodAutoscaler", "spec.scaleTargetRef.name", "spec.scaleTargetRef.kind", ""},
    {"ScaledObject", "spec.scaleTargetRef.name", "spec.scaleTargetRef.kind", "Deployment"},
    {"VerticalPodAutoscaler", "spec.targetRef.name", "spec.targetRef.kind", ""},
    {"RoleBinding", "roleRef.name", "roleRef.kind", ""},
    {"ClusterRoleBinding", "roleRef.name", "roleRef.kind", ""},
    {"StatefulSet", "spec.serviceName", "", "Service"},
}};

/// A workload of the file with that name, of whatever kind.
const Object* workload_named(const Place& place, std::string_view name) {
    for (const Object& one : place.file.objects) {
        if (one.name == name && one.is_workload() && one.role == Role::kObject) return &one;
    }
    return nullptr;
}

void check_targets(const Place& place) {
    for (const Target& target : kTargets) {
        if (place.object.kind != target.kind) continue;
        const Value* name = document::at_path(*place.object.node, target.name);
        const Value* what =
            target.what.empty() ? nullptr : document::at_path(*place.object.node, target.what);
        const std::string_view kind =
            what == nullptr ? target.fixed : std::string_view(what->scalar);
        if (name == nullptr || name->scalar.empty() || is_placeholder(name->scalar)) continue;
        const Search seen = search(place, kind, name->scalar);
        if (!seen.found.empty() || seen.unknown) continue;
        if (const Object* other = workload_named(place, name->scalar);
            other != nullptr && what != nullptr && kind != other->kind && other->is_workload()) {
            place.report
                .add("REF001", what->mark,
                     "there is no " + std::string(kind) + " '" + name->scalar + "' here, but a " +
                         other->kind)
                .expected(other->kind);
            continue;
        }
        if (seen.names.empty()) continue;
        std::string_view meant = nearest(name->scalar, seen.names);
        if (is_sibling_name(name->scalar, meant)) meant = {};
        const bool only = seen.here && seen.names.size() == 1;
        if (meant.empty() && (!only || kind == "ClusterRole")) continue;
        place.report
            .add("REF001", name->mark,
                 "there is no " + std::string(kind) + " '" + name->scalar + "' here")
            .expected(std::string(meant.empty() ? seen.names.front() : meant))
            .severity(meant.empty() ? Severity::kWarning : Severity::kError);
    }
}

}  // namespace

bool is_sibling_name(std::string_view a, std::string_view b) {
    if (a.empty() || b.empty()) return false;
    const auto letters = [](std::string_view text) {
        std::string kept;
        for (const char c : text) {
            if (c < '0' || c > '9') kept += c;
        }
        return kept;
    };
    if (letters(a) == letters(b)) return true;  // "data-0" and "data-1"
    const auto words_a = split(a, '-');
    const auto words_b = split(b, '-');
    if (words_a.size() != words_b.size()) return false;
    std::size_t other_words = 0;
    for (std::size_t i = 0; i < words_a.size(); ++i) {
        const bool letter = words_a[i].size() == 1 || words_b[i].size() == 1;  // "model-a"
        if (words_a[i] == words_b[i]) continue;
        if (letter || nearest(words_a[i], {words_b[i]}).empty()) ++other_words;
    }
    return other_words > 0;
}

std::string number_of_pods(double replicas) { return std::to_string(static_cast<long>(replicas)); }

void check_links(const File& file, const Set& set, const Facts*, Report& report) {
    if (is_kept(file) || file.is_prose()) return;
    const std::vector<const File*> near = set.neighbours(file);
    for (const Object& object : file.objects) {
        if (object.broken) continue;
        if (object.role == Role::kHelmValues) check_amounts(object, report);
        if (object.role != Role::kObject) continue;
        check_targets({file, near, object, report});
        check_amounts(object, report);
        check_selections(file, set, near, object, report);
    }
    for (const PodSpec& pod : file.pods) {
        const Object* object = file.object(pod);
        if (object == nullptr || object->broken || object->role != Role::kObject) continue;
        check_pod({file, near, *object, report}, pod);
    }
}

}  // namespace aliquot::lint
