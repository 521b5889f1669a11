// SPDX-License-Identifier: Apache-2.0
#include "admission/gpu_type.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/nearest_word.h"
#include "base/text.h"

namespace aliquot::admission {
namespace {

constexpr std::size_t kLongestWord = 63;
constexpr std::size_t kMostProducts = 32;

bool is_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_digit);
}

/// "NVIDIA A100 80GB" as a key of the catalogue is written: "a100-80".
std::string as_key(std::string_view word) {
    std::string key;
    std::string part;
    const auto take = [&] {
        constexpr std::array<std::string_view, 3> kMakers{"nvidia", "tesla", "geforce"};
        for (const std::string_view unit : {"gib", "gb"}) {
            if (!part.ends_with(unit)) continue;
            const std::string number = part.substr(0, part.size() - unit.size());
            if (is_digits(number)) part = number;
        }
        if (!part.empty() && std::ranges::find(kMakers, part) == kMakers.end()) {
            key += (key.empty() ? "" : "-") + part;
        }
        part.clear();
    };
    for (const char c : word) {
        if (c == ' ' || c == '_' || c == '-') {
            take();
        } else {
            part += lower(c);
        }
    }
    take();
    return key;
}

/// Whether `key` is `stem` or a variant of it by memory or by form: "a100-80-pcie" of "a100".
bool is_variant(std::string_view key, std::string_view stem) {
    if (!key.starts_with(stem)) return false;
    std::string_view rest = key.substr(stem.size());
    while (!rest.empty()) {
        if (rest[0] != '-') return false;
        rest.remove_prefix(1);
        const std::string_view part = rest.substr(0, rest.find('-'));
        constexpr std::array<std::string_view, 3> kForms{"pcie", "sxm2", "nvl"};
        if (!is_digits(part) && std::ranges::find(kForms, part) == kForms.end()) return false;
        rest.remove_prefix(part.size());
    }
    return true;
}

std::string quoted(std::string_view word) {
    return "'" + std::string(word.substr(0, kLongestWord)) + "'";
}

Error unknown(std::string_view word, const Cluster& cluster) {
    std::set<std::string_view> there;
    for (const auto& node : cluster) {
        if (node->model != nullptr) there.insert(node->model->key);
        if (node->model == nullptr && !node->product.empty()) there.insert(node->product);
    }
    // What is here is more likely than what is not; of "a100-80" people say "a100".
    std::vector<std::string_view> words(there.begin(), there.end());
    for (const std::string_view one : there) words.push_back(one.substr(0, one.find('-')));
    std::string_view near = nearest_word(word, words);
    if (near.empty()) near = catalog::nearest_gpu_model(word);
    std::string message = "aliquot.dev/gpu-type: " + quoted(word) + " is not a type of GPU";
    if (!near.empty()) message += "; did you mean '" + std::string(near) + "'?";
    constexpr std::size_t kMostNamed = 8;
    std::string names;
    std::size_t named = 0;
    for (const std::string_view one : there) {
        if (++named > kMostNamed) break;
        names += (names.empty() ? "" : ", ") + std::string(one);
    }
    if (!names.empty()) message += "; the nodes here have: " + names;
    return {ErrorCode::kInvalidInput, std::move(message)};
}

}  // namespace

bool GpuType::fits(const GpuNode& node) const {
    if (!product.empty()) return same_letters(node.product, product);
    return node.model != nullptr && std::ranges::find(models, node.model) != models.end();
}

Result<GpuType> find_type(std::string_view word, const Cluster& cluster) {
    if (word.empty() || word.size() > kLongestWord) return unknown(word, cluster);
    GpuType type{.word = std::string(word)};
    const std::string stem = as_key(word);
    const catalog::GpuModel* const named = catalog::find_gpu_model(word);
    for (const catalog::GpuModel& model : catalog::gpu_models()) {
        if (&model == named || (!stem.empty() && is_variant(model.key, stem))) {
            type.models.push_back(&model);
        }
    }
    if (!type.models.empty()) return type;
    for (const auto& node : cluster) {
        if (!same_letters(node->product, plain_product(word))) continue;
        type.product = node->product;
        return type;
    }
    return unknown(word, cluster);
}

std::vector<std::string> usual_products(const GpuType& type) {
    std::set<std::string> products;
    if (!type.product.empty()) products.insert(type.product);
    for (const catalog::GpuModel* const model : type.models) {
        std::string name(model->name);
        std::ranges::replace(name, ' ', '-');
        const bool is_tesla = name.starts_with("Tesla-");
        if (!is_tesla && !name.starts_with("NVIDIA-") && !name.starts_with("Quadro-")) {
            name.insert(0, "NVIDIA-");
        }
        products.insert(name);
        for (const std::string_view alias : model->aliases) {
            // Whole names of products only: "A100-SXM4-40GB", not "A100".
            if (!alias.contains("-") || !alias.ends_with("GB")) continue;
            products.insert((is_tesla ? "Tesla-" : "NVIDIA-") + std::string(alias));
        }
    }
    std::vector<std::string> values;
    for (const std::string& product : products) {
        if (values.size() + 2 > kMostProducts) break;
        values.push_back(product);
        values.push_back(product + "-SHARED");
    }
    std::ranges::sort(values);
    return values;
}

}  // namespace aliquot::admission
