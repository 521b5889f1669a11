// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lint/file.h"
#include "lint/kustomize.h"

namespace aliquot::lint {

/// All files of one run. Immutable once read; rules of several files look at it at the same time.
class Set {
public:
    Set() = default;
    explicit Set(std::vector<std::unique_ptr<File>> files);

    [[nodiscard]] std::span<const std::unique_ptr<File>> files() const { return files_; }

    /// The files that belong to the same thing as far as one can tell: those in the same directory,
    /// the file itself first; of a kustomization or chart those below it too. Use: what another file
    /// defines by NAME (a ConfigMap, a Deployment, a StorageClass) may silence a finding or make a
    /// contradiction. What another file merely does NOT have proves nothing. In a directory of more than
    /// 100 files each stands alone.
    [[nodiscard]] std::vector<const File*> neighbours(const File& file) const;

    /// The neighbours and what lies in the directories beside that of the file, as far as the directory
    /// above has not more than 100 files below it. Only to silence a finding.
    [[nodiscard]] std::vector<const File*> surroundings(const File& file) const;

    /// Kind and name among the neighbours; the namespace must agree where both say one.
    struct Found {
        const File* file = nullptr;
        const Object* object = nullptr;
        explicit operator bool() const { return object != nullptr; }
    };
    [[nodiscard]] Found find_object(const File& near, std::string_view kind, std::string_view name,
                                    std::string_view name_space = {}) const;

    [[nodiscard]] const Kustomizations& kustomizations() const { return kustomizations_; }

    /// Whether Terraform or a machine's configuration anywhere in the run gives nodes a label of
    /// this name. Only names of one's own, with a dot or a slash in them, are looked for so far away.
    [[nodiscard]] bool defines_label(std::string_view key) const {
        return labels_.find(key) != labels_.end();
    }

    /// The Terraform files of the directories above a file: the module that it is a part of.
    [[nodiscard]] std::vector<const File*> terraform_above(const File& file) const;

private:
    std::vector<std::unique_ptr<File>> files_;
    std::map<std::string, std::vector<const File*>, std::less<>> directories_;
    std::set<std::string, std::less<>> roots_;  // directories of a kustomization or a chart
    Kustomizations kustomizations_;
    std::set<std::string, std::less<>> labels_;  // see defines_label()
};

}  // namespace aliquot::lint
