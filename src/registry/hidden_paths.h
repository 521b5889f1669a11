// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace aliquot::registry {

/// What upper layers of an image hide of those below: layers are looked at from the top down. Not thread-safe.
/// source   OCI image specification, layer.md: whiteouts
class HiddenPaths {
public:
    /// Whether a layer above has this path, has deleted it or a folder that it is in.
    [[nodiscard]] bool hides(std::string_view path) const;
    /// A member of the layer that is being read: a whiteout hides below it, from the next layer on.
    /// returns   whether it is a whiteout
    bool take_whiteout(std::string_view path);
    /// A file of this layer that was read: those below are older.
    void add(std::string_view path) { of_this_layer_.emplace(path); }
    /// The next one is the layer below.
    void next_layer();

private:
    using Paths = std::set<std::string, std::less<>>;
    Paths hidden_;   // files and folders with all that is in them
    Paths emptied_;  // folders whose content is not of layers below
    Paths of_this_layer_;
    Paths emptied_by_this_layer_;
};

}  // namespace aliquot::registry
