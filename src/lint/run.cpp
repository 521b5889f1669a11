// SPDX-License-Identifier: Apache-2.0
#include "lint/run.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "base/thread_pool.h"
#include "lint/lint.h"

namespace aliquot::lint {

using findings::Finding;

const File* Run::find(std::string_view name) const {
    const auto files = set.files();
    const auto found = std::find_if(files.begin(), files.end(),
                                    [name](const auto& one) { return one->name == name; });
    return found == files.end() ? nullptr : found->get();
}

Result<Done> read_all(Run& run) {
    std::vector<std::unique_ptr<File>> files(run.inputs.size());
    std::vector<std::string> problems(run.inputs.size());
    constexpr std::size_t kFilesPerThread = 8;
    for_each_in_parallel(
        files.size(), 0,
        [&](std::size_t i) {
            SourceFile& input = run.inputs[i];
            const auto read = read_source_file(input);
            if (!read) {
                problems[i] = read.error().message;
                return;
            }
            files[i] = read_file(input.path, std::move(input.bytes));
            files[i]->aliquot = input.settings->settings.aliquot;
        },
        kFilesPerThread);
    for (const std::string& problem : problems) {
        if (!problem.empty()) return Error{ErrorCode::kInvalidInput, problem};
    }
    run.set = Set(std::move(files));
    return Done{};
}

Result<std::optional<Facts>> load_facts(const Run& run, const std::string& path) {
    SourceFile file;
    file.path = path;
    if (file.path.empty() && !run.inputs.empty()) {
        const FoundSettings& found = *run.inputs.front().settings;
        if (!found.settings.facts.empty()) {
            file.path = (std::filesystem::path(found.directory) / found.settings.facts).string();
        }
    }
    if (file.path.empty()) return std::optional<Facts>();
    const auto read = read_source_file(file);
    if (!read) return read.error();
    auto facts = read_facts(file.path, file.bytes);
    if (!facts) return std::move(facts).error();
    return std::optional<Facts>(*std::move(facts));
}

void check_all(Run& run, const Facts* facts) {
    std::map<std::string_view, const Settings*> settings;
    for (const SourceFile& input : run.inputs) settings[input.path] = &input.settings->settings;
    const std::vector<Finding> all = check(run.set, facts);
    run.findings.clear();
    for (auto first = all.begin();
         first != all.end();) {  // sorted: the findings of a file stand together
        const auto last = std::find_if(first, all.end(),
                                       [&](const Finding& one) { return one.file != first->file; });
        std::vector<Finding> of_file(first, last);
        if (const auto own = settings.find(first->file); own != settings.end())
            apply_settings(*own->second, of_file);
        std::move(of_file.begin(), of_file.end(), std::back_inserter(run.findings));
        first = last;
    }
}

}  // namespace aliquot::lint
