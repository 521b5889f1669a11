// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

/// The way back of a plan: what was written and what was there before. Pure.
namespace aliquot::plan {

/// The record's file, beside the files of the plan.
inline constexpr std::string_view kRecordName = ".aliquot-plan.json";

/// A resource that a container asks for.
struct Asked {
    std::string resource;  // "nvidia.com/gpu"; empty: none
    unsigned count = 0;
    friend bool operator==(const Asked&, const Asked&) = default;
};

struct WrittenFile {
    std::string name;  // within the directory
    std::string text;
    std::optional<std::string> before;  // empty: there was no such file
};

/// A workload that the plan moves to a GPU.
struct MovedWorkload {
    std::string name;            // of its Deployment and of the container there
    std::string namespace_name;  // empty: not told
    bool job = false;            // not a Deployment: a Job's template cannot be changed
    Asked given;
    Asked before;                          // what its manifest asked for
    std::vector<std::string> environment;  // "NAME=value", to be set with it
};

/// Everything that one command takes back.
struct Record {
    std::vector<WrittenFile> files;
    std::vector<MovedWorkload> workloads;
};

/// The record of a plan, without `before` of the files.
Record record_of(const Plan& plan, const Request& request);

/// The record of a plan that is written over an earlier one, whose files are as `there` says (in the
/// order of `earlier.files`; empty: no such file): what was before the first of them stays the state to
/// come back to, unless a person has changed a file since.
void continue_record(Record& record, const Record& earlier,
                     const std::vector<std::optional<std::string>>& there);

std::string to_json(const Record& record);

/// errors   kInvalidInput: no record of ours, with what is wrong
Result<Record> read_record(std::string_view text);

/// What is to be done with one file.
enum class WayBack : std::uint8_t {
    kNothing,  // it is as it was before
    kRestore,  // it gets its old text
    kRemove,   // it was not there before
    kChanged,  // somebody has changed it since: refused
};
/// there   its text now; empty: no such file
WayBack way_back(const WrittenFile& file, const std::optional<std::string>& there);

}  // namespace aliquot::plan
