// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <utility>

namespace aliquot {

/// An open file descriptor, closed with the object. Moved, never copied. -1: none.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int value) : value_(value) {}
    Descriptor(Descriptor&& other) noexcept : value_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        reset(other.release());
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { reset(); }

    [[nodiscard]] int get() const { return value_; }
    explicit operator bool() const { return value_ >= 0; }
    /// Hands it over; the caller closes it.
    [[nodiscard]] int release() { return std::exchange(value_, -1); }
    /// Closes it at once and holds `value` instead.
    void reset(int value = -1) {
        if (value_ >= 0) ::close(value_);
        value_ = value;
    }

private:
    int value_ = -1;
};

/// Writes all of `size` bytes at `offset`; false: errno says why.
bool write_at(int fd, const void* bytes, std::size_t size, long offset);

}  // namespace aliquot
