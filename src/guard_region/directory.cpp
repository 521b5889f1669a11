// SPDX-License-Identifier: Apache-2.0
#include "guard_region/directory.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "abi/region.h"
#include "guard_region/config_file.h"
#include "guard_region/ledger_file.h"
#include "guard_region/processes.h"

namespace aliquot::guard_region {
namespace {

constexpr std::string_view kGuard = "/guard";
constexpr std::string_view kRecord = "/record";
constexpr std::string_view kUnfinished = ".new-";
constexpr std::uint32_t kRootOnly = 0700;

std::string new_id() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string id;
    for (int half = 0; half < 2; ++half) {
        const std::uint64_t number = random_region();
        for (unsigned shift = 0; shift < 64; shift += 4) id += kDigits[(number >> shift) & 15U];
    }
    return id;
}

bool names_region(const std::string& name) { return !region_id_in("/" + name + "/guard").empty(); }

}  // namespace

Result<Done> Directory::fill(const std::string& place, const Record& record,
                             const Settings& settings) const {
    const auto outer = root_.make_directories(place, kRootOnly);
    if (!outer) return outer;
    const auto inner = root_.make_directories(place + std::string(kGuard), 0755);
    if (!inner) return inner;
    const std::filesystem::path guard = root_.resolve(place + std::string(kGuard));
    const auto config = ConfigFile::create(guard / abi::kConfigFile, settings);
    if (!config) return config.error();
    return root_.write_atomically(place + std::string(kRecord), to_text(record), 0600);
}

Result<Record> Directory::create(Record record, const Settings& settings) const {
    const auto made = root_.make_directories(base_, kRootOnly);
    if (!made) return made.error();
    record.id = new_id();
    record.ledger = random_region();
    record.ledger_bytes = sizeof(abi::Ledger);
    const std::string fresh = base_ + "/" + std::string(kUnfinished) + record.id;
    auto filled = fill(fresh, record, settings);
    std::error_code problem;
    if (filled) {
        std::filesystem::rename(root_.resolve(fresh), root_.resolve(base_ + "/" + record.id),
                                problem);
        if (!problem) return record;
        filled = os::error_from_errno(problem.value(), base_ + "/" + record.id);
    }
    std::filesystem::remove_all(root_.resolve(fresh), problem);
    return std::move(filled).error().during("region for a container");
}

std::vector<Record> Directory::list() const {
    std::vector<Record> records;
    const auto names = root_.list(base_);
    if (!names) return records;
    for (const std::string& name : *names) {
        if (!names_region(name)) continue;
        const auto text = root_.read(base_ + "/" + name + std::string(kRecord));
        if (!text) continue;
        auto record = parse_record(*text);
        if (!record) continue;
        record->id = name;
        records.push_back(*std::move(record));
    }
    return records;
}

Result<Done> Directory::update(const Record& record) const {
    return root_.write_atomically(base_ + "/" + record.id + std::string(kRecord), to_text(record),
                                  0600);
}

Result<Done> Directory::remove(const std::string& id) const {
    if (!names_region(id)) {
        return Error{ErrorCode::kInvalidInput, "'" + id + "' is not a region"};
    }
    std::error_code problem;
    std::filesystem::remove_all(root_.resolve(base_ + "/" + id), problem);
    if (problem) return os::error_from_errno(problem.value(), base_ + "/" + id);
    return Done{};
}

void Directory::sweep() const {
    const auto names = root_.list(base_);
    if (!names) return;
    std::error_code problem;
    for (const std::string& name : *names) {
        if (!name.starts_with(kUnfinished)) continue;
        std::filesystem::remove_all(root_.resolve(base_ + "/" + name), problem);
    }
}

std::string Directory::real_place() const {
    std::error_code problem;
    const auto real = std::filesystem::weakly_canonical(place(), problem);
    return problem ? place().native() : real.native();
}

std::string Directory::guard_path(const std::string& id) const {
    return base_ + "/" + id + std::string(kGuard);
}

std::filesystem::path Directory::file(const std::string& id, std::string_view name) const {
    return root_.resolve(guard_path(id)) / name;
}

}  // namespace aliquot::guard_region
