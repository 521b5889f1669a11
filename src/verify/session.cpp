// SPDX-License-Identifier: Apache-2.0
#include "verify/session.h"

#include <algorithm>
#include <utility>

namespace aliquot::verify {

Session::Session(kube_client::Api& the_api, const Options& the_options, std::stop_token the_stop,
                 const std::function<void(const Step&)>& on_step)
    : api(the_api), options(the_options), stop(std::move(the_stop)), on_step_(on_step) {}

void Session::record(Step step) {
    const std::lock_guard lock(mutex_);
    if (on_step_) on_step_(step);
    steps_.push_back(std::move(step));
}

void Session::ok(std::string id, std::string node, std::string message, std::string evidence) {
    record({std::move(id), std::move(node), Verdict::kOk, std::move(message), std::move(evidence),
            ""});
}

void Session::failed(std::string id, std::string node, std::string message, std::string evidence,
                     std::string fix) {
    record({std::move(id), std::move(node), Verdict::kFailed, std::move(message),
            std::move(evidence), std::move(fix)});
}

void Session::skipped(std::string id, std::string node, std::string message) {
    record({std::move(id), std::move(node), Verdict::kSkipped, std::move(message), "", ""});
}

void Session::refused(std::string id, std::string node, const kube_client::Failure& failure) {
    if (failure.is(kube_client::Reason::kStopped)) {
        skipped(std::move(id), std::move(node), "stopped");
    } else if (failure.is(kube_client::Reason::kForbidden)) {
        skipped(std::move(id), std::move(node), "not allowed: " + failure.message);
    } else {
        failed(std::move(id), std::move(node), failure.message, "", "");
    }
}

void Session::not_proven(std::string id, std::string node, const kube_client::Failure& failure) {
    if (failure.is(kube_client::Reason::kStopped)) {
        return skipped(std::move(id), std::move(node), "stopped");
    }
    std::string fix;
    if (failure.message.contains("violates PodSecurity")) {
        fix =
            "something adds to pods what their namespace does not allow: --pod-security "
            "baseline or privileged";
    } else if (failure.is(kube_client::Reason::kForbidden)) {
        fix = "rights needed in namespace " + options.space +
              ": create, get and delete pods, get pods/log, for GPUs by claims create "
              "resourceclaimtemplates";
    }
    failed(std::move(id), std::move(node), failure.message, "", std::move(fix));
}

bool Session::pause() {
    std::unique_lock lock(mutex_);
    (void)stopped_.wait_for(lock, stop, options.look_every, [] { return false; });
    return !stop.stop_requested();
}

std::vector<Step> Session::take_steps() {
    const std::lock_guard lock(mutex_);
    return std::exchange(steps_, {});
}

bool Session::has(std::string_view id, std::string_view node, Verdict verdict) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(steps_, [&](const Step& step) {
        return step.id == id && step.node == node && step.result == verdict;
    });
}

}  // namespace aliquot::verify
