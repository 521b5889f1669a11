// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// What finding-table and metric-table have in common: they turn a YAML file into a C++ table and a page.
namespace aliquot::table_tool {

std::optional<std::string> read_file(const std::string& path);

/// A string literal of C++.
std::string literal(std::string_view text);

/// Complains with the name of the program; its exit code.
int fail(std::string_view program, const std::string& message);
int write_file(std::string_view program, const std::string& path, const std::string& text);
/// 0 when the file holds the text; `command` makes it so.
int compare_file(std::string_view program, const std::string& path, const std::string& text,
                 const std::string& command);

}  // namespace aliquot::table_tool
