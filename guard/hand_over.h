// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Memory that is no file of the container's: it is handed over a socket.
namespace aliquot::guard {

/// Whoever listens at `path` sends one descriptor. Waits 200 ms at most. -1: nobody does.
int receive(const char* path);

/// The file at `path`, or what is handed over where a socket lies there, opened to read and write.
/// patience_ns   how long to wait for whoever should listen there, an agent that starts anew
/// returns       below 0: -errno
int open_or_receive(const char* path, std::uint64_t patience_ns);

/// The file behind an open descriptor, opened once more: locks belong to the open file.
int open_again(int descriptor);

}  // namespace aliquot::guard
