// SPDX-License-Identifier: Apache-2.0
// Any bytes as workloads, manifests and facts of nodes: nothing crashes, and what can be read gives
// a plan that keeps its promises.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "document/json.h"
#include "document/yaml.h"
#include "plan/plan.h"

namespace {

namespace plan = aliquot::plan;

void expect(bool holds) {
    if (!holds) std::abort();
}

void check(const plan::Request& request) {
    const plan::Plan made = make_plan(request);
    expect(!made.recommendation.empty());
    for (const plan::GpuUse& use : made.gpus) {
        const bool limits = use.mode == plan::Mode::kFraction || use.mode == plan::Mode::kMps;
        double sum = 0;
        for (const std::size_t index : use.shares) {
            expect(index < made.shares.size());
            if (limits) sum += made.shares[index].memory_mib;
        }
        expect(sum <= use.memory_mib);
    }
    for (const plan::File& file : made.files) {
        expect(aliquot::document::parse_yaml(file.text).errors.empty());
    }
    expect(!aliquot::document::to_json(to_node(made, request)).empty());
    expect(!to_text(made, request).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    plan::Request request;
    request.pools.push_back(*plan::parse_gpu("2x a100-40"));
    for (const auto& read :
         {plan::read_workloads("w", text), plan::workloads_of_manifests("m", text)}) {
        if (!read) continue;
        request.workloads = *read;
        check(request);
    }
    const auto pools = plan::read_nodes("n", text);
    if (pools) {
        plan::Request card;
        card.pools = *pools;
        check(card);
    }
    const auto gpu = plan::parse_gpu(text.substr(0, 200));
    const auto type = plan::parse_node_type(text.substr(0, 200));
    expect(!gpu || gpu->count > 0);
    expect(!type || type->count > 0);
    return 0;
}
