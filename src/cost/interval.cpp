// SPDX-License-Identifier: Apache-2.0
#include "cost/interval.h"

#include <array>

namespace aliquot::cost {
namespace {

constexpr std::array<std::string_view, kStates> kStateWords{"busy",    "idle",     "free",
                                                            "warming", "draining", "broken"};

}  // namespace

std::string_view word(State state) { return kStateWords[static_cast<std::size_t>(state)]; }

std::optional<State> state_of(std::string_view word) {
    for (std::size_t i = 0; i < kStates; ++i) {
        if (kStateWords[i] == word) return static_cast<State>(i);
    }
    return std::nullopt;
}

Names::Names() { add(""); }

NameId Names::add(std::string_view text) {
    if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
    const auto id = static_cast<NameId>(texts_.size());
    texts_.emplace_back(text);
    ids_.emplace(text, id);
    return id;
}

OwnerId History::add(const Owner& owner) {
    if (owner == Owner{}) return 0;
    const auto [at, is_new] = owner_ids_.emplace(owner, static_cast<OwnerId>(owners.size()));
    if (is_new) owners.push_back(owner);
    return at->second;
}

}  // namespace aliquot::cost
