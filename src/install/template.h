// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::install {

/// What the marks of a template stand for.
///
/// In a template `@name@` is a word, a line `#list name` stands for lines at its own indentation,
/// and lines between `#if name`, `#else` and `#end` are there only if the switch is on.
struct Meaning {
    std::map<std::string, bool, std::less<>> switches;
    std::map<std::string, std::string, std::less<>> words;
    std::map<std::string, std::vector<std::string>, std::less<>> lists;
};

/// The template with everything filled in. A mark without a meaning is our bug and throws.
std::string expand(std::string_view text, const Meaning& meaning);

/// How Helm's templates say the same.
struct HelmWords {
    std::map<std::string, std::string, std::less<>> switches;  // a pipeline: ".Values.mig.enabled"
    std::map<std::string, std::string, std::less<>> words;     // a pipeline
    std::map<std::string, std::string, std::less<>>
        lists;  // an action; "@indent@" is its indentation
};

/// The same template in Helm's language. Switches with an empty pipeline are off in the chart.
std::string to_helm(std::string_view text, const HelmWords& helm);

}  // namespace aliquot::install
