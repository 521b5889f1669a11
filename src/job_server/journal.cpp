// SPDX-License-Identifier: Apache-2.0
#include "job_server/journal.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/descriptor.h"
#include "base/sentence.h"
#include "base/text.h"
#include "document/json.h"
#include "jobs/read.h"
#include "os/errno_error.h"

namespace aliquot::job_server {
namespace {

constexpr int kJournalVersion = 1;
constexpr int kMostHistory = 100'000;

constexpr const char* kSchema = R"(
CREATE TABLE IF NOT EXISTS jobs(
  id INTEGER PRIMARY KEY AUTOINCREMENT, uid INTEGER, gid INTEGER, user TEXT, home TEXT, key TEXT, place INTEGER,
  request TEXT, state TEXT, cause TEXT, code INTEGER, reason TEXT, attempt INTEGER, counted INTEGER, devices TEXT,
  on_cpu INTEGER, cancel INTEGER, submitted INTEGER, not_before INTEGER, first_started INTEGER, started INTEGER,
  ended INTEGER, history INTEGER DEFAULT 0);
CREATE INDEX IF NOT EXISTS living ON jobs(id) WHERE history = 0;
CREATE INDEX IF NOT EXISTS past ON jobs(id) WHERE history = 1;
CREATE TABLE IF NOT EXISTS steps(job INTEGER, at INTEGER, from_state TEXT, to_state TEXT, reason TEXT);
CREATE INDEX IF NOT EXISTS steps_of ON steps(job);
CREATE TABLE IF NOT EXISTS idle(job INTEGER PRIMARY KEY, attempt INTEGER, since INTEGER, until INTEGER, told INTEGER);
)";

constexpr const char* kColumns =
    "id, uid, gid, user, home, key, place, request, state, cause, code, reason, attempt, counted, "
    "devices, on_cpu, "
    "cancel, submitted, not_before, first_started, started, ended";

Error error_of(sqlite3* database, const char* what) {
    const int code = sqlite3_errcode(database);
    const ErrorCode meaning =
        code == SQLITE_BUSY || code == SQLITE_LOCKED      ? ErrorCode::kConflict
        : code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? ErrorCode::kInvalidInput
        : code == SQLITE_PERM || code == SQLITE_READONLY  ? ErrorCode::kPermission
                                                          : ErrorCode::kUnavailable;
    return {meaning, std::string("journal: ") + what + ": " + sqlite3_errmsg(database)};
}

/// One statement with its values, in order.
class Query {
public:
    Query(sqlite3* database, const char* text) : database_(database) {
        sqlite3_prepare_v2(database, text, -1, &statement_, nullptr);
    }
    ~Query() { sqlite3_finalize(statement_); }
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;

    Query& operator<<(const std::string& text) {
        sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                          SQLITE_TRANSIENT);
        return *this;
    }
    Query& operator<<(std::string_view text) { return *this << std::string(text); }
    template <class Number>
    requires std::integral<Number> Query& operator<<(Number number) {
        sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(number));
        return *this;
    }
    /// Whether there is a row; a failure is in failed().
    bool next() {
        code_ = statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_);
        column_ = 0;
        return code_ == SQLITE_ROW;
    }
    [[nodiscard]] bool failed() const { return code_ != SQLITE_ROW && code_ != SQLITE_DONE; }
    std::string text() {
        const int at = column_++;
        const auto* const bytes =
            reinterpret_cast<const char*>(sqlite3_column_text(statement_, at));
        const int size = sqlite3_column_bytes(statement_, at);
        return bytes == nullptr ? std::string()
                                : std::string(bytes, static_cast<std::size_t>(size));
    }
    template <class Number>
    Number number() {
        return static_cast<Number>(sqlite3_column_int64(statement_, column_++));
    }
    Result<Done> run(const char* what) {
        next();
        if (failed()) return error_of(database_, what);
        return Done{};
    }

private:
    sqlite3* database_;
    sqlite3_stmt* statement_ = nullptr;
    int bound_ = 0;
    int column_ = 0;
    int code_ = SQLITE_OK;
};

constexpr int kForIdleness = 2;  // in the column `cancel`

int cancel_number(const Record& of) {
    if (of.cancel_asked && of.for_idleness) return kForIdleness;
    return of.cancel_asked ? 1 : 0;
}

void bind_changes(Query& query, const Record& of) {
    query << jobs::word(of.state) << jobs::word(of.cause) << of.exit_code << of.reason << of.attempt
          << of.counted << join(of.devices, ",") << of.on_cpu << cancel_number(of) << of.not_before
          << of.first_started << of.started << of.ended;
}

Result<Record> record_in(Query& row) {
    Record read;
    read.id = row.number<JobId>();
    read.user = {.uid = row.number<uid_t>(), .gid = row.number<gid_t>(), .name = {}, .home = {}};
    read.user.name = row.text();
    read.user.home = row.text();
    read.key = row.text();
    read.index = row.number<std::uint32_t>();
    auto request = jobs::read(row.text());
    const auto state = jobs::state_of(row.text());
    const auto cause = jobs::cause_of(row.text());
    if (!request || !state || !cause) {
        return Error{ErrorCode::kInvalidInput, "journal: job " + std::to_string(read.id) +
                                                   " cannot be read" +
                                                   (request ? "" : ": " + request.error().message)};
    }
    read.request = *std::move(request);
    read.state = *state;
    read.cause = *cause;
    read.exit_code = row.number<int>();
    read.reason = row.text();
    read.attempt = row.number<std::uint32_t>();
    read.counted = row.number<std::uint32_t>();
    const std::string devices = row.text();
    for (const std::string_view one : split_list(std::string_view(devices))) {
        read.devices.emplace_back(one);
    }
    read.on_cpu = row.number<int>() != 0;
    const int cancel = row.number<int>();
    read.cancel_asked = cancel != 0;
    read.for_idleness = cancel == kForIdleness;
    read.submitted = row.number<TimeMs>();
    read.not_before = row.number<TimeMs>();
    read.first_started = row.number<TimeMs>();
    read.started = row.number<TimeMs>();
    read.ended = row.number<TimeMs>();
    return read;
}

}  // namespace

struct Journal::Store {
    sqlite3* database = nullptr;
    Descriptor lock;
    Hook hook;

    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    ~Store() { sqlite3_close(database); }

    Result<Done> run(const char* text) {
        if (sqlite3_exec(database, text, nullptr, nullptr, nullptr) != SQLITE_OK) {
            return error_of(database, "cannot be written");
        }
        return Done{};
    }

    /// All of what `write` does, or nothing.
    template <class Write>
    Result<Done> in_one(const Write& write) {
        auto done = run("BEGIN IMMEDIATE");
        if (done) done = write();
        if (done && hook) hook();
        if (done) done = run("COMMIT");
        if (!done) {
            sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);
            return done;
        }
        if (hook) hook();
        return done;
    }

    Result<Done> write_step(JobId id, const Transition& step) {
        Query query(database, "INSERT INTO steps VALUES(?, ?, ?, ?, ?)");
        query << id << step.at << jobs::word(step.from) << jobs::word(step.to) << step.reason;
        return query.run("a step cannot be written");
    }

    Result<Done> write_record(const Record& record) {
        Query query(database,
                    "UPDATE jobs SET state=?, cause=?, code=?, reason=?, attempt=?, counted=?, "
                    "devices=?, on_cpu=?, "
                    "cancel=?, not_before=?, first_started=?, started=?, ended=? WHERE id=?");
        bind_changes(query, record);
        query << record.id;
        return query.run("a job cannot be written");
    }

    Result<Done> insert(Record& record) {
        Query query(database,
                    "INSERT INTO jobs(state, cause, code, reason, attempt, counted, devices, "
                    "on_cpu, cancel, "
                    "not_before, first_started, started, ended, uid, gid, user, home, key, place, "
                    "request, submitted) "
                    "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
        bind_changes(query, record);
        query << record.user.uid << record.user.gid << record.user.name << record.user.home
              << record.key << record.index
              << document::to_json_line(to_document(record.request, jobs::Secrets::kTell))
              << record.submitted;
        auto done = query.run("a job cannot be written");
        if (!done) return done;
        record.id = static_cast<JobId>(sqlite3_last_insert_rowid(database));
        return write_step(record.id, {.at = record.submitted,
                                      .from = jobs::State::kDraft,
                                      .to = record.state,
                                      .reason = record.reason});
    }
};

Journal::Journal(std::unique_ptr<Store> store) : store_(std::move(store)) {}
Journal::Journal(Journal&&) noexcept = default;
Journal& Journal::operator=(Journal&&) noexcept = default;
Journal::~Journal() = default;

Result<Journal> Journal::open(const std::filesystem::path& file, Hook hook) {
    auto store = std::make_unique<Store>();
    const std::string lock = file.native() + ".lock";
    store->lock.reset(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!store->lock) return os::error_from_errno(errno, lock);
    if (::flock(store->lock.get(), LOCK_EX | LOCK_NB) != 0) {
        return Error{ErrorCode::kConflict,
                     file.native() + ": another server has it; stop that one, or give --state"};
    }
    // SQLite gives its further files the mode of this one.
    const Descriptor made(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!made) return os::error_from_errno(errno, file.native());
    ::fchmod(made.get(), 0600);
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(file.c_str(), &store->database, kFlags, nullptr) != SQLITE_OK) {
        return error_of(store->database, "cannot be opened");
    }
    constexpr int kPatience = 2'000;  // ms, for somebody who looks at it with sqlite3
    sqlite3_busy_timeout(store->database, kPatience);
    auto done = store->run(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-4096; PRAGMA "
        "journal_size_limit=4194304");
    if (!done) return std::move(done).error();
    int version = 0;
    {
        Query query(store->database, "PRAGMA user_version");
        if (query.next()) version = query.number<int>();
    }
    if (version > kJournalVersion) {
        return Error{ErrorCode::kInvalidInput, file.native() + ": written by a newer version (" +
                                                   std::to_string(version) + ")"};
    }
    done = store->run(kSchema);
    if (done) done = store->run("PRAGMA user_version=1");
    if (!done) return std::move(done).error();
    store->hook = std::move(hook);
    return Journal(std::move(store));
}

Result<Done> Journal::add(std::vector<Record>& records) {
    return store_->in_one([&]() -> Result<Done> {
        for (Record& record : records) {
            if (auto done = store_->insert(record); !done) return done;
        }
        return Done{};
    });
}

Result<Done> Journal::update(const Record& record, const Transition& step) {
    return store_->in_one([&] {
        auto done = store_->write_record(record);
        return done ? store_->write_step(record.id, step) : done;
    });
}

Result<Done> Journal::update(const Record& record) {
    return store_->in_one([&] { return store_->write_record(record); });
}

Result<Done> Journal::forget(JobId id) {
    auto known = find(id);
    if (!known) return std::move(known).error();
    if (!known->has_value()) return Done{};
    jobs::Request kept = std::move((*known)->request);
    kept.env.clear();
    kept.command.resize(std::min<std::size_t>(kept.command.size(), 1));
    if (!kept.command.empty()) kept.command.front() = one_line(kept.command.front(), 200);
    return store_->in_one([&]() -> Result<Done> {
        Query query(store_->database, "UPDATE jobs SET history=1, request=? WHERE id=?");
        query << document::to_json_line(to_document(kept, jobs::Secrets::kTell)) << id;
        if (auto done = query.run("history"); !done) return done;
        const std::string old =
            "(SELECT id FROM jobs WHERE history = 1 ORDER BY id DESC LIMIT -1 OFFSET " +
            std::to_string(kMostHistory) + ")";
        auto done = store_->run(("DELETE FROM steps WHERE job IN " + old).c_str());
        return done ? store_->run(("DELETE FROM jobs WHERE id IN " + old).c_str()) : done;
    });
}

Result<std::vector<Record>> Journal::load() {
    Query query(
        store_->database,
        (std::string("SELECT ") + kColumns + " FROM jobs WHERE history = 0 ORDER BY id").c_str());
    std::vector<Record> records;
    while (query.next()) {
        auto record = record_in(query);
        if (!record) return std::move(record).error();
        records.push_back(*std::move(record));
    }
    if (query.failed()) return error_of(store_->database, "cannot be read");
    return records;
}

Result<std::optional<Record>> Journal::find(JobId id) {
    Query query(store_->database,
                (std::string("SELECT ") + kColumns + " FROM jobs WHERE id = ?").c_str());
    query << id;
    if (!query.next()) {
        if (query.failed()) return error_of(store_->database, "cannot be read");
        return std::optional<Record>();
    }
    auto record = record_in(query);
    if (!record) return std::move(record).error();
    return std::optional<Record>(*std::move(record));
}

Result<std::vector<Transition>> Journal::steps(JobId id) {
    Query query(store_->database,
                "SELECT at, from_state, to_state, reason FROM steps WHERE job = ? ORDER BY rowid "
                "LIMIT 1000");
    query << id;
    std::vector<Transition> found;
    while (query.next()) {
        Transition step{.at = query.number<TimeMs>()};
        step.from = jobs::state_of(query.text()).value_or(jobs::State::kDraft);
        step.to = jobs::state_of(query.text()).value_or(jobs::State::kDraft);
        step.reason = query.text();
        found.push_back(std::move(step));
    }
    if (query.failed()) return error_of(store_->database, "cannot be read");
    return found;
}

Result<Done> Journal::put_idle(const std::vector<IdleStretch>& stretches) {
    return store_->in_one([&]() -> Result<Done> {
        auto done = store_->run("DELETE FROM idle");
        for (const IdleStretch& one : stretches) {
            if (!done) return done;
            Query query(store_->database, "INSERT INTO idle VALUES(?, ?, ?, ?, ?)");
            query << one.job << one.attempt << one.since << one.until << one.told;
            done = query.run("what is idle cannot be written");
        }
        return done;
    });
}

Result<std::vector<IdleStretch>> Journal::idle() {
    Query query(store_->database, "SELECT job, attempt, since, until, told FROM idle");
    std::vector<IdleStretch> found;
    while (query.next()) {
        IdleStretch one{.job = query.number<JobId>()};
        one.attempt = query.number<std::uint32_t>();
        one.since = query.number<TimeMs>();
        one.until = query.number<TimeMs>();
        one.told = query.number<TimeMs>();
        found.push_back(one);
    }
    if (query.failed()) return error_of(store_->database, "cannot be read");
    return found;
}

}  // namespace aliquot::job_server
