// SPDX-License-Identifier: Apache-2.0
#include "pools/image_contract.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/sentence.h"
#include "base/text.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::pools {
namespace {

using document::Value;

constexpr std::size_t kMostPackages = 200'000;

/// A package of one of these names, in any case, whose version contains a text. A name with "*" at its end is
/// followed by a version: libcudnn8, and not libcudnn-tools.
struct Wanted {
    std::string_view what;
    std::array<std::string_view, 3> names;  // any of them; empty: no more
    std::string_view version;               // empty: any
};

// The base of an image is known by its package base-files: Ubuntu 22.04 has 12ubuntu4.
constexpr std::array<Wanted, 9> kCiCuda{
    {{"Ubuntu 22.04", {"base-files", "ubuntu", ""}, "12ubuntu4|22.04"},
     {"CUDA 12.1", {"cuda-cudart-12-1", "cuda-toolkit-12-1", ""}, ""},
     {"cuDNN", {"libcudnn*", "nvidia-cudnn*", "cudnn"}, ""},
     {"cmake", {"cmake", "", ""}, ""},
     {"ninja", {"ninja-build", "ninja", ""}, ""},
     {"ccache", {"ccache", "", ""}, ""},
     {"runner", {"actions-runner", "runner.listener", "github.runner"}, ""},
     {"numpy", {"numpy", "python3-numpy", ""}, ""},
     {"PyYAML", {"pyyaml", "python3-yaml", ""}, ""}}};

bool name_fits(std::string_view name, std::string_view wanted) {
    if (wanted.empty()) return false;
    if (!wanted.ends_with('*')) return equals_folded(name, wanted);
    wanted.remove_suffix(1);
    if (!starts_with_folded(name, wanted)) return false;
    name.remove_prefix(wanted.size());
    // "libcudnn9-cuda-12", "nvidia-cudnn-cu12": of CUDA or of its own version.
    return name.empty() || is_digit(name.front()) || name.starts_with("-cu");
}

bool version_fits(std::string_view version, std::string_view wanted) {
    if (wanted.empty()) return true;
    const auto parts = split(wanted, '|');
    return std::ranges::any_of(
        parts, [&](std::string_view part) { return version.find(part) != std::string_view::npos; });
}

const ImagePackage* find(const Wanted& wanted, const std::vector<ImagePackage>& packages) {
    const auto found = std::ranges::find_if(packages, [&](const ImagePackage& one) {
        return version_fits(one.version, wanted.version) &&
               std::ranges::any_of(
                   wanted.names, [&](std::string_view name) { return name_fits(one.name, name); });
    });
    return found == packages.end() ? nullptr : &*found;
}

std::string expectation(const Wanted& wanted) {
    std::string text = "a package " + std::string(wanted.names[0]);
    if (!wanted.names[1].empty()) text += " or " + std::string(wanted.names[1]);
    std::erase(text, '*');
    return text;
}

}  // namespace

Result<std::vector<ImagePackage>> read_bill_of_materials(std::string_view text) {
    const auto value = document::parse_json(text);
    if (!value) return value.error();
    const bool is_spdx = value->find("spdxVersion") != nullptr;
    const auto& list = document::items_at(*value, {is_spdx ? "packages" : "components"});
    if (!is_spdx && document::text_at(*value, {"bomFormat"}) != "CycloneDX") {
        return Error{ErrorCode::kInvalidInput,
                     "no bill of materials: expected SPDX or CycloneDX as JSON, as 'syft IMAGE -o "
                     "spdx-json' writes it"};
    }
    if (list.size() > kMostPackages) {
        return Error{ErrorCode::kInvalidInput, counted(list.size(), "package") + ", at most " +
                                                   std::to_string(kMostPackages) + " are read"};
    }
    std::vector<ImagePackage> packages;
    for (const Value& one : list) {
        packages.push_back({document::text_at(one, {"name"}),
                            document::text_at(one, {is_spdx ? "versionInfo" : "version"})});
    }
    return packages;
}

std::vector<std::string_view> contract_names() { return {"ci-cuda"}; }

Result<std::vector<ContractItem>> check_contract(std::string_view contract,
                                                 const std::vector<ImagePackage>& packages) {
    if (contract != "ci-cuda") {
        return Error{ErrorCode::kInvalidInput, "no contract '" + one_line(contract, 40) +
                                                   "', expected " + join(contract_names())};
    }
    std::vector<ContractItem> items;
    for (const Wanted& wanted : kCiCuda) {
        const auto* const found = find(wanted, packages);
        items.push_back({.what = std::string(wanted.what),
                         .found = found == nullptr ? "" : found->name + " " + found->version,
                         .expected = expectation(wanted)});
    }
    return items;
}

}  // namespace aliquot::pools
