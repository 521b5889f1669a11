// SPDX-License-Identifier: Apache-2.0
#include "k8s/cgroup.h"

#include <algorithm>
#include <array>

#include "base/take_text.h"

namespace aliquot::k8s {
namespace {

constexpr std::size_t kContainerDigits = 64;
constexpr std::size_t kStaticDigits = 32;
constexpr std::array<std::size_t, 5> kUidGroups{8, 4, 4, 4, 12};

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

std::size_t count_hex(std::string_view text) {
    const auto* const end = std::ranges::find_if_not(text, is_hex);
    return static_cast<std::size_t>(end - text.begin());
}

/// Length of the uid at the beginning of `text`, with dashes or (as in a slice's name) underscores;
/// or of a static pod's 32 digits. 0: there is none.
std::size_t uid_length(std::string_view text) {
    if (count_hex(text) == kStaticDigits) return kStaticDigits;
    const char separator = text.size() > kUidGroups[0] ? text[kUidGroups[0]] : '\0';
    if (separator != '-' && separator != '_') return 0;
    std::size_t at = 0;
    for (std::size_t group = 0; group < kUidGroups.size(); ++group) {
        if (group > 0 && (at >= text.size() || text[at++] != separator)) return 0;
        if (count_hex(text.substr(at)) != kUidGroups[group]) return 0;
        at += kUidGroups[group];
    }
    return at;
}

struct PodPart {
    std::string uid;
    std::string_view behind;  // of the same part of the path: ":cri-containerd:<id>"
};

/// "pod<uid>", "<root>-pod<uid>.slice", "<root>-pod<uid>.slice:cri-containerd:<id>".
std::optional<PodPart> read_pod_part(std::string_view part) {
    constexpr std::string_view kPod = "pod";
    constexpr std::string_view kSlice = ".slice";
    for (auto at = part.find(kPod); at != std::string_view::npos; at = part.find(kPod, at + 1)) {
        if (at > 0 && part[at - 1] != '-') continue;
        const std::string_view text = part.substr(at + kPod.size());
        const std::size_t length = uid_length(text);
        if (length == 0) continue;
        std::string_view behind = text.substr(length);
        if (behind.starts_with(kSlice)) behind.remove_prefix(kSlice.size());
        if (!behind.empty() && behind.front() != ':') continue;
        std::string uid(text.substr(0, length));
        std::ranges::replace(uid, '_', '-');
        return PodPart{std::move(uid), behind};
    }
    return std::nullopt;
}

/// "<id>", "crio-<id>", "cri-containerd-<id>.scope". A monitor beside a container is none.
std::string_view read_container_part(std::string_view part) {
    constexpr std::string_view kScope = ".scope";
    if (part.ends_with(kScope)) part.remove_suffix(kScope.size());
    if (part.size() < kContainerDigits) return {};
    const std::string_view id = part.substr(part.size() - kContainerDigits);
    const std::string_view before = part.substr(0, part.size() - kContainerDigits);
    if (count_hex(id) != kContainerDigits) return {};
    if (!before.empty() && before.back() != '-') return {};
    return before.find("conmon") == std::string_view::npos ? id : std::string_view();
}

/// Cuts off the next part of `rest`; `path`, of which it is the end, then reaches down to it.
std::string_view next_part(std::string_view path, std::string_view& rest,
                           std::string_view& reached) {
    const std::string_view part = take_until(rest, '/');
    reached = path.substr(0, static_cast<std::size_t>(part.data() - path.data()) + part.size());
    return part;
}

std::optional<CgroupPlace> read_path(std::string_view path) {
    std::optional<CgroupPlace> place;
    std::string_view reached;
    for (std::string_view rest = path; !rest.empty();) {
        const std::string_view part = next_part(path, rest, reached);
        if (auto pod = read_pod_part(part)) {
            place = CgroupPlace{.pod_uid = std::move(pod->uid), .nested = place.has_value()};
            while (!pod->behind.empty() && place->container_id.empty()) {
                place->container_id = read_container_part(take_until(pod->behind, ':'));
            }
        } else if (place && place->container_id.empty()) {
            place->container_id = read_container_part(part);
        }
        if (place && !place->container_id.empty() && place->group.empty()) place->group = reached;
    }
    return place;
}

std::optional<CgroupPlace> read_outermost(std::string_view path) {
    std::string_view reached;
    for (std::string_view rest = path; !rest.empty();) {
        const std::string_view id = read_container_part(next_part(path, rest, reached));
        if (!id.empty()) {
            return CgroupPlace{.container_id = std::string(id), .group = std::string(reached)};
        }
    }
    return std::nullopt;
}

/// One line of /proc/PID/cgroup: "number:controllers:path". The path may hold colons.
struct Line {
    std::string_view controllers;
    std::string_view path;
};

/// Cuts off the next line.
Line next_line(std::string_view& text) {
    std::string_view line = take_until(text, '\n');
    take_until(line, ':');
    const std::string_view controllers = take_until(line, ':');
    constexpr std::string_view kDeleted = " (deleted)";  // the cgroup is gone, its process is not
    if (line.ends_with(kDeleted)) line.remove_suffix(kDeleted.size());
    return {controllers, line};
}

/// The memory and devices controllers are where a runtime surely puts a container's processes.
bool is_sure(std::string_view controllers) {
    while (!controllers.empty()) {
        const std::string_view name = take_until(controllers, ',');
        if (name == "memory" || name == "devices") return true;
    }
    return false;
}

/// Of the line that says most.
template <class Read>
std::optional<CgroupPlace> best_of(std::string_view cgroup_text, Read read) {
    std::string_view rest = cgroup_text.substr(0, kMostCgroupBytes);
    std::optional<CgroupPlace> best;
    int best_worth = -1;
    while (!rest.empty()) {
        const Line line = next_line(rest);
        std::optional<CgroupPlace> place = read(line.path);
        if (!place) continue;
        const int worth =
            (place->container_id.empty() ? 0 : 2) + (is_sure(line.controllers) ? 1 : 0);
        if (worth <= best_worth) continue;
        best_worth = worth;
        best = std::move(place);
        best->unified = line.controllers.empty();
    }
    return best;
}

}  // namespace

std::optional<CgroupPlace> place_of(std::string_view cgroup_text) {
    return best_of(cgroup_text, read_path);
}

std::optional<CgroupPlace> container_of(std::string_view cgroup_text) {
    auto place = place_of(cgroup_text);
    return place ? place : best_of(cgroup_text, read_outermost);
}

std::vector<std::string_view> paths_of(std::string_view cgroup_text) {
    std::string_view rest = cgroup_text.substr(0, kMostCgroupBytes);
    std::vector<std::string_view> paths;
    while (!rest.empty()) paths.push_back(next_line(rest).path);
    return paths;
}

}  // namespace aliquot::k8s
