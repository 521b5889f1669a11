// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Memory that is no file of the container's: it is handed over a socket.
namespace aliquot::guard {

/// The two files of abi::TurnsHandOver, from whoever listens at `path`. Waits 200 ms at most.
/// returns   0, or -errno: -EAGAIN it was too long, -EPROTO, -EPROTOTYPE: of another version
long receive_turns(const char* path, int (&files)[2]);

/// The file at `path`, or what is handed over where a socket lies there, opened to read and write.
/// patience_ns   how long to wait for whoever should listen there, an agent that starts anew
/// returns       below 0: -errno
int open_or_receive(const char* path, std::uint64_t patience_ns);

/// The file behind an open descriptor, opened once more: locks belong to the open file.
int open_again(int descriptor);

}  // namespace aliquot::guard
