// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/gpu_models.h"
#include "lint/set.h"

/// The GPU that a command or a manifest of a text is for, as far as the text says it. Inside src/lint only.
namespace aliquot::lint {

/// A GPU as a text names it: "A100" may be the one with 40 and the one with 80 GB.
struct NamedModel {
    std::string name;                                // "A100"
    std::vector<const catalog::GpuModel*> variants;  // never empty

    [[nodiscard]] bool has_mig() const;
    /// Whether the profile exists on some variant, or that is not known.
    [[nodiscard]] bool may_have(std::string_view profile) const;
};

class NamedModels {
public:
    explicit NamedModels(const File& file) : file_(file) {}

    /// From the comment of the command, the words just above the place, the headings, or the whole
    /// text where it names one model alone. nullopt: nothing says it, or several are named.
    std::optional<NamedModel> at(Mark mark, int heading, std::string_view comment);

private:
    std::optional<NamedModel> only_one();

    const File& file_;
    bool read_ = false;  // `only_` is what the whole text says
    std::optional<NamedModel> only_;
};

}  // namespace aliquot::lint
