// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "guard_region/directory.h"
#include "guard_region/ledger_file.h"
#include "guard_region/processes.h"
#include "guard_region/totals.h"
#include "os/root.h"

namespace aliquot::agent {

/// The ledgers of the regions: sealed memory that this process holds, and a socket in each region's
/// directory that hands it to the processes of its container. Who asks is known by the kernel's word
/// and its control group; whoever belongs to another region gets nothing.
///
/// What a container can make this process do is limited for each by itself: connections that do not
/// take what they are sent, processes in a second and time to look at them; then its own socket waits
/// and no other. Nothing is read from a connection, and what is handed out is one open file, whoever
/// keeps copies of it.
///
/// Thread-safe. Nobody waits for recover(), which looks at processes; sockets are served on a thread.
class GuardLedgers {
public:
    /// root, proc, directory   must outlive this
    GuardLedgers(const os::Root& root, const os::Root& proc,
                 const guard_region::Directory& directory);
    ~GuardLedgers();  // sockets go; processes keep what they have
    GuardLedgers(const GuardLedgers&) = delete;
    GuardLedgers& operator=(const GuardLedgers&) = delete;

    /// Makes the ledger of a new region and listens for its container.
    /// errors   kUnavailable, kPermission: there is no memory, descriptor or socket
    Result<Done> connect(const guard_region::Record& record);

    /// Takes up the ledgers of regions that an earlier agent has made, from the processes that have
    /// them; where none has one, a new one goes on with the counters that were kept.
    void recover(const std::vector<guard_region::Record>& records);

    /// To be read.
    /// errors   kNotFound: it is not connected; kUnavailable
    [[nodiscard]] Result<guard_region::LedgerFile> open(const std::string& id) const;

    /// Containers may put locks on the open file that they were handed, which would outlive them; a
    /// process that lives has its locks on a file of its own.
    void drop_locks();

    /// Keeps the counters of a ledger, so that none goes back with an agent that ends. Writes where
    /// they have changed.
    void keep(const std::string& id, const guard_region::LedgerView& ledger);

    void remove(const std::string& id);

private:
    struct Door {
        Descriptor memory;
        Descriptor handed;  // the same, opened for others: what they do to it we never see
        Descriptor listener;
        double may_give = 0;  // to so many more processes, as of `counted`
        std::chrono::steady_clock::time_point counted;
        std::chrono::steady_clock::time_point warned;
        std::vector<guard_region::Totals> kept;
    };

    Result<Done> listen(const guard_region::Record& record, Descriptor memory,
                        std::vector<guard_region::Totals> totals);
    [[nodiscard]] Result<Descriptor> make_anew(
        const guard_region::Record& record, const std::vector<guard_region::Totals>& totals) const;
    [[nodiscard]] std::vector<guard_region::Totals> read_totals(const std::string& id) const;
    [[nodiscard]] std::string totals_path(const std::string& id) const;
    void serve();
    bool answer(const std::string& id);
    bool has_room(const std::string& id);
    bool forget_taken();
    void spend(const std::string& id, double spent);
    [[nodiscard]] bool belongs(int connection, const std::string& id);
    void wake() const;

    const os::Root& root_;
    const os::Root& proc_;
    const guard_region::Directory& directory_;
    mutable std::mutex mutex_;  // guards the doors; held over no wait for anybody
    std::map<std::string, Door> doors_;
    bool ends_ = false;
    guard_region::HostProcesses processes_;  // of the thread alone, as the next
    /// Connections that have not taken yet what they were sent, by region.
    std::map<std::string, std::vector<Descriptor>> untaken_;
    Descriptor wake_;     // an eventfd: the doors are others, or it is to end
    std::thread thread_;  // last: it uses all the others
};

}  // namespace aliquot::agent
