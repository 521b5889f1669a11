// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/descriptor.h"
#include "cost_store/database.h"
#include "os/errno_error.h"

namespace aliquot::cost_store {
namespace {

constexpr int kPatienceMs = 5'000;  // for another process that writes
constexpr Database::Dialect kSqliteWords{"INTEGER PRIMARY KEY", " WITHOUT ROWID", "BEGIN IMMEDIATE",
                                         "SELECT 1 FROM sqlite_master WHERE name = $1"};

class SqliteStatement : public Fields {
public:
    SqliteStatement(sqlite3* database, const std::string& sql) {
        code = sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, nullptr);
    }
    ~SqliteStatement() override { sqlite3_finalize(statement_); }
    SqliteStatement(const SqliteStatement&) = delete;
    SqliteStatement& operator=(const SqliteStatement&) = delete;

    bool step() {
        if (statement_ == nullptr) return false;
        code = sqlite3_step(statement_);
        return code == SQLITE_ROW;
    }
    void bind(const std::vector<Cell>& values) {
        if (statement_ == nullptr) return;
        sqlite3_reset(statement_);
        int place = 0;
        for (const Cell& value : values) {
            ++place;
            if (const auto* number = std::get_if<std::int64_t>(&value)) {
                sqlite3_bind_int64(statement_, place, *number);
            } else {
                const auto& text = std::get<std::string>(value);
                sqlite3_bind_text(statement_, place, text.data(), static_cast<int>(text.size()),
                                  SQLITE_TRANSIENT);
            }
        }
    }
    [[nodiscard]] std::int64_t number(int column) const override {
        return sqlite3_column_int64(statement_, column);
    }
    [[nodiscard]] std::string text(int column) const override {
        const auto* const bytes =
            reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
        return bytes == nullptr ? "" : std::string(bytes, size);
    }
    [[nodiscard]] bool failed() const { return code != SQLITE_ROW && code != SQLITE_DONE; }

    int code = SQLITE_OK;

private:
    sqlite3_stmt* statement_ = nullptr;
};

class Sqlite : public Database {
public:
    Sqlite() = default;
    Sqlite(const Sqlite&) = delete;
    Sqlite& operator=(const Sqlite&) = delete;
    ~Sqlite() override { sqlite3_close(database_); }

    Result<Done> open(const std::filesystem::path& file) {
        file_ = file.native();
        // SQLite gives its further files the mode of this one.
        const Descriptor made(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        if (!made) return os::error_from_errno(errno, file_);
        constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
        if (sqlite3_open_v2(file.c_str(), &database_, kFlags, nullptr) != SQLITE_OK) {
            return error();
        }
        sqlite3_busy_timeout(database_, kPatienceMs);
        return script(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16384; "
            "PRAGMA journal_size_limit=67108864");
    }
    [[nodiscard]] const Dialect& dialect() const override { return kSqliteWords; }
    Result<Done> script(const std::string& sql) override {
        if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
            return error();
        }
        return Done{};
    }
    Result<Done> for_each(const std::string& sql,
                          std::span<const std::vector<Cell>> rows) override {
        SqliteStatement statement(database_, sql);
        for (const auto& row : rows) {
            statement.bind(row);
            while (statement.step()) {
            }
            if (statement.failed()) return error();
        }
        return Done{};
    }
    Result<Done> select(const std::string& sql, const std::vector<Cell>& values,
                        const std::function<void(const Fields&)>& take) override {
        SqliteStatement statement(database_, sql);
        statement.bind(values);
        while (statement.step()) take(statement);
        if (statement.failed()) return error();
        return Done{};
    }

private:
    [[nodiscard]] Error error() const {
        const int code = sqlite3_errcode(database_);
        const ErrorCode meaning =
            code == SQLITE_BUSY || code == SQLITE_LOCKED      ? ErrorCode::kConflict
            : code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? ErrorCode::kInvalidInput
            : code == SQLITE_PERM || code == SQLITE_READONLY  ? ErrorCode::kPermission
                                                              : ErrorCode::kUnavailable;
        return {meaning, file_ + ": " + sqlite3_errmsg(database_)};
    }
    sqlite3* database_ = nullptr;
    std::string file_;
};

}  // namespace

Result<std::unique_ptr<Database>> open_sqlite(const std::filesystem::path& file) {
    auto database = std::make_unique<Sqlite>();
    if (auto done = database->open(file); !done) return std::move(done).error();
    return std::unique_ptr<Database>(std::move(database));
}

}  // namespace aliquot::cost_store
