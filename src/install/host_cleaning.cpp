// SPDX-License-Identifier: Apache-2.0
#include "install/host_cleaning.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "install/render.h"
#include "node/names.h"

namespace aliquot::install {
namespace {

using Clock = std::chrono::steady_clock;
using kube_client::Reason;

constexpr std::string_view kCleaners =
    "app.kubernetes.io/name=aliquot,app.kubernetes.io/component=clean-up";
constexpr std::string_view kProgram = "aliquot-agent: ";
constexpr std::chrono::milliseconds kPause{500};
// A namespace that was just made has no service account yet, without which no pod is taken.
constexpr std::chrono::seconds kNewNamespace{15};
/// What its program said last, or why it does not start; empty: there is nothing to say yet.
std::string why_not_yet(const kube_client::Object& pod) {
    const std::string status = "/status/containerStatuses/0/";
    for (const char* const state : {"state", "lastState"}) {
        auto said = kube_client::string_at(pod.json, status + state + "/terminated/message");
        if (!said || said->empty()) continue;
        if (said->starts_with(kProgram)) said->erase(0, kProgram.size());
        while (said->ends_with('\n')) said->pop_back();
        std::ranges::replace(*said, '\n', ';');
        return *said;
    }
    const auto reason = kube_client::string_at(pod.json, status + "state/waiting/reason");
    if (!reason || *reason == "ContainerCreating" || *reason == "PodInitializing") return {};
    return *reason + " " +
           kube_client::string_at(pod.json, status + "state/waiting/message").value_or("");
}

/// Whether its program has found that only running containers hold up the rest: to try again is no use.
bool is_held_up(const kube_client::Object& pod) {
    for (const char* const state : {"state", "lastState"}) {
        const auto code = kube_client::integer_at(
            pod.json, std::string("/status/containerStatuses/0/") + state + "/terminated/exitCode");
        if (code) return *code == node::kLeftInUse;
    }
    return false;
}

class Cleaners {
public:
    Cleaners(kube_client::Api& api, const Values& values, std::chrono::seconds limit,
             const std::stop_token& stop)
        : api_(api), values_(values), limit_(limit), stop_(stop) {
        if (values_.image.empty()) values_.image = Values().image;
    }

    std::map<std::string, HostAnswer> run(const std::set<std::string>& nodes) {
        make_namespace();
        for (const std::string& node : nodes) start(node);
        watch();
        for (const kube_client::Object& pod : pods())
            (void)api_.remove(kube_client::resources::pods(), pod.key(), {.call = call()});
        for (auto& [node, answer] : answers_) {
            if (answer.clean || !answer.remains.empty()) continue;
            answer.remains = "on node " + node +
                             ": /var/lib/aliquot, /run/aliquot and "
                             "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json, as far as they "
                             "were there; run uninstall again when the node answers, or "
                             "aliquot-agent --clean-up there";
        }
        return std::move(answers_);
    }

private:
    [[nodiscard]] kube_client::Call call() const {
        return {.deadline = std::chrono::seconds(30), .stop = stop_};
    }

    /// False when the caller's stop token ended the pause.
    bool pause() const {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        (void)never.wait_for(lock, stop_, kPause, [] { return false; });
        return !stop_.stop_requested();
    }

    std::vector<kube_client::Object> pods() {
        auto found = api_.list(
            kube_client::resources::pods(),
            {.namespace_name = std::string(kNamespace), .label_selector = std::string(kCleaners)},
            call());
        if (found) return std::move(found->items);
        return {};
    }

    void make_namespace() {
        const auto manifests = render(values_);
        const auto made = api_.create(kube_client::resources::namespaces(), {},
                                      to_json(manifests.front()), {.call = call()});
        if (made) new_until_ = Clock::now() + kNewNamespace;
    }

    void start(const std::string& node) {
        HostAnswer& answer = answers_[node];
        const Manifest pod = clean_up_pod(values_, node);
        // One of an earlier, interrupted run would not tell of this one.
        (void)api_.remove(kube_client::resources::pods(), {std::string(kNamespace), pod.name},
                          {.grace_seconds = 0, .call = call()});
        for (;;) {
            const auto made = api_.create(kube_client::resources::pods(), kNamespace, to_json(pod),
                                          {.call = call()});
            if (made || made.failure().is(Reason::kAlreadyExists)) break;
            answer.why = made.failure().message;
            if (Clock::now() >= new_until_ || !pause()) return;
        }
        answer.why = "no answer within " + std::to_string(limit_.count()) + " s";
        waiting_[pod.name] = node;
    }

    void watch() {
        const auto until = Clock::now() + limit_;
        while (!waiting_.empty() && Clock::now() < until) {
            for (const kube_client::Object& pod : pods()) note(pod);
            if (!waiting_.empty() && !pause()) return;
        }
    }

    void note(const kube_client::Object& pod) {
        const auto found = waiting_.find(pod.name);
        if (found == waiting_.end()) return;
        HostAnswer& answer = answers_[found->second];
        std::string why = why_not_yet(pod);
        if (kube_client::string_at(pod.json, "/status/phase") == "Succeeded") {
            answer = {.clean = true, .why = {}, .remains = {}};
            waiting_.erase(found);
        } else if (is_held_up(pod)) {
            answer = {.clean = false,
                      .why = why,
                      .remains = "on node " + found->second + ": " + why +
                                 "; run uninstall again when they have ended"};
            waiting_.erase(found);
        } else if (!why.empty()) {
            answer.why = std::move(why);
        }
    }

    kube_client::Api& api_;
    Values values_;
    const std::chrono::seconds limit_;
    const std::stop_token stop_;
    Clock::time_point new_until_{};
    std::map<std::string, HostAnswer> answers_;
    std::map<std::string, std::string> waiting_;  // pod -> node
};

}  // namespace

std::map<std::string, HostAnswer> clean_hosts(kube_client::Api& api, const Values& values,
                                              const std::set<std::string>& nodes,
                                              std::chrono::seconds limit,
                                              const std::stop_token& stop) {
    return Cleaners(api, values, limit, stop).run(nodes);
}

}  // namespace aliquot::install
