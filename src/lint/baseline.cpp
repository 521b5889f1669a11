// SPDX-License-Identifier: Apache-2.0
#include "lint/baseline.h"

#include <set>
#include <utility>

#include "document/yaml.h"

namespace aliquot::lint {

using findings::Finding;

Result<Done> subtract_baseline(std::vector<Finding>& findings, std::string_view name,
                               std::string_view text) {
    const auto stream = document::parse_yaml(text, {16U << 20U, 2'000'000, 16});
    const document::Value* list =
        stream.errors.empty() ? stream.documents.front().find("findings") : nullptr;
    if (list == nullptr || !list->is_sequence()) {
        return Error{
            ErrorCode::kInvalidInput,
            std::string(name) + ": no baseline: expected the output of aliquot lint -o json"};
    }
    const auto text_of = [](const document::Value& node, std::string_view key) {
        const document::Value* found = node.find(key);
        return found == nullptr ? std::string() : found->scalar;
    };
    std::multiset<std::string> known;
    for (const document::Value& item : list->items) {
        known.insert(text_of(item, "file") + '\n' + text_of(item, "rule") + '\n' +
                     text_of(item, "message"));
    }
    std::vector<Finding> fresh;
    for (Finding& one : findings) {
        const auto found = known.find(one.file + '\n' + one.rule + '\n' + one.message);
        if (found == known.end()) {
            fresh.push_back(std::move(one));
        } else {
            known.erase(found);
        }
    }
    findings = std::move(fresh);
    return Done{};
}

}  // namespace aliquot::lint
