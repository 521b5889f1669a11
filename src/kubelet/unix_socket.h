// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"

namespace aliquot::kubelet {

/// How a socket comes to its path.
enum class Making : std::uint8_t {
    /// Bound under a temporary name, listening, then renamed over whatever socket a predecessor left: nobody ever meets
    /// a path that does not answer.
    kRenamed,
    /// Bound where it stays, and listening a moment later. In plugins_registry: kubelet looks at every name that comes
    /// there, and logs an error for one that has gone again. It connects later, and tries again.
    kInPlace,
};

/// A listening unix socket at a path. The kernel's limit of 107 bytes holds for the name only, not for the path. Not thread-safe.
class Listener {
public:
    /// errors   kNotFound: no such directory; kPermission; kInvalidInput: the name is too long;
    ///          kConflict: at `path` is something that is not a socket
    static Result<Listener> open(const std::filesystem::path& path,
                                 Making making = Making::kRenamed);

    Listener(Listener&&) = default;
    Listener& operator=(Listener&&) = delete;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener();  // as remove()

    /// A connection that waits, non-blocking and close-on-exec.
    /// returns  an invalid descriptor when none waits
    /// errors   kUnavailable: no more descriptors in this process; the connection keeps waiting
    Result<Descriptor> accept();

    enum class Place : std::uint8_t { kOurs, kGone, kTaken };
    /// Whether `path` still leads to this socket. (An inode is not used again while the socket is
    /// open, so device and inode are enough.)
    [[nodiscard]] Place place() const;

    /// Removes the path if it is still ours, and stops listening.
    void remove();

    [[nodiscard]] int descriptor() const { return socket_.get(); }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    Listener(std::filesystem::path path, Descriptor socket, std::uint64_t device,
             std::uint64_t inode)
        : path_(std::move(path)), socket_(std::move(socket)), device_(device), inode_(inode) {}

    std::filesystem::path path_;
    Descriptor socket_;
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
};

/// Connects to a unix socket without waiting; the path may be longer than 107 bytes.
/// errors   kNotFound: no such path; kPermission; kUnavailable: nobody listens, or too many wait
Result<Descriptor> connect_unix(const std::filesystem::path& path);

}  // namespace aliquot::kubelet
