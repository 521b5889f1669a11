// SPDX-License-Identifier: Apache-2.0
#include "node/node_object.h"

#include "base/text.h"

namespace aliquot::node {

std::vector<std::string> owned_names(const k8s::Node& node, const std::string& annotation) {
    const auto found = node.annotations.find(annotation);
    if (found == node.annotations.end()) return {};
    const auto names = split_list(found->second);
    return {names.begin(), names.end()};
}

}  // namespace aliquot::node
