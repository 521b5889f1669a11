// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_output.h"

#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string_view>

namespace aliquot::cli {

StandardOutput::StandardOutput()
    : by_line_(::isatty(STDOUT_FILENO) == 1), before_(std::cout.rdbuf()) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    std::cout.rdbuf(this);
}

StandardOutput::~StandardOutput() {
    write_out();
    std::cout.rdbuf(before_);
}

bool StandardOutput::write_out() {
    const char* from = pbase();
    while (problem_ == 0 && from < pptr()) {
        const ssize_t written =
            ::write(STDOUT_FILENO, from, static_cast<std::size_t>(pptr() - from));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) problem_ = written < 0 ? errno : EIO;
        if (written > 0) from += written;
    }
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return problem_ == 0;
}

StandardOutput::int_type StandardOutput::overflow(int_type character) {
    if (!write_out()) return traits_type::eof();
    if (!traits_type::eq_int_type(character, traits_type::eof())) {
        *pptr() = traits_type::to_char_type(character);
        pbump(1);
        if (by_line_ && *(pptr() - 1) == '\n' && !write_out()) return traits_type::eof();
    }
    return traits_type::not_eof(character);
}

std::streamsize StandardOutput::xsputn(const char* text, std::streamsize size) {
    const std::streamsize taken = std::streambuf::xsputn(text, size);
    const bool line =
        by_line_ && std::string_view(text, static_cast<std::size_t>(size)).contains('\n');
    return line && !write_out() ? 0 : taken;
}

int StandardOutput::sync() { return write_out() ? 0 : -1; }

}  // namespace aliquot::cli
