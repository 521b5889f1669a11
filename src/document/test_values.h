// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "document/value.h"

namespace aliquot::document {

/// For tests: whether both say the same, wherever it stands in its text.
inline bool same(const Value& a, const Value& b) {
    if (a.kind != b.kind || a.items.size() != b.items.size() ||
        a.entries.size() != b.entries.size()) {
        return false;
    }
    if (a.kind != Value::Kind::kNull && a.scalar != b.scalar) return false;
    for (std::size_t i = 0; i < a.items.size(); ++i) {
        if (!same(a.items[i], b.items[i])) return false;
    }
    for (std::size_t i = 0; i < a.entries.size(); ++i) {
        if (!same(a.entries[i].first, b.entries[i].first)) return false;
        if (!same(a.entries[i].second, b.entries[i].second)) return false;
    }
    return true;
}

}  // namespace aliquot::document
