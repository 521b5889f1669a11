// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench_kubelet.h"

namespace aliquot::bench {

/// All rounds of one plugin.
struct Measured {
    std::string name;
    std::vector<Round> rounds;  // at least one
};

/// A table for people: the median over the rounds of every number, and from the second plugin on
/// its ratio to the first.
std::string to_table(const std::vector<Measured>& plugins);

/// The same and every round's numbers: {"plugins":[{"name","medians":{...},"rounds":[{...}]}],
/// "ratios":{name:{...}}}. Milliseconds, KiB, bytes, as the key says.
std::string to_json(const std::vector<Measured>& plugins);

}  // namespace aliquot::bench
