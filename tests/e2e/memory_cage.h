// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace aliquot::e2e {

/// A cgroup with a limit of memory, as a container has one, where this user may make one (v1 and v2).
/// Where not, a program runs without it and what it held at most is looked at afterwards.
class MemoryCage {
public:
    explicit MemoryCage(std::size_t bytes);
    ~MemoryCage();
    MemoryCage(const MemoryCage&) = delete;
    MemoryCage& operator=(const MemoryCage&) = delete;

    [[nodiscard]] bool is_real() const { return !folder_.empty(); }
    /// The words that start a program inside.
    [[nodiscard]] std::vector<std::string> inside(const std::vector<std::string>& argv) const;
    /// What the program has held at most: of the cgroup, the kernel's buffers included; else resident.
    [[nodiscard]] std::size_t peak(int pid) const;

private:
    const std::size_t bytes_;
    std::filesystem::path folder_;  // empty: none
};

}  // namespace aliquot::e2e
