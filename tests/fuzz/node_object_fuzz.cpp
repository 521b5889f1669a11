// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Node, a taint, or an annotation of ours: nothing crashes; a Node that was cleared
// of us needs no second clearing of labels and taints that are not ours; what is written reads back.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/time_text.h"
#include "k8s/taint.h"
#include "node/change.h"
#include "node/config_choice.h"
#include "node/names.h"
#include "node/offer_text.h"

namespace {

void expect(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot;  // NOLINT(google-build-using-namespace)
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto node = k8s::parse_node(text)) {
        const node::DesiredNode wish{.labels = {{"a", "b"}},
                                     .taints = {{"nvidia.com/gpu", "true", "NoSchedule"}},
                                     .annotations = {{node::kAgent, "1"}},
                                     .conditions = {{.type = node::kGpuHealthy}}};
        (void)node::change_node(*node, wish, {}, std::chrono::seconds(1));
        (void)node::clear_node(*node);
    }
    if (const auto taint = k8s::parse_taint(text)) {
        const auto again = k8s::parse_taint(k8s::to_text(*taint));
        expect(again.ok() && *again == *taint);
    }
    if (const auto gpus = node::parse_gpu_statuses(text)) {
        const auto once = node::to_json(*gpus);
        const auto again = node::parse_gpu_statuses(once);
        expect(again && node::to_json(*again) == once);
    }
    if (const auto shares = node::parse_share_statuses(text)) {
        const auto once = node::to_json(*shares);
        const auto again = node::parse_share_statuses(once);
        expect(again && node::to_json(*again) == once);
    }
    (void)node::parse_config_status(text);
    (void)aliquot::parse_rfc3339(text);
    return 0;
}
