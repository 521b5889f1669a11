// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "turns/keeper.h"

namespace aliquot::turns {

/// Hands each container its pages (abi::TurnsHandOver): a socket for each, so that it is known who
/// asks, and one thread that serves them. Nothing is read from a connection and none is waited for.
///
/// What a container can make the thread do is limited for each by itself: connections that have not
/// taken what they were sent (kMostUntaken), answers in a while (kMostAnswers); then its own socket
/// waits and no other. Thread-safe.
class Sockets {
public:
    static constexpr std::size_t kMostUntaken = 4;
    static constexpr unsigned kMostAnswers = 64;
    static constexpr std::chrono::milliseconds kWindow{100};

    /// keeper   must outlive this
    explicit Sockets(Keeper& keeper);
    ~Sockets();  // nobody listens any more; containers keep their pages
    Sockets(const Sockets&) = delete;
    Sockets& operator=(const Sockets&) = delete;

    /// Listens at `socket`, in place of what is there, for the processes of a container.
    /// name     of the container, for the keeper
    /// config   as Keeper::open(), at the first connection
    /// errors   kPermission, kUnavailable, kInvalidInput: as guard_region::listen_at()
    Result<Done> open(const std::string& name, const std::filesystem::path& socket,
                      const std::filesystem::path& config);
    /// Ends that, and the container's turns.
    void close(const std::string& name);

private:
    struct Door {
        Descriptor listener;
        std::filesystem::path config;
        std::vector<Descriptor> untaken;
        unsigned answers = 0;  // in this window
        bool warned = false;
    };

    void serve();
    bool is_paused();
    void answer(const std::string& name);
    bool hand_over(const std::string& name, Door& door, int connection);
    void wake() const;

    Keeper& keeper_;
    std::mutex mutex_;  // guards what follows; held over no wait
    std::map<std::string, Door> doors_;
    std::chrono::steady_clock::time_point window_;  // the answers are counted since
    bool ends_ = false;
    Descriptor wake_;     // an eventfd: the doors are others, or it is to end
    std::thread thread_;  // last: it uses all the others
};

}  // namespace aliquot::turns
