// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "document/value.h"

namespace aliquot::command_line {
class Command;
}

/// What a command answers to programs: one document, the same with -o json and -o yaml, in the envelope of
/// api/answers.schema.json. A command that has -o adds it by add_output() and prints by print_answer(), so that none
/// has a form of its own.
namespace aliquot::cli {

/// The apiVersion of all answers; another one when a key changes its meaning or goes.
inline constexpr std::string_view kAnswerVersion = "aliquot.dev/v1";

/// apiVersion and kind, then the value's own keys; a list stands under `items`. A value that has an apiVersion, such
/// as an object of Kubernetes, is an answer already and stays as it is.
document::Value enveloped(std::string_view kind, document::Value value);

/// Prints it in its envelope.
/// kind     a definition of api/answers.schema.json: "GpuList"
/// format   "json", two blanks a level; else YAML
void print_answer(std::ostream& out, std::string_view kind, document::Value value,
                  std::string_view format);
/// The same of what nlohmann::json holds. Bytes that are no UTF-8 become U+FFFD.
void print_answer(std::ostream& out, std::string_view kind, const nlohmann::ordered_json& value,
                  std::string_view format);
/// Prints a document that is none of ours, without an envelope: a configuration, an object of Kubernetes.
void print_document(std::ostream& out, const document::Value& value, std::string_view format);

/// Every key that is spelled as gpu_memory_gib comes as gpuMemoryGib, too, and before it: the old spelling stays for
/// who reads it. Keys that are data, such as labels, must not be in `value`.
document::Value with_camel_case(const document::Value& value);

/// schemaVersion in front: answers had it before they had an apiVersion.
document::Value versioned(document::Value value);

/// Adds -o: the forms for people first, then json and yaml, then `others`.
/// forms   "table" or "text" and more. Who has one of these two takes the word of the other, too.
void add_output(command_line::Command& command, std::string& format,
                std::vector<std::string> forms = {"table"}, std::vector<std::string> others = {},
                const std::string& description = "Output format");

}  // namespace aliquot::cli
