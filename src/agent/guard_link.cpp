// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_link.h"

#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "guard_region/guard_library.h"
#include "guard_region/node_page.h"
#include "k8s/memory_amount.h"

namespace aliquot::agent {
namespace {

constexpr char kPreload[] = "/etc/ld.so.preload";
constexpr std::size_t kMostEvents = 64;

std::int64_t unix_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::vector<std::string> sorted(std::span<const std::string> ids) {
    std::vector<std::string> result(ids.begin(), ids.end());
    std::ranges::sort(result);
    return result;
}

os::Root root_with_proc(const os::Root& root) {
    return root.exists("/proc/self/stat") ? root : os::Root("/");
}

}  // namespace

std::span<const int> guard_capabilities(bool kernel_limit) {
    static constexpr std::array kNeeded{CAP_SYS_PTRACE, CAP_KILL, CAP_SYS_ADMIN};
    return std::span(kNeeded).first(kernel_limit ? 3 : 2);
}

bool needs_guard(const sharing::Sharing& sharing) {
    return sharing.mechanism == grant::Mechanism::kTimeSlicing &&
           std::ranges::any_of(sharing.resources,
                               [](const sharing::SharedResource& one) { return one.limits.any(); });
}

std::filesystem::path guard_library(const std::string& given) {
    if (!given.empty()) return given;
    std::error_code problem;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", problem);
    return program.parent_path().parent_path() / "lib" / guard_region::kLibraryFile;
}

std::vector<guard_region::Limits> limits_for(const sharing::Resource& resource,
                                             std::span<const std::string> ids) {
    std::vector<guard_region::Limits> limits;
    for (const sharing::OfferedGpu& offered : resource.gpus) {
        if (offered.by_mps() || offered.frozen) continue;
        const auto held = std::ranges::count_if(ids, [&](const std::string& id) {
            return sharing::replica_of(offered, id).has_value();
        });
        if (held == 0) continue;
        const grant::Grant::Share share = sharing::share_of(offered, static_cast<unsigned>(held));
        limits.push_back(guard_region::limits_of(share.gpu_uuid, share.limits));
    }
    return limits;
}

GuardLink::GuardLink(const os::Root& root, os::Clock& clock, Sources sources, Options options)
    : root_(root),
      proc_(root_with_proc(root)),
      clock_(clock),
      sources_(std::move(sources)),
      options_(std::move(options)),
      directory_(root, options_.regions),
      processes_(proc_),
      meter_(sources_.sensors, processes_),
      watchdog_(guard_region::WatchdogPolicy::kReport, {}) {
    recall();
    directory_.sweep();
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

GuardLink::~GuardLink() = default;

void GuardLink::apply(const sharing::GuardConfig& config, const sharing::Offer& offer) {
    const std::scoped_lock lock(mutex_);
    wish_ = {.config = config, .offer = offer};
    wish_is_new_ = true;
}

/// Installs the guard on first use, and again when it has gone. Under the lock.
Result<std::string> GuardLink::library_version() {
    const std::string file =
        options_.library_base + "/" + version_ + "/" + guard_region::kLibraryFile;
    if (!version_.empty() && root_.exists(file)) return version_;
    auto version = guard_region::install_guard(root_, options_.library_base, options_.library);
    if (!version) return std::move(version).error().during("the guard");
    version_ = *version;
    log::info("guard.installed", {{"version", version_}});
    return version;
}

/// Under the lock.
Result<Done> GuardLink::make_region(const std::string& resource, std::span<const std::string> ids,
                                    grant::Grant& grant) {
    const auto version = library_version();
    if (!version) return version.error();
    guard_region::Settings settings{.fail_open = wish_.config.fail_open};
    guard_region::Record record{.resource = resource,
                                .device_ids = sorted(ids),
                                .library = *version,
                                .created_s = unix_seconds()};
    for (const grant::Grant::Share& share : grant.shares) {
        guard_region::Limits limits = guard_region::limits_of(share.gpu_uuid, share.limits);
        limits.context_bytes = context_bytes(share.gpu_uuid);
        settings.devices.push_back(limits);
        record.uuids.push_back(share.gpu_uuid);
    }
    if (!socket_) listen();
    auto made = directory_.create(std::move(record), settings);
    if (!made) return std::move(made).error();
    if (socket_) {
        const auto linked = socket_->link(directory_.file(made->id, abi::kNodeFile));
        if (!linked) log::warning("guard.no_node_page", {{"why", linked.error().message}});
    }
    const std::string guard = directory_.guard_path(made->id);
    const std::string library = options_.library_base + "/" + *version;
    grant.mounts.push_back({.container_path = abi::kGuardDirectory, .host_path = guard});
    grant.mounts.push_back(
        {.container_path = std::string(abi::kGuardDirectory) + "/" + abi::kLedgerFile,
         .host_path = guard + "/" + abi::kLedgerFile,
         .read_only = false});
    grant.mounts.push_back(
        {.container_path = guard_region::kLibraryDirectory, .host_path = library});
    grant.mounts.push_back(
        {.container_path = kPreload, .host_path = library + "/" + guard_region::kPreloadFile});
    return Done{};
}

Result<Done> GuardLink::complete(const std::string& resource, std::span<const std::string> ids,
                                 grant::Grant& grant) {
    if (std::ranges::none_of(grant.shares, &grant::Grant::Share::guarded)) return Done{};
    const std::scoped_lock lock(mutex_);
    const auto made = make_region(resource, ids, grant);
    problem_ = made ? "" : made.error().message;
    if (made) return Done{};
    const bool open = wish_.config.fail_open;
    const std::string message =
        made.error().message +
        (open ? "; the container runs without limits (sharing.guard.fail: open)"
              : "; limits cannot be kept, so the container is refused (sharing.guard.fail: open "
                "would run it without)");
    note({.kind = open ? GuardEvent::Kind::kOpen : GuardEvent::Kind::kRefused,
          .container = resource,
          .message = message});
    if (open) return Done{};
    return Error{ErrorCode::kUnavailable, message};
}

/// Under the lock, or before there is anybody else.
void GuardLink::note(GuardEvent event) {
    event.at = std::chrono::system_clock::now();
    log::warning("guard." + std::string(to_text(event.kind)),
                 {{"container", event.container}, {"message", event.message}});
    events_.push_back(std::move(event));
    if (events_.size() > kMostEvents) events_.pop_front();
}

/// Makes the node page and its socket. Containers that an earlier agent has started bring theirs.
/// Under the lock. A failure leaves weights without effect, which their guards remark.
void GuardLink::listen() {
    const std::string file = options_.regions + "/node.sock";
    if (const auto made = root_.make_directories(options_.regions, 0700); !made) return;
    std::vector<pid_t> tenants;
    if (!directory_.list().empty()) {
        for (const auto& one : guard_region::HostProcesses(proc_).tenants())
            tenants.push_back(one.pid);
    }
    auto page = guard_region::find_node_memory(proc_, tenants);
    if (!page) page = guard_region::make_node_memory();
    if (!page) {
        log::warning("guard.no_node_page", {{"why", page.error().message}});
        return;
    }
    auto socket = guard_region::NodeSocket::listen(root_.resolve(file), *std::move(page));
    if (!socket) {
        log::warning("guard.no_node_page", {{"why", socket.error().message}});
        return;
    }
    socket_ = *std::move(socket);
    for (const guard_region::Record& record : directory_.list()) {
        (void)socket_->link(directory_.file(record.id, abi::kNodeFile));
    }
}

}  // namespace aliquot::agent
