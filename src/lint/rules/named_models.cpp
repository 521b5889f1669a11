// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/named_models.h"

#include <algorithm>
#include <array>

#include "catalog/mig_profiles.h"
#include "lint/rules/evidence.h"
#include "lint/rules/statements.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// The one model that a text names. `several`: it names more than one, or takes back what it says.
struct Named {
    std::optional<NamedModel> model;
    bool several = false;
};

Named named_in(std::string_view text) {
    constexpr std::size_t kLongest = 1'000;
    const auto gpus = named_gpus(text.substr(0, kLongest), Topic::kGpus);
    if (gpus.empty()) return {};
    const bool one = std::all_of(gpus.begin(), gpus.end(), [&gpus](const NamedGpu& gpu) {
        return gpu.base == gpus.front().base;
    });
    constexpr std::array<std::string_view, 7> kOthers{
        "or higher", "or newer", "or later", "similar", "such as", "e.g", "unlike"};
    if (!one || is_negated(text) || contains_any(text, kOthers)) return {std::nullopt, true};
    NamedModel told;
    told.name = std::string(text.substr(gpus.front().begin, gpus.front().end - gpus.front().begin));
    told.variants = gpus.front().models;
    // "A100 (80GB)" is one of them.
    const auto exact = gpu_models_in(text.substr(gpus.front().begin, kLongest));
    const std::string_view behind = text.substr(gpus.front().end, 16);
    const bool says_memory =
        behind.find_first_of("0123456789") != std::string_view::npos && contains(behind, "gb");
    if (says_memory && exact.size() == 1) told.variants = exact;
    return {std::move(told), false};
}

}  // namespace

bool NamedModel::has_mig() const {
    return std::any_of(variants.begin(), variants.end(),
                       [](const catalog::GpuModel* model) { return model->has_mig(); });
}

bool NamedModel::may_have(std::string_view profile) const {
    return std::any_of(variants.begin(), variants.end(), [profile](const catalog::GpuModel* model) {
        return (model->has_mig() && !model->has_known_mig()) ||
               catalog::find_mig_profile(*model, profile) != nullptr;
    });
}

std::optional<NamedModel> NamedModels::only_one() {
    if (read_) return only_;
    read_ = true;
    for (const Statement& one : file_.statements) {
        auto found = named_in(one.text);
        const bool other = found.model && only_ &&
                           only_->variants.front()->key != found.model->variants.front()->key;
        if (found.several || other) {
            only_.reset();
            return only_;
        }
        if (!found.model) continue;
        if (!only_ || found.model->variants.size() < only_->variants.size()) {
            only_ = std::move(found.model);
        }
    }
    return only_;
}

std::optional<NamedModel> NamedModels::at(Mark mark, int heading, std::string_view comment) {
    if (auto found = named_in(comment); found.model || found.several) return found.model;
    // The words just above: up to a few lines, over the fence.
    constexpr unsigned kNear = 6;
    constexpr int kMost = 30;
    auto one = std::upper_bound(
        file_.statements.begin(), file_.statements.end(), mark.line,
        [](unsigned line, const Statement& statement) { return line < statement.mark.line; });
    for (int steps = 0; one != file_.statements.begin() && steps < kMost; ++steps) {
        --one;
        if (one->mark.line + kNear < mark.line) break;
        if (one->kind == Statement::Kind::kTableRow) continue;
        const bool of_command = one->kind == Statement::Kind::kComment &&
                                !trim(file_.line(one->mark.line)).starts_with("#");
        if (of_command) continue;
        if (auto found = named_in(one->text); found.model || found.several) return found.model;
    }
    for (int level = 0; level < 16 && heading >= 0; ++level) {
        const auto at = static_cast<std::size_t>(heading);
        if (at >= file_.headings.size()) break;
        if (auto found = named_in(file_.headings[at].text); found.model || found.several) {
            return found.model;
        }
        heading = file_.headings[at].parent;
    }
    return only_one();
}

}  // namespace aliquot::lint
