// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <streambuf>

namespace aliquot::cli {

/// The standard output of a command, which knows why it could not be written: a stream's state says only that it
/// could not, long after errno has changed. Stands behind std::cout for as long as it lives: a main() has one. Written
/// when it is flushed or full, on a terminal at each line. Not thread-safe.
class StandardOutput final : public std::streambuf {
public:
    StandardOutput();
    ~StandardOutput() override;
    StandardOutput(const StandardOutput&) = delete;
    StandardOutput& operator=(const StandardOutput&) = delete;

    /// errno of the first write that failed; 0: none has.
    [[nodiscard]] int problem() const { return problem_; }

protected:
    int_type overflow(int_type character) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override;

private:
    bool write_out();

    std::array<char, 16384> buffer_{};
    const bool by_line_;
    std::streambuf* const before_;
    int problem_ = 0;
};

}  // namespace aliquot::cli
