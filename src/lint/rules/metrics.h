// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "lint/families.h"

/// The parts of the family of metrics. Inside src/lint only.
namespace aliquot::lint {

void check_metric_names(const File& file, const Set& set, Report& report);   // PROM001, PROM006
void check_metric_units(const Expression& expression, Report& report);       // PROM002
void check_metric_labels(const File& file, const Set& set, Report& report);  // PROM003-PROM005
void check_metric_functions(const Expression& expression, Report& report);   // PROM007, PROM008
void check_expression_syntax(const File& file, Report& report);              // PROM011
void check_scraping(const File& file, Report& report);                       // PROM009, PROM010

/// Whether a text stands in this file or one that belongs to it. `lower` is in lower case.
bool is_said_nearby(const File& file, const Set& set, std::string_view lower);

}  // namespace aliquot::lint
