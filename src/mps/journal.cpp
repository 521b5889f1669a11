// SPDX-License-Identifier: Apache-2.0
#include "mps/journal.h"

#include <algorithm>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::mps {
namespace {

constexpr std::string_view kFirstLine = "aliquot-mps 1";
constexpr std::string_view kKept = "kept";
constexpr std::size_t kMostEntries = 256;

std::optional<JournalEntry> entry_of(const std::vector<std::string_view>& words) {
    if (words.size() != 7 || words[2] != "mode" || words[4] != "daemon") return std::nullopt;
    JournalEntry entry{.gpu = {std::string(words[1])}};
    if (words[3] != kKept) {
        entry.restore_to = gpu::parse_compute_mode(words[3]);
        if (!entry.restore_to) return std::nullopt;
    }
    const auto pid = parse_number<pid_t>(words[5]);
    const auto ticks = parse_number<std::uint64_t>(words[6]);
    if (!pid || *pid < 0 || !ticks) return std::nullopt;
    entry.daemon = {.pid = *pid, .start_ticks = *ticks};
    return entry;
}

}  // namespace

JournalEntry* Journal::find(const gpu::Uuid& gpu) {
    const auto found = std::ranges::find(entries, gpu, &JournalEntry::gpu);
    return found == entries.end() ? nullptr : &*found;
}

std::string to_text(const Journal& journal) {
    std::string text = std::string(kFirstLine) + "\nboot " + journal.boot + "\n";
    for (const JournalEntry& entry : journal.entries) {
        text += "gpu " + entry.gpu.text + " mode " +
                std::string(entry.restore_to ? gpu::to_text(*entry.restore_to) : kKept) +
                " daemon " + std::to_string(entry.daemon.pid) + " " +
                std::to_string(entry.daemon.start_ticks) + "\n";
    }
    return text;
}

Result<Journal> parse_journal(std::string_view text) {
    Journal journal;
    for (unsigned number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        const Error malformed{ErrorCode::kInvalidInput, "line " + std::to_string(number) +
                                                            " is not a line of an MPS journal"};
        if (number == 1) {
            if (line != kFirstLine) return malformed;
            continue;
        }
        const auto words = words_of(line);
        if (words.empty()) continue;
        if (words[0] == "boot" && words.size() <= 2) {
            journal.boot = words.size() == 2 ? words[1] : "";
            continue;
        }
        auto entry = words[0] == "gpu" ? entry_of(words) : std::nullopt;
        if (!entry || journal.find(entry->gpu) != nullptr) return malformed;
        if (journal.entries.size() == kMostEntries) return malformed;
        journal.entries.push_back(*std::move(entry));
    }
    return journal;
}

}  // namespace aliquot::mps
