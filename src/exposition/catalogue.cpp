// SPDX-License-Identifier: Apache-2.0
#include "exposition/catalogue.h"

#include <algorithm>

namespace aliquot::exposition {

const Family* find_family(std::string_view name) {
    const auto all = families();
    const auto found = std::lower_bound(
        all.begin(), all.end(), name,
        [](const Family& family, std::string_view wanted) { return family.name < wanted; });
    return found == all.end() || found->name != name ? nullptr : &*found;
}

}  // namespace aliquot::exposition
