// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot::faults {

namespace fs = std::filesystem;

/// Which of a program's calls fails, and how; number 0: none.
struct Fault {
    unsigned number = 0;
    bool half = false;  // a write does half of its work first
    int error = 0;

    [[nodiscard]] std::string text() const {
        return number == 0 ? ""
                           : std::to_string(number) + (half ? "s:" : ":") + std::to_string(error);
    }
};

inline std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The calls of a log of the fault library: "write /path".
inline std::vector<std::string> lines_of(const fs::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

/// Runs with the library that fails calls beneath `under`.
/// all   counts what only reads there, too, and what makes descriptors that have no path
inline os::Command with_fault(std::vector<std::string> argv, const fs::path& under,
                              const fs::path& log, const Fault& fault, const fs::path& output,
                              bool all = false) {
    auto environment = os::current_environment();
    if (all) environment["ALIQUOT_FAULT_ALL"] = "1";
    const std::string& before = environment["LD_PRELOAD"];
    environment["LD_PRELOAD"] =
        std::string(ALIQUOT_TEST_DIR "/libaliquot-fault.so") + (before.empty() ? "" : " " + before);
    environment["ALIQUOT_FAULT_UNDER"] = under;
    environment["ALIQUOT_FAULT_LOG"] = log;
    environment["ALIQUOT_FAULT"] = fault.text();
    return {.argv = std::move(argv), .environment = environment, .output_path = output};
}

/// Names of files that only an unfinished write has.
inline std::vector<std::string> left_over(const fs::path& under) {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(under)) {
        const std::string name = entry.path().filename();
        if (name == ".aliquot-plan.json") continue;  // written first: it is the way back
        if (name.contains(".tmp") || name.starts_with(".new") || name.contains(".aliquot-"))
            names.push_back(entry.path());
    }
    return names;
}

inline constexpr std::array kErrors{ENOSPC, EIO, EMFILE, EDQUOT, EROFS};

/// One fault for each call of a clean run, the errors in turns, and a short write before each write.
/// calls   of the clean run
/// step    only every step-th call, from `step` - 1
inline std::vector<Fault> faults_for(const std::vector<std::string>& calls, unsigned step = 1) {
    std::vector<Fault> faults;
    for (unsigned i = 0; i < calls.size(); i += step) {
        const bool has_path = !calls[i].ends_with(" -");  // else it is only out of descriptors
        const int error = has_path ? kErrors[(i / step) % kErrors.size()] : EMFILE;
        faults.push_back({.number = i + 1, .error = error});
        if (calls[i].starts_with("write "))
            faults.push_back({.number = i + 1, .half = true, .error = ENOSPC});
    }
    return faults;
}

}  // namespace aliquot::faults
