// SPDX-License-Identifier: Apache-2.0
#include "k8s/taint.h"

#include <algorithm>

#include "document/path.h"
#include "k8s/names.h"

namespace aliquot::k8s {

using document::Value;

bool is_taint_effect(std::string_view word) {
    return word == "NoSchedule" || word == "PreferNoSchedule" || word == "NoExecute";
}

Result<Taint> parse_taint(std::string_view text) {
    const auto wrong = [&](const std::string& why) {
        return Error{ErrorCode::kInvalidInput,
                     "taint '" + std::string(text) + "': " + why +
                         "; expected KEY=VALUE:EFFECT, as nvidia.com/gpu=true:NoSchedule"};
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return wrong("has no effect");
    Taint made{.effect = std::string(text.substr(colon + 1))};
    if (!is_taint_effect(made.effect)) {
        return wrong("'" + made.effect + "' is not NoSchedule, PreferNoSchedule or NoExecute");
    }
    const std::string_view pair = text.substr(0, colon);
    const std::size_t equals = pair.find('=');
    made.key = pair.substr(0, equals);
    if (equals != std::string_view::npos) made.value = pair.substr(equals + 1);
    if (!is_label_key(made.key)) return wrong("'" + made.key + "' is not a key");
    if (!is_label_value(made.value)) return wrong("'" + made.value + "' is not a value");
    return made;
}

std::string to_text(const Taint& taint) {
    return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

bool tolerates(const Toleration& toleration, const Taint& taint) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
    if (!toleration.key.empty() && toleration.key != taint.key) return false;
    if (toleration.operation == "Exists") return true;
    const bool equal = toleration.operation.empty() || toleration.operation == "Equal";
    return equal && toleration.value == taint.value;
}

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
    return std::ranges::any_of(tolerations,
                               [&](const Toleration& one) { return tolerates(one, taint); });
}

Taint read_taint(const Value& taint) {
    return {text_at(taint, {"key"}), text_at(taint, {"value"}), text_at(taint, {"effect"})};
}

std::vector<Taint> read_taints(const Value* list) {
    std::vector<Taint> taints;
    if (list == nullptr) return taints;
    for (const Value& one : list->items) taints.push_back(read_taint(one));
    return taints;
}

std::vector<Toleration> read_tolerations(const Value* list) {
    std::vector<Toleration> tolerations;
    if (list == nullptr) return tolerations;
    for (const Value& one : list->items) {
        tolerations.push_back({text_at(one, {"key"}), text_at(one, {"operator"}),
                               text_at(one, {"value"}), text_at(one, {"effect"})});
    }
    return tolerations;
}

}  // namespace aliquot::k8s
