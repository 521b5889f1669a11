// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/whole_shares.h"

#include "lint/words.h"

namespace aliquot::lint {
namespace {

void add_shares(const File& file, WholeShares& shares) {
    for (const Object& object : file.objects) {
        if (object.role != Role::kDevicePluginConfig) continue;
        for (const std::string_view way : {"sharing.timeSlicing", "sharing.mps"}) {
            const Value* block = at_path(*object.node, way);
            const Value* list = block == nullptr ? nullptr : block->find("resources");
            if (list == nullptr) continue;
            shares.holder = &file;
            if (list->items.empty() || text_at(list->items.front(), "name") != "nvidia.com/gpu") {
                ++shares.others;
            } else {
                ++(text_at(*block, "renameByDefault") == "true" ? shares.renamed : shares.kept);
            }
        }
    }
}

}  // namespace

WholeShares whole_shares(const File& file, const Set& set) {
    WholeShares shares;
    add_shares(file, shares);
    if (!shares.none() || file.is_prose() || file.pods.empty()) return shares;
    for (const File* near : set.neighbours(file)) {
        if (near != &file && !near->is_prose() && near->mentions("sharing"))
            add_shares(*near, shares);
    }
    return shares;
}

}  // namespace aliquot::lint
