// SPDX-License-Identifier: Apache-2.0
#include "lint/kustomize.h"

#include "lint/file.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// "overlays/a" and "../../base/x.yaml" are "base/x.yaml"; empty: it leads out of what was named.
std::string joined(std::string_view directory, std::string_view path) {
    std::vector<std::string_view> steps;
    for (const std::string_view part : {directory, path}) {
        for (const std::string_view step : split(part, '/')) {
            if (step.empty() || step == ".") continue;
            if (step != "..") {
                steps.push_back(step);
            } else if (steps.empty() || steps.back() == "..") {
                return {};
            } else {
                steps.pop_back();
            }
        }
    }
    std::string result = directory.starts_with("/") ? "/" : "";
    for (const std::string_view step : steps) {
        if (!result.empty() && result.back() != '/') result += '/';
        result += step;
    }
    return result;
}

bool writes_selectors(const Value& node) {
    const Value* common = node.find("commonLabels");
    if (common != nullptr && !common->entries.empty()) return true;
    const Value* labels = node.find("labels");
    if (labels == nullptr) return false;
    for (const Value& one : labels->items) {
        if (text_at(one, "includeSelectors") == "true") return true;
    }
    return false;
}

}  // namespace

void Kustomizations::add(const File& file) {
    const std::string_view name =
        std::string_view(file.name).substr(file.directory.empty() ? 0 : file.directory.size() + 1);
    if (name != "kustomization.yaml" && name != "kustomization.yml" && name != "Kustomization")
        return;
    One& one = by_directory_[joined(file.directory, "")];
    for (const Object& object : file.objects) {
        if (object.inner || object.holder >= 0 || !object.node->is_mapping()) continue;
        one.labels = one.labels || writes_selectors(*object.node);
        for (const std::string_view key : {"resources", "bases", "components"}) {
            const Value* list = object.node->find(key);
            if (list == nullptr) continue;
            for (const Value& item : list->items) {
                const std::string path = joined(file.directory, item.scalar);
                if (!path.empty() && item.scalar.find("://") == std::string::npos) {
                    one.gathers.push_back(path);
                }
            }
        }
        add_patches(file.directory, *object.node);
        const Value* images = object.node->find("images");
        if (images == nullptr) continue;
        for (const Value& image : images->items) {
            const bool tags = image.find("newTag") != nullptr || image.find("digest") != nullptr ||
                              image.find("newName") != nullptr;
            if (tags) images_.insert(text_at(image, "name"));
        }
    }
}

/// `patches: [{path: a.yaml}]`, `patchesStrategicMerge: [a.yaml]` and `patchesJson6902`.
void Kustomizations::add_patches(std::string_view directory, const Value& node) {
    for (const std::string_view key : {"patches", "patchesStrategicMerge", "patchesJson6902"}) {
        const Value* list = node.find(key);
        if (list == nullptr) continue;
        for (const Value& item : list->items) {
            const std::string path = item.is_mapping() ? text_at(item, "path") : item.scalar;
            if (path.empty() || path.find('\n') != std::string::npos) continue;  // written in place
            const std::string whole = joined(directory, path);
            if (!whole.empty()) patches_.insert(whole);
        }
    }
}

void Kustomizations::link() {
    std::set<std::string, std::less<>> seen;
    std::vector<std::string> open;
    for (const auto& [directory, one] : by_directory_) {
        if (one.labels && seen.insert(directory).second) open.push_back(directory);
    }
    while (!open.empty()) {
        const std::string directory = std::move(open.back());
        open.pop_back();
        const auto found = by_directory_.find(directory);
        if (found == by_directory_.end()) continue;
        for (const std::string& path : found->second.gathers) {
            if (by_directory_.find(path) == by_directory_.end()) {
                labelled_.insert(path);
            } else if (seen.insert(path).second) {
                open.push_back(path);
            }
        }
    }
}

bool Kustomizations::label_selectors(const File& file) const {
    return !labelled_.empty() && labelled_.find(joined(file.name, "")) != labelled_.end();
}

bool Kustomizations::is_patch(const File& file) const {
    return !patches_.empty() && patches_.find(joined(file.name, "")) != patches_.end();
}

bool Kustomizations::give_tag(std::string_view image) const {
    return images_.find(image) != images_.end();
}

}  // namespace aliquot::lint
