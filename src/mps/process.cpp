// SPDX-License-Identifier: Apache-2.0
#include "mps/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/number.h"
#include "os/process_stat.h"

namespace aliquot::mps {
namespace {

constexpr std::size_t kUidLength = 36;
constexpr std::size_t kContainerLength = 64;

/// A small file of /proc; empty when there is none.
std::string read_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    std::string text;
    std::array<char, 4096> part{};
    constexpr std::size_t kMost = 64UL << 10U;
    for (;;) {
        const ssize_t got = ::read(file, part.data(), part.size());
        if (got <= 0 || text.size() > kMost) break;
        text.append(part.data(), static_cast<std::size_t>(got));
    }
    ::close(file);
    return text;
}

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/// A pod's uid at the start of `text`; systemd's names have '_' for '-'.
std::string uid_at(std::string_view text) {
    if (text.size() < kUidLength) return {};
    std::string uid(text.substr(0, kUidLength));
    for (std::size_t i = 0; i < uid.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash && uid[i] == '_') uid[i] = '-';
        if (dash ? uid[i] != '-' : !is_hex(uid[i])) return {};
    }
    return uid;
}

/// The last run of 64 hexadecimal digits.
std::string container_in(std::string_view text) {
    std::size_t run = 0;
    for (std::size_t i = text.size(); i-- > 0;) {
        run = is_hex(text[i]) ? run + 1 : 0;
        if (run == kContainerLength) return std::string(text.substr(i, kContainerLength));
    }
    return {};
}

}  // namespace

std::optional<ProcessFacts> parse_stat(std::string_view line) {
    auto stat = os::parse_stat(line);
    if (!stat || stat->state == 'Z' || stat->state == 'X') return std::nullopt;
    return ProcessFacts{
        .id = {.pid = static_cast<pid_t>(stat->pid), .start_ticks = stat->start_ticks},
        .name = std::move(stat->command),
        .group = static_cast<pid_t>(stat->group)};
}

std::optional<ProcessFacts> look_at_process(pid_t pid) {
    if (pid <= 0) return std::nullopt;
    return parse_stat(read_file("/proc/" + std::to_string(pid) + "/stat"));
}

bool is_alive(const ProcessId& id) {
    const auto facts = look_at_process(id.pid);
    return facts && facts->id == id;
}

bool is_of_mps(const ProcessFacts& process) { return process.name.starts_with("nvidia-cuda-mps"); }

std::vector<ProcessId> mps_processes_of_group(pid_t group) {
    std::vector<ProcessId> found;
    DIR* const directory = group > 1 ? ::opendir("/proc") : nullptr;
    if (directory == nullptr) return found;
    while (const dirent* entry = ::readdir(directory)) {  // NOLINT(concurrency-mt-unsafe)
        const auto pid = parse_number<pid_t>(entry->d_name);
        const auto facts = pid ? look_at_process(*pid) : std::nullopt;
        if (facts && facts->group == group && is_of_mps(*facts)) found.push_back(facts->id);
    }
    ::closedir(directory);
    return found;
}

PodName parse_cgroup(std::string_view text) {
    constexpr std::string_view kPod = "pod";
    for (std::size_t at = text.find(kPod); at != std::string_view::npos;
         at = text.find(kPod, at + 1)) {
        std::string uid = uid_at(text.substr(at + kPod.size()));
        if (uid.empty()) continue;
        const auto after = text.substr(at + kPod.size() + kUidLength);
        return {.uid = std::move(uid),
                .container = container_in(after.substr(0, after.find('\n')))};
    }
    return {};
}

PodName pod_of_process(pid_t pid) {
    return parse_cgroup(read_file("/proc/" + std::to_string(pid) + "/cgroup"));
}

}  // namespace aliquot::mps
