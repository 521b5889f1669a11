// SPDX-License-Identifier: Apache-2.0
#include "mps/journal_file.h"

#include <algorithm>
#include <fstream>

namespace aliquot::mps {
namespace {

std::string boot_id() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

}  // namespace

JournalFile::JournalFile(const os::Root& root, std::string path)
    : root_(root), path_(std::move(path)) {
    journal_.boot = boot_id();
}

Result<Done> JournalFile::load() {
    const std::scoped_lock lock(mutex_);
    const auto text = root_.read(path_);
    if (!text && text.error().code == ErrorCode::kNotFound) return Done{};
    if (!text) return text.error();
    auto journal = parse_journal(*text);
    if (!journal) {
        (void)root_.write_atomically(path_ + ".damaged", *text);
        return std::move(journal).error().during(path_);
    }
    if (journal->boot != journal_.boot) return root_.remove(path_);
    journal_ = *std::move(journal);
    return Done{};
}

std::vector<JournalEntry> JournalFile::entries() const {
    const std::scoped_lock lock(mutex_);
    return journal_.entries;
}

std::optional<JournalEntry> JournalFile::find(const gpu::Uuid& gpu) const {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(journal_.entries, gpu, &JournalEntry::gpu);
    if (found == journal_.entries.end()) return std::nullopt;
    return *found;
}

Result<Done> JournalFile::put(const JournalEntry& entry) {
    const std::scoped_lock lock(mutex_);
    JournalEntry* const known = journal_.find(entry.gpu);
    if (known != nullptr && *known == entry) return Done{};
    if (known != nullptr) {
        *known = entry;
    } else {
        journal_.entries.push_back(entry);
    }
    return write();
}

Result<Done> JournalFile::remove(const gpu::Uuid& gpu) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(journal_.entries, [&](const JournalEntry& entry) { return entry.gpu == gpu; });
    return write();
}

Result<Done> JournalFile::write() {
    if (journal_.entries.empty()) return root_.remove(path_);
    return root_.write_atomically(path_, to_text(journal_));
}

}  // namespace aliquot::mps
