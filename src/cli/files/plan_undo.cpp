// SPDX-License-Identifier: Apache-2.0
#include "cli/files/plan_undo.h"

#include <filesystem>
#include <ostream>
#include <utility>

#include "base/diff.h"
#include "base/sentence.h"
#include "cli/cluster/plan_workloads.h"
#include "cli/files/config_command.h"
#include "os/errno_error.h"
#include "os/replace_file.h"
#include "plan/undo.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;
using plan::Record;
using plan::WayBack;
using plan::WrittenFile;

constexpr std::size_t kMostDiffLines = 40;
constexpr std::size_t kMostFileMib = 1;
constexpr std::size_t kMostRecordMib = 64;

/// The text of a file; empty optional: there is none.
/// errors   of read_input(); kInvalidInput: no regular file
Result<std::optional<std::string>> text_of(const fs::path& path,
                                           std::size_t most_mib = kMostFileMib) {
    std::error_code problem;
    const fs::file_status status = fs::status(path, problem);
    if (status.type() == fs::file_type::not_found) {
        // A link that leads nowhere is something that we would overwrite.
        if (!fs::is_symlink(fs::symlink_status(path, problem))) return std::optional<std::string>();
        return Error{ErrorCode::kInvalidInput,
                     path.string() + ": a link to a file that is not there"};
    }
    if (problem) {
        return Error{ErrorCode::kPermission,
                     path.string() + ": cannot read it: " + problem.message()};
    }
    if (!fs::is_regular_file(status)) {
        return Error{ErrorCode::kInvalidInput,
                     path.string() + ": a regular file was expected there"};
    }
    auto input = read_input(path.string(), most_mib);
    if (!input) return std::move(input).error();
    return std::optional(std::move(input->text));
}

Result<std::vector<std::optional<std::string>>> texts_of(const fs::path& directory,
                                                         const std::vector<WrittenFile>& files) {
    std::vector<std::optional<std::string>> texts;
    for (const WrittenFile& file : files) {
        auto text = text_of(directory / file.name);
        if (!text) return std::move(text).error();
        texts.push_back(*std::move(text));
    }
    return texts;
}

/// Empty optional: there is no record.
Result<std::optional<Record>> record_in(const fs::path& directory) {
    const fs::path path = directory / plan::kRecordName;
    const auto text = text_of(path, kMostRecordMib);
    if (!text) return text.error();
    if (!*text) return std::optional<Record>();
    auto record = plan::read_record(**text);
    if (!record) return std::move(record).error().during(path.string());
    return std::optional(*std::move(record));
}

Result<Done> fill_record(Record& record, const fs::path& directory) {
    const auto texts = texts_of(directory, record.files);
    if (!texts) return texts.error();
    for (std::size_t i = 0; i < texts->size(); ++i) record.files[i].before = (*texts)[i];
    const auto earlier = record_in(directory);
    if (!earlier) return earlier.error();
    if (!*earlier) return Done{};
    const auto there = texts_of(directory, (*earlier)->files);
    if (!there) return there.error();
    plan::continue_record(record, **earlier, *there);
    return Done{};
}

/// What a person has made of a file since: the lines that differ.
void show_change(std::ostream& err, const std::string& before, const std::string& now) {
    std::size_t lines = 0;
    for (const DiffHunk& hunk : diff_lines(before, now)) {
        for (const DiffLine& line : hunk.lines) {
            if (++lines > kMostDiffLines) {
                err << "  ... more lines differ\n";
                return;
            }
            const bool ended = line.text.ends_with('\n');
            err << "  " << line.sign << line.text.substr(0, line.text.size() - (ended ? 1 : 0))
                << '\n';
        }
    }
}

/// False: a file was changed by hand, which was said.
bool files_are_ours(Context& context, const fs::path& directory, const Record& record,
                    const std::vector<std::optional<std::string>>& there) {
    bool ours = true;
    for (std::size_t i = 0; i < there.size(); ++i) {
        const WrittenFile& file = record.files[i];
        if (way_back(file, there[i]) != WayBack::kChanged) continue;
        ours = false;
        fail(context, kFindings,
             (directory / file.name).string() +
                 (there[i] ? " was changed since the plan wrote it"
                           : " was removed since the plan wrote it over another"));
        if (there[i]) show_change(context.err, file.text, *there[i]);
    }
    return ours;
}

Result<Done> take_back(const fs::path& path, const WrittenFile& file, WayBack way) {
    if (way == WayBack::kRestore) return os::write_output(path, *file.before);
    std::error_code problem;
    fs::remove(path, problem);
    if (problem) return Error{ErrorCode::kUnavailable, path.string() + ": " + problem.message()};
    return Done{};
}

void tell_file(Context& context, const fs::path& path, WayBack way, bool dry_run) {
    const std::string would = dry_run ? "would be " : "";
    switch (way) {
        case WayBack::kRestore:
            context.out << path.string() << ' ' << would << "restored\n";
            break;
        case WayBack::kRemove:
            context.out << path.string() << ' ' << would << "removed\n";
            break;
        case WayBack::kNothing:
        case WayBack::kChanged:
            break;
    }
}

/// Restores and removes; the record goes last, so that an interrupted run can be done again.
void undo_files(Context& context, const UndoOptions& words, const fs::path& directory,
                const Record& record, const std::vector<std::optional<std::string>>& there) {
    for (std::size_t i = 0; i < there.size(); ++i) {
        const WrittenFile& file = record.files[i];
        const WayBack way = way_back(file, there[i]);
        if (way != WayBack::kRestore && way != WayBack::kRemove) continue;
        if (!words.dry_run) {
            const auto done = take_back(directory / file.name, file, way);
            if (!done) return fail(context, kCouldNotRun, done.error().message);
        }
        tell_file(context, directory / file.name, way, words.dry_run);
    }
}

/// What is not done without --cluster.
void tell_workloads(Context& context, const UndoOptions& words, const Record& record) {
    if (record.workloads.empty()) return;
    context.out << counted(record.workloads.size(), "workload")
                << " of the plan may still ask for a GPU: "
                << listed(record.workloads, &plan::MovedWorkload::name) << "; aliquot plan --undo "
                << words.directory << " --cluster takes that back as well\n";
}

}  // namespace

void write_plan(Context& context, const plan::Plan& made, const plan::Request& request,
                const std::string& to) {
    const fs::path directory(to);
    std::error_code problem;
    fs::create_directories(directory, problem);
    if (problem) return fail(context, kCouldNotRun, to + ": " + problem.message());
    Record record = plan::record_of(made, request);
    const auto filled = fill_record(record, directory);
    if (!filled) {
        return fail(context, kCouldNotRun, filled.error().message + ": nothing was written");
    }
    const std::string note = to_json(record);
    if (note.size() > kMostRecordMib << 20U) {
        return fail(context, kCouldNotRun,
                    to + ": the record of what was there is larger than " +
                        std::to_string(kMostRecordMib) + " MiB: nothing was written");
    }
    const auto noted = os::write_output(directory / plan::kRecordName, note);
    if (!noted) return fail(context, kCouldNotRun, noted.error().message);
    for (const plan::File& file : made.files) {
        const fs::path path = directory / file.name;
        const auto written = os::write_output(path, file.text);
        if (!written) return fail(context, kCouldNotRun, written.error().message);
        context.err << "wrote " << path.string() << '\n';
    }
    context.err << "aliquot plan --undo " << to << " takes it back\n";
}

void undo_plan(Context& context, const UndoOptions& words) {
    const fs::path directory(words.directory);
    std::error_code problem;
    if (!fs::is_directory(directory, problem)) {
        return fail(context, kUsage,
                    words.directory + ": no such directory; expected one that --write was given");
    }
    const auto record = record_in(directory);
    if (!record) return fail(context, kUsage, record.error().message);
    if (!*record) {
        context.out << "nothing to take back: no plan was written to " << words.directory << '\n';
        return;
    }
    const auto there = texts_of(directory, (*record)->files);
    if (!there) return fail(context, kCouldNotRun, there.error().message);
    if (words.dry_run) context.out << "Dry run: nothing is changed\n";
    const bool ours = files_are_ours(context, directory, **record, *there);
    PlanWorkloads workloads((*record)->workloads);
    if (words.on_cluster && !workloads.look(context, words.cluster)) return;
    if (!ours || context.exit_code != kOk) {
        context.err
            << "aliquot: nothing was taken back: put a changed file aside, or set a changed "
               "workload as the plan had it, then run this again\n";
        return;
    }
    if (words.on_cluster && !workloads.undo(context, words.cluster, words.dry_run)) return;
    undo_files(context, words, directory, **record, *there);
    if (context.exit_code != kOk) return;
    if (!words.on_cluster) tell_workloads(context, words, **record);
    if (words.dry_run) return;
    Record rest;
    if (!words.on_cluster) rest.workloads = (*record)->workloads;
    const fs::path note = directory / plan::kRecordName;
    Result<Done> closed = Done{};
    if (rest.workloads.empty()) {
        closed = take_back(note, {}, WayBack::kRemove);
    } else {
        closed = os::write_output(note, to_json(rest));
    }
    if (!closed) return fail(context, kCouldNotRun, closed.error().message);
}

}  // namespace aliquot::cli
