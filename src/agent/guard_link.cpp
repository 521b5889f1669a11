// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_link.h"

#include <linux/capability.h>

#include <algorithm>
#include <array>
#include <utility>

#include "abi/region.h"
#include "guard_region/guard_library.h"

namespace aliquot::agent {
namespace {

constexpr char kPreload[] = "/etc/ld.so.preload";

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

GuardLink::GuardLink(const os::Root& root, os::Clock& clock, Sources sources, Options options)
    : proc_(root_with_proc(root)),
      regions_(root, {.library = std::move(options.library),
                      .library_base = options.library_base,
                      .regions = std::move(options.regions)}),
      ledgers_(root, proc_, regions_.directory()),
      turns_(regions_.directory()),
      contexts_(root, options.library_base + "/contexts", sources.observations),
      measuring_({.proc = proc_,
                  .clock = clock,
                  .regions = regions_,
                  .ledgers = ledgers_,
                  .turns = turns_,
                  .events = events_,
                  .contexts = contexts_},
                 std::move(sources.measuring), options.measuring) {}

GuardLink::~GuardLink() = default;

void GuardLink::apply(const sharing::GuardConfig& config, const sharing::Offer& offer) {
    fail_open_ = config.fail_open;
    measuring_.apply(config, offer);
}

Result<Done> GuardLink::make_region(const std::string& resource, std::span<const std::string> ids,
                                    grant::Grant& grant) {
    guard_region::Settings settings{.fail_open = fail_open_};
    guard_region::Record record{.resource = resource, .device_ids = sorted(ids)};
    for (const grant::Grant::Share& share : grant.shares) {
        guard_region::Limits limits = guard_region::limits_of(share.gpu_uuid, share.limits);
        limits.context_bytes = contexts_.bytes(share.gpu_uuid);
        settings.devices.push_back(limits);
        record.uuids.push_back(share.gpu_uuid);
    }
    const auto made = regions_.make(std::move(record), settings);
    if (!made) return made.error();
    if (const auto connected = ledgers_.connect(*made); !connected) {
        (void)regions_.remove(made->id);
        return connected.error();
    }
    turns_.connect(made->id);
    const std::string guard = regions_.directory().guard_path(made->id);
    const std::string library = regions_.library(made->library);
    grant.mounts.push_back({.container_path = abi::kGuardDirectory, .host_path = guard});
    grant.mounts.push_back(
        {.container_path = guard_region::kLibraryDirectory, .host_path = library});
    grant.mounts.push_back(
        {.container_path = kPreload, .host_path = library + "/" + guard_region::kPreloadFile});
    return Done{};
}

Result<Done> GuardLink::complete(const std::string& resource, std::span<const std::string> ids,
                                 grant::Grant& grant) {
    if (std::ranges::none_of(grant.shares, &grant::Grant::Share::guarded)) return Done{};
    const auto made = make_region(resource, ids, grant);
    if (made) return Done{};
    const bool open = fail_open_;
    const std::string message =
        made.error().message +
        (open ? "; the container runs without limits (sharing.guard.fail: open)"
              : "; limits cannot be kept, so the container is refused (sharing.guard.fail: open "
                "would run it without)");
    events_.note({.kind = open ? GuardEvent::Kind::kOpen : GuardEvent::Kind::kRefused,
                  .container = resource,
                  .message = message});
    if (open) return Done{};
    return Error{ErrorCode::kUnavailable, message};
}

Result<Done> GuardLink::release(const std::string& resource, const std::string& prefix) {
    for (const guard_region::Record& record : regions_.list()) {
        if (record.resource != resource || record.device_ids.empty() ||
            !record.device_ids.front().starts_with(prefix)) {
            continue;
        }
        if (auto removed = regions_.remove(record.id); !removed) return removed;
    }
    return Done{};
}

}  // namespace aliquot::agent
