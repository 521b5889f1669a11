// SPDX-License-Identifier: Apache-2.0
#include "guard_region/processes.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGKILL is POSIX
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "abi/region.h"
#include "base/descriptor.h"
#include "base/number.h"
#include "base/take_text.h"
#include "os/process_stat.h"

namespace aliquot::guard_region {
namespace {

constexpr std::size_t kIdLength = 32;
constexpr std::size_t kMostProcesses = 100'000;
constexpr std::size_t kMostBytes = std::size_t{4} << 20U;  // of a file of /proc

bool is_id(std::string_view text) {
    return text.size() == kIdLength && std::ranges::all_of(text, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

std::string_view take_field(std::string_view& line) { return take_until(line, ' '); }

/// Of a process in the tree of version 2; empty: in none.
std::string path_of_version_2(std::string_view cgroup) {
    while (!cgroup.empty()) {
        std::string_view line = take_line(cgroup);
        if (line.starts_with("0::")) return std::string(line.substr(3));
    }
    return {};
}

/// A path in mountinfo has "\\040" for a blank, and so on.
std::string unescaped(std::string_view text) {
    constexpr std::size_t kDigits = 3;
    std::string plain;
    while (!text.empty()) {
        const std::string_view digits = text.substr(1, kDigits);
        const auto code = text.front() == '\\' && digits.size() == kDigits
                              ? parse_number<unsigned>(digits, 8)
                              : std::nullopt;
        plain += code ? static_cast<char>(*code) : text.front();
        text.remove_prefix(code ? kDigits + 1 : 1);
    }
    return plain;
}

}  // namespace

bool HostProcess::owns(const SlotView& slot) const {
    if (slot.pid() != inner_pid) return false;
    const bool other_space =
        slot.pid_namespace != 0 && pid_namespace != 0 && slot.pid_namespace != pid_namespace;
    const bool other_start = slot.start_time != 0 && slot.start_time != start_ticks;
    return !other_space && !other_start;
}

std::optional<std::uint32_t> parse_inner_pid(std::string_view status) {
    while (!status.empty()) {
        std::string_view line = take_line(status);
        if (!line.starts_with("NSpid:")) continue;
        line.remove_prefix(6);
        std::string_view last;
        for (auto word = take_word(line); !word.empty(); word = take_word(line)) last = word;
        return parse_number<std::uint32_t>(last);
    }
    return std::nullopt;
}

std::string region_id_in(std::string_view path) {
    constexpr std::string_view kDeleted = "//deleted";
    constexpr std::string_view kInside = "/guard";
    if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
    for (auto at = path.rfind(kInside); at != path.npos && at > kIdLength;
         at = path.rfind(kInside, at - 1)) {
        const std::string_view behind = path.substr(at + kInside.size());
        const std::string_view id = path.substr(at - kIdLength, kIdLength);
        const bool whole = path[at - kIdLength - 1] == '/' && is_id(id);
        if (whole && (behind.empty() || behind.front() == '/')) return std::string(id);
    }
    return {};
}

std::string parse_region(std::string_view mountinfo, std::string_view device) {
    std::string elsewhere;
    while (!mountinfo.empty()) {
        std::string_view line = take_line(mountinfo);
        // 36 35 98:0 /aliquot/regions/<id>/guard /run/aliquot/guard ro ...
        take_field(line);
        take_field(line);
        if (const auto of = take_field(line); !device.empty() && of != device) continue;
        std::string region = region_id_in(take_field(line));
        if (region.empty()) continue;
        if (take_field(line) == abi::kGuardDirectory) return region;
        if (elsewhere.empty()) elsewhere = std::move(region);
    }
    return elsewhere;
}

std::string parse_device(std::string_view mountinfo, std::string_view path) {
    std::string found;
    std::size_t longest = 0;
    while (!mountinfo.empty()) {
        std::string_view line = take_line(mountinfo);
        take_field(line);
        take_field(line);
        const std::string_view device = take_field(line);
        take_field(line);
        const std::string place = unescaped(take_field(line));
        const std::string_view inside = place == "/" ? std::string_view() : place;
        const bool holds = !place.empty() && path.starts_with(inside) &&
                           (path.size() == inside.size() || path[inside.size()] == '/');
        if (!holds || place.size() < longest) continue;  // a later one lies on top
        longest = place.size();
        found = device;
    }
    return found;
}

HostProcesses::HostProcesses(const os::Root& root, const std::string& regions) : root_(root) {
    if (const auto text = root.read("/proc/self/cgroup", kMostBytes)) own_cgroup_ = *text;
    const auto mounts = root.read("/proc/self/mountinfo", kMostBytes);
    if (mounts && !regions.empty()) device_ = parse_device(*mounts, regions);
}

std::string HostProcesses::read(pid_t pid, std::string_view file) const {
    auto text = root_.read("/proc/" + std::to_string(pid) + "/" + std::string(file), kMostBytes);
    return text ? *std::move(text) : std::string();
}

std::string HostProcesses::started_with(pid_t pid) const {
    constexpr std::string_view kVariable = "ALIQUOT_GUARD_REGION=";
    const std::string environment = read(pid, "environ");
    for (std::string_view rest = environment; !rest.empty();) {
        std::string_view entry = take_until(rest, '\0');
        if (!entry.starts_with(kVariable)) continue;
        entry.remove_prefix(kVariable.size());
        return region_id_in(entry.substr(0, entry.rfind('/')));
    }
    return {};
}

const ContainerGroup* HostProcesses::known_group(std::string_view cgroup) const {
    for (const std::string_view path : k8s::paths_of(cgroup)) {
        if (const ContainerGroup* const group = containers_.find(path)) return group;
    }
    return nullptr;
}

/// Whether we are in that container ourselves, or in one that it has made: a node that is a container.
bool HostProcesses::is_own(const k8s::CgroupPlace& place) const {
    return own_cgroup_.find(place.container_id) != std::string::npos;
}

/// By what is mounted, or where nothing is, by what it was started with. A container could put what it
/// likes into its processes' variables, so of those we do not look, unless it is the one that we are
/// in ourselves.
std::string HostProcesses::own_word(pid_t pid, const std::string& cgroup) const {
    std::string region = parse_region(read(pid, "mountinfo"), device_);
    const bool outside = cgroup == own_cgroup_ || cgroup.find("kubepods") == std::string::npos;
    return region.empty() && outside ? started_with(pid) : region;
}

/// By the other processes of a container: who uses the GPU may have left its mounts, and who has
/// started it not. Looks at all processes, so for one container every ten seconds at most.
std::string HostProcesses::from_others(const std::string& group) {
    constexpr std::chrono::seconds kBetween{10};
    constexpr std::size_t kMostGroups = 4096;
    const auto now = std::chrono::steady_clock::now();
    if (asked_.size() >= kMostGroups) asked_.clear();
    auto& asked = asked_[group];
    if (asked.time_since_epoch().count() != 0 && now - asked < kBetween) return {};
    asked = now;
    const auto names = root_.list("/proc", kMostProcesses);
    for (std::size_t i = 0; names && i < names->size(); ++i) {
        const auto pid = parse_number<pid_t>((*names)[i]);
        const auto place = pid ? k8s::container_of(read(*pid, "cgroup")) : std::nullopt;
        if (!place || place->group != group) continue;
        std::string region = parse_region(read(*pid, "mountinfo"), device_);
        if (!region.empty()) return region;
    }
    return {};
}

void HostProcesses::find_region(HostProcess& process) {
    const std::string cgroup = read(process.pid, "cgroup");
    const auto place = k8s::container_of(cgroup);
    std::string group = path_of_version_2(cgroup);
    if (place && place->unified && !place->group.empty()) group = place->group;
    if (const ContainerGroup* const known = known_group(cgroup)) {
        process.region = known->region;
        if (group.starts_with(known->path)) group = known->path;
    } else {
        // A container can make groups whose names say another container; a group inside of another
        // pod's is therefore neither asked for nor learned.
        const bool container =
            place && !place->container_id.empty() && !place->nested && !is_own(*place);
        process.region = own_word(process.pid, cgroup);
        if (process.region.empty() && container && find_) process.region = find_(process.pid);
        if (process.region.empty() && container) process.region = from_others(place->group);
        if (container) containers_.learn(place->group, process.region);
    }
    process.group = std::move(group);
}

std::optional<HostProcess> HostProcesses::look(pid_t pid) {
    if (pid <= 0) return std::nullopt;
    const auto stat = os::parse_stat(read(pid, "stat"));
    if (!stat || stat->has_ended()) {
        known_.erase(pid);
        return std::nullopt;
    }
    const auto known = known_.find(pid);
    if (known != known_.end() && known->second.start_ticks == stat->start_ticks) {
        return known->second;
    }
    HostProcess process{.pid = pid, .start_ticks = stat->start_ticks, .command = stat->command};
    process.inner_pid = parse_inner_pid(read(pid, "status")).value_or(0);
    struct stat status {};
    const auto name_space = root_.resolve("/proc/" + std::to_string(pid) + "/ns/pid");
    if (::stat(name_space.c_str(), &status) == 0) process.pid_namespace = status.st_ino;
    find_region(process);
    constexpr std::size_t kMostKnown = 16'384;
    if (known_.size() >= kMostKnown) known_.clear();
    if (!process.region.empty()) known_[pid] = process;
    return process;
}

std::vector<HostProcess> HostProcesses::tenants() {
    std::vector<HostProcess> found;
    const auto names = root_.list("/proc", kMostProcesses);
    if (!names) return found;
    for (const std::string& name : *names) {
        const auto pid = parse_number<pid_t>(name);
        auto process = pid ? look(*pid) : std::nullopt;
        if (process && !process->region.empty()) found.push_back(*std::move(process));
    }
    return found;
}

void HostProcesses::forget(const std::string& region) {
    containers_.forget(region);
    std::erase_if(known_, [&](const auto& entry) { return entry.second.region == region; });
}

Result<Done> HostProcesses::kill(const HostProcess& process) const {
    const std::string subject = "process " + std::to_string(process.pid);
    if (process.pid <= 1) return Error{ErrorCode::kInvalidInput, subject + ": not to be ended"};
    // The descriptor stays with this process when its pid is given to another one.
    const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
    if (!handle) return os::error_from_errno(errno, subject);
    const auto now = os::parse_stat(read(process.pid, "stat"));
    if (!now || now->has_ended() || now->start_ticks != process.start_ticks) {
        return Error{ErrorCode::kNotFound, subject + ": it has ended"};
    }
    const std::string cgroup = read(process.pid, "cgroup");
    const ContainerGroup* const group = known_group(cgroup);
    const std::string region = group != nullptr ? group->region : own_word(process.pid, cgroup);
    if (region.empty() || region != process.region) {
        return Error{ErrorCode::kConflict,
                     subject + ": it is not in a container of region " + process.region};
    }
    if (::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0) != 0) {
        return os::error_from_errno(errno, subject);
    }
    return Done{};
}

}  // namespace aliquot::guard_region
