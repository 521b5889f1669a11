// SPDX-License-Identifier: Apache-2.0
#include "exposition/text.h"

#include <cstdlib>

#include "exposition/catalogue.h"

namespace aliquot::exposition {

void Text::family(std::string_view name) {
    if (name == this->name()) return;
    const Family* family = find_family(name);
    if (family == nullptr) std::abort();
    const std::string_view type = family->type == Type::kCounter ? "counter"
                                  : family->type == Type::kInfo  ? "info"
                                                                 : "gauge";
    metrics::Text::family(family->name, family->help, type, family->unit);
}

void Text::family(std::string_view name, std::string_view help, std::string_view type,
                  std::string_view unit) {
    const bool rows = type == "histogram" || type == "summary";
    metrics::Text::family(name, help, rows ? "untyped" : type, unit);
}

}  // namespace aliquot::exposition
