// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/value.h"
#include "pools/problem.h"

/// The values of one mapping, read strictly: of a pool, of a price file.
namespace aliquot::pools {

class Fields {
public:
    /// Complains of keys that are not in `known`, or there twice, and of a node that is no mapping.
    Fields(const document::Value& node, std::string path,
           std::initializer_list<std::string_view> known, std::vector<Problem>& problems);

    [[nodiscard]] const document::Value* find(std::string_view key) const;
    [[nodiscard]] document::Mark mark() const { return node_.mark; }
    [[nodiscard]] document::Mark mark_of(std::string_view key) const;
    [[nodiscard]] std::string path_of(std::string_view key) const;

    /// Empty: not there, or wrong (complained about).
    std::optional<std::string> text(std::string_view key);
    std::optional<unsigned> number(std::string_view key, unsigned least, unsigned most);
    std::optional<std::chrono::seconds> duration(std::string_view key, std::chrono::seconds most);
    std::optional<std::vector<std::string>> texts(std::string_view key, std::size_t most);
    /// The place in `words` of the text there.
    std::optional<std::size_t> word(std::string_view key,
                                    std::initializer_list<std::string_view> words);
    void error(std::string_view key, const std::string& message);
    void warning(std::string_view key, const std::string& message);
    void missing(std::string_view key, const std::string& message);

private:
    void wrong(std::string_view key, const document::Value& value, const std::string& expected);

    const document::Value& node_;
    std::string path_;
    std::vector<Problem>& problems_;
};

}  // namespace aliquot::pools
