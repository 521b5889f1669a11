// SPDX-License-Identifier: Apache-2.0
// CronJobs: CRON001 to CRON004.
#include <algorithm>
#include <array>
#include <optional>

#include "k8s/quantity.h"
#include "lint/families.h"
#include "lint/rules/evidence.h"
#include "lint/rules/job_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

bool is_scalable(std::string_view kind) {
    static constexpr std::array<std::string_view, 22> kKinds{"deployment",
                                                             "deployments",
                                                             "deploy",
                                                             "deployment.apps",
                                                             "replicaset",
                                                             "replicasets",
                                                             "rs",
                                                             "statefulset",
                                                             "statefulsets",
                                                             "sts",
                                                             "statefulset.apps",
                                                             "replicationcontroller",
                                                             "replicationcontrollers",
                                                             "rc",
                                                             "machineset",
                                                             "machinesets",
                                                             "machinedeployment",
                                                             "machinedeployments",
                                                             "machinepool",
                                                             "machinepools",
                                                             "deploymentconfig",
                                                             "dc"};
    return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

/// Kinds that people try to scale and that cannot be.
bool is_no_scalable(std::string_view kind) {
    static constexpr std::array<std::string_view, 17> kKinds{
        "nodepool", "nodepools", "node-pool", "nodegroup",  "nodegroups", "node-group",
        "node",     "nodes",     "daemonset", "daemonsets", "ds",         "job",
        "jobs",     "cronjob",   "cronjobs",  "pod",        "pods"};
    return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

/// kubectl scale KIND NAME --replicas=N, from the words of a container or of a shell.
struct Scaling {
    std::string kind;
    std::string name;
    std::optional<double> replicas;
};

std::optional<Scaling> scaling_of(const std::vector<std::string>& words) {
    const auto kubectl = std::find_if(words.begin(), words.end(), [](const std::string& word) {
        return word == "kubectl" || word.ends_with("/kubectl");
    });
    const auto begin = kubectl == words.end() ? words.begin() : kubectl + 1;
    const auto scale = std::find(begin, words.end(), "scale");
    if (scale == words.end()) return std::nullopt;
    Scaling scaling;
    bool skip = false;
    for (auto word = scale + 1; word != words.end(); ++word) {
        if (skip) {
            skip = false;
            continue;
        }
        if (word->starts_with("--replicas=")) {
            scaling.replicas = k8s::quantity_value(std::string_view(*word).substr(11));
        } else if (*word == "--replicas" && word + 1 != words.end()) {
            scaling.replicas = k8s::quantity_value(*(word + 1));
            skip = true;
        } else if (*word == "-n" || *word == "--namespace") {
            skip = true;
        } else if (word->starts_with("-")) {
            continue;
        } else if (scaling.kind.empty()) {
            const auto slash = word->find('/');
            scaling.kind = lower(word->substr(0, slash));
            if (slash != std::string::npos) scaling.name = word->substr(slash + 1);
        } else if (scaling.name.empty()) {
            scaling.name = *word;
        }
    }
    if (scaling.kind.empty()) return std::nullopt;
    return scaling;
}

/// The words of a container; a script of `sh -c` is cut at blanks.
std::vector<std::string> words_of(const Container& container) {
    std::vector<std::string> words;
    for (const std::string& text : container.command) {
        std::size_t begin = 0;
        constexpr std::size_t kMost = 2'000;
        for (std::size_t i = 0; i <= text.size() && words.size() < kMost; ++i) {
            const bool blank = i == text.size() || text[i] == ' ' || text[i] == '\n' ||
                               text[i] == '\t' || text[i] == ';';
            if (!blank) continue;
            if (i > begin) words.push_back(text.substr(begin, i - begin));
            begin = i + 1;
        }
    }
    return words;
}

bool runs_kubectl(const Container& container) {
    if (container.command.empty()) return false;
    const auto words = words_of(container);
    return std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word == "kubectl" || word.ends_with("/kubectl");
    });
}

Mark command_mark(const Container& container) {
    for (const std::string_view key : {"command", "args"}) {
        if (const Value::Entry* entry = entry_at(*container.node, key)) return entry->first.mark;
    }
    return container.node->mark;
}

void check_kubectl(const Object& object, const PodSpec& pod, const Container& container,
                   Report& report) {
    const auto scaling = scaling_of(words_of(container));
    if (scaling && is_no_scalable(scaling->kind)) {
        report.add("CRON003", command_mark(container),
                   "kubectl scale knows no " + scaling->kind + " '" + scaling->name + "'");
    }
    if (pod.node->find("serviceAccountName") != nullptr ||
        pod.node->find("serviceAccount") != nullptr) {
        return;
    }
    const bool own = std::any_of(container.mounts.begin(), container.mounts.end(),
                                 [](const Mount& mount) { return contains(mount.path, "kube"); });
    if (own || container.find_env("KUBECONFIG") != nullptr || object.templated) return;
    report.add("CRON003",
               pod.node->entries.empty() ? pod.node->mark : pod.node->entries.front().first.mark,
               object.kind + " " + object.name +
                   " runs kubectl as the default service account, which may do nothing");
}

void check_schedule(const Object& object, Report& report) {
    const Value* spec = object.node->find("spec");
    if (spec == nullptr || object.templated) return;
    for (const std::string_view key :
         {"timeZone", "concurrencyPolicy", "startingDeadlineSeconds"}) {
        if (spec->find(key) != nullptr) return;
    }
    const Value::Entry* entry = entry_at(*object.node, "spec.schedule");
    report.add("CRON002", entry != nullptr ? entry->first.mark : object.mark(),
               "CronJob " + object.name +
                   " has no timeZone, no concurrencyPolicy and no startingDeadlineSeconds");
}

/// Whether some other CronJob or command near by sets the same thing to fewer.
bool goes_down(const File& file, const Set& set, const Scaling& up) {
    for (const File* near : set.neighbours(file)) {
        for (const PodSpec& pod : near->pods) {
            for (const Container& container : pod.containers) {
                const auto other = scaling_of(words_of(container));
                if (other && other->name == up.name && other->replicas && up.replicas &&
                    *other->replicas < *up.replicas) {
                    return true;
                }
            }
        }
    }
    return false;
}

void check_commands(const File& file, Report& report) {
    for (const Command& command : file.commands) {
        if (!command.is("kubectl", "scale")) continue;
        std::vector<std::string> words;
        for (const Word& word : command.words) words.push_back(word.text);
        const auto scaling = scaling_of(words);
        if (!scaling || is_scalable(scaling->kind) || !is_no_scalable(scaling->kind)) continue;
        if (scaling->kind.starts_with("nodepool") && file.mentions("karpenter")) continue;
        report.add("CRON003", command.mark, "kubectl scale knows no " + scaling->kind);
    }
}

}  // namespace

void check_cron(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    for (const PodSpec& pod : file.pods) {
        const Object* object = file.object(pod);
        if (object == nullptr || object->kind != "CronJob" || object->role != Role::kObject)
            continue;
        if (object->group() != "batch" || object->broken || !pod.whole) continue;
        check_restart_policy(file, *object, pod, "CRON001", report);
        bool scales = false;
        for (const Container& container : pod.containers) {
            if (container.init || container.node == nullptr || !runs_kubectl(container)) continue;
            scales = scales ||
                     std::any_of(container.command.begin(), container.command.end(),
                                 [](const std::string& word) { return contains(word, "scale"); });
            check_kubectl(*object, pod, container, report);
            const auto scaling = scaling_of(words_of(container));
            if (!scaling || scaling->replicas.value_or(0) <= 0 || is_placeholder(scaling->name)) {
                continue;
            }
            if (goes_down(file, set, *scaling)) continue;
            report.add("CRON004", command_mark(container),
                       "CronJob " + object->name + " scales " + scaling->kind + " " +
                           scaling->name + " up, and nothing here scales it down");
        }
        const bool gpus = pod.asks_gpu() || (scales && about_gpus(file));
        if (gpus) check_schedule(*object, report);
    }
    if (file.mentions("kubectl scale") || file.mentions("scale")) check_commands(file, report);
}

}  // namespace aliquot::lint
