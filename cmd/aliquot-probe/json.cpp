// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <string_view>

#include "cmd/aliquot-probe/probe.h"

namespace aliquot::probe {
namespace {

std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (code < 0x20 || code > 0x7e) {
            std::array<char, 8> escape{};
            std::snprintf(escape.data(), escape.size(), "\\u%04x", code);
            result += escape.data();
        } else {
            result += c;
        }
    }
    return result + '"';
}

std::string text_of(const std::optional<bool>& value) {
    if (!value) return "null";
    return *value ? "true" : "false";
}

}  // namespace

std::string to_json(const Answer& answer) {
    std::string text = "{\"version\":" + quoted(ALIQUOT_VERSION) +
                       ",\"driver\":" + quoted(answer.driver) + ",\"gpus\":[";
    for (const SeenGpu& gpu : answer.gpus) {
        if (&gpu != &answer.gpus.front()) text += ',';
        text += "{\"index\":" + std::to_string(gpu.index) + ",\"uuid\":" + quoted(gpu.uuid) +
                ",\"name\":" + quoted(gpu.name) +
                ",\"memoryMiB\":" + std::to_string(gpu.memory_mib) + "}";
    }
    text += "],\"visible\":{\"ok\":" + text_of(answer.visible.ok) +
            ",\"expected\":" + std::to_string(answer.visible.expected) +
            ",\"found\":" + std::to_string(answer.gpus.size()) + "}";
    text += ",\"arithmetic\":{\"ok\":" + text_of(answer.arithmetic.ok) +
            ",\"elements\":" + std::to_string(answer.arithmetic.elements) +
            ",\"how\":" + quoted(answer.arithmetic.how) + "}";
    const auto& share = answer.share;
    text += ",\"share\":{\"ok\":" + text_of(share.ok) +
            ",\"limitMiB\":" + std::to_string(share.limit_mib) +
            ",\"heldMiB\":" + std::to_string(share.held_mib) + ",\"refusedAtMiB\":" +
            (share.refused_at_mib == 0 ? "null" : std::to_string(share.refused_at_mib)) +
            ",\"how\":" + quoted(share.how) + "}";
    return text + ",\"problem\":" + quoted(answer.problem) + "}\n";
}

}  // namespace aliquot::probe
