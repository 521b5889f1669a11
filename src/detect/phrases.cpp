// SPDX-License-Identifier: Apache-2.0
#include "detect/phrases.h"

#include <algorithm>

namespace aliquot::detect {

void PhraseFinder::settle() {
    if (length_ > 0) keep(chain_[0], chain_[length_ - 1], best_);
    const std::size_t from = std::max<std::size_t>(length_, 1);
    const std::size_t rest = count_ - from;
    count_ = 0;
    length_ = 0;
    for (std::size_t i = 0; i < rest; ++i) {
        const Hit hit = chain_[from + i];  // add() writes only before it
        add(hit);
    }
}

}  // namespace aliquot::detect
