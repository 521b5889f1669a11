// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/cluster_flags.h"

#include <filesystem>
#include <utility>

#include "base/number.h"
#include "command_line/command.h"

namespace aliquot::cli {
namespace {

/// What stands between `before` and `after`; empty: one of them is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
    const auto begin = text.find(before);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin + before.size());
    const auto end = text.find(after);
    return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

/// Distributions keep their kubeconfig where nobody looks; never used by itself.
std::string hint() {
    std::error_code problem;
    if (std::filesystem::exists("/etc/rancher/k3s/k3s.yaml", problem)) {
        return "; k3s keeps its own: --kubeconfig /etc/rancher/k3s/k3s.yaml";
    }
    if (std::filesystem::exists("/var/snap/microk8s/current/credentials/client.config", problem)) {
        return "; of MicroK8s: microk8s config > microk8s.yaml, then --kubeconfig microk8s.yaml";
    }
    return {};
}

/// "30s" and "2m" as seconds; anything else as it is, for the check of the number.
std::string plain_seconds(const std::string& word) {
    if (word.size() < 2 || (word.back() != 's' && word.back() != 'm')) return word;
    const auto number = parse_number<unsigned>(std::string_view(word).substr(0, word.size() - 1));
    if (!number || *number > 600) return word;
    return std::to_string(word.back() == 'm' ? *number * 60 : *number);
}

}  // namespace

void add_cluster_flags(command_line::Command& command, ClusterOptions& words) {
    command.add_option("--kubeconfig", words.kubeconfig,
                       "How to reach the cluster; default: KUBECONFIG, the pod's service account, "
                       "~/.kube/config",
                       "FILE");
    command.add_option("--context", words.context, "Context of the kubeconfig", "NAME")
        ->complete_by("contexts");
    command
        .add_option("--request-timeout", words.request_timeout_seconds,
                    "Timeout of a request, including retries: 30, 30s or 2m", "SECONDS (1 to 600)")
        ->range(1, 600)
        ->transform(plain_seconds);
}

void add_namespace_flag(command_line::Command& command, ClusterOptions& words,
                        const std::string& what) {
    command.add_option("-n,--namespace", words.namespace_name, what, "NAME")
        ->complete_by("namespaces");
}

kube_client::Call call_of(const ClusterOptions& words) {
    return {.deadline = std::chrono::seconds(words.request_timeout_seconds)};
}

std::optional<kube_client::Connection> connect_cluster(Context& context,
                                                       const ClusterOptions& words) {
    auto connection = kube_client::connect({.kubeconfig = words.kubeconfig,
                                            .context = words.context,
                                            .namespace_name = words.namespace_name});
    if (connection) return std::optional<kube_client::Connection>(*std::move(connection));
    const Error& error = connection.error();
    const bool named = !words.kubeconfig.empty() || !words.context.empty();
    const bool usage =
        error.code == ErrorCode::kInvalidInput || (named && error.code == ErrorCode::kNotFound);
    fail(context, usage ? kUsage : kCouldNotRun,
         error.message + (error.code == ErrorCode::kNotFound && !named ? hint() : ""));
    return std::nullopt;
}

std::string missing_right(std::string_view message) {
    const auto verb = between(message, " cannot ", " resource \"");
    const auto resource = between(message, " resource \"", "\"");
    const auto group = between(message, " in API group \"", "\"");
    const auto space = between(message, " in the namespace \"", "\"");
    if (verb.empty() || resource.empty()) return {};
    std::string text(verb);
    text.append(" ").append(resource);
    if (!group.empty()) text.append(".").append(group);
    if (!space.empty()) text.append(" in the namespace ").append(space);
    return text;
}

void fail(Context& context, const kube_client::Failure& failure) {
    using enum kube_client::Reason;
    std::string text = failure.message;
    if (failure.is(kForbidden)) {
        const std::string right = missing_right(failure.message);
        if (!right.empty()) text += "; a role of yours must allow: " + right;
    }
    if (failure.is(kUnreachable)) text += "; is it the right --context, and is the cluster up?";
    if (failure.is(kConflict) || failure.is(kAlreadyExists)) {
        for (const kube_client::Cause& cause : failure.causes) {
            text += "; " + cause.field + ": " + cause.message;
        }
    }
    const bool usage = failure.is(kInvalid) || failure.is(kBadRequest) || failure.is(kTooLarge);
    fail(context, usage ? kUsage : kCouldNotRun, text);
}

}  // namespace aliquot::cli
