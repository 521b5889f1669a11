// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "guard_region/directory.h"
#include "guard_region/node_socket.h"
#include "os/root.h"

namespace aliquot::agent {

/// The sockets by which regions get what is no file of the host: the page on which they take turns.
/// A failure leaves weights without effect, which guards remark and the log says.
///
/// Thread-safe; nobody waits for recover().
class GuardBroker {
public:
    /// root        of the host; must outlive this, as proc and directory
    /// proc        for /proc
    /// recovered   there are no regions, so there is nothing to recover
    GuardBroker(const os::Root& root, const os::Root& proc,
                const guard_region::Directory& directory, bool recovered);

    /// Takes up what an earlier agent has handed out, from the processes that hold it, and connects
    /// `ids`. Reads much of /proc.
    void recover(const std::vector<std::string>& ids);

    /// Puts the socket into a region; while recover() is at work, it does that when it ends.
    void connect(const std::string& id);

private:
    void listen();
    void link(const std::string& id);

    const os::Root& root_;
    const os::Root& proc_;
    const guard_region::Directory& directory_;
    std::mutex mutex_;  // guards what follows
    bool recovered_;
    std::vector<std::string> waiting_;  // for recover() to end
    Descriptor page_;
    std::unique_ptr<guard_region::NodeSocket> socket_;
};

}  // namespace aliquot::agent
