// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "admission/gpu_node.h"

namespace aliquot::admission {

/// One expression of node affinity.
struct Requirement {
    enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt, kOther };
    std::string key;
    Operator operation = Operator::kIn;
    std::vector<std::string> values{};
    friend bool operator==(const Requirement&, const Requirement&) = default;
};

/// "In", "NotIn", ...: as Kubernetes writes them.
std::string_view to_text(Requirement::Operator operation);
/// Of another word kOther, which holds for no node.
Requirement::Operator operator_of(std::string_view word);

bool holds(const Requirement& requirement, const Labels& labels);

/// Where a pod may run, as its own spec says.
struct NodeChoice {
    struct Term {
        std::vector<Requirement> labels;
        std::vector<Requirement> fields;  // metadata.name
    };
    std::string node_name;
    Labels selector;
    bool has_terms = false;  // of required node affinity: one of them must hold
    std::vector<Term> terms;

    [[nodiscard]] bool is_anywhere() const {
        return node_name.empty() && selector.empty() && !has_terms;
    }
    /// Only what is known of GPU nodes: name and labels, not taints and not room.
    [[nodiscard]] bool allows(const GpuNode& node) const;
};

}  // namespace aliquot::admission
