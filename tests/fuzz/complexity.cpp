// SPDX-License-Identifier: Apache-2.0
#include "complexity.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kBytes = 24U << 10U;  // and twice as many
constexpr double kMostTimes = 2.3;
constexpr double kLeastSeconds = 0.02;  // of the larger one; below that nothing is judged
constexpr int kTries = 8;
constexpr std::size_t kMostPieces = 12;  // of one file
constexpr double kMostSeconds = 10;      // of all; then the rest is left

/// A text that grows: `before`, `unit` many times, `after`. In units a '\1' is the number of its turn.
struct Growing {
    std::string before;
    std::string unit;
    std::string after;

    [[nodiscard]] std::string of(std::size_t bytes) const {
        std::string text = before;
        for (std::size_t turn = 0; text.size() + after.size() < bytes; ++turn) {
            for (const char c : unit) {
                if (c == '\1') {
                    text += std::to_string(turn);
                } else {
                    text += c;
                }
            }
        }
        return text + after;
    }
};

double seconds() {
    std::timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double work(const std::string& text) {
    const double begin = seconds();
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    return seconds() - begin;
}

/// Times the work for twice the input of `bytes`; 0: too little to tell.
double growth_at(const Growing& growing, std::size_t bytes) {
    const std::string once = growing.of(bytes);
    const std::string twice = growing.of(2 * once.size());
    double best = 1e9;
    double large = work(twice);
    if (large < kLeastSeconds) return 0;
    double small = 1e9;
    for (int i = 0; i < kTries; ++i) {
        small = std::min(small, work(once));
        large = std::min(large, work(twice));
        best = std::min(best, large / small);
        if (large < kLeastSeconds || best <= kMostTimes) return best;
    }
    return best;
}

/// The same, looked at again with twice the size when it was too much: what grows faster than its input does so there,
/// too; memory that no longer fits a cache, or that now comes from the kernel, is a step of one size.
double growth(const Growing& growing) {
    const double times = growth_at(growing, kBytes);
    return times <= kMostTimes ? times : std::min(times, growth_at(growing, 2 * kBytes));
}

/// Pieces of a file between separators, each to be repeated where it stands.
void add_pieces(const std::string& text, char separator, std::vector<Growing>& all) {
    std::size_t begin = 0;
    const auto pieces =
        static_cast<std::size_t>(std::count(text.begin(), text.end(), separator)) + 1;
    const std::size_t every = pieces / kMostPieces + 1;
    for (std::size_t number = 0; begin < text.size(); ++number) {
        const std::size_t end = std::min(text.find(separator, begin), text.size() - 1) + 1;
        if (number % every == 0) {
            all.push_back(
                {text.substr(0, begin), text.substr(begin, end - begin), text.substr(end)});
        }
        begin = end;
    }
}

std::vector<Growing> general() {
    std::vector<Growing> all;
    for (const char* const unit :
         {"[",          "{",          "(",          "\"",          "'",          "\\",
          "a",          " ",          "\t",         "\n",          "\r\n",       ",",
          ":",          "=",          "-",          "#",           "*",          "&",
          "@",          "%",          "://",        "0",           "\x80",       "\xc3\xa9",
          "k\1:\n",     "k\1: v\n",   "- k\1: v\n", "- a\n",       "a,",         "a b ",
          "{\"k\1\":",  "\"k\1\":1,", "[1],",       "k\1=v ",      "k\1=v\n",    "--k\1=v ",
          "'a' ",       "\"a\" ",     "# c\n",      "a: 'b\n",     "a: \"b\\\n", "? a\n",
          "&a\1 ",      "*a\1 ",      "token: ",    "-----BEGIN ", "a@",         "\\\"",
          "(a",         "a)",         "sum(",       "${a",         "<<EOF\n",    "FROM a\n",
          "import a\n", "a | ",       "a && ",      "`",           "$(a",        "k\1:\n  a:\n",
          "{\"a\":["}) {
        all.push_back({"", unit, ""});
    }
    return all;
}

}  // namespace

int check_complexity(const std::filesystem::path& corpus) {
    // Else what is larger than a threshold is fetched from the kernel and given back each time.
    constexpr int kNever = 1 << 30;
    ::mallopt(M_MMAP_THRESHOLD, kNever);
    ::mallopt(M_TRIM_THRESHOLD, kNever);
    std::vector<Growing> all = general();
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
        files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const auto& path : files) {
        std::ifstream file(path, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        constexpr std::size_t kLongest = 8192;
        if (text.empty() || text.size() > kLongest) continue;
        all.push_back({"", text, ""});
        for (const char separator : {'\n', ',', ' '}) add_pieces(text, separator, all);
    }
    int failed = 0;
    std::size_t judged = 0;
    const double begin = seconds();
    // In strides, so that a run that has no time for all has seen some of each kind.
    constexpr std::size_t kStride = 7;
    for (std::size_t i = 0; i < all.size() * kStride; ++i) {
        const std::size_t at = i % all.size();
        if (at % kStride != i / all.size() || seconds() - begin > kMostSeconds) continue;
        const Growing& growing = all[at];
        const double times = growth(growing);
        judged += times > 0 ? 1 : 0;
        if (times <= kMostTimes) continue;
        failed = 1;
        std::cout << "twice the input is " << times << " times the work: " << growing.before.size()
                  << " bytes, then again and again '" << growing.unit.substr(0, 60) << "'\n";
    }
    std::cout << judged << " of " << all.size() << " texts took long enough to be judged\n";
    return failed;
}
