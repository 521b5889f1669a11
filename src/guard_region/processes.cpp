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

namespace aliquot::guard_region {
namespace {

constexpr std::size_t kIdLength = 32;
constexpr std::size_t kMostBytes = std::size_t{4} << 20U;  // of a file of /proc

/// Takes the first word off `text`; empty: there is none.
std::string_view take_word(std::string_view& text, std::string_view blanks = " \t") {
    const auto begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(blanks));
    text.remove_prefix(word.size());
    return word;
}

std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
}

bool is_id(std::string_view text) {
    return text.size() == kIdLength && std::ranges::all_of(text, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

bool of_a_pod(std::string_view cgroup) { return cgroup.find("kubepods") != cgroup.npos; }

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
    if (!path.ends_with(kInside)) return {};
    path.remove_suffix(kInside.size());
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos) return {};
    path.remove_prefix(slash + 1);
    return is_id(path) ? std::string(path) : std::string();
}

std::string parse_region(std::string_view mountinfo) {
    std::string region;
    while (!mountinfo.empty()) {
        std::string_view line = take_line(mountinfo);
        // 36 35 98:0 /aliquot/regions/<id>/guard /run/aliquot/guard ro ...
        for (int i = 0; i < 3; ++i) take_word(line, " ");
        const std::string_view root = take_word(line, " ");
        if (take_word(line, " ") != abi::kGuardDirectory) continue;
        region = region_id_in(root);  // the last one lies on top
    }
    return region;
}

std::string parse_cgroup(std::string_view text) {
    std::string found;
    while (!text.empty()) {
        const std::string_view line = take_line(text);
        const auto colon = line.find(':');
        const auto second = colon == line.npos ? line.npos : line.find(':', colon + 1);
        if (second == line.npos) continue;
        const std::string_view path = line.substr(second + 1);
        if (line.starts_with("0::") && (found.empty() || of_a_pod(path))) found = path;
        if (of_a_pod(path)) return std::string(path);
    }
    return found;
}

std::optional<ProcessStat> parse_stat(std::string_view line) {
    const auto begin = line.find('(');
    const auto end = line.rfind(')');  // the name may hold parentheses and blanks
    if (begin == line.npos || end == line.npos || end < begin) return std::nullopt;
    ProcessStat stat{.command = std::string(line.substr(begin + 1, end - begin - 1))};
    std::string_view rest = line.substr(end + 1);
    constexpr int kState = 3;
    constexpr int kStart = 22;
    for (int field = kState; field <= kStart; ++field) {
        const std::string_view word = take_word(rest, " \n");
        if (field == kState && (word == "Z" || word == "X")) return std::nullopt;
        if (field != kStart) continue;
        const auto ticks = parse_number<std::uint64_t>(word);
        if (!ticks) return std::nullopt;
        stat.start_ticks = *ticks;
    }
    return stat;
}

HostProcesses::HostProcesses(const os::Root& root) : root_(root) {
    const auto text = root.read("/proc/self/cgroup", kMostBytes);
    if (text) own_cgroup_ = parse_cgroup(*text);
}

std::string HostProcesses::read(pid_t pid, std::string_view file) const {
    auto text = root_.read("/proc/" + std::to_string(pid) + "/" + std::string(file), kMostBytes);
    return text ? *std::move(text) : std::string();
}

/// By what is mounted. Where no container runtime mounts anything, by the variable that the process
/// was started with. A container of a pod could put what it likes there, so of those we do not look,
/// unless it is the one that we are in ourselves.
std::string HostProcesses::region_of(pid_t pid, std::string_view cgroup) const {
    std::string region = parse_region(read(pid, "mountinfo"));
    if (!region.empty() || (of_a_pod(cgroup) && cgroup != own_cgroup_)) return region;
    constexpr std::string_view kVariable = "ALIQUOT_GUARD_REGION=";
    const std::string environment = read(pid, "environ");
    for (std::string_view rest = environment; !rest.empty();) {
        std::string_view entry = rest.substr(0, rest.find('\0'));
        rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
        if (!entry.starts_with(kVariable)) continue;
        entry.remove_prefix(kVariable.size());
        return region_id_in(entry.substr(0, entry.rfind('/')));
    }
    return {};
}

std::optional<HostProcess> HostProcesses::look(pid_t pid) {
    if (pid <= 0) return std::nullopt;
    const auto stat = parse_stat(read(pid, "stat"));
    if (!stat) {
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
    process.cgroup = parse_cgroup(read(pid, "cgroup"));
    process.region = region_of(pid, process.cgroup);
    constexpr std::size_t kMostKnown = 16'384;
    if (known_.size() >= kMostKnown) known_.clear();
    if (!process.region.empty()) known_[pid] = process;
    return process;
}

std::vector<HostProcess> HostProcesses::tenants() {
    constexpr std::size_t kMostProcesses = 100'000;
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

Result<Done> HostProcesses::kill(const HostProcess& process) const {
    const std::string subject = "process " + std::to_string(process.pid);
    if (process.pid <= 1) return Error{ErrorCode::kInvalidInput, subject + ": not to be ended"};
    // The descriptor stays with this process when its pid is given to another one.
    const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
    if (!handle) return os::error_from_errno(errno, subject);
    const auto now = parse_stat(read(process.pid, "stat"));
    if (!now || now->start_ticks != process.start_ticks) {
        return Error{ErrorCode::kNotFound, subject + ": it has ended"};
    }
    if (::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0) != 0) {
        return os::error_from_errno(errno, subject);
    }
    return Done{};
}

}  // namespace aliquot::guard_region
