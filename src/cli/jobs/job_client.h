// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/command.h"
#include "cli/local_server.h"
#include "document/value.h"

namespace aliquot::command_line {
class Command;
}

namespace aliquot::cli {

/// How to reach `aliquot serve`.
struct JobClient {
    std::string server;  // of --server; empty: ALIQUOT_JOBS, else the usual places

    /// An answer with a status of success; else the server's own words.
    /// errors   kNotFound: no server, or no such job; as the server says
    [[nodiscard]] Result<Answer> ask(const std::string& method, const std::string& path,
                                     const std::string& body = "",
                                     const std::string& key = "") const;
    [[nodiscard]] Result<document::Value> get(const std::string& path) const;
};

/// Adds --server.
void add_server_flag(command_line::Command& command, JobClient& client);

/// Where a server of this user listens: root's is everybody's.
std::string usual_job_server();

/// The address of --server, --socket: a path is a unix socket; empty: usual_job_server().
std::string job_server_at(const std::string& named);

/// "12" as a path: "/v1/jobs/12". errors: kInvalidInput
Result<std::string> job_path(const std::string& id);

/// Prints a value in a format that is not a table: json or yaml.
void print_document(Context& context, const document::Value& value, const std::string& format);

/// Prints the error and sets the exit code.
void failed(Context& context, const Error& error);

}  // namespace aliquot::cli
