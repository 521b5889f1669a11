// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace aliquot::cost_store {

using Cell = std::variant<std::int64_t, std::string>;

/// One row of an answer.
class Fields {
public:
    virtual ~Fields() = default;
    [[nodiscard]] virtual std::int64_t number(int column) const = 0;
    [[nodiscard]] virtual std::string text(int column) const = 0;
};

/// A database that takes our SQL, with $1, $2 for values. Not thread-safe.
class Database {
public:
    /// Words of SQL in which the two differ.
    struct Dialect {
        std::string_view id;         // type of a key that numbers itself
        std::string_view clustered;  // behind a table whose rows lie in the order of their key
        std::string_view begin;      // of a transaction that writes
        std::string_view tables;     // has a row where a table has the name $1
    };
    virtual ~Database() = default;
    [[nodiscard]] virtual const Dialect& dialect() const = 0;
    /// Statements without values. errors: kUnavailable, kConflict (busy), kPermission, kInvalidInput
    virtual Result<Done> script(const std::string& sql) = 0;
    /// The statement once for each of the rows.
    virtual Result<Done> for_each(const std::string& sql,
                                  std::span<const std::vector<Cell>> rows) = 0;
    virtual Result<Done> select(const std::string& sql, const std::vector<Cell>& values,
                                const std::function<void(const Fields&)>& take) = 0;
};

/// Makes the file if it is not there: mode 0600, write-ahead log, synchronous.
Result<std::unique_ptr<Database>> open_sqlite(const std::filesystem::path& file);
/// address    "postgresql://user@host/name", as libpq reads it. Loads libpq when first called; the password should be in
///            ~/.pgpass or PGPASSWORD and is never told
Result<std::unique_ptr<Database>> open_postgres(const std::string& address);

}  // namespace aliquot::cost_store
