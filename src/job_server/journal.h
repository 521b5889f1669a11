// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "job_server/idleness.h"
#include "job_server/record.h"

namespace aliquot::job_server {

/// The jobs of a machine on its disk: an SQLite database with a write-ahead log. What a call has answered is on the
/// disk (synchronous=FULL); a power cut or SIGKILL during a call leaves all of it or nothing. One process at a time
/// has it; not thread-safe. Its file is for its owner alone: it holds the variables of jobs.
class Journal {
public:
    /// Called before and after each write is made durable; for tests that end the process there.
    using Hook = std::function<void()>;

    /// errors   kConflict: another server has it; kPermission, kUnavailable; kInvalidInput: no journal of ours
    static Result<Journal> open(const std::filesystem::path& file, Hook hook = {});
    Journal(Journal&&) noexcept;
    Journal& operator=(Journal&&) noexcept;
    ~Journal();

    /// New jobs, all or none; fills in their ids, which are never used again.
    Result<Done> add(std::vector<Record>& records);
    /// The record as it is now, and the step that led to it.
    Result<Done> update(const Record& record, const Transition& step);
    /// Only the record: no step.
    Result<Done> update(const Record& record);
    /// From then on it is history: load() leaves it out. History keeps the latest 100,000, without arguments and
    /// variables.
    Result<Done> forget(JobId id);

    /// All but history, by id. errors: kInvalidInput: a row that cannot be read
    Result<std::vector<Record>> load();
    /// Also from history.
    Result<std::optional<Record>> find(JobId id);
    /// In order; at most 1000.
    Result<std::vector<Transition>> steps(JobId id);

    /// How long which GPUs have been idle: these, and no others.
    Result<Done> put_idle(const std::vector<IdleStretch>& stretches);
    Result<std::vector<IdleStretch>> idle();

private:
    struct Store;
    explicit Journal(std::unique_ptr<Store> store);
    std::unique_ptr<Store> store_;
};

}  // namespace aliquot::job_server
