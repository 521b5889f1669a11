// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/cuda_tag.h"

#include <algorithm>
#include <array>
#include <vector>

#include "lint/words.h"

namespace aliquot::lint {

namespace {

constexpr std::array<std::string_view, 3> kFlavours{"base", "runtime", "devel"};
constexpr std::array<std::string_view, 14> kSystems{
    "ubuntu", "ubi", "rockylinux", "centos", "opensuse", "sles",   "amzn",
    "cm2",    "azl", "debian",     "fedora", "rhel",     "oracle", "almalinux"};

/// The last patch of a minor version that images were made for.
struct Patch {
    unsigned major;
    unsigned minor;
    std::string_view last;
};
constexpr std::array<Patch, 22> kPatches{{
    {11, 0, "11.0.3"}, {11, 1, "11.1.1"}, {11, 2, "11.2.2"}, {11, 3, "11.3.1"}, {11, 4, "11.4.3"},
    {11, 5, "11.5.2"}, {11, 6, "11.6.2"}, {11, 7, "11.7.1"}, {11, 8, "11.8.0"}, {12, 0, "12.0.1"},
    {12, 1, "12.1.1"}, {12, 2, "12.2.2"}, {12, 3, "12.3.2"}, {12, 4, "12.4.1"}, {12, 5, "12.5.1"},
    {12, 6, "12.6.3"}, {12, 8, "12.8.1"}, {12, 9, "12.9.1"}, {13, 0, "13.0.2"}, {13, 1, "13.1.1"},
    {13, 2, "13.2.1"}, {13, 3, "13.3.1"},
}};

unsigned minor_of(const catalog::Version& version) {
    return version.major() * 100 + version.minor();
}

/// The Ubuntu releases that there are images of.
bool has_ubuntu(const catalog::Version& cuda, std::string_view release) {
    const auto minor = minor_of(cuda);
    if (release == "24.04") {
        return minor >= 1205;
    }
    if (release == "22.04") {
        return minor >= 1107;
    }
    if (release == "20.04") {
        return minor >= 1100 && minor < 1300;
    }
    return true;
}

std::string_view usual_ubuntu(const catalog::Version& cuda) {
    return has_ubuntu(cuda, "22.04") ? "ubuntu22.04" : "ubuntu20.04";
}

bool has_numbered_cudnn(const catalog::Version& cuda) {
    return cuda < catalog::Version{{12, 4, 1, 0}};
}

std::string_view flavour_near(const std::string& word) {
    return word.empty() ? std::string_view() : nearest(word, {kFlavours.begin(), kFlavours.end()});
}

}  // namespace

bool CudaTag::is_of_old_form() const { return minor_of(parsed) <= 1100; }

std::optional<CudaTag> read_cuda_tag(std::string_view tag) {
    const auto parts = split(tag, '-');
    if (parts.empty() || parts[0].empty() || parts[0][0] < '0' || parts[0][0] > '9' ||
        parts[0].find_first_not_of("0123456789.") != std::string_view::npos) {
        return std::nullopt;
    }
    CudaTag result;
    result.version = parts[0];
    result.numbers = 1 + static_cast<unsigned>(std::count(parts[0].begin(), parts[0].end(), '.'));
    const auto version = catalog::parse_version(parts[0]);
    if (!version) {
        return std::nullopt;
    }
    result.parsed = *version;
    int last = 0;
    const auto keep_order = [&result, &last](int rank) {
        result.in_order = result.in_order && rank > last;
        last = rank;
    };
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const std::string part{parts[i]};
        if (part.starts_with("cudnn")) {
            result.cudnn = part;
            keep_order(1);
        } else if (std::find(kFlavours.begin(), kFlavours.end(), part) != kFlavours.end()) {
            result.flavour = part;
            keep_order(2);
        } else if (std::any_of(kSystems.begin(), kSystems.end(),
                               [&part](std::string_view s) { return part.starts_with(s); })) {
            result.system = part;
            keep_order(3);
        } else {
            result.rest += (result.rest.empty() ? "" : "-") + part;
        }
    }
    return result;
}

std::string mistake_of(const CudaTag& tag) {
    const auto minor = minor_of(tag.parsed);
    if (minor == 1207) {
        return "there are no images of CUDA 12.7";
    }
    if (tag.numbers < 3) {
        return "the version has no patch number";
    }
    if (tag.flavour.empty() && tag.rest.empty()) {
        return "it says none of base, runtime and devel";
    }
    if (tag.flavour.empty() && !flavour_near(tag.rest).empty()) {
        return "there is no flavour " + tag.rest;
    }
    if (tag.system.empty() && tag.rest.empty()) {
        return "it names no operating system";
    }
    if (!tag.in_order) {
        return "its parts stand in another order";
    }
    if (tag.system.starts_with("ubuntu") &&
        !has_ubuntu(tag.parsed, std::string_view(tag.system).substr(6))) {
        return "there is no " + tag.system + " image of CUDA " + tag.version;
    }
    if (!tag.cudnn.empty() && tag.flavour == "base") {
        return "the flavour base has no cuDNN";
    }
    if (tag.cudnn.size() > 5 && !has_numbered_cudnn(tag.parsed)) {
        return "from CUDA 12.4.1 on the part is called cudnn, without a number";
    }
    if (tag.cudnn == "cudnn" && minor < 1203) {
        return "before CUDA 12.4.1 the part has a number, such as cudnn8";
    }
    return {};
}

std::string nearest_tag(const CudaTag& tag) {
    auto version = tag.parsed;
    std::string text = tag.version;
    if (minor_of(version) == 1207) {
        version.parts = {12, 8, 1, 0};
        text = "12.8.1";
    }
    if (tag.numbers < 3) {
        text = std::to_string(version.major()) + "." + std::to_string(version.minor()) + ".0";
        for (const auto& patch : kPatches) {
            if (patch.major == version.major() && patch.minor == version.minor()) {
                text = patch.last;
            }
        }
    }
    std::string cudnn = tag.flavour == "base" ? "" : tag.cudnn;
    if (!cudnn.empty() && !has_numbered_cudnn(version)) {
        cudnn = "cudnn";
    } else if (cudnn == "cudnn") {
        cudnn = "cudnn8";
    }
    std::string system = tag.system.empty() ? std::string(usual_ubuntu(version)) : tag.system;
    if (system.starts_with("ubuntu") && !has_ubuntu(version, std::string_view(system).substr(6))) {
        system = usual_ubuntu(version);
    }
    const std::string_view meant = flavour_near(tag.rest);
    const std::string flavour = !tag.flavour.empty() ? tag.flavour
                                : meant.empty()      ? "base"
                                                     : std::string(meant);
    return text + (cudnn.empty() ? "" : "-" + cudnn) + "-" + flavour + "-" + system;
}

}  // namespace aliquot::lint
