// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "claims/validation.h"
#include "k8s/quantity.h"

namespace aliquot::claims {

/// Collects what is wrong.
class Problems {
public:
    using Kind = Problem::Kind;
    void required(std::string field, const document::Value& in, std::string message = "");
    void invalid(std::string field, const document::Value& value, std::string message);
    void forbidden(std::string field, const document::Value& value, std::string message);
    void duplicate(std::string field, const document::Value& value);
    void unsupported(std::string field, const document::Value& value, std::string supported);
    void too_many(std::string field, const document::Value& list, std::size_t most);
    void too_long(std::string field, const document::Value& text, std::size_t most);
    /// One of the checks of k8s/names.h: what it complains about.
    void name(const std::string& field, const document::Value& value, std::string complaint);
    /// A member that must be there and a text that `check` has nothing against.
    void need_name(const std::string& field, const document::Value& in, std::string_view key,
                   std::string (*check)(std::string_view));
    std::vector<Problem> list;
};

/// "gpu.example.com/memory" or "memory"; `full`: with its domain.
void check_qualified(Problems& problems, const std::string& field, const document::Value& name,
                     bool full);
void check_driver(Problems& problems, const std::string& field, const document::Value& in);
/// Sets and their sizes: calls `each` with its path; items with the same `key` are duplicates.
void check_list(
    Problems& problems, const std::string& field, const document::Value* items, std::size_t most,
    std::string_view key,
    const std::function<void(const document::Value& item, const std::string& path)>& each);
void check_capacity(Problems& problems, const std::string& field, const document::Value& capacity,
                    bool shared);
void check_taint(Problems& problems, const std::string& field, const document::Value& taint);
void check_toleration(Problems& problems, const std::string& field,
                      const document::Value& toleration);
/// `selectors` and `config` of a class or a request.
void check_selectors(Problems& problems, const std::string& field, const document::Value& node);
void check_opaque(Problems& problems, const std::string& field, const document::Value& config);

}  // namespace aliquot::claims
