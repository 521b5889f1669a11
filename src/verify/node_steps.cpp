// SPDX-License-Identifier: Apache-2.0
// One node: its labels, and test pods on it.
#include <algorithm>

#include "base/number.h"
#include "verify/session.h"
#include "verify/test_pod.h"
#include "verify/wanted.h"

namespace aliquot::verify {
namespace {

using Clock = std::chrono::steady_clock;
using grant::Mechanism;

std::optional<std::uint64_t> label_number(const node::GpuNode& node, const char* key) {
    const auto text = node.object.label(key);
    return text ? parse_number<std::uint64_t>(*text) : std::nullopt;
}

/// By extended resources.
bool offers_nothing(const node::GpuNode& node) {
    return std::ranges::all_of(node.capacity, [](const auto& one) { return one.second == 0; });
}

void look_at_labels(Session& session, const node::GpuNode& node) {
    const std::string& name = node.name();
    if (offers_nothing(node)) {
        return session.ok("labels", name,
                          "its GPUs are handed out by claims, which no label counts");
    }
    const auto count = label_number(node, "nvidia.com/gpu.count");
    const auto replicas = label_number(node, "nvidia.com/gpu.replicas");
    if (!count) {
        return session.failed("labels", name, "the node has no label nvidia.com/gpu.count", "",
                              "let the agent write labels (--labels node), or run feature "
                              "discovery");
    }
    if (node.object.label("nvidia.com/mig.strategy") == "mixed" || !replicas) {
        return session.ok("labels", name, "gpu.count=" + std::to_string(*count));
    }
    const std::uint64_t each = std::max<std::uint64_t>(*replicas, 1);
    std::uint64_t capacity = 0;
    for (const auto& [resource, devices] : node.capacity) {
        if (!resource.starts_with("nvidia.com/mig-")) capacity += devices;
    }
    const std::string evidence = "gpu.count=" + std::to_string(*count) +
                                 ", gpu.replicas=" + std::to_string(*replicas) + ", capacity " +
                                 std::to_string(capacity);
    const bool alike = node.shares.size() <= 1;  // else GPUs are shared in different ways
    if (!alike || *count * each == capacity) {
        return session.ok("labels", name,
                          "labels and capacity agree: " + std::to_string(*count) + " GPU x " +
                              std::to_string(each) + " = " + std::to_string(capacity),
                          evidence);
    }
    session.failed("labels", name,
                   "labels say " + std::to_string(*count) + " x " + std::to_string(each) +
                       " devices, the kubelet counts " + std::to_string(capacity),
                   evidence, "aliquot doctor node " + name);
}

/// One of the things that a node offers, and its test pods.
class WantedRun {
public:
    WantedRun(Session& session, const node::GpuNode& node, const Wanted& wanted, unsigned number)
        : session_(session), node_(node), wanted_(wanted), number_(number) {}

    void run() {
        auto first = start("a");
        if (!first) return;
        judge(*first);
        if (!first->gpus.empty()) {
            look_at_second(*first);
            look_at_metrics();
        }
        for (const std::string& pod : pods_) remove(pod);
    }

private:
    [[nodiscard]] const std::string& subject() const { return wanted_.text; }

    [[nodiscard]] TestPod pod_of(const std::string& letter) const {
        TestPod pod{.name = "probe-" + std::to_string(number_) + "-" + letter,
                    .space = session_.options.space,
                    .node = node_.name(),
                    .resource = wanted_.resource,
                    .claim = wanted_.claim,
                    .image = session_.image,
                    .mechanism = wanted_.known_mechanism(),
                    .runtime_class = session_.options.runtime_class,
                    .user = session_.options.user};
        // Without the agent's word, or with several kinds of devices, the limit is not known.
        if (pod.mechanism != Mechanism::kNone && wanted_.kinds == 1) {
            pod.memory_mib = wanted_.memory_mib;
        }
        return pod;
    }

    void remove(const std::string& pod) {
        (void)session_.api.remove(kube_client::resources::pods(), {session_.options.space, pod},
                                  {.grace_seconds = 1, .call = session_.last_call()});
    }

    void not_started(const std::string& id, const TestPod& pod, const std::string& when) {
        const Diagnosis why = diagnose(session_, pod.name);
        session_.failed(id, node_.name(),
                        "a pod with " + subject() + " " + when + ": " + why.message, why.evidence,
                        why.fix);
        remove(pod.name);
    }

    /// The template of its claim goes with the namespace.
    kube_client::Outcome<kube_client::Object> make(const TestPod& pod) {
        if (pod.resource.empty()) {
            auto claim = session_.api.create(claim_templates(), pod.space, template_json(pod),
                                             {.call = session_.call()});
            if (!claim) return claim;
        }
        return session_.api.create(kube_client::resources::pods(), pod.space, to_json(pod),
                                   {.call = session_.call()});
    }

    /// Waits until the probe has answered. Empty: it was said why it has not.
    std::optional<ProbeAnswer> start(const std::string& letter) {
        const TestPod pod = pod_of(letter);
        const std::string id = letter == "a" ? "pod" : "together";
        const auto made = make(pod);
        if (!made) {
            session_.not_proven(id, node_.name(), made.failure());
            return std::nullopt;
        }
        pods_.push_back(pod.name);
        const auto begin = Clock::now();
        constexpr std::chrono::seconds kUnplacedLimit{45};
        while (true) {
            const auto object = session_.api.get(kube_client::resources::pods(),
                                                 {pod.space, pod.name}, session_.call());
            if (!object) {
                session_.not_proven(id, node_.name(), object.failure());
                return std::nullopt;
            }
            const PodState state = read_state(object->json);
            const bool ended = state.phase == "Succeeded" || state.phase == "Failed";
            if (state.phase == "Running" || ended) {
                if (auto answer = ask_log(pod)) return answer;
            }
            const auto waited = Clock::now() - begin;
            if (ended) {
                not_started(id, pod, "ended without a word");
                return std::nullopt;
            }
            if (state.is_hopeless() || (!state.placed && waited > kUnplacedLimit) ||
                waited > session_.options.pod_timeout) {
                const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited);
                not_started(id, pod, "does not start (" + std::to_string(seconds.count()) + " s)");
                return std::nullopt;
            }
            if (!session_.pause()) {
                session_.skipped(id, node_.name(), "stopped");
                return std::nullopt;
            }
        }
    }

    std::optional<ProbeAnswer> ask_log(const TestPod& pod) {
        const auto text = session_.api.get_raw(
            kube_client::path_of(kube_client::resources::pods(), {pod.space, pod.name}, "log") +
                "?container=probe&limitBytes=65536",
            session_.call());
        return text ? read_answer(*text) : std::nullopt;
    }

    void judge(const ProbeAnswer& answer) {
        const std::string& node = node_.name();
        const std::string gpu =
            answer.gpus.empty() ? "no GPU" : answer.gpus[0].name + " " + answer.gpus[0].uuid;
        if (answer.gpus.empty()) {
            return session_.failed("visible", node,
                                   "a pod with " + subject() + " sees no GPU: " + answer.problem,
                                   "", "aliquot doctor node " + node);
        }
        session_.ok("pod", node, "a pod with " + subject() + " runs");
        if (answer.visible.value_or(false)) {
            session_.ok("visible", node,
                        "it sees one GPU: " + gpu + ", " +
                            std::to_string(answer.gpus[0].memory_mib) + " MiB, CUDA " +
                            answer.driver);
        } else {
            session_.failed("visible", node,
                            "it asked for " + subject() + " and sees " +
                                std::to_string(answer.gpus.size()) + " GPUs",
                            answer.problem,
                            "NVIDIA_VISIBLE_DEVICES=all in the image or the runtime: see aliquot "
                            "doctor");
        }
        if (answer.arithmetic.value_or(false)) {
            session_.ok("arithmetic", node,
                        std::to_string(answer.elements) + " results are right bit by bit",
                        answer.arithmetic_how);
        } else {
            session_.failed("arithmetic", node, "a kernel: " + answer.arithmetic_how,
                            answer.problem, "aliquot doctor node " + node);
        }
        judge_share(answer);
    }

    void judge_share(const ProbeAnswer& answer) {
        const std::string& node = node_.name();
        const Mechanism mechanism = wanted_.mechanism;
        const std::string how(grant::node_text(mechanism));
        if (answer.share.has_value()) {
            if (*answer.share) {
                return session_.ok("share", node,
                                   "its share of " + std::to_string(wanted_.memory_mib) +
                                       " MiB holds (" + how + "): " + answer.share_how);
            }
            return session_.failed("share", node,
                                   "its share of " + std::to_string(wanted_.memory_mib) +
                                       " MiB does not hold (" + how + ")",
                                   answer.share_how, "aliquot node show " + node);
        }
        session_.skipped("share", node,
                         !wanted_.told                   ? "no agent says what a share is"
                         : mechanism == Mechanism::kNone ? "a whole GPU: there is no limit to keep"
                         : mechanism == Mechanism::kTimeSlicing ? "time slices limit no memory"
                         : wanted_.kinds > 1 ? "its devices differ: which limit counts is not known"
                                             : answer.share_how);
    }

    void look_at_second(const ProbeAnswer& first) {
        const std::string& node = node_.name();
        if (!wanted_.several) return;
        const auto second = start("b");
        if (!second) return;
        if (second->gpus.empty()) {
            return session_.failed("together", node,
                                   "a second pod beside the first sees no GPU: " + second->problem,
                                   "", "aliquot doctor node " + node);
        }
        const bool same = second->gpus[0].uuid == first.gpus[0].uuid;
        if (!second->arithmetic.value_or(false)) {
            return session_.failed("together", node,
                                   "beside the first pod a second one cannot compute",
                                   second->problem, "aliquot node show " + node);
        }
        if (!same && node_.gpus.size() == 1) {
            return session_.failed("together", node, "two pods see different GPUs on one card",
                                   first.gpus[0].uuid + ", " + second->gpus[0].uuid, "");
        }
        session_.ok("together", node,
                    same ? "two pods compute on " + first.gpus[0].uuid + " at the same time"
                         : "two pods compute at the same time, each on a GPU of its own");
    }

    void look_at_metrics() {
        const std::string& node = node_.name();
        const auto agent = session_.agent_pods.find(node);
        if (agent == session_.agent_pods.end()) {
            return session_.skipped("metrics", node, "no pod of the agent runs on this node");
        }
        const std::string path = "/api/v1/namespaces/" + session_.options.agent_namespace +
                                 "/pods/" + agent->second + ":" +
                                 std::to_string(session_.options.metrics_port) + "/proxy/metrics";
        const std::string wanted = "pod=\"" + pods_.front() + "\"";
        constexpr std::chrono::seconds kLimit{30};
        const auto begin = Clock::now();
        std::size_t bytes = 0;
        while (true) {
            const auto text = session_.api.get_raw(path, session_.call());
            if (!text) return session_.refused("metrics", node, text.failure());
            bytes = text->size();
            if (text->find(wanted) != std::string::npos) {
                return session_.ok("metrics", node, "the agent's metrics name the test pod");
            }
            if (Clock::now() - begin > kLimit) break;
            if (!session_.pause()) return session_.skipped("metrics", node, "stopped");
        }
        session_.failed(
            "metrics", node, "the agent's metrics do not name the test pod",
            "no " + wanted + " in " + std::to_string(bytes) + " bytes of " + path,
            "kubectl -n " + session_.options.agent_namespace + " logs " + agent->second);
    }

    Session& session_;
    const node::GpuNode& node_;
    const Wanted& wanted_;
    unsigned number_;
    std::vector<std::string> pods_;
};

}  // namespace

void look_at_node(Session& session, const node::GpuNode& node) {
    constexpr unsigned kMostResources = 4;
    look_at_labels(session, node);
    // Pods of several nodes are told apart by a number that the node's name gives.
    const auto place = static_cast<unsigned>(std::hash<std::string>()(node.name()) % 1'000'000);
    unsigned number = 0;
    for (const Wanted& wanted : wanted_of(node)) {
        if (session.stop.stop_requested()) return;
        if (++number > kMostResources) {
            session.skipped("pod", node.name(), wanted.text + ": more than four resources");
            continue;
        }
        WantedRun(session, node, wanted, place * 10 + number).run();
    }
}

}  // namespace aliquot::verify
