// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "document/value.h"

namespace aliquot::document {

/// A TOML text as far as container runtimes use it, read so that a broken line costs only itself.
struct Toml {
    struct Problem {
        unsigned line = 0;
        std::string message;
    };
    Value root;  // a mapping; tables, inline tables and arrays of tables alike
    std::vector<Problem> problems;
};

/// Never fails: what cannot be read is a problem with its line, and the rest goes on. Marks are
/// those of the keys' values, of a table its header. At most 64 parts of a key, 2,000 keys of a
/// table, 200,000 values.
/// source   TOML 1.0 without dates (they are kept as text)
Toml parse_toml(std::string_view text);

/// What containerd makes of a drop-in: tables of `over` into `base`, values replaced. Marks of the
/// result are those of the text that a value came from, `file` numbers by Node::scalar are not kept.
void merge_toml(Value& base, const Value& over);

}  // namespace aliquot::document
