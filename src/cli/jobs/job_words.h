// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "document/value.h"
#include "jobs/check.h"
#include "jobs/request.h"

namespace aliquot::command_line {
class Command;
}

namespace aliquot::cli {

/// What a person says of a job, on the command line or in a file.
struct JobWords {
    std::string file;
    std::string name;
    std::string task;
    std::string image;
    std::string queue;
    std::string priority_class;
    std::string space;  // of a cluster
    int priority = 0;
    unsigned gpus = 0;  // 0: not said
    bool any_count = false;
    std::string gpu_memory;
    unsigned gpu_compute = 0;
    std::string gpu_type;
    std::string memory;
    std::string cpu;
    std::string time;
    std::string cpu_after;
    std::string idle_after;
    int retries = -1;  // not said
    unsigned array = 0;
    unsigned gang = 0;
    std::vector<std::string> after;
    std::vector<std::string> env;
    std::string workdir;
    std::vector<std::string> command;
};

/// Adds the options that every way to describe a job has.
/// words   outlives the parsing
void add_job_words(command_line::Command& command, JobWords& words);

/// A job as it is described: the file's, with what the command line says in its place. Keeps which of the two says what,
/// for errors.
class JobDescription {
public:
    /// `--env NAME` alone takes the value of this process's environment.
    /// errors   kInvalidInput: a word that is wrong; of reading the file
    static Result<JobDescription> of(const JobWords& words);

    /// errors   kInvalidInput: all that is wrong with it, by option or by FILE:LINE:COLUMN
    [[nodiscard]] Result<Done> check(jobs::Place place) const;

    jobs::Request request;

private:
    [[nodiscard]] std::string source_of(const std::string& field) const;
    [[nodiscard]] Error read_error(const Error& error) const;

    document::Value options_;  // the fields that options say
    document::Value file_;     // null: there is none
    std::string file_name_;
};

/// Of a failure: kUsage for words that are wrong, else kCouldNotRun.
int exit_code_of(const Error& error);

}  // namespace aliquot::cli
