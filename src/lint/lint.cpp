// SPDX-License-Identifier: Apache-2.0
#include "lint/lint.h"

#include <iterator>

#include "base/thread_pool.h"
#include "lint/families.h"
#include "lint/kept.h"

namespace aliquot::lint {
namespace {

std::vector<findings::Finding> check_file(const File& file, const Set& set, const Facts* facts) {
    Report report(file);
    for (const Family& family : families()) family.check(file, set, facts, report);
    std::vector<findings::Finding> found = report.take();
    if (is_record(file)) {
        for (findings::Finding& one : found) {
            if (one.severity == findings::Severity::kWarning)
                one.severity = findings::Severity::kInfo;
        }
    }
    return found;
}

}  // namespace

std::vector<findings::Finding> check(const Set& set, const Facts* facts, unsigned threads) {
    const auto files = set.files();
    std::vector<std::vector<findings::Finding>> found(files.size());
    constexpr std::size_t kFilesPerThread = 8;
    for_each_in_parallel(
        files.size(), threads, [&](std::size_t i) { found[i] = check_file(*files[i], set, facts); },
        kFilesPerThread);
    std::vector<findings::Finding> all;
    for (auto& one : found) {
        all.insert(all.end(), std::make_move_iterator(one.begin()),
                   std::make_move_iterator(one.end()));
    }
    findings::sort(all);
    return all;
}

}  // namespace aliquot::lint
