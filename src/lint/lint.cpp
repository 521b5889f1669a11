// SPDX-License-Identifier: Apache-2.0
#include "lint/lint.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "lint/families.h"

namespace aliquot::lint {
namespace {

std::vector<findings::Finding> check_file(const File& file, const Set& set, const Facts* facts) {
    Report report(file);
    for (const Family& family : families()) family.check(file, set, facts, report);
    return report.take();
}

}  // namespace

std::vector<findings::Finding> check(const Set& set, const Facts* facts, unsigned threads) {
    const auto files = set.files();
    std::vector<std::vector<findings::Finding>> found(files.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next.fetch_add(1); i < files.size(); i = next.fetch_add(1)) {
            found[i] = check_file(*files[i], set, facts);
        }
    };
    if (threads == 0) threads = std::max(std::thread::hardware_concurrency(), 1U);
    constexpr std::size_t kFilesPerThread = 8;
    const std::size_t wanted = std::min<std::size_t>(threads, files.size() / kFilesPerThread + 1);
    {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(work);
        work();
    }
    std::vector<findings::Finding> all;
    for (auto& one : found) {
        all.insert(all.end(), std::make_move_iterator(one.begin()),
                   std::make_move_iterator(one.end()));
    }
    findings::sort(all);
    return all;
}

}  // namespace aliquot::lint
