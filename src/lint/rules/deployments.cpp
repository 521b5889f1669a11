// SPDX-License-Identifier: Apache-2.0
// Deployments and other owners of pods: DEP001 to DEP004.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "lint/families.h"
#include "lint/rules/evidence.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

bool has_selector(const Object& object) {
    return object.group() == "apps" &&
           (object.kind == "Deployment" || object.kind == "StatefulSet" ||
            object.kind == "DaemonSet" || object.kind == "ReplicaSet");
}

bool any_placeholder(const Value& labels) {
    return std::any_of(labels.entries.begin(), labels.entries.end(), [](const Value::Entry& entry) {
        return entry.first.scalar == "<<" || is_placeholder(entry.first.scalar) ||
               is_placeholder(entry.second.scalar);
    });
}

/// A label that the pods have, else one made of the name.
std::string first_label(const Value* labels, const std::string& name) {
    if (labels == nullptr || labels->entries.empty() || any_placeholder(*labels)) {
        return "app: " + name;
    }
    const Value::Entry& first = labels->entries.front();
    return first.first.scalar + ": " + first.second.scalar;
}

/// A text whose subject are GPUs, not one that mentions them.
bool is_about_gpus(const File& file) {
    constexpr std::size_t kOften = 5;
    std::size_t times = 0;
    const std::string_view text = file.folded;
    for (auto at = text.find("nvidia"); at != std::string_view::npos && times < kOften;
         at = text.find("nvidia", at + 1)) {
        ++times;
    }
    return times >= kOften;
}

/// Pods of these kinds run on and on; the API server takes no other policy.
void check_restarts(const Object& object, Report& report) {
    const Value* policy = at_path(*object.node, "spec.template.spec.restartPolicy");
    if (policy == nullptr || (policy->scalar != "OnFailure" && policy->scalar != "Never")) return;
    report
        .add("FORM003", policy->mark,
             "the restartPolicy of " + object.kind + " " + object.name + " is " + policy->scalar +
                 ", which is refused")
        .expected("Always, or a Job")
        .fix("restartPolicy: Always");
}

void check_selector(const File& file, const Set& set, const Object& object, Report& report) {
    const Value* spec = object.node->find("spec");
    const Value* pod = spec == nullptr ? nullptr : at_path(*spec, "template.spec");
    if (pod == nullptr || !pod->is_mapping() || object.broken || object.templated) return;
    const Value::Entry* entry = entry_at(*object.node, "spec");
    const Value* selector = spec->find("selector");
    const Value* labels = at_path(*spec, "template.metadata.labels");
    if (selector == nullptr) {
        if (set.kustomizations().label_selectors(file)) return;  // it writes the selector
        auto finding = report.add("DEP001", entry->first.mark,
                                  object.kind + " " + object.name + " has no spec.selector");
        finding.fix("selector:\n  matchLabels:\n    " + first_label(labels, object.name));
        // Neither selector nor labels: manuals of other things show so what to add to an object that
        // is there. In a text about GPUs it is a workload that people apply.
        if (labels == nullptr && file.is_prose() && !is_about_gpus(file)) {
            finding.severity(findings::Severity::kInfo);
        }
        return;
    }
    const Value* wanted = selector->find("matchLabels");
    if (wanted == nullptr || wanted->entries.empty() || any_placeholder(*wanted)) return;
    if (labels != nullptr && any_placeholder(*labels)) return;
    for (const Value::Entry& one : wanted->entries) {
        const Value* value = labels == nullptr ? nullptr : labels->find(one.first.scalar);
        if (value != nullptr && value->scalar == one.second.scalar) continue;
        const Value::Entry* place = entry_at(*spec, "template");
        Mark mark = place->first.mark;
        if (const Value::Entry* metadata = entry_at(*spec, "template.metadata.labels")) {
            mark = metadata->first.mark;
        }
        auto finding = report.add("DEP001", mark,
                                  "the pods of " + object.kind + " " + object.name +
                                      " do not have the label '" + one.first.scalar + ": " +
                                      one.second.scalar + "' of its selector");
        finding.expected("labels of the template that match spec.selector.matchLabels")
            .fix("metadata:\n  labels:\n    " + one.first.scalar + ": " + one.second.scalar);
        const Value* body = &place->second;
        if (labels != nullptr || body->find("metadata") != nullptr || body->entries.empty()) return;
        const Mark first = body->entries.front().first.mark;
        if (!begins_line(file, first)) return;
        const std::string indent(first.column - 1, ' ');
        std::string lines = "metadata:\n" + indent + "  labels:\n";
        for (const Value::Entry& label : wanted->entries) {
            const std::string& text = label.second.scalar;
            lines += indent + "    " + label.first.scalar + ": " +
                     (label.second.quoted ? '"' + text + '"' : text) + '\n';
        }
        finding.edit(file, first, 0, lines + indent);
        return;
    }
}

void check_offer(const File& file, const PodSpec& pod, const Facts& facts, Report& report) {
    const Object* object = file.object(pod);
    if (object == nullptr || object->role != Role::kObject || !pod.whole) return;
    if (object->kind != "Deployment" && object->kind != "StatefulSet" &&
        object->kind != "ReplicaSet") {
        return;
    }
    const GpuNeed need = gpu_need(pod);
    if (need.value == nullptr || facts.nodes.empty()) return;
    const double replicas = pod.replicas.value_or(1);
    const double wanted = replicas * need.amount;
    const double offered = facts.total(need.value->name);
    if (offered <= 0 || facts.autoscaler) return;
    if (wanted > offered) {
        report.add("DEP003", need.value->key->mark,
                   number_text(replicas) + " replicas need " + number_text(wanted) + " of " +
                       need.value->name + ", and the cluster offers " + number_text(offered));
        return;
    }
    if (object->kind != "Deployment") return;
    const Value& node = *object->node;
    if (text_at(node, "spec.strategy.type") == "Recreate") return;
    const std::string surge = text_at(node, "spec.strategy.rollingUpdate.maxSurge");
    if (surge == "0" || surge == "0%") return;
    if (wanted + need.amount <= offered) return;
    const Value::Entry* strategy = entry_at(node, "spec.strategy");
    report
        .add("DEP002", strategy != nullptr ? strategy->first.mark : need.value->key->mark,
             "a new version starts a pod more, and the " + number_text(offered) + " of " +
                 need.value->name + " are all taken: the roll-out waits forever")
        .fix(
            "strategy:\n  type: RollingUpdate\n  rollingUpdate:\n    maxSurge: 0\n    "
            "maxUnavailable: 1");
}

struct KindWord {
    std::string_view word;
    std::string_view kind;
};
constexpr std::array<KindWord, 11> kKinds{{{"deployment", "Deployment"},
                                           {"deployments", "Deployment"},
                                           {"deployment.apps", "Deployment"},
                                           {"deploy", "Deployment"},
                                           {"statefulset", "StatefulSet"},
                                           {"statefulsets", "StatefulSet"},
                                           {"sts", "StatefulSet"},
                                           {"daemonset", "DaemonSet"},
                                           {"ds", "DaemonSet"},
                                           {"job", "Job"},
                                           {"jobs", "Job"}}};

std::string_view kind_of_word(std::string_view word) {
    for (const KindWord& one : kKinds) {
        if (one.word == word) return one.kind;
    }
    return {};
}

/// "web" of "web-server" and "gpu-web".
bool has_part(std::string_view longer, std::string_view part) {
    if (part.size() < 4 || longer.size() <= part.size() + 1) return false;
    return (longer.starts_with(part) && longer[part.size()] == '-') ||
           (longer.ends_with(part) && longer[longer.size() - part.size() - 1] == '-');
}

/// Whether some output in the text names a pod of this Deployment: "NAME-7696584686-6zdkn".
bool shows_pods_of(const File& file, std::string_view kind, const std::string& name) {
    if (kind != "Deployment") return false;
    const std::string begin = name + '-';
    for (std::size_t at = 0; (at = file.text.find(begin, at)) != std::string::npos;) {
        if (at > 0 && file.text[at - 1] != ' ' && file.text[at - 1] != '/' &&
            file.text[at - 1] != '\n') {
            at += begin.size();
            continue;
        }
        at += begin.size();
        std::size_t hash = 0;  // of the ReplicaSet: letters and digits, then five more
        while (at + hash < file.text.size() &&
               std::isalnum(static_cast<unsigned char>(file.text[at + hash])) != 0) {
            ++hash;
        }
        constexpr std::size_t kLeast = 8;
        constexpr std::size_t kMost = 10;
        if (hash < kLeast || hash > kMost || at + hash + 6 > file.text.size()) continue;
        const std::string_view rest = std::string_view(file.text).substr(at + hash, 6);
        if (rest.front() == '-' && std::all_of(rest.begin() + 1, rest.end(), [](unsigned char c) {
                return std::isalnum(c) != 0;
            })) {
            return true;
        }
    }
    return false;
}

/// The object's kind and name that a command speaks of: "deployment web", "deployment/web".
void check_command(const File& file, const Set& set, const Command& command, Report& report) {
    if (!command.is("kubectl") && !command.is("oc")) return;
    const auto words = command.positionals();
    if (words.size() < 2) return;
    const std::string& verb = words[0]->text;
    std::size_t at = 1;
    if (verb == "rollout") at = 2;
    if (verb != "scale" && verb != "rollout" && verb != "patch" && verb != "set" &&
        verb != "label" && verb != "annotate") {
        return;
    }
    if (verb == "set") at = 2;
    if (at >= words.size()) return;
    std::string kind = words[at]->text;
    const Word* place = words[at];
    std::string name;
    const auto slash = kind.find('/');
    if (slash != std::string::npos) {
        name = kind.substr(slash + 1);
        kind.resize(slash);
    } else if (at + 1 < words.size()) {
        place = words[at + 1];
        name = place->text;
    }
    const std::string_view meant = kind_of_word(lower(kind));
    if (meant.empty() || name.empty() || is_placeholder(name)) return;
    if (set.find_object(file, meant, name)) return;
    std::vector<std::string_view> known;
    for (const Object& object : file.objects) {
        if (object.kind == meant && !object.name.empty() && !is_placeholder(object.name)) {
            known.push_back(object.name);
        }
    }
    if (shows_pods_of(file, meant, name)) return;
    if (known.empty() || std::find(known.begin(), known.end(), name) != known.end()) return;
    for (const std::string_view one : known) {
        if (!has_part(name, one) && !has_part(one, name) && nearest(name, {one}).empty()) continue;
        report
            .add("DEP004", place->mark,
                 "there is no " + std::string(meant) + " '" + name +
                     "' in this text; it defines '" + std::string(one) + "'")
            .expected(std::string(one));
        return;
    }
}

}  // namespace

void check_deployments(const File& file, const Set& set, const Facts* facts, Report& report) {
    for (const Object& object : file.objects) {
        if (object.role == Role::kObject && has_selector(object)) {
            check_selector(file, set, object, report);
            check_restarts(object, report);
        }
    }
    if (facts != nullptr) {
        for (const PodSpec& pod : file.pods) check_offer(file, pod, *facts, report);
    }
    if (!file.is_prose()) return;
    for (const Command& command : file.commands) {
        if (!command.shown) check_command(file, set, command, report);
    }
}

}  // namespace aliquot::lint
