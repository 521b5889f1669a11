// SPDX-License-Identifier: Apache-2.0
#include "registry/hidden_paths.h"

namespace aliquot::registry {

bool HiddenPaths::hides(std::string_view path) const {
    if (hidden_.contains(path) || emptied_.contains("")) return true;
    for (auto slash = path.find('/'); slash != std::string_view::npos;
         slash = path.find('/', slash + 1)) {
        const std::string_view folder = path.substr(0, slash);
        if (hidden_.contains(folder) || emptied_.contains(folder)) return true;
    }
    return false;
}

bool HiddenPaths::take_whiteout(std::string_view path) {
    constexpr std::string_view kMark = ".wh.";
    constexpr std::string_view kOpaque = ".wh..wh..opq";
    const auto slash = path.rfind('/');
    const std::string_view folder = slash == std::string_view::npos ? "" : path.substr(0, slash);
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (!name.starts_with(kMark)) return false;
    if (name == kOpaque) {
        emptied_by_this_layer_.emplace(folder);
    } else if (!name.starts_with(".wh..wh.")) {  // other notes of the union file system
        of_this_layer_.insert(std::string(folder) + (folder.empty() ? "" : "/") +
                              std::string(name.substr(kMark.size())));
    }
    return true;
}

void HiddenPaths::next_layer() {
    hidden_.merge(of_this_layer_);
    emptied_.merge(emptied_by_this_layer_);
    of_this_layer_.clear();
    emptied_by_this_layer_.clear();
}

}  // namespace aliquot::registry
