// SPDX-License-Identifier: Apache-2.0
#include "cmd/table_tool/table_tool.h"

#include <fstream>
#include <iostream>
#include <iterator>

namespace aliquot::table_tool {

std::optional<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    return std::string{std::istreambuf_iterator<char>(file), {}};
}

std::string literal(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\' || c == '?') result += '\\';
        result += c;
    }
    return result + '"';
}

int fail(std::string_view program, const std::string& message) {
    std::cerr << program << ": " << message << '\n';
    return 1;
}

int write_file(std::string_view program, const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    return file.good() ? 0 : fail(program, path + ": cannot be written");
}

int compare_file(std::string_view program, const std::string& path, const std::string& text,
                 const std::string& command) {
    if (read_file(path) == text) return 0;
    return fail(program, path + " is stale: run " + std::string(program) + ' ' + command);
}

}  // namespace aliquot::table_tool
