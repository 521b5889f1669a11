// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_words.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/number.h"
#include "base/time_text.h"
#include "cli/command.h"
#include "cli/files/config_command.h"
#include "command_line/command.h"
#include "document/json.h"
#include "jobs/read.h"

namespace aliquot::cli {
namespace {

constexpr std::size_t kMostFileMib = 1;

Error wrong_word(const std::string& flag, const std::string& value, const char* expected) {
    return {ErrorCode::kInvalidInput, flag + ": '" + value + "' is wrong; expected " + expected};
}

Result<std::int64_t> seconds_of(const char* flag, const std::string& text) {
    const auto span = parse_duration(text);
    if (!span || span->count() < 1'000) return wrong_word(flag, text, "90s, 30m, 2h or 3d");
    return span->count() / 1'000;
}

Result<Done> take_variables(const std::vector<std::string>& words, jobs::Request& request) {
    for (const std::string& word : words) {
        const auto equals = word.find('=');
        const std::string name = word.substr(0, equals);
        if (name.empty()) return wrong_word("--env", word, "NAME=VALUE or NAME");
        if (equals != std::string::npos) {
            request.env.emplace_back(name, word.substr(equals + 1));
            continue;
        }
        const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
        if (value == nullptr) {
            return wrong_word("--env", word, "NAME=VALUE, or a variable that is set here");
        }
        request.env.emplace_back(name, value);
    }
    return Done{};
}

Result<Done> take_times(const JobWords& words, jobs::Request& request) {
    if (!words.time.empty()) {
        const auto seconds = seconds_of("--time", words.time);
        if (!seconds) return seconds.error();
        request.deadline_seconds = *seconds;
    }
    if (!words.cpu_after.empty()) {
        const auto seconds = seconds_of("--cpu-after", words.cpu_after);
        if (!seconds) return seconds.error();
        request.cpu_after_seconds = *seconds;
    }
    if (!words.idle_after.empty()) {
        const auto seconds = seconds_of("--idle-after", words.idle_after);
        if (!seconds) return seconds.error();
        request.idle_after_seconds = *seconds;
    }
    return Done{};
}

void set(std::string& field, const std::string& word) {
    if (!word.empty()) field = word;
}

}  // namespace

void add_job_words(command_line::Command& command, JobWords& words) {
    command.add_option("-f,--file", words.file, "Read the job from a JSON or YAML file; - is stdin",
                       "FILE");
    command.add_option("--name", words.name,
                       "Name of the job; default: derived from task or program", "NAME");
    command.add_option("--task-id", words.task,
                       "Id of the task; submitting the same task twice gives one job", "ID");
    command.add_option("--gpu", words.gpus, "Whole GPUs: 1, 2, 4 or 8; default 1", "N")
        ->range(1U, 16U);
    command.add_flag("--any-gpu-count", words.any_count, "Take any number of GPUs up to 16");
    command.add_option("--gpu-memory", words.gpu_memory, "A share of one GPU: 8Gi, 512Mi",
                       "AMOUNT");
    command
        .add_option("--gpu-compute", words.gpu_compute, "Maximum GPU time of a share, in percent",
                    "PERCENT")
        ->range(1U, 100U);
    command.add_option("--gpu-type", words.gpu_type, "GPU model: a100, v100, t4, ..., any",
                       "MODEL");
    command.add_option("--queue", words.queue, "Queue to wait in", "NAME");
    command.add_option("--priority", words.priority, "Jobs with a higher priority go first", "N");
    command.add_option("--priority-class", words.priority_class,
                       "Priority class by name, on a cluster", "NAME");
    command.add_option("--time", words.time, "Maximum run time: 90s, 30m, 2h; default 24h", "TIME");
    command.add_option("--cpu-after", words.cpu_after,
                       "Run on the CPU after this long without a GPU", "TIME");
    command.add_option("--idle-after", words.idle_after,
                       "On one machine: end it when its GPUs were idle for this long: 30m", "TIME");
    command.add_option("--retries", words.retries, "Further tries after a failure; default 3", "N")
        ->range(0, 100);
    command.add_option("--array", words.array, "Run it N times, each with its own index", "N")
        ->range(1U, 10'000U);
    command
        .add_option(
            "--gang", words.gang,
            "Run it N times, all at once or not at all: RANK and WORLD_SIZE tell them apart", "N")
        ->range(1U, 64U);
    command
        .add_option("--env", words.env,
                    "Environment variable of the program; NAME alone takes its current value",
                    "NAME[=VALUE]")
        ->allow_extra_args(false);
    command.add_option("--workdir", words.workdir, "Working directory of the program", "DIR");
    command.add_option("--image", words.image, "Container image", "IMAGE");
    command.add_option("--memory", words.memory, "Limit of host memory: 16Gi", "AMOUNT");
    command.add_option("--cpu", words.cpu, "Limit of CPU: 8 or 8000m", "AMOUNT");
    command.add_option("COMMAND", words.command, "The program and its arguments, after --", " ");
}

namespace {

Result<Done> take_words(const JobWords& words, jobs::Request& request) {
    set(request.name, words.name);
    set(request.task_id, words.task);
    set(request.image, words.image);
    set(request.queue, words.queue);
    set(request.priority_class, words.priority_class);
    set(request.in_namespace, words.space);
    set(request.gpu_memory, words.gpu_memory);
    set(request.gpu_type, words.gpu_type);
    set(request.memory, words.memory);
    set(request.cpu, words.cpu);
    set(request.workdir, words.workdir);
    if (words.priority != 0) request.priority = words.priority;
    if (words.gpus != 0) request.gpu_count = words.gpus;
    if (words.any_count) request.any_gpu_count = true;
    if (words.gpu_compute != 0) request.gpu_compute = words.gpu_compute;
    if (words.retries >= 0) request.retries = static_cast<std::uint32_t>(words.retries);
    if (words.array != 0) request.array = words.array;
    if (words.gang != 0) request.gang = words.gang;
    if (!words.command.empty()) request.command = words.command;
    for (const std::string& word : words.after) {
        request.after.push_back(word);
    }
    if (auto taken = take_variables(words.env, request); !taken) return std::move(taken).error();
    return take_times(words, request);
}

/// The option that says a field: "gpu_memory" is --gpu-memory. Empty: there is none.
std::string option_of(std::string_view field) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOthers{
        {{"gpu_count", "--gpu"},
         {"deadline_seconds", "--time"},
         {"cpu_after_seconds", "--cpu-after"},
         {"idle_after_seconds", "--idle-after"},
         {"command", "COMMAND"},
         {"any_gpu_count", "--any-gpu-count"}}};
    for (const auto& [name, option] : kOthers)
        if (name == field) return std::string(option);
    std::string option("--");
    for (const char c : field) option += c == '_' ? '-' : c;
    return option;
}

/// Where a field as "env.PATH" or "after[1]" stands in the file.
document::Mark mark_of(const document::Value& file, std::string_view field) {
    document::Mark mark = file.mark;
    const document::Value* node = &file;
    while (node != nullptr && !field.empty()) {
        const document::Value* next = nullptr;
        if (field.front() == '[') {
            const auto index = parse_number<std::size_t>(field.substr(1, field.find(']') - 1));
            if (index && *index < node->items.size()) next = &node->items[*index];
            field.remove_prefix(std::min(field.size(), field.find(']') + 1));
        } else {
            const bool is_env = node != &file;  // whose names may have dots
            const std::string_view name =
                is_env ? field : field.substr(0, field.find_first_of(".["));
            for (const auto& entry : node->entries) {
                if (entry.first.scalar != name) continue;
                next = &entry.second;
                mark = entry.first.mark;
            }
            field.remove_prefix(name.size());
            if (field.starts_with('.')) field.remove_prefix(1);
        }
        if (next != nullptr && next->mark.line != 0) mark = next->mark;
        node = next;
    }
    return mark;
}

std::string place_in(const std::string& file, document::Mark mark) {
    std::string place = file;
    for (const unsigned number : {mark.line, mark.column})
        if (number != 0) place += ":" + std::to_string(number);
    return place;
}

}  // namespace

Result<JobDescription> JobDescription::of(const JobWords& words) {
    JobDescription made;
    if (!words.file.empty()) {
        const auto input = read_input(words.file, kMostFileMib);
        if (!input) return input.error();
        made.file_name_ = input->name;
        auto file = document::parse_object(input->text);
        if (!file) return std::move(file).error().during(input->name);
        made.file_ = *std::move(file);
        auto read = jobs::read(made.file_);
        if (!read) return made.read_error(read.error());
        made.request = *std::move(read);
    }
    jobs::Request by_options;
    if (auto taken = take_words(words, by_options); !taken) return std::move(taken).error();
    made.options_ = jobs::to_document(by_options, jobs::Secrets::kTell);
    if (auto taken = take_words(words, made.request); !taken) return std::move(taken).error();
    jobs::Request& request = made.request;
    if (request.name.empty() && request.task_id.empty() && !request.command.empty()) {
        request.task_id = std::filesystem::path(request.command.front()).filename().native();
        if (request.task_id.empty()) request.task_id = "job";
    }
    return made;
}

/// Its message begins with the field.
Error JobDescription::read_error(const Error& error) const {
    const std::string field = error.message.substr(0, error.message.find(": "));
    const bool is_unknown = error.message.substr(field.size()).starts_with(": no field");
    for (const auto& entry : file_.entries) {
        if (is_unknown && entry.first.scalar == field)
            return {error.code, place_in(file_name_, entry.first.mark) + ": " + error.message};
    }
    return {error.code, place_in(file_name_, mark_of(file_, field)) + ": " + error.message};
}

/// "--gpu-memory" or "job.yaml:3:13: gpu_memory".
std::string JobDescription::source_of(const std::string& field) const {
    const std::string name = field.substr(0, field.find_first_of(".["));
    if (file_name_.empty() || options_.find(name) != nullptr) return option_of(name);
    return place_in(file_name_,
                    file_.find(name) == nullptr ? document::Mark{} : mark_of(file_, field)) +
           ": " + field;
}

Result<Done> JobDescription::check(jobs::Place place) const {
    auto problems = jobs::check(request, place);
    // Without a command nothing can be named after it.
    if (request.command.empty() && file_name_.empty())
        std::erase_if(problems, [](const auto& one) { return one.field == "task_id"; });
    for (jobs::Problem& one : problems) one.field = source_of(one.field);
    std::string sentence = jobs::sentence_of(problems);
    if (sentence.empty()) return Done{};
    return Error{ErrorCode::kInvalidInput, std::move(sentence)};
}

int exit_code_of(const Error& error) {
    return error.code == ErrorCode::kInvalidInput || error.code == ErrorCode::kUnsupported
               ? kUsage
               : kCouldNotRun;
}

}  // namespace aliquot::cli
