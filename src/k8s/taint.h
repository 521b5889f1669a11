// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::document {
struct Value;
}

namespace aliquot::k8s {

struct Taint {
    std::string key;
    std::string value;
    std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute
    friend bool operator==(const Taint&, const Taint&) = default;
    /// PreferNoSchedule keeps nothing away.
    [[nodiscard]] bool keeps_away() const { return effect != "PreferNoSchedule"; }
};

bool is_taint_effect(std::string_view word);

/// "nvidia.com/gpu=true:NoSchedule", as kubectl taint takes it.
/// errors   kInvalidInput: not of that form, another effect, a key or value that Kubernetes refuses
Result<Taint> parse_taint(std::string_view text);
std::string to_text(const Taint& taint);

struct Toleration {
    std::string key{};        // empty: every key
    std::string operation{};  // "Exists"; "Equal" or empty
    std::string value{};
    std::string effect{};  // empty: every effect
    friend bool operator==(const Toleration&, const Toleration&) = default;
};

/// source   k8s.io/api/core/v1, ToleratesTaint
bool tolerates(const Toleration& toleration, const Taint& taint);
bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);

/// One of them; an item of `taints`.
Taint read_taint(const document::Value& taint);
/// The lists `taints` of a node's and `tolerations` of a pod's spec; nullptr: none.
std::vector<Taint> read_taints(const document::Value* list);
std::vector<Toleration> read_tolerations(const document::Value* list);

}  // namespace aliquot::k8s
