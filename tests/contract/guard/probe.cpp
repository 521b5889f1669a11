// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/guard/probe.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace aliquot::guardkit {

void fail(const char* file, int line, const std::string& text) {
    const char* const slash = std::strrchr(file, '/');
    std::fprintf(stderr, "%s:%d: %s\n", slash == nullptr ? file : slash + 1, line, text.c_str());
    std::fflush(stderr);
    ::_exit(kExitFailed);
}

void skip(const std::string& why) {
    std::fprintf(stderr, "skipped: %s\n", why.c_str());
    std::fflush(stderr);
    ::_exit(kExitSkipped);
}

std::string shown(const char* value) { return value == nullptr ? "NULL" : value; }
std::string shown(const std::string& value) { return '"' + value + '"'; }
std::string shown(const void* value) {
    char text[32];
    std::snprintf(text, sizeof text, "%p", value);
    return text;
}
std::string shown(bool value) { return value ? "true" : "false"; }
std::string shown(long long value) { return std::to_string(value); }
std::string shown(unsigned long long value) { return std::to_string(value); }

std::string environment(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? "" : value;
}

unsigned long environment_number(const char* name, unsigned long otherwise) {
    const std::string value = environment(name);
    return value.empty() ? otherwise : std::strtoul(value.c_str(), nullptr, 10);
}

unsigned long scaled(unsigned long full, unsigned long percent) {
    const unsigned long asked = environment_number("ALIQUOT_GUARD_KIT_SCALE", percent);
    return std::max(1UL, full * std::min(asked, 100UL) / 100);
}

std::uint64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

void nap_us(unsigned microseconds) {
    const timespec time{.tv_sec = microseconds / 1'000'000,
                        .tv_nsec = static_cast<long>(microseconds % 1'000'000) * 1000};
    ::nanosleep(&time, nullptr);
}

}  // namespace aliquot::guardkit
