// SPDX-License-Identifier: Apache-2.0
#include <libpq-fe.h>

#include <array>

#include "base/number.h"
#include "base/sentence.h"
#include "cost_store/database.h"
#include "os/dynamic_library.h"
#include "os/load_note.h"

namespace aliquot::cost_store {
namespace {

[[gnu::section(".note.dlopen"), gnu::used]] alignas(4) constexpr auto kLoadNote = os::load_note(
    R"([{"soname":["libpq.so.5"],"feature":"costs","description":"Costs kept in PostgreSQL","priority":"recommended"}])");

constexpr const char* kPatienceSeconds = "10";
constexpr Database::Dialect kPostgresWords{
    "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "",
    // Writers take turns: two controllers may roll up the same hour.
    "BEGIN; SELECT pg_advisory_xact_lock(7116207)", "SELECT 1 WHERE to_regclass($1) IS NOT NULL"};

/// The functions of libpq that are used. Our programs are not linked with it: most of them never need it.
struct Libpq {
    decltype(&::PQconnectdbParams) connect = nullptr;
    decltype(&::PQstatus) status = nullptr;
    decltype(&::PQerrorMessage) error = nullptr;
    decltype(&::PQfinish) finish = nullptr;
    decltype(&::PQexec) exec = nullptr;
    decltype(&::PQexecParams) exec_params = nullptr;
    decltype(&::PQprepare) prepare = nullptr;
    decltype(&::PQexecPrepared) exec_prepared = nullptr;
    decltype(&::PQsetSingleRowMode) single_rows = nullptr;
    decltype(&::PQsendQueryParams) send = nullptr;
    decltype(&::PQgetResult) next = nullptr;
    decltype(&::PQresultStatus) result = nullptr;
    decltype(&::PQntuples) rows = nullptr;
    decltype(&::PQgetvalue) value = nullptr;
    decltype(&::PQgetlength) length = nullptr;
    decltype(&::PQclear) clear = nullptr;
};

template <class Function>
bool take_symbol(const os::DynamicLibrary& library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(library.symbol(name));
    return function != nullptr;
}

Result<Libpq> load_libpq() {
    static const auto* const kLibrary =
        new Result<os::DynamicLibrary>(os::DynamicLibrary::open({"libpq.so.5"}));
    if (!*kLibrary) {
        return Error{ErrorCode::kUnavailable,
                     kLibrary->error().message + "; install libpq5 to reach PostgreSQL"};
    }
    const os::DynamicLibrary& from = **kLibrary;
    Libpq pq;
    const bool all =
        take_symbol(from, pq.connect, "PQconnectdbParams") &&
        take_symbol(from, pq.status, "PQstatus") && take_symbol(from, pq.error, "PQerrorMessage") &&
        take_symbol(from, pq.finish, "PQfinish") && take_symbol(from, pq.exec, "PQexec") &&
        take_symbol(from, pq.exec_params, "PQexecParams") &&
        take_symbol(from, pq.prepare, "PQprepare") &&
        take_symbol(from, pq.exec_prepared, "PQexecPrepared") &&
        take_symbol(from, pq.single_rows, "PQsetSingleRowMode") &&
        take_symbol(from, pq.send, "PQsendQueryParams") &&
        take_symbol(from, pq.next, "PQgetResult") &&
        take_symbol(from, pq.result, "PQresultStatus") && take_symbol(from, pq.rows, "PQntuples") &&
        take_symbol(from, pq.value, "PQgetvalue") && take_symbol(from, pq.length, "PQgetlength") &&
        take_symbol(from, pq.clear, "PQclear");
    if (!all) return Error{ErrorCode::kUnsupported, "libpq.so.5: too old; expected 9.2 or newer"};
    return pq;
}

/// Values as libpq takes them.
struct Texts {
    explicit Texts(const std::vector<Cell>& cells) {
        texts.reserve(cells.size());
        for (const Cell& cell : cells) {
            const auto* number = std::get_if<std::int64_t>(&cell);
            texts.push_back(number != nullptr ? std::to_string(*number)
                                              : std::get<std::string>(cell));
            pointers.push_back(texts.back().c_str());
        }
    }
    [[nodiscard]] int count() const { return static_cast<int>(pointers.size()); }
    std::vector<std::string> texts;
    std::vector<const char*> pointers;
};

class PostgresRow : public Fields {
public:
    PostgresRow(const Libpq& pq, PGresult* of, int row) : pq_(pq), of_(of), row_(row) {}
    [[nodiscard]] std::int64_t number(int column) const override {
        return parse_number<std::int64_t>(text(column)).value_or(0);
    }
    [[nodiscard]] std::string text(int column) const override {
        return {pq_.value(of_, row_, column),
                static_cast<std::size_t>(pq_.length(of_, row_, column))};
    }

private:
    const Libpq& pq_;
    PGresult* of_;
    int row_;
};

class Postgres : public Database {
public:
    Postgres(const Libpq& pq, PGconn* connection) : pq_(pq), connection_(connection) {}
    Postgres(const Postgres&) = delete;
    Postgres& operator=(const Postgres&) = delete;
    ~Postgres() override { pq_.finish(connection_); }

    [[nodiscard]] const Dialect& dialect() const override { return kPostgresWords; }
    Result<Done> script(const std::string& sql) override {
        return taken(pq_.exec(connection_, sql.c_str()));
    }
    Result<Done> for_each(const std::string& sql,
                          std::span<const std::vector<Cell>> rows) override {
        if (rows.empty()) return Done{};
        auto done = taken(pq_.prepare(connection_, "", sql.c_str(), 0, nullptr));
        for (const auto& row : rows) {
            if (!done) return done;
            const Texts texts(row);
            done = taken(pq_.exec_prepared(connection_, "", texts.count(), texts.pointers.data(),
                                           nullptr, nullptr, 0));
        }
        return done;
    }
    Result<Done> select(const std::string& sql, const std::vector<Cell>& values,
                        const std::function<void(const Fields&)>& take) override {
        const Texts texts(values);
        if (pq_.send(connection_, sql.c_str(), texts.count(), nullptr, texts.pointers.data(),
                     nullptr, nullptr, 0) == 0) {
            return error();
        }
        pq_.single_rows(connection_);
        Result<Done> done = Done{};
        while (PGresult* const result = pq_.next(connection_)) {
            for (int row = 0; row < pq_.rows(result); ++row) {
                take(PostgresRow(pq_, result, row));
            }
            if (auto one = taken(result); !one) done = std::move(one);
        }
        return done;
    }

private:
    Result<Done> taken(PGresult* result) {
        const ExecStatusType status = pq_.result(result);
        pq_.clear(result);
        if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
            status == PGRES_SINGLE_TUPLE) {
            return Done{};
        }
        return error();
    }
    [[nodiscard]] Error error() const {
        return {ErrorCode::kUnavailable, "PostgreSQL: " + one_line(pq_.error(connection_), 300)};
    }
    const Libpq pq_;
    PGconn* connection_;
};

}  // namespace

Result<std::unique_ptr<Database>> open_postgres(const std::string& address) {
    auto pq = load_libpq();
    if (!pq) return std::move(pq).error();
    // What the address says of them comes later, and wins. A server that is gone without a word is noticed by TCP, in half a
    // minute and not in the quarter of an hour that the kernel would take.
    const std::array<const char*, 8> names{
        "connect_timeout",  "application_name", "keepalives_idle", "keepalives_interval",
        "keepalives_count", "tcp_user_timeout", "dbname",          nullptr};
    const std::array<const char*, 8> values{kPatienceSeconds, "aliquot",       "10",   "5", "3",
                                            "30000",          address.c_str(), nullptr};
    PGconn* const connection = pq->connect(names.data(), values.data(), 1);
    auto database = std::make_unique<Postgres>(*pq, connection);
    if (pq->status(connection) != CONNECTION_OK) {
        return Error{ErrorCode::kUnavailable,
                     "PostgreSQL: " + one_line(pq->error(connection), 300)};
    }
    auto done =
        database->script("SET client_min_messages = warning; SET statement_timeout = '10min'");
    if (!done) return std::move(done).error();
    return std::unique_ptr<Database>(std::move(database));
}

}  // namespace aliquot::cost_store
