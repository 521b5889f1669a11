// SPDX-License-Identifier: Apache-2.0
#include "plan/undo.h"

#include <algorithm>

#include "base/base64.h"
#include "base/number.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::plan {
namespace {

using document::make_mapping;
using document::Value;

constexpr int kVersion = 1;
constexpr std::size_t kMostEntries = 10'000;

Value asked_node(const Asked& asked) {
    return make_mapping({{"resource", asked.resource}, {"count", asked.count}});
}

Value file_node(const WrittenFile& file) {
    return make_mapping({{"name", file.name},
                         {"text", file.text},
                         {"before", document::or_null(file.before.has_value(),
                                                      encode_base64(file.before.value_or("")))}});
}

Value workload_node(const MovedWorkload& workload) {
    return make_mapping({{"name", workload.name},
                         {"namespace", workload.namespace_name},
                         {"job", workload.job},
                         {"given", asked_node(workload.given)},
                         {"before", asked_node(workload.before)},
                         {"environment", workload.environment}});
}

Error malformed(const std::string& what) {
    return {ErrorCode::kInvalidInput, what + "; expected what aliquot plan --write leaves there"};
}

/// A name that leads nowhere else.
bool is_plain_name(const std::string& name) {
    return !name.empty() && name != "." && name != ".." &&
           name.find_first_of(std::string("/\0", 2)) == std::string::npos;
}

Asked read_asked(const Value& node, std::string_view key) {
    return {.resource = text_at(node, {key, "resource"}),
            .count = parse_number<unsigned>(text_at(node, {key, "count"})).value_or(0)};
}

Result<WrittenFile> read_file(const Value& node) {
    WrittenFile file{.name = text_at(node, {"name"}), .text = text_at(node, {"text"})};
    if (!is_plain_name(file.name)) {
        return malformed("'" + file.name + "' is not the name of a file beside it");
    }
    const Value* const before = node.find("before");
    if (before == nullptr) return malformed(file.name + " has no 'before'");
    if (before->kind == Value::Kind::kNull) return file;
    file.before = decode_base64(before->scalar);
    if (!before->is_string() || !file.before) {
        return malformed("'before' of " + file.name + " is not base64");
    }
    return file;
}

Result<MovedWorkload> read_workload(const Value& node) {
    MovedWorkload workload{.name = text_at(node, {"name"}),
                           .namespace_name = text_at(node, {"namespace"}),
                           .job = document::is_true(node.find("job")),
                           .given = read_asked(node, "given"),
                           .before = read_asked(node, "before")};
    if (workload.name.empty() || workload.name != object_name(workload.name)) {
        return malformed("'" + workload.name + "' is not the name of a workload");
    }
    if (workload.given.resource.empty() || workload.given.count == 0) {
        return malformed("workload " + workload.name + " was given nothing");
    }
    for (const Value& line : items_at(node, {"environment"})) {
        workload.environment.push_back(line.scalar);
    }
    return workload;
}

bool is_on_gpu(const Share& share) { return share.mode != Mode::kCpu && !share.resource.empty(); }

bool is_job(Kind kind) {
    return kind == Kind::kTraining || kind == Kind::kBatch || kind == Kind::kCi;
}

/// "NAME=value (kokoro)" of the plan, for this workload; what only describes a variable is left out.
std::vector<std::string> environment_of(const Plan& plan, const std::string& workload) {
    const std::string who = " (" + workload + ")";
    const auto in_name = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
    std::vector<std::string> lines;
    for (const std::string& line : plan.environment) {
        const std::string name = line.substr(0, line.find('='));
        if (!line.ends_with(who) || !std::ranges::all_of(name, in_name)) continue;
        lines.push_back(line.substr(0, line.size() - who.size()));
    }
    return lines;
}

}  // namespace

Record record_of(const Plan& plan, const Request& request) {
    Record record;
    for (const File& file : plan.files) {
        record.files.push_back({.name = file.name, .text = file.text, .before = {}});
    }
    for (const Workload& workload : request.workloads) {
        const auto share = std::ranges::find_if(plan.shares, [&workload](const Share& one) {
            return one.workload == workload.name && is_on_gpu(one);
        });
        if (share == plan.shares.end()) continue;
        record.workloads.push_back(
            {.name = object_name(workload.name),
             .namespace_name = workload.namespace_name,
             .job = is_job(workload.kind),
             .given = {.resource = share->resource, .count = workload.gpus},
             .before = {.resource = workload.asked_resource, .count = workload.asked_count},
             .environment = environment_of(plan, workload.name)});
    }
    return record;
}

void continue_record(Record& record, const Record& earlier,
                     const std::vector<std::optional<std::string>>& there) {
    for (std::size_t i = 0; i < earlier.files.size() && i < there.size(); ++i) {
        const WrittenFile& old = earlier.files[i];
        if (there[i] != old.text) continue;  // a person's text is what was before
        const auto same = std::ranges::find(record.files, old.name, &WrittenFile::name);
        if (same == record.files.end()) {
            record.files.push_back(old);
        } else {
            same->before = old.before;
        }
    }
    for (const MovedWorkload& old : earlier.workloads) {
        const auto same = std::ranges::find_if(record.workloads, [&old](const auto& one) {
            return one.name == old.name && one.namespace_name == old.namespace_name;
        });
        if (same == record.workloads.end()) record.workloads.push_back(old);
    }
}

std::string to_json(const Record& record) {
    return document::to_json(
               make_mapping({{"schemaVersion", kVersion},
                             {"files", make_sequence(record.files, file_node)},
                             {"workloads", make_sequence(record.workloads, workload_node)}})) +
           '\n';
}

Result<Record> read_record(std::string_view text) {
    const auto root = document::parse_json(text, {.several = false});
    if (!root) return root.error();
    if (text_at(*root, {"schemaVersion"}) != std::to_string(kVersion)) {
        return malformed("schemaVersion is '" + text_at(*root, {"schemaVersion"}) + "' and not " +
                         std::to_string(kVersion));
    }
    const auto& files = items_at(*root, {"files"});
    const auto& workloads = items_at(*root, {"workloads"});
    if (files.size() > kMostEntries || workloads.size() > kMostEntries) {
        return malformed("more than 10000 entries");
    }
    Record record;
    for (const Value& node : files) {
        auto file = read_file(node);
        if (!file) return std::move(file).error();
        record.files.push_back(*std::move(file));
    }
    for (const Value& node : workloads) {
        auto workload = read_workload(node);
        if (!workload) return std::move(workload).error();
        record.workloads.push_back(*std::move(workload));
    }
    return record;
}

WayBack way_back(const WrittenFile& file, const std::optional<std::string>& there) {
    if (there == file.before) return WayBack::kNothing;
    if (there != file.text) return WayBack::kChanged;
    return file.before ? WayBack::kRestore : WayBack::kRemove;
}

}  // namespace aliquot::plan
