// SPDX-License-Identifier: Apache-2.0
#include "guard_region/guard_library.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "base/text.h"

namespace aliquot::guard_region {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
constexpr std::string_view kUnfinishedCopy = ".new-";

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
#error "the guard runs on x86-64 and aarch64"
#endif

/// FNV-1a. Against mistakes, not against people: who can write here is root.
std::string version_of(std::string_view content) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : content) {
        hash ^= static_cast<std::uint8_t>(c);
        hash *= 0x100000001b3ULL;
    }
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
    return text.data();
}

bool is_version(std::string_view name) {
    constexpr std::size_t kLength = 16;
    const std::string_view digits = name.substr(0, kLength);
    const bool hex = digits.size() == kLength && std::ranges::all_of(digits, [](char c) {
                         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                     });
    return hex && (name.size() == kLength || name[kLength] == '.');
}

bool is_library(std::string_view content) {
    Elf64_Ehdr head{};
    if (content.size() < sizeof head) return false;
    std::memcpy(&head, content.data(), sizeof head);
    return std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
           head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_type == ET_DYN &&
           head.e_machine == kMachine;
}

std::string preload_text() { return concat({kLibraryDirectory, "/", kLibraryFile, "\n"}); }

std::string in(const std::string& directory, std::string_view name) {
    return directory + "/" + std::string(name);
}

/// Whether `place` holds exactly this.
bool holds(const os::Root& root, const std::string& place, const std::string& content) {
    const auto library = root.read(in(place, kLibraryFile), kMostBytes);
    const auto preload = root.read(in(place, kPreloadFile));
    return library && preload && *library == content && *preload == preload_text();
}

Result<Done> fill(const os::Root& root, const std::string& place, const std::string& content) {
    auto done = root.make_directories(place);
    if (done) done = root.write_atomically(in(place, kLibraryFile), content, 0755);
    if (done) done = root.write_atomically(in(place, kPreloadFile), preload_text(), 0644);
    return done;
}

}  // namespace

Result<std::string> install_guard(const os::Root& root, const std::string& base,
                                  const std::filesystem::path& library) {
    const auto content = os::Root("/").read(library.native(), kMostBytes);
    if (!content) return content.error();
    if (!is_library(*content)) {
        return Error{ErrorCode::kInvalidInput,
                     library.native() + ": not a shared library for this processor"};
    }
    const std::string version = version_of(*content);
    constexpr int kMostDamaged = 10;
    for (int i = 0; i < kMostDamaged; ++i) {
        const std::string name = i == 0 ? version : version + "." + std::to_string(i);
        const std::string place = in(base, name);
        if (holds(root, place, *content)) return name;
        if (root.exists(place)) continue;  // damaged; somebody may have it mapped all the same
        const std::string fresh =
            in(base, std::string(kUnfinishedCopy) + std::to_string(::getpid()));
        auto filled = fill(root, fresh, *content);
        std::error_code problem;
        if (filled) {
            std::filesystem::rename(root.resolve(fresh), root.resolve(place), problem);
            if (!problem) return name;
            filled = os::error_from_errno(problem.value(), place);
        }
        std::filesystem::remove_all(root.resolve(fresh), problem);
        if (!holds(root, place, *content)) return std::move(filled).error();
        return name;  // another agent was faster
    }
    return Error{ErrorCode::kUnavailable, in(base, version) + ": every copy there is damaged"};
}

void remove_guards(const os::Root& root, const std::string& base,
                   const std::set<std::string>& used) {
    const auto names = root.list(base);
    if (!names) return;
    std::error_code problem;
    for (const std::string& name : *names) {
        const bool old = is_version(name) && !used.contains(name);
        if (old || name.starts_with(kUnfinishedCopy)) {
            std::filesystem::remove_all(root.resolve(in(base, name)), problem);
        }
    }
}

}  // namespace aliquot::guard_region
