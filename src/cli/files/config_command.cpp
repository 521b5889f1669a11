// SPDX-License-Identifier: Apache-2.0
#include "cli/files/config_command.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include "cli/commands.h"
#include "command_line/command.h"

namespace aliquot::cli {
namespace {

/// Everything up to the limit, and one byte more when there is more.
std::string read_some(std::istream& in, std::size_t most_bytes) {
    std::string text;
    std::array<char, 1U << 16U> part{};
    while (text.size() <= most_bytes) {
        in.read(part.data(), static_cast<std::streamsize>(part.size()));
        if (in.gcount() <= 0) break;
        text.append(part.data(), static_cast<std::size_t>(in.gcount()));
    }
    return text;
}

}  // namespace

Result<Input> read_input(const std::string& file, std::size_t most_mib) {
    const std::size_t most_bytes = most_mib << 20U;
    Input input;
    if (file == "-") {
        input.name = "<stdin>";
        input.text = read_some(std::cin, most_bytes);
    } else {
        input.name = file;
        std::error_code problem;
        if (std::filesystem::is_directory(file, problem)) {
            return Error{ErrorCode::kInvalidInput, file + ": is a directory, a file was expected"};
        }
        errno = 0;
        std::ifstream in(file, std::ios::binary);
        if (!in) {
            const std::error_code why(errno == 0 ? EIO : errno, std::generic_category());
            return Error{ErrorCode::kInvalidInput, file + ": cannot read it: " + why.message()};
        }
        input.text = read_some(in, most_bytes);
        if (in.bad()) return Error{ErrorCode::kUnavailable, file + ": reading it failed"};
    }
    if (input.text.size() > most_bytes) {
        return Error{ErrorCode::kInvalidInput,
                     input.name + ": larger than " + std::to_string(most_mib) + " MiB"};
    }
    return input;
}

void add_config_command(command_line::Command& program, Context& context) {
    command_line::Command* config =
        program.add_subcommand("config", "Check or explain a sharing configuration");
    config->footer("aliquot config check sharing.yaml\naliquot config explain sharing.yaml");
    add_config_check(*config, context);
    add_config_explain(*config, context);
}

}  // namespace aliquot::cli
