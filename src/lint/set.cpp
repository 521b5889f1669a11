// SPDX-License-Identifier: Apache-2.0
#include "lint/set.h"

#include <utility>

#include "k8s/resource_name.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using Names = std::set<std::string, std::less<>>;

/// `"gpu.driver" = "xe"` in Terraform: keys in quotes that have a dot or a slash.
void add_quoted_keys(std::string_view text, Names& names) {
    constexpr std::size_t kLongest = 120;
    for (std::size_t at = 0; (at = text.find('"', at)) != std::string_view::npos;) {
        const std::size_t end = text.find_first_of("\"\n", at + 1);
        if (end == std::string_view::npos) return;
        const std::string_view key = text.substr(at + 1, end - at - 1);
        const auto behind = text.find_first_not_of(' ', end + 1);
        const bool assigned = text[end] == '"' && behind != std::string_view::npos &&
                              (text[behind] == '=' || text[behind] == ':');
        const bool own = key.find_first_of("./") != std::string_view::npos &&
                         key.find_first_of(" ${") == std::string_view::npos;
        // "nvidia.com/gpu" = "1" is an amount, = "present" a label.
        const auto value =
            behind == std::string_view::npos ? behind : text.find_first_not_of(" =:", behind);
        const bool amount =
            k8s::is_gpu_resource(key) &&
            (value == std::string_view::npos || text[value] != '"' || value + 1 == text.size() ||
             std::string_view("0123456789$").find(text[value + 1]) != std::string_view::npos);
        if (assigned && own && key.size() < kLongest && !amount) names.insert(std::string(key));
        at = end + 1;
    }
}

/// `nodeLabels:` of Talos and others.
void add_node_labels(const Value& node, Names& names, int depth = 0) {
    constexpr int kDeepest = 12;
    if (depth > kDeepest) return;
    for (const auto& [key, value] : node.entries) {
        if (key.scalar == "nodeLabels") {
            for (const Value::Entry& label : value.entries) {
                if (label.first.scalar.find_first_of("./") != std::string::npos) {
                    names.insert(label.first.scalar);
                }
            }
        } else {
            add_node_labels(value, names, depth + 1);
        }
    }
    for (const Value& item : node.items) add_node_labels(item, names, depth + 1);
}

void add_labels(const File& file, Names& names) {
    if (file.kind == FileKind::kHcl) add_quoted_keys(file.text, names);
    if (!file.mentions("nodelabels")) return;
    for (const Object& object : file.objects) {
        if (object.holder < 0) add_node_labels(*object.node, names);
    }
}

/// A kustomization says that the file is a patch: what is not in it stands in the base.
void mark_patches(File& file) {
    for (Object& object : file.objects) {
        if (object.role == Role::kObject) object.role = Role::kPatch;
        object.stub = false;
    }
    for (PodSpec& pod : file.pods) pod.whole = false;
}

}  // namespace

Set::Set(std::vector<std::unique_ptr<File>> files) : files_(std::move(files)) {
    for (const auto& file : files_) directories_[file->directory].push_back(file.get());
    for (const auto& file : files_) {
        const std::string_view name =
            std::string_view(file->name)
                .substr(file->directory.empty() ? 0 : file->directory.size() + 1);
        if (name == "kustomization.yaml" || name == "kustomization.yml" || name == "Chart.yaml") {
            roots_.insert(file->directory);
        }
        kustomizations_.add(*file);
        constexpr std::size_t kMost = 100;  // a heap, as for neighbours()
        if (directories_[file->directory].size() <= kMost) add_labels(*file, labels_);
    }
    kustomizations_.link();
    for (const auto& file : files_) {
        if (kustomizations_.is_patch(*file)) mark_patches(*file);
    }
}

std::vector<const File*> Set::terraform_above(const File& file) const {
    constexpr int kMostSteps = 8;
    constexpr std::size_t kMost = 100;  // as for neighbours()
    std::vector<const File*> result;
    std::string_view directory = file.directory;
    for (int steps = 0; steps < kMostSteps && !directory.empty(); ++steps) {
        const auto slash = directory.rfind('/');
        directory = directory.substr(0, slash == std::string_view::npos ? 0 : slash);
        const auto there = directories_.find(directory);
        if (there == directories_.end() || there->second.size() > kMost) continue;
        for (const File* other : there->second) {
            if (other->kind == FileKind::kHcl) result.push_back(other);
        }
    }
    return result;
}

std::vector<const File*> Set::neighbours(const File& file) const {
    std::vector<const File*> result{&file};
    const auto take = [&result, &file](const std::vector<const File*>& files) {
        for (const File* other : files) {
            if (other != &file) result.push_back(other);
        }
    };
    // A directory of very many files is a heap: that two lie in it says nothing, and looking at all of
    // them for each of them would take for ever.
    constexpr std::size_t kMost = 100;
    const auto same = directories_.find(file.directory);
    if (same != directories_.end() && same->second.size() <= kMost) take(same->second);
    if (roots_.find(file.directory) == roots_.end()) return result;
    const std::string below = file.directory.empty() ? "" : file.directory + '/';
    for (auto other = directories_.lower_bound(below);
         other != directories_.end() && other->first.starts_with(below); ++other) {
        if (result.size() > kMost) break;
        if (other->first != file.directory) take(other->second);
    }
    return result;
}

std::vector<const File*> Set::surroundings(const File& file) const {
    std::vector<const File*> result = neighbours(file);
    const auto slash = file.directory.rfind('/');
    if (file.directory.empty() || slash == 0) return result;
    constexpr std::size_t kMost = 100;  // as for neighbours()
    const std::string above = file.directory.substr(0, slash == std::string::npos ? 0 : slash);
    const std::string below = above.empty() ? "" : above + '/';
    std::vector<const File*> beside;
    const auto at_above = directories_.find(above);
    if (at_above != directories_.end() && !above.empty()) beside = at_above->second;
    for (auto other = directories_.lower_bound(below);
         other != directories_.end() && other->first.starts_with(below); ++other) {
        if (beside.size() + other->second.size() > kMost) return result;
        if (other->first == file.directory) continue;
        beside.insert(beside.end(), other->second.begin(), other->second.end());
    }
    result.insert(result.end(), beside.begin(), beside.end());
    return result;
}

Set::Found Set::find_object(const File& near, std::string_view kind, std::string_view name,
                            std::string_view name_space) const {
    for (const File* file : neighbours(near)) {
        for (const Object& one : file->objects) {
            if (one.kind != kind || one.name != name || one.role != Role::kObject) continue;
            const bool differs =
                !name_space.empty() && !one.name_space.empty() && one.name_space != name_space;
            if (!differs) return {file, &one};
        }
    }
    return {};
}

}  // namespace aliquot::lint
