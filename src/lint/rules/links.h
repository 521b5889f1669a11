// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lint/report.h"
#include "lint/set.h"

/// What the rules about names of other objects share. Inside src/lint only; any thread.
namespace aliquot::lint {

/// Whether two names tell things of one kind apart, by a number or by a last letter: neither is a
/// misspelling of the other.
bool is_sibling_name(std::string_view a, std::string_view b);

/// "3": as messages write a number of pods.
std::string number_of_pods(double replicas);

/// Selectors that select nothing, and ports of what they select: REF002, REF003.
void check_selections(const File& file, const Set& set, const std::vector<const File*>& near,
                      const Object& object, Report& report);

/// Numbers of one object that do not fit together, and names of its own parts: FORM003, FORM005, REF001.
void check_amounts(const Object& object, Report& report);

/// Spread constraints that do not count the pod itself: REF002.
void check_spread(const PodSpec& pod, Report& report);

}  // namespace aliquot::lint
