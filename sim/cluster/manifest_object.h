// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "document/value.h"
#include "sim/cluster/workload.h"

namespace aliquot::sim::cluster {

/// Complaints about one file, in the order found.
class Diagnostics {
public:
    explicit Diagnostics(std::string file) : file_(std::move(file)) {}
    void problem(document::Mark mark, std::string message);
    void note(document::Mark mark, std::string message);
    [[nodiscard]] const std::string& file() const { return file_; }

    std::vector<Remark> problems;
    std::vector<Remark> notes;

private:
    std::string file_;
};

/// A mapping of a manifest, read as the API server does: no unknown field, none twice, no value of
/// another type. Every getter complains by itself and returns an empty value then; a value that is
/// null counts as absent.
class ObjectReader {
public:
    /// path    "spec.template.spec", for messages; empty: the document
    /// known   every field it may have; empty: any
    ObjectReader(Diagnostics& report, const document::Value& node, std::string path,
                 std::span<const std::string_view> known);

    [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
    [[nodiscard]] const document::Value* find(std::string_view key) const;
    [[nodiscard]] std::string path_of(std::string_view key) const;
    [[nodiscard]] document::Mark mark() const { return node_.mark; }
    /// Where the field is, else where the object is.
    [[nodiscard]] document::Mark mark_of(std::string_view key) const;

    std::string text(std::string_view key);
    std::string required_text(std::string_view key);
    std::optional<std::int64_t> integer(std::string_view key, std::int64_t least,
                                        std::int64_t most);
    std::vector<std::string> texts(std::string_view key);
    std::map<std::string, std::string> text_map(std::string_view key);
    /// false when it is absent.
    bool boolean(std::string_view key);
    std::span<const document::Value> list(std::string_view key);
    /// nullptr when it is absent or not a mapping.
    const document::Value* mapping(std::string_view key);
    const document::Value* required_mapping(std::string_view key);

    /// "spec.replicas: <message>", at the field.
    void complain(std::string_view key, const std::string& message);
    Diagnostics& report() { return report_; }

private:
    void expected(const document::Value& node, const std::string& path, std::string_view what);

    Diagnostics& report_;
    const document::Value& node_;
    std::string path_;
};

}  // namespace aliquot::sim::cluster
