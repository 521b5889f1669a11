// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/node_config_wait.h"

#include <algorithm>
#include <ostream>

#include "node/gpu_node.h"

namespace aliquot::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

Milliseconds since(Clock::time_point begin) {
    return std::chrono::duration_cast<Milliseconds>(Clock::now() - begin);
}

/// Waits for the next change of one node, a second at most. Failures show with the next get.
void wait_for_change(kube_client::Api& api, const std::string& node, const std::string& version,
                     const kube_client::Call& call) {
    const auto watch = api.watch(kube_client::resources::nodes(),
                                 {.field_selector = "metadata.name=" + node,
                                  .resource_version = version,
                                  .duration = std::chrono::seconds(5),
                                  .metadata_only = true},
                                 call);
    if (watch) (void)(*watch)->next(std::chrono::seconds(1));
}

/// "GPU 0 stays nvidia.com/gpu, 4 shares of 16Gi, until ai/a ends, and 3 more devices wait".
std::string waiting_text(const node::ConfigStatus& told) {
    const std::string first = sharing::to_text(told.waiting.front());
    const std::size_t more = told.waiting.size() - 1;
    return more == 0 ? first : first + ", and " + std::to_string(more) + " more devices wait";
}

}  // namespace

ConfigAnswer answer_of(const ConfigWait& wait, const std::optional<node::ConfigStatus>& told,
                       std::chrono::milliseconds waited) {
    constexpr Milliseconds kOldAnswer{5'000};
    if (!told) return ConfigAnswer::kNone;
    const bool by_label = told->source == node::ConfigChoice::Source::kLabel;
    if (wait.key.empty()) {
        if (by_label) return ConfigAnswer::kNone;
        if (told->served && !told->waiting.empty()) return ConfigAnswer::kPending;
        return told->served ? ConfigAnswer::kServed : ConfigAnswer::kRefused;
    }
    if (!by_label || told->key != wait.key) return ConfigAnswer::kNone;
    if (told->served) {
        return told->waiting.empty() ? ConfigAnswer::kServed : ConfigAnswer::kPending;
    }
    const bool old = wait.before == told && waited < kOldAnswer;
    return old ? ConfigAnswer::kNone : ConfigAnswer::kRefused;
}

void wait_until_served(Context& context, kube_client::Api& api, const ClusterOptions& words,
                       const std::vector<ConfigWait>& waits, std::chrono::seconds timeout) {
    const auto begin = Clock::now();
    for (const ConfigWait& wait : waits) {
        while (true) {
            const Milliseconds left = timeout - since(begin);
            const kube_client::Call call{.deadline =
                                             std::min(std::max(left, Milliseconds(1'000)),
                                                      Milliseconds(call_of(words).deadline))};
            const auto object = api.get(kube_client::resources::nodes(), {"", wait.node}, call);
            if (!object) return fail(context, object.failure());
            const auto node = node::read_gpu_node(object->json);
            const auto told = node ? node->config : std::nullopt;
            const ConfigAnswer answer = answer_of(wait, told, since(begin));
            if (answer == ConfigAnswer::kServed) {
                context.out << "node/" << wait.node << " serves "
                            << (told->key.empty() ? "whole GPUs" : told->key) << '\n';
                break;
            }
            if (answer == ConfigAnswer::kRefused) {
                fail(context, kFindings, "node/" + wait.node + " refuses it: " + told->problem);
                break;
            }
            if (left <= Milliseconds(0) && answer == ConfigAnswer::kPending) {
                fail(context, kFindings,
                     "node/" + wait.node + " serves it, but " + waiting_text(*told));
                break;
            }
            if (left <= Milliseconds(0)) {
                fail(context, kFindings,
                     "node/" + wait.node + " did not answer within " +
                         std::to_string(timeout.count()) + " s: " +
                         (node && !node->agent.empty()
                              ? "is its agent running? aliquot doctor node " + wait.node
                              : "no agent of Aliquot has written there"));
                break;
            }
            wait_for_change(api, wait.node, object->resource_version, call);
        }
    }
}

}  // namespace aliquot::cli
