// SPDX-License-Identifier: Apache-2.0
#include "exposition/own.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "base/number.h"
#include "os/process_stat.h"

namespace aliquot::exposition {
namespace {

/// The start of a file of /proc; empty: it cannot be read.
std::string read_start(const char* path) {
    std::string text(4096, '\0');
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    const ssize_t got = ::read(file, text.data(), text.size());
    ::close(file);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
}

/// The word at a place, counted from 0; empty: there are fewer.
std::string_view word_at(std::string_view text, unsigned place) {
    for (; place > 0; --place) {
        const auto blank = text.find(' ');
        if (blank == std::string_view::npos) return {};
        text.remove_prefix(blank + 1);
    }
    return text.substr(0, text.find_first_of(" \n"));
}

std::optional<std::uint64_t> pages_at(std::string_view statm, unsigned place) {
    const auto pages = parse_number<std::uint64_t>(word_at(statm, place));
    if (!pages) return std::nullopt;
    return *pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::optional<std::uint64_t> cpu_ns() {
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
    const auto ns = [](const timeval& time) {
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
               static_cast<std::uint64_t>(time.tv_usec) * 1000U;
    };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
}

std::optional<std::uint64_t> open_files() {
    DIR* folder = ::opendir("/proc/self/fd");
    if (folder == nullptr) return std::nullopt;
    std::uint64_t count = 0;
    while (::readdir(folder) != nullptr) ++count;
    ::closedir(folder);
    constexpr std::uint64_t kOthers = 3;  // ".", ".." and the folder itself
    return count > kOthers ? count - kOthers : 0;
}

/// By the clock's time now, its time since boot and the process's start since boot.
std::optional<gpu::Moment> started() {
    const auto stat = os::parse_stat(read_start("/proc/self/stat"));
    timespec since_boot{};
    if (!stat || ::clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0) return std::nullopt;
    const std::uint64_t start_ms = stat->start_ticks * 1000U / os::kTicksPerSecond;
    const auto now_ms = static_cast<std::uint64_t>(since_boot.tv_sec) * 1000U +
                        static_cast<std::uint64_t>(since_boot.tv_nsec) / 1'000'000U;
    return std::chrono::system_clock::now() -
           std::chrono::milliseconds(now_ms - std::min(start_ms, now_ms));
}

}  // namespace

Own read_own() {
    static const std::optional<gpu::Moment> kStarted = started();  // it must not waver
    const std::string statm = read_start("/proc/self/statm");
    Own own;
    own.virtual_bytes = pages_at(statm, 0);
    own.resident_bytes = pages_at(statm, 1);
    own.cpu_ns = cpu_ns();
    own.open_files = open_files();
    own.started = kStarted;
    return own;
}

}  // namespace aliquot::exposition
