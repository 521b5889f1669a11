// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

/// What the checks are written with. They run in a process of their own under the guard, so there is
/// no test framework here: a check that returns is passed, one that fails says why on stderr and
/// ends the process at once, since after a wrong answer nothing that follows means anything.
namespace aliquot::guardkit {

inline constexpr std::uint64_t kKi = 1024;
inline constexpr std::uint64_t kMi = kKi * 1024;
inline constexpr std::uint64_t kGi = kMi * 1024;

inline constexpr int kExitFailed = 1;
inline constexpr int kExitSkipped = 77;

[[noreturn]] void fail(const char* file, int line, const std::string& text);
/// This driver or machine cannot be asked that.
[[noreturn]] void skip(const std::string& why);

std::string shown(const char* value);
std::string shown(const std::string& value);
std::string shown(const void* value);
std::string shown(bool value);
std::string shown(long long value);
std::string shown(unsigned long long value);
inline std::string shown(int value) { return shown(static_cast<long long>(value)); }
inline std::string shown(long value) { return shown(static_cast<long long>(value)); }
inline std::string shown(unsigned value) { return shown(static_cast<unsigned long long>(value)); }
inline std::string shown(unsigned long value) {
    return shown(static_cast<unsigned long long>(value));
}

/// A named value of the environment; empty: not set.
std::string environment(const char* name);
/// The same as a count.
unsigned long environment_number(const char* name, unsigned long otherwise);

/// How much a storm or race does: ALIQUOT_GUARD_KIT_SCALE percent of its full size, by default
/// `percent`. At least 1.
unsigned long scaled(unsigned long full, unsigned long percent);

std::uint64_t now_ns();
/// Gives the processor away for about so long, in a loop that waits for something else.
void nap_us(unsigned microseconds);

/// Asks again until `holds`, for at most five seconds.
template <class Holds>
bool eventually(const Holds& holds) {
    const std::uint64_t end = now_ns() + 5'000'000'000;
    do {
        if (holds()) return true;
        nap_us(500);
    } while (now_ns() < end);
    return holds();
}

}  // namespace aliquot::guardkit

#define CHECK_THAT(holds)                                                    \
    do {                                                                     \
        if (!(holds)) ::aliquot::guardkit::fail(__FILE__, __LINE__, #holds); \
    } while (false)

#define CHECK_OP(left, op, right)                                                            \
    do {                                                                                     \
        const auto left_value = (left);                                                      \
        const auto right_value = (right);                                                    \
        if (!(left_value op right_value)) {                                                  \
            ::aliquot::guardkit::fail(__FILE__, __LINE__,                                    \
                                      std::string(#left " " #op " " #right ": ") +           \
                                          ::aliquot::guardkit::shown(left_value) + " and " + \
                                          ::aliquot::guardkit::shown(right_value));          \
        }                                                                                    \
    } while (false)

#define CHECK_EQ(left, right) CHECK_OP(left, ==, right)
#define CHECK_NE(left, right) CHECK_OP(left, !=, right)
#define CHECK_LE(left, right) CHECK_OP(left, <=, right)
#define CHECK_GE(left, right) CHECK_OP(left, >=, right)
#define CHECK_LT(left, right) CHECK_OP(left, <, right)
#define CHECK_GT(left, right) CHECK_OP(left, >, right)
/// A driver call that must succeed.
#define CHECK_OK(call) CHECK_EQ((call), 0)
