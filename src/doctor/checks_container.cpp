// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "catalog/drivers.h"
#include "doctor/check.h"
#include "doctor/container_patterns.h"
#include "doctor/nodes.h"

namespace aliquot::doctor {
namespace {

bool says(std::string_view line, std::string_view pattern) {
    for (;;) {
        const auto star = pattern.find('*');
        const std::string_view part = pattern.substr(0, star);
        const auto found =
            std::search(line.begin(), line.end(), part.begin(), part.end(), [](char a, char b) {
                const auto low = [](char c) {
                    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
                };
                return low(a) == low(b);
            });
        if (found == line.end() && !part.empty()) return false;
        if (star == std::string_view::npos) return true;
        line.remove_prefix(static_cast<std::size_t>(found - line.begin()) + part.size());
        pattern.remove_prefix(star + 1);
    }
}

bool asked_for(const Facts& facts, const Said& said) {
    return facts.target.kind != Target::Kind::kPod || said.pod == facts.target.name;
}

const Object* pod_of(const Facts& facts, const Said& said) {
    const auto slash = said.pod.find('/');
    if (slash == std::string::npos) return nullptr;
    return facts.cluster.find("Pod", said.pod.substr(0, slash), said.pod.substr(slash + 1));
}

/// Whether a line tells of a fault, and not only of a subject.
bool tells_a_fault(std::string_view line) {
    constexpr std::array<std::string_view, 8> kWords{"fail",   "exception", "warn",    "fatal",
                                                     "cannot", "unable",    "killed:", "traceback"};
    for (auto at = find_folded(line, "error"); at != std::string::npos;
         at = find_folded(line, "error", at + 1)) {
        if (at + 5 == line.size() || !is_letter(line[at + 5])) return true;
    }
    return std::ranges::any_of(kWords,
                               [&](std::string_view word) { return contains_folded(line, word); });
}

/// Every container is up and none has ended yet.
bool is_well(const Object& pod) {
    const auto& all = items_at(pod.body, {"status", "containerStatuses"});
    return !all.empty() && std::ranges::all_of(all, [](const Value& one) {
        return text_at(one, {"ready"}) == "true" && text_at(one, {"restartCount"}) == "0";
    });
}

/// "expandable_segments avoids CUDA out of memory": a line of a program that is well, and no fault.
bool is_advice(const Facts& facts, const Said& said) {
    const Object* const pod = pod_of(facts, said);
    return said.path.starts_with("logs/") && !tells_a_fault(said.text) && pod != nullptr &&
           is_well(*pod);
}

/// A program without RuntimeClass in a cluster that has one for NVIDIA runs under runc, where runc is
/// the default.
void add_runtime_class(const Facts& facts, const Object& pod, Verdict& verdict) {
    if (!text_at(pod.body, {"spec", "runtimeClassName"}).empty()) return;
    for (const Object& one : facts.cluster.all("RuntimeClass")) {
        if (text_at(one.body, {"handler"}) != "nvidia") continue;
        verdict.because(
            Evidence{.path = pod.path,
                     .value = "no runtimeClassName, and there is RuntimeClass " + one.name,
                     .expected = "runtimeClassName: " + one.name});
        verdict.edit("runtimeClassName: " + one.name, Risk::kRestartPods);
        return;
    }
}

/// The driver of the host, or as feature discovery tells it of the pod's node.
void add_driver(const Facts& facts, const Object& pod, Verdict& verdict) {
    std::string driver = facts.host.driver.value;
    std::string path = facts.host.driver.place.path;
    if (!facts.host.driver.ok()) {
        const Object* const node = facts.cluster.find("Node", "", node_of(pod));
        if (node == nullptr) return;
        driver = label(*node, "nvidia.com/cuda.driver-version.full");
        path = node->path;
    }
    if (driver.empty()) return;
    const auto version = catalog::parse_version(driver);
    const auto* const newest = version ? catalog::newest_cuda(*version) : nullptr;
    verdict.because(Evidence{
        .path = path,
        .value =
            "driver " + driver +
            (newest == nullptr ? ""
                               : " runs CUDA up to " + std::to_string(newest->cuda.major()) + "." +
                                     std::to_string(newest->cuda.minor()) + " in full")});
}

/// What the pod itself adds to a text: which node's driver, which setting.
void add_pod_facts(const Facts& facts, const Said& said, std::string_view id, Verdict& verdict) {
    const Object* const pod = pod_of(facts, said);
    if (pod == nullptr) return;
    if (id == "CTR001" || id == "CTR008" || id == "CTR015") {
        if (gpu_requests(*pod).empty()) {
            verdict.because(Evidence{.path = pod->path,
                                     .value = pod->id() + " asks for no GPU",
                                     .expected = "limits: nvidia.com/gpu: 1"});
        }
        // With CTR008 a driver answered, mostly: then the class is not what is missing.
        if (id != "CTR008" && !gpu_requests(*pod).empty()) add_runtime_class(facts, *pod, verdict);
        for (const Value* const container : containers_of(*pod)) {
            for (const char* const name :
                 {"CUDA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_VISIBLE_DEVICES"}) {
                const std::string value = environment_of(*container, name);
                if (value.empty()) continue;
                verdict.because(Evidence{.path = pod->path,
                                         .line = container->mark.line,
                                         .value = std::string(name) + "=" + value});
            }
        }
    }
    if (id == "CTR004" || id == "CTR008" || id == "CTR013") add_driver(facts, *pod, verdict);
}

Verdict judge_pattern(const Facts& facts, const ContainerPattern& pattern) {
    if (facts.cluster.said.empty()) {
        return facts.cluster.known || !facts.cluster.logs.empty()
                   ? ok("no message of this kind in the logs and events")
                   : unknown("no events and no logs of pods were read");
    }
    Verdict verdict{.outcome = pattern.outcome};
    std::size_t pods = 0;
    std::string last;
    const Said* first = nullptr;
    for (const Said& said : facts.cluster.said) {
        if (!asked_for(facts, said)) continue;
        const bool found = std::ranges::any_of(pattern.texts, [&](std::string_view text) {
            return !text.empty() && says(said.text, text);
        });
        if (!found) continue;
        if (pattern.id == "CTR019" && is_advice(facts, said)) continue;
        if (first == nullptr) first = &said;
        if (said.pod != last) ++pods;
        last = said.pod;
        verdict.because(Evidence{.path = said.path, .line = said.line, .value = said.text});
    }
    if (first == nullptr) return ok("no message of this kind in the logs and events");
    verdict.message = (first->pod.empty() ? std::string("A container") : "Pod " + first->pod) +
                      (pods > 1 ? " and " + std::to_string(pods - 1) + " more" : "") + ": " +
                      std::string(pattern.cause);
    verdict.confidence = Confidence::kLikely;
    add_pod_facts(facts, *first, pattern.id, verdict);
    if (!pattern.command.empty()) verdict.fix(std::string(pattern.command));
    verdict.note(std::string(pattern.fix));
    return verdict;
}

/// One judge for each row: a check is a plain function.
template <std::size_t Row>
Verdict judge_row(const Facts& facts) {
    return judge_pattern(facts, container_patterns()[Row]);
}

Verdict judge_privileged(const Facts& facts) {
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (facts.target.kind == Target::Kind::kPod && pod.id() != facts.target.name) continue;
        const bool system = pod.space == "kube-system" || pod.space.contains("gpu-operator") ||
                            pod.space.contains("nvidia") || pod.space.contains("aliquot") ||
                            is_plugin_name(pod.name);
        if (system || is_finished(pod) || gpu_requests(pod).empty()) continue;
        for (const Value* const container : containers_of(pod)) {
            const Value* const privileged = at_path(container, {"securityContext", "privileged"});
            if (!is_true(privileged)) continue;
            auto verdict = warning("Pod " + pod.id() +
                                   " is privileged: it sees all GPUs of its node, "
                                   "whatever it asked for.");
            verdict.because(Location{pod.path, privileged->mark.line, "privileged: true"},
                            "no privileged container");
            verdict.note("Take privileged: true away; a GPU needs none of it.");
            return verdict;
        }
    }
    return facts.cluster.asked("Pod") ? ok("no pod with a GPU is privileged")
                                      : not_read(facts, {"Pod"});
}

template <std::size_t... Rows>
std::vector<Check> rows(std::index_sequence<Rows...> /*all*/) {
    return {Check{container_patterns()[Rows].id, Level::kContainer, false,
                  container_patterns()[Rows].after, judge_row<Rows>}...};
}

}  // namespace

std::span<const Check> container_checks() {
    static const std::vector<Check> kAll = [] {
        auto all = rows(std::make_index_sequence<33>());
        // What lacks a library comes before what falls back because of it.
        std::stable_partition(all.begin(), all.end(),
                              [](const Check& one) { return one.id == "CTR028"; });
        std::stable_partition(all.begin(), all.end(),
                              [](const Check& one) { return one.id == "CTR021"; });
        all.push_back({"CTR031", Level::kContainer, false, "", judge_privileged});
        return all;
    }();
    return kAll;
}

}  // namespace aliquot::doctor
