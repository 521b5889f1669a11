// SPDX-License-Identifier: Apache-2.0
#include "guard/settings.h"

#include <sys/auxv.h>

#include <cstdlib>
#include <cstring>

#include "guard/kernel.h"

namespace aliquot::guard {
namespace {

/// The environment counts for nothing in a program with more rights than its caller.
const char* variable(const char* name) {
    if (getauxval(AT_SECURE) != 0) return nullptr;
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): as programs do
    return value == nullptr || *value == '\0' ? nullptr : value;
}
const char* variable(const char* ours, const char* theirs) {
    const char* value = variable(ours);
    return value != nullptr ? value : variable(theirs);
}

bool exists(const char* path) {
    return kernel::call(SYS_faccessat, AT_FDCWD, kernel::as_long(path), 0 /*F_OK*/) == 0;
}

void copy_path(char (&to)[kMaxPath], const char* from) {
    const std::size_t length = std::strlen(from);
    if (length < kMaxPath) std::memcpy(to, from, length + 1);
}
void join_path(char (&to)[kMaxPath], const char* directory, const char* file) {
    std::size_t length = 0;
    for (const char* part : {directory, "/", file})
        for (; *part != '\0' && length + 1 < kMaxPath; ++part) to[length++] = *part;
    to[length] = '\0';
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool digit(char c) { return c >= '0' && c <= '9'; }

/// A decimal number with up to nine places behind the point, in billionths.
bool parse_number(const char*& text, unsigned __int128& billionths) {
    if (!digit(*text)) return false;
    unsigned __int128 value = 0;
    for (unsigned places = 0; digit(*text); ++text, ++places) {
        if (places == 20) return false;
        value = value * 10 + static_cast<unsigned>(*text - '0');
    }
    value *= 1'000'000'000u;
    if (*text == '.') {
        ++text;
        if (!digit(*text)) return false;
        for (unsigned unit = 100'000'000; digit(*text); ++text, unit /= 10)
            value += static_cast<unsigned __int128>(unit) * static_cast<unsigned>(*text - '0');
    }
    billionths = value;
    return true;
}

void name_problem(Settings& settings, const char* name) {
    std::strncpy(settings.problem, name, sizeof settings.problem - 1);
}

/// NAME_<index> for each index, then NAME for the rest.
template <class T, class Parse>
void read_by_index(const char* ours, const char* theirs, T (&values)[abi::kRegionDevices],
                   Parse parse, Settings& settings) {
    T all = 0;
    if (const char* text = variable(ours, theirs)) {
        settings.wanted = true;
        if (!parse(text, all)) name_problem(settings, variable(ours) != nullptr ? ours : theirs);
    }
    for (unsigned i = 0; i < abi::kRegionDevices; ++i) {
        values[i] = all;
        for (const char* name : {theirs, ours}) {
            char indexed[64] = {};
            std::size_t length = std::strlen(name);
            std::memcpy(indexed, name, length + 1);
            indexed[length++] = '_';
            if (i >= 10) indexed[length++] = '1';
            indexed[length] = static_cast<char>('0' + i % 10);
            const char* text = variable(indexed);
            if (text == nullptr) continue;
            settings.wanted = true;
            if (!parse(text, values[i])) {
                std::memcpy(settings.problem, indexed, sizeof indexed);
            }
        }
    }
}

void read_log_level(Settings& settings) {
    const char* text = variable("ALIQUOT_GUARD_LOG");
    if (text == nullptr) return;
    constexpr const char* kNames[] = {"off", "error", "info", "debug"};
    for (unsigned i = 0; i < 4; ++i)
        if (std::strcmp(text, kNames[i]) == 0) settings.log_level = static_cast<LogLevel>(i);
}

void read_environment(Settings& settings) {
    if (const char* config = variable("ALIQUOT_GUARD_CONFIG")) {
        copy_path(settings.config, config);
        settings.wanted = true;
    }
    if (const char* region = variable("ALIQUOT_GUARD_REGION", "CUDA_DEVICE_MEMORY_SHARED_CACHE")) {
        copy_path(settings.ledger, region);
        settings.wanted = settings.wanted || variable("ALIQUOT_GUARD_REGION") != nullptr;
    }
    if (const char* node = variable("ALIQUOT_GUARD_NODE")) copy_path(settings.node, node);
    read_by_index("ALIQUOT_GUARD_MEMORY", "CUDA_DEVICE_MEMORY_LIMIT", settings.memory_bytes,
                  parse_bytes, settings);
    read_by_index("ALIQUOT_GUARD_CAP", "CUDA_DEVICE_SM_LIMIT", settings.cap_ppm, parse_percent,
                  settings);
    // HAMi: no limit, or a policy that turns it off.
    for (std::uint32_t& cap : settings.cap_ppm)
        if (cap >= 1'000'000) cap = 0;
    const char* policy = variable("GPU_CORE_UTILIZATION_POLICY");
    if (policy != nullptr && std::strcmp(policy, "disable") == 0 &&
        variable("ALIQUOT_GUARD_CAP") == nullptr)
        std::memset(settings.cap_ppm, 0, sizeof settings.cap_ppm);
    if (const char* weight = variable("ALIQUOT_GUARD_WEIGHT")) {
        std::uint64_t value = 0;
        settings.wanted = true;
        if (parse_bytes(weight, value) && value >= 1 && value <= 1'000'000)
            settings.weight = static_cast<std::uint32_t>(value);
        else
            name_problem(settings, "ALIQUOT_GUARD_WEIGHT");
    }
    const char* fail = variable("ALIQUOT_GUARD_FAIL");
    settings.fail_open = fail != nullptr && std::strcmp(fail, "open") == 0;
}

}  // namespace

bool parse_bytes(const char* text, std::uint64_t& bytes) {
    unsigned __int128 value = 0;
    if (!parse_number(text, value)) return false;
    while (*text == ' ') ++text;
    unsigned shift = 0;
    switch (lower(*text)) {
        case 'k':
            shift = 10;
            break;
        case 'm':
            shift = 20;
            break;
        case 'g':
            shift = 30;
            break;
        case 't':
            shift = 40;
            break;
        default:
            break;
    }
    if (shift != 0) ++text;
    if (shift != 0 && lower(*text) == 'i') ++text;
    if (lower(*text) == 'b') ++text;
    if (*text != '\0' || value > (static_cast<unsigned __int128>(1) << 100)) return false;
    value = (value << shift) / 1'000'000'000u;
    if (value > (std::uint64_t{1} << 60)) return false;
    bytes = static_cast<std::uint64_t>(value);
    return true;
}

bool parse_percent(const char* text, std::uint32_t& ppm) {
    unsigned __int128 value = 0;
    if (!parse_number(text, value)) return false;
    if (*text == '%') ++text;
    value /= 100'000;  // billionths of a percent to millionths of the whole
    if (*text != '\0' || value > 1'000'000) return false;
    ppm = static_cast<std::uint32_t>(value);
    return true;
}

void read_settings(Settings& settings) {
    char mounted[kMaxPath];
    join_path(mounted, abi::kGuardDirectory, abi::kConfigFile);
    if (exists(mounted)) {
        settings.wanted = true;
        settings.mounted = true;
        copy_path(settings.config, mounted);
        join_path(settings.ledger, abi::kGuardDirectory, abi::kLedgerFile);
        join_path(settings.node, abi::kGuardDirectory, abi::kNodeFile);
        if (!exists(settings.node)) settings.node[0] = '\0';
    } else {
        read_environment(settings);
    }
    read_log_level(settings);
    set_log_level(settings.log_level);
}

unsigned container_index(unsigned ordinal) {
    const char* text =
        std::getenv("CUDA_VISIBLE_DEVICES");  // NOLINT(concurrency-mt-unsafe): as programs do
    if (text == nullptr) return ordinal;
    for (unsigned place = 0; *text != '\0'; ++place) {
        unsigned number = 0;
        bool is_number = digit(*text);
        for (; *text != ',' && *text != '\0'; ++text) {
            is_number = is_number && digit(*text);
            if (is_number && number < 1000)
                number = number * 10 + static_cast<unsigned>(*text - '0');
        }
        if (place == ordinal) return is_number ? number : ordinal;
        if (*text == ',') ++text;
    }
    return ordinal;
}

}  // namespace aliquot::guard
