// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::document {
struct Value;
}

namespace aliquot::lint {

struct File;

/// What the kustomizations of a run add to the files that they gather: labels to selectors, tags
/// to images. Immutable after link(); any thread.
/// Source: kubectl.docs.kubernetes.io, Kustomization: labels, commonLabels, images.
class Kustomizations {
public:
    /// Takes note of a kustomization; other files are passed over.
    void add(const File& file);
    /// Follows `resources`, `bases` and `components` from those that label selectors.
    void link();

    /// Whether a kustomization that gathers this file writes the selectors of its workloads.
    [[nodiscard]] bool label_selectors(const File& file) const;
    /// Whether one gives the image of this name (without tag) a tag, a digest or another name.
    [[nodiscard]] bool give_tag(std::string_view image) const;
    /// Whether one names this file as a patch of what it gathers.
    [[nodiscard]] bool is_patch(const File& file) const;

private:
    void add_patches(std::string_view directory, const document::Value& node);

    struct One {
        std::vector<std::string> gathers;  // paths below the directory given to add(), "a/b.yaml"
        bool labels = false;
    };
    std::map<std::string, One, std::less<>> by_directory_;
    std::set<std::string, std::less<>> labelled_;  // files
    std::set<std::string, std::less<>> images_;
    std::set<std::string, std::less<>> patches_;  // files
};

}  // namespace aliquot::lint
