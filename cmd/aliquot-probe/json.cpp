// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "base/json_text.h"
#include "cmd/aliquot-probe/probe.h"

namespace aliquot::probe {
namespace {

std::string text_of(const std::optional<bool>& value) {
    if (!value) return "null";
    return *value ? "true" : "false";
}

}  // namespace

std::string to_json(const Answer& answer) {
    std::string text = "{\"version\":" + json_quoted(ALIQUOT_VERSION) +
                       ",\"driver\":" + json_quoted(answer.driver) + ",\"gpus\":[";
    for (const SeenGpu& gpu : answer.gpus) {
        if (&gpu != &answer.gpus.front()) text += ',';
        text += "{\"index\":" + std::to_string(gpu.index) + ",\"uuid\":" + json_quoted(gpu.uuid) +
                ",\"name\":" + json_quoted(gpu.name) +
                ",\"memoryMiB\":" + std::to_string(gpu.memory_mib) + "}";
    }
    text += "],\"visible\":{\"ok\":" + text_of(answer.visible.ok) +
            ",\"expected\":" + std::to_string(answer.visible.expected) +
            ",\"found\":" + std::to_string(answer.gpus.size()) + "}";
    text += ",\"arithmetic\":{\"ok\":" + text_of(answer.arithmetic.ok) +
            ",\"elements\":" + std::to_string(answer.arithmetic.elements) +
            ",\"how\":" + json_quoted(answer.arithmetic.how) + "}";
    const auto& share = answer.share;
    text += ",\"share\":{\"ok\":" + text_of(share.ok) +
            ",\"limitMiB\":" + std::to_string(share.limit_mib) +
            ",\"heldMiB\":" + std::to_string(share.held_mib) + ",\"refusedAtMiB\":" +
            (share.refused_at_mib == 0 ? "null" : std::to_string(share.refused_at_mib)) +
            ",\"how\":" + json_quoted(share.how) + "}";
    return text + ",\"problem\":" + json_quoted(answer.problem) + "}\n";
}

}  // namespace aliquot::probe
