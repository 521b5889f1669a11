// SPDX-License-Identifier: Apache-2.0
#include "mps/journal.h"

#include <algorithm>
#include <charconv>

namespace aliquot::mps {
namespace {

constexpr std::string_view kFirstLine = "aliquot-mps 1";
constexpr std::string_view kKept = "kept";
constexpr std::size_t kMostEntries = 256;

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    while (!line.empty()) {
        const auto end = line.find(' ');
        if (end != 0) words.push_back(line.substr(0, end));
        line = end == std::string_view::npos ? std::string_view{} : line.substr(end + 1);
    }
    return words;
}

template <class Number>
bool journal_number(std::string_view text, Number& number) {
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc{} && stop == text.data() + text.size();
}

std::optional<JournalEntry> entry_of(const std::vector<std::string_view>& words) {
    if (words.size() != 7 || words[2] != "mode" || words[4] != "daemon") return std::nullopt;
    JournalEntry entry{.gpu = {std::string(words[1])}};
    if (words[3] != kKept) {
        entry.restore_to = gpu::parse_compute_mode(words[3]);
        if (!entry.restore_to) return std::nullopt;
    }
    if (!journal_number(words[5], entry.daemon.pid) || entry.daemon.pid < 0 ||
        !journal_number(words[6], entry.daemon.start_ticks)) {
        return std::nullopt;
    }
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
        const Error malformed{ErrorCode::kInvalidInput,
                              "line " + std::to_string(number) + " is no line of an MPS journal"};
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
