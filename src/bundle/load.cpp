// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <utility>

#include "bundle/bundle.h"
#include "os/root.h"

namespace aliquot::bundle {
namespace {

constexpr std::size_t kMostBundleBytes = 64U << 20U;

}  // namespace

Result<Tree> load_tree(const std::string& file) {
    const std::filesystem::path path = std::filesystem::absolute(file);
    auto bytes = os::Root("/").read(path.native(), kMostBundleBytes);
    if (!bytes) return std::move(bytes).error();
    const bool gzip = bytes->starts_with("\x1f\x8b");
    const bool tar = bytes->size() > 262 && bytes->substr(257, 5) == "ustar";
    auto tree = gzip ? from_bundle(*bytes) : tar ? from_tar(*bytes) : facts_from_json(*bytes);
    if (!tree) return Error(tree.error()).during(file);
    tree->name = file;
    return tree;
}

}  // namespace aliquot::bundle
