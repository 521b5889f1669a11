// SPDX-License-Identifier: Apache-2.0
// Values of node labels that nothing writes: POD025. data/document_forms.tsv has those of a label as
// the form "label NAME".
#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "catalog/gpu_models.h"
#include "lint/families.h"
#include "lint/forms.h"
#include "lint/kept.h"
#include "lint/rules/evidence.h"
#include "lint/rules/links.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using Words = std::vector<std::string_view>;

/// "NVIDIA-A100-SXM4-40GB-SHARED" and "...-MIG-1g.5gb" without what sharing adds.
std::string_view plain_product(std::string_view value) {
    if (value.ends_with("-SHARED")) value.remove_suffix(7);
    const auto mig = value.find("-MIG-");
    return value.substr(0, mig);
}

std::multiset<std::string> parts_of(std::string_view value) {
    std::multiset<std::string> parts;
    for (const std::string_view part : split(value, '-')) {
        const std::string word = lower(part);
        if (word != "nvidia" && word != "tesla" && word != "geforce") parts.insert(word);
    }
    return parts;
}

/// The value that is meant; empty: none that we know.
std::string meant_value(std::string_view label, std::string_view value, const Words& known) {
    std::string_view near = nearest(value, known);
    const auto numbers = [](std::string_view text) {
        std::string digits;
        for (const char c : text) {
            if (is_digit(c)) digits += c;
        }
        return digits;
    };
    // A number that is not known is another model, or one to come.
    if (!near.empty() && numbers(near) == numbers(value)) return std::string(near);
    if (label != "nvidia.com/gpu.product" && label != "cloud.google.com/gke-accelerator") return {};
    const auto parts = parts_of(value);
    for (const std::string_view one : known) {
        if (parts_of(one) == parts) return std::string(one);
    }
    const catalog::GpuModel* model = catalog::find_gpu_model(value);
    if (model == nullptr || value.find_first_of(" _") != std::string_view::npos) model = nullptr;
    for (const std::string_view one : known) {
        if (model != nullptr && catalog::find_gpu_model(one) == model) return std::string(one);
    }
    return {};
}

/// Labels of gpu-feature-discovery whose value is a plain number: memory in MiB, counts, versions.
bool is_number_label(std::string_view label) {
    constexpr std::array<std::string_view, 9> kNumbers{
        "nvidia.com/gpu.memory",        "nvidia.com/gpu.count",
        "nvidia.com/gpu.replicas",      "nvidia.com/gpu.compute.major",
        "nvidia.com/gpu.compute.minor", "nvidia.com/cuda.driver.major",
        "nvidia.com/cuda.driver.minor", "nvidia.com/cuda.runtime.major",
        "nvidia.com/cuda.runtime.minor"};
    return std::find(kNumbers.begin(), kNumbers.end(), label) != kNumbers.end();
}

void check_value(std::string_view label, const Value& value, Report& report) {
    if (is_number_label(label) && !value.scalar.empty() && !is_placeholder(value.scalar) &&
        !std::all_of(value.scalar.begin(), value.scalar.end(),
                     [](char c) { return is_digit(c); })) {
        const bool memory = label == "nvidia.com/gpu.memory";
        report
            .add("POD025", value.mark,
                 "the label " + std::string(label) + " is a number, and '" + value.scalar +
                     "' is not one")
            .expected(memory ? "MiB without a unit, as 81920; Gt and Lt of an affinity compare it"
                             : "a number");
        return;
    }
    if (label == "nvidia.com/gpu.present" || label == "nvidia.com/mig.capable" ||
        label.starts_with("nvidia.com/gpu.deploy.")) {
        constexpr std::array<std::string_view, 5> kMeanYes{"yes", "True", "TRUE", "1", "on"};
        if (std::find(kMeanYes.begin(), kMeanYes.end(), value.scalar) == kMeanYes.end()) return;
        report
            .add("POD025", value.mark,
                 "no node has the label '" + std::string(label) + ": " + value.scalar + '\'')
            .expected("\"true\"")
            .fix("\"true\"");
        return;
    }
    const std::string_view text =
        label == "nvidia.com/gpu.product" ? plain_product(value.scalar) : value.scalar;
    if (text.empty() || is_placeholder(value.scalar)) return;
    const Words known = words_of_form("label " + std::string(label));
    if (known.empty() || std::find(known.begin(), known.end(), text) != known.end()) return;
    const std::string meant = meant_value(label, text, known);
    if (meant.empty()) return;
    report
        .add("POD025", value.mark,
             "no node has the label '" + std::string(label) + ": " + value.scalar + '\'')
        .expected(meant)
        .fix(meant);
}

/// `key: LABEL, operator: In, values: [...]` of an affinity or of Karpenter's requirements.
void check_terms(const Value& node, Report& report, int depth) {
    constexpr int kDeepest = 40;
    if (depth > kDeepest) return;
    for (const Value& item : node.items) check_terms(item, report, depth + 1);
    const Value* key = node.find("key");
    const Value* values = node.find("values");
    if (key != nullptr && values != nullptr && !key->scalar.empty()) {
        for (const Value& value : values->items) check_value(key->scalar, value, report);
    }
    for (const Value::Entry& entry : node.entries) {
        const std::string& name = entry.first.scalar;
        const bool label = !entry.second.scalar.empty() && contains(name, "/");
        if (label) check_value(name, entry.second, report);
        if (entry.second.is_mapping() || entry.second.is_sequence())
            check_terms(entry.second, report, depth + 1);
    }
}

}  // namespace

void check_label_values(const File& file, const Set&, const Facts*, Report& report) {
    if (is_kept(file) || is_record(file)) return;
    if (!file.mentions("nvidia.com/") && !file.mentions("gke-accelerator") &&
        !file.mentions("karpenter")) {
        return;
    }
    for (const Object& object : file.objects) {
        if (object.broken || object.inner || object.kind == "Node") continue;
        if (object.kind == "CustomResourceDefinition") continue;
        check_terms(*object.node, report, 0);
    }
}

}  // namespace aliquot::lint
