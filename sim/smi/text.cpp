// SPDX-License-Identifier: Apache-2.0
#include "sim/smi/text.h"

#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <ctime>

namespace aliquot::sim::smi {
namespace {

bool is_absent(nvmlReturn_t code) {
    return code == NVML_ERROR_NOT_SUPPORTED || code == NVML_ERROR_FUNCTION_NOT_FOUND ||
           code == NVML_ERROR_NO_DATA || code == NVML_ERROR_NOT_FOUND ||
           code == NVML_ERROR_INVALID_ARGUMENT;
}

std::string local_time(const char* format) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::localtime_r(&now, &parts);
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::string print(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    std::va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    std::string text(static_cast<std::size_t>(length < 0 ? 0 : length) + 1, '\0');
    std::vsnprintf(text.data(), text.size(), format, again);
    va_end(again);
    text.pop_back();
    return text;
}

std::string table_problem(nvmlReturn_t code) { return is_absent(code) ? "N/A" : "ERR!"; }

std::string detail_problem(nvmlReturn_t code) {
    if (is_absent(code)) return "N/A";
    if (code == NVML_ERROR_GPU_IS_LOST) return "GPU is lost";
    if (code == NVML_ERROR_RESET_REQUIRED) return "GPU requires reset";
    if (code == NVML_ERROR_NO_PERMISSION) return "Insufficient Permissions";
    return "Unknown Error";
}

std::string query_problem(nvmlReturn_t code) { return "[" + detail_problem(code) + "]"; }

std::string mib(std::uint64_t bytes) { return std::to_string(bytes >> 20U); }

std::string watts(unsigned milliwatts) {
    return print("%u.%02u", milliwatts / 1000, milliwatts % 1000 / 10);
}

std::string whole_watts(unsigned milliwatts) { return std::to_string((milliwatts + 500) / 1000); }

std::string on_off(unsigned state) { return state != 0 ? "On" : "Off"; }
std::string enabled_disabled(unsigned state) { return state != 0 ? "Enabled" : "Disabled"; }

std::string compute_mode_name(unsigned mode) {
    switch (mode) {
        case NVML_COMPUTEMODE_DEFAULT:
            return "Default";
        case NVML_COMPUTEMODE_EXCLUSIVE_THREAD:
            return "Exclusive_Thread";
        case NVML_COMPUTEMODE_PROHIBITED:
            return "Prohibited";
        case NVML_COMPUTEMODE_EXCLUSIVE_PROCESS:
            return "Exclusive_Process";
        default:
            return "Unknown";
    }
}

std::string architecture_name(unsigned number) {
    constexpr std::array<const char*, 11> kNames = {
        "",       "",       "Kepler",       "Maxwell", "Pascal",   "Volta",
        "Turing", "Ampere", "Ada Lovelace", "Hopper",  "Blackwell"};
    return number >= 2 && number < kNames.size() ? kNames.at(number) : "Unknown";
}

std::string cuda_text(int version) { return print("%d.%d", version / 1000, version % 1000 / 10); }

std::string date_text() { return local_time("%a %b %e %H:%M:%S %Y"); }

std::string timestamp_text() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count() % 1000;
    return local_time("%Y/%m/%d %H:%M:%S") + print(".%03d", static_cast<int>(ms));
}

}  // namespace aliquot::sim::smi
