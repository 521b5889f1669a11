// SPDX-License-Identifier: Apache-2.0
#include "pods/log_names.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace aliquot::pods {
namespace {

constexpr std::size_t kMostNames = 20'000;
constexpr std::size_t kIdDigits = 64;

/// A directory's time of change is as coarse as the kernel's tick: one that has changed so short a
/// time ago may change again and look the same.
constexpr auto kCoarseness = std::chrono::seconds(2);

bool is_settled(const os::FileStatus::Identity& identity) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return now - std::chrono::nanoseconds(identity.changed_ns) > kCoarseness;
}

bool is_id(std::string_view text) {
    return text.size() == kIdDigits && std::ranges::all_of(text, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

/// The three parts between two underscores; empty when there are others, or one of them is empty.
std::optional<std::array<std::string_view, 3>> three_parts(std::string_view name) {
    const auto first = name.find('_');
    if (first == std::string_view::npos) return std::nullopt;
    const auto second = name.find('_', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    const std::array parts{name.substr(0, first), name.substr(first + 1, second - first - 1),
                           name.substr(second + 1)};
    const bool good = std::ranges::none_of(parts, [](std::string_view part) {
        return part.empty() || part.find('_') != std::string_view::npos;
    });
    if (!good) return std::nullopt;
    return parts;
}

}  // namespace

std::optional<std::pair<std::string, PodName>> parse_pod_log_name(std::string_view name) {
    const auto parts = three_parts(name);
    if (!parts) return std::nullopt;
    return std::pair{std::string((*parts)[2]),
                     PodName{std::string((*parts)[0]), std::string((*parts)[1])}};
}

std::optional<std::pair<std::string, ContainerName>> parse_container_log_name(
    std::string_view name) {
    constexpr std::string_view kSuffix = ".log";
    if (!name.ends_with(kSuffix)) return std::nullopt;
    name.remove_suffix(kSuffix.size());
    const auto parts = three_parts(name);
    if (!parts || (*parts)[2].size() < kIdDigits + 2) return std::nullopt;
    const std::string_view last = (*parts)[2];
    const std::string_view id = last.substr(last.size() - kIdDigits);
    const std::string_view container = last.substr(0, last.size() - kIdDigits - 1);
    if (!is_id(id) || last[container.size()] != '-') return std::nullopt;
    return std::pair{std::string(id),
                     ContainerName{{std::string((*parts)[1]), std::string((*parts)[0])},
                                   std::string(container)}};
}

LogNames::LogNames(const os::Root& root, std::string pod_logs, std::string container_logs)
    : root_(root),
      pod_logs_{.path = std::move(pod_logs)},
      container_logs_{.path = std::move(container_logs)} {}

std::optional<std::vector<std::string>> LogNames::read_if_changed(Directory& directory) const {
    const auto status = root_.status(directory.path);
    if (!status) {
        if (!directory.identity) return std::nullopt;
        directory = {.path = directory.path};
        return std::vector<std::string>{};
    }
    if (directory.identity == status->identity && directory.settled) return std::nullopt;
    auto names = root_.list(directory.path, kMostNames);
    if (!names) return std::nullopt;  // what is known already is better than nothing
    directory.identity = status->identity;
    directory.settled = is_settled(status->identity);
    return *std::move(names);
}

bool LogNames::refresh() {
    const auto pods = read_if_changed(pod_logs_);
    if (pods) {
        pods_.clear();
        uids_.clear();
        for (const std::string& name : *pods) {
            auto read = parse_pod_log_name(name);
            if (!read) continue;
            uids_.emplace(read->second, read->first);
            pods_.insert(*std::move(read));
        }
    }
    const auto containers = read_if_changed(container_logs_);
    if (containers) {
        containers_.clear();
        container_names_.clear();
        for (const std::string& name : *containers) {
            auto read = parse_container_log_name(name);
            if (!read) continue;
            container_names_.insert(read->second);
            containers_.insert(*std::move(read));
        }
    }
    return pods || containers;
}

const PodName* LogNames::pod(const std::string& uid) const {
    const auto found = pods_.find(uid);
    return found == pods_.end() ? nullptr : &found->second;
}

const ContainerName* LogNames::container(const std::string& id) const {
    const auto found = containers_.find(id);
    return found == containers_.end() ? nullptr : &found->second;
}

bool LogNames::knows(const ContainerName& name) const { return container_names_.contains(name); }

std::vector<std::string> LogNames::uids_of(const PodName& name) const {
    std::vector<std::string> uids;
    const auto [begin, end] = uids_.equal_range(name);
    for (auto entry = begin; entry != end; ++entry) uids.push_back(entry->second);
    return uids;
}

std::optional<std::string> LogNames::only_container(const std::string& uid) const {
    const PodName* const name = pod(uid);
    if (name == nullptr) return std::nullopt;
    constexpr std::size_t kMostContainers = 100;
    const auto names = root_.list(
        pod_logs_.path + "/" + name->pod_namespace + "_" + name->pod + "_" + uid, kMostContainers);
    if (!names || names->size() != 1) return std::nullopt;
    return names->front();
}

}  // namespace aliquot::pods
