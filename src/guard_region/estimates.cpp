// SPDX-License-Identifier: Apache-2.0
#include "guard_region/estimates.h"

#include <algorithm>

#include "base/number.h"

namespace aliquot::guard_region {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kLeast = 32 * kMiB;
constexpr std::chrono::seconds kYoung{2};
constexpr std::size_t kMostKinds = 256;
constexpr std::size_t kMostProcesses = 16'384;

/// Learned figures lie between these.
std::uint64_t bounded(std::uint64_t bytes, unsigned multiprocessors) {
    return std::clamp(bytes, kLeast, 2 * first_estimate(multiprocessors));
}

std::string without_tabs(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
    return text;
}

}  // namespace

std::uint64_t first_estimate(unsigned multiprocessors) {
    constexpr unsigned kLarge = 100;
    return (multiprocessors >= kLarge ? 600 : 400) * kMiB;
}

unsigned multiprocessors_of(unsigned cuda_cores, unsigned compute_major, unsigned compute_minor) {
    // 6.0, 7.x and 8.0 have 64 cores in each, all others since Maxwell 128.
    const bool small = compute_major == 7 || (compute_minor == 0 && compute_major == 6) ||
                       (compute_minor == 0 && compute_major == 8);
    return cuda_cores / (small ? 64U : 128U);
}

bool ContextEstimates::note(const ContextKind& kind, unsigned multiprocessors,
                            const std::string& process, std::uint64_t overhead_bytes, Moment now) {
    if (first_seen_.size() >= kMostProcesses) first_seen_.clear();
    const Moment since = first_seen_.emplace(process, now).first->second;
    if (now - since > kYoung || overhead_bytes == 0) return false;
    const std::uint64_t bytes = bounded(overhead_bytes, multiprocessors);
    const auto known = learned_.find(kind);
    if (known == learned_.end()) {
        if (learned_.size() >= kMostKinds) return false;
        learned_.emplace(kind, bytes);
        return true;
    }
    if (bytes <= known->second) return false;
    known->second = bytes;
    return true;
}

std::uint64_t ContextEstimates::estimate(const ContextKind& kind, unsigned multiprocessors) const {
    const auto known = learned_.find(kind);
    if (known == learned_.end()) return first_estimate(multiprocessors);
    return bounded(known->second, multiprocessors);
}

std::string ContextEstimates::to_text() const {
    std::string text;
    for (const auto& [kind, bytes] : learned_) {
        text += std::to_string(bytes) + '\t' + without_tabs(kind.driver_version) + '\t' +
                without_tabs(kind.model) + '\n';
    }
    return text;
}

void ContextEstimates::read(std::string_view text) {
    while (!text.empty() && learned_.size() < kMostKinds) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const auto first = line.find('\t');
        const auto second = first == line.npos ? line.npos : line.find('\t', first + 1);
        if (second == line.npos) continue;
        const std::uint64_t bytes = parse_number<std::uint64_t>(line.substr(0, first)).value_or(0);
        if (bytes == 0) continue;
        learned_[{.model = std::string(line.substr(second + 1)),
                  .driver_version = std::string(line.substr(first + 1, second - first - 1))}] =
            bytes;
    }
}

}  // namespace aliquot::guard_region
