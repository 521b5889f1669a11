// SPDX-License-Identifier: Apache-2.0
// What --fix writes passes lint: every case file is fixed and looked at again.
#include "lint/fix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lint/lint.h"

namespace aliquot::lint {
namespace {

namespace fs = std::filesystem;

std::vector<findings::Finding> look_at(const std::string& name, const std::string& text) {
    std::vector<std::unique_ptr<File>> files;
    files.push_back(read_file(name, text));
    return check(Set(std::move(files)), nullptr, 1);
}

std::ptrdiff_t errors(const std::vector<findings::Finding>& all) {
    return std::count_if(all.begin(), all.end(), [](const findings::Finding& one) {
        return one.severity == findings::Severity::kError;
    });
}

TEST(Fixes, LeaveNothingOfWhatTheyFixed) {
    unsigned fixed_files = 0;
    for (const auto& entry :
         fs::recursive_directory_iterator(ALIQUOT_SOURCE_DIR "/src/lint/cases")) {
        const std::string name = entry.path().filename().string();
        if (!entry.is_regular_file() || name.ends_with(".findings") || name.ends_with(".json"))
            continue;
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        const std::string text = read_file(name, bytes)->original;
        const auto before = look_at(name, text);
        const Fixed fixed = apply_fixes(text, before);
        if (fixed.fixed.empty()) continue;
        ++fixed_files;
        const auto after = look_at(name, fixed.text);
        for (const std::size_t index : fixed.fixed) {
            const std::string& rule = before[index].rule;
            const auto of_rule = [&rule](const findings::Finding& one) { return one.rule == rule; };
            EXPECT_LT(std::count_if(after.begin(), after.end(), of_rule),
                      std::count_if(before.begin(), before.end(), of_rule))
                << entry.path() << ' ' << rule << '\n'
                << fixed.text;
        }
        EXPECT_LT(errors(after), errors(before) + 1) << entry.path() << '\n' << fixed.text;
    }
    EXPECT_GT(fixed_files, 5U);
}

TEST(Fixes, KeepTheByteOrderMarkAndTheLineEnds) {
    std::vector<std::unique_ptr<File>> files;
    files.push_back(read_file("job.yaml",
                              "\xef\xbb\xbf"
                              "apiVersion: v1\r\nkind: Pod\r\nmetadata: {name: a}\r\nspec:\r\n"
                              "  containers:\r\n  - name: a\r\n    image: a.example.com/a:1\r\n"
                              "    resources:\r\n      requests: {nvidia.com/gpu: 2}\r\n"
                              "      limits: {nvidia.com/gpu: 1}\r\n"));
    const Set set(std::move(files));
    const File& file = *set.files().front();
    const std::string written = as_written(file, fixed_text(file, check(set, nullptr, 1), nullptr));
    EXPECT_EQ(written.substr(0, 4),
              "\xef\xbb\xbf"
              "a");
    EXPECT_NE(written.find("requests: {nvidia.com/gpu: 1}\r\n"), std::string::npos) << written;
}

}  // namespace
}  // namespace aliquot::lint
