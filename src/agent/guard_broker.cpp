// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_broker.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "abi/region.h"
#include "base/log.h"
#include "guard_region/node_page.h"
#include "guard_region/processes.h"

namespace aliquot::agent {
namespace {

void warn(const Error& error) { log::warning("guard.no_node_page", {{"why", error.message}}); }

}  // namespace

GuardBroker::GuardBroker(const os::Root& root, const os::Root& proc,
                         const guard_region::Directory& directory, bool recovered)
    : root_(root), proc_(proc), directory_(directory), recovered_(recovered) {}

void GuardBroker::recover(const std::vector<std::string>& ids) {
    std::vector<pid_t> tenants;
    for (const auto& one : guard_region::HostProcesses(proc_).tenants()) tenants.push_back(one.pid);
    auto page = guard_region::find_node_memory(proc_, tenants);
    const std::scoped_lock lock(mutex_);
    recovered_ = true;
    if (page) page_ = *std::move(page);
    listen();
    for (const std::string& id : ids) link(id);
    for (const std::string& id : std::exchange(waiting_, {})) link(id);
}

void GuardBroker::connect(const std::string& id) {
    const std::scoped_lock lock(mutex_);
    if (!recovered_) {
        waiting_.push_back(id);
        return;
    }
    if (!socket_) listen();
    link(id);
}

/// Under the lock.
void GuardBroker::listen() {
    const std::string& base = directory_.base();
    constexpr std::uint32_t kRootOnly = 0700;
    if (const auto made = root_.make_directories(base, kRootOnly); !made) return warn(made.error());
    if (!page_) {
        auto page = guard_region::make_node_memory();
        if (!page) return warn(page.error());
        page_ = *std::move(page);
    }
    // The socket's own, so that the page outlives a socket that cannot be made.
    Descriptor page(::fcntl(page_.get(), F_DUPFD_CLOEXEC, 0));
    if (!page) return warn(os::error_from_errno(errno, "node page"));
    auto socket =
        guard_region::NodeSocket::listen(root_.resolve(base + "/node.sock"), std::move(page));
    if (socket) {
        socket_ = *std::move(socket);
    } else {
        warn(socket.error());
    }
}

/// Under the lock.
void GuardBroker::link(const std::string& id) {
    if (!socket_) return;
    const auto linked = socket_->link(directory_.file(id, abi::kNodeFile));
    if (!linked) warn(linked.error());
}

}  // namespace aliquot::agent
