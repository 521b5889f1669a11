// SPDX-License-Identifier: Apache-2.0
#include "agent/clean_up.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <set>
#include <system_error>

#include "agent/deferred_driver.h"
#include "agent/mps_control.h"
#include "agent/paths.h"
#include "agent/settings.h"
#include "guard_region/directory.h"
#include "kubelet/pod_resources.h"
#include "node/names.h"
#include "os/clock.h"
#include "os/root.h"
#include "sharing/offer.h"

namespace aliquot::agent {
namespace {

constexpr std::chrono::milliseconds kLastHolderTimeout{3000};
constexpr std::chrono::milliseconds kMpsLimit{60'000};
constexpr std::chrono::milliseconds kPollInterval{100};

/// What was done, for people.
class Broom {
public:
    explicit Broom(const os::Root& root) : root_(root) {}

    void remove(const std::string& path) {
        std::error_code problem;
        const auto count = std::filesystem::remove_all(root_.resolve(path), problem);
        if (problem) {
            keep(path, problem.message());
        } else if (count > 0) {
            std::cout << "removed " << path << '\n';
        }
    }
    void keep(const std::string& what, const std::string& why) {
        std::cerr << "aliquot-agent: " << what << " stays: " << why << '\n';
        all_ = false;
    }
    [[nodiscard]] bool all() const { return all_; }

private:
    const os::Root& root_;
    bool all_ = true;
};

/// Whether nobody listens on a socket: another device plugin may use the same names.
bool is_dead(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string text = path.string();
    if (text.size() >= sizeof(address.sun_path)) return false;
    std::copy(text.begin(), text.end(), std::begin(address.sun_path));
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) return false;
    const bool refused =
        ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
        errno == ECONNREFUSED;
    ::close(socket);
    return refused;
}

/// Sockets that no agent listens on any more.
void sweep_sockets(const os::Root& root, const kubelet::KubeletPaths& paths, Broom& broom) {
    const auto names = root.list(paths.plugin_directory());
    if (!names) return;
    for (const std::string& name : *names) {
        if (!name.starts_with(kSocketPrefix) || !name.ends_with(".sock")) continue;
        const std::string path = paths.plugin_directory() + "/" + name;
        if (is_dead(root.resolve(path))) broom.remove(path);
    }
}

void end_mps(const os::Root& root, const Options& options, const Settings& settings, Broom& broom) {
    if (!root.exists(mps_journal_path(options.state_directory))) return;
    const bool mounted = root.exists(settings.container_driver_root);
    DeferredDriver driver(
        root, {.driver_root = mounted ? settings.container_driver_root : settings.driver_root,
               .deadline = options.driver_deadline});
    os::SystemClock clock;
    MpsControl mps(root, driver, driver, settings,
                   {.journal = mps_journal_path(options.state_directory)});
    sharing::Offer nothing;
    const os::TimePoint limit = clock.now() + kMpsLimit;
    do {
        mps.apply(nothing);
        if (mps.idle()) return;
        clock.sleep_for(kPollInterval, {});
    } while (clock.now() < limit);
    broom.keep("MPS", "its daemons have clients; run this again when these have ended");
}

/// The containers that run with a limit of ours, as "namespace/pod/container, ...". Empty: there is none.
std::string limited_containers(const os::Root& root, const Options& options) {
    const auto regions = guard_region::Directory(root, kRegions).list();
    if (regions.empty()) return {};
    kubelet::PodResources pods(root, options.kubelet.pod_resources_socket);
    const auto holders = pods.list(kLastHolderTimeout);
    if (!holders)
        return "those of " + std::to_string(regions.size()) +
               " shares with limits, as far as known";
    std::set<std::string> names;
    for (const auto& region : regions) {
        for (const auto& holder : *holders) {
            const bool holds = holder.resource == region.resource &&
                               std::ranges::includes(holder.ids, region.device_ids);
            if (holds)
                names.insert(holder.pod_namespace + "/" + holder.pod + "/" + holder.container);
        }
    }
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

int clean_up(const Options& options) {
    const os::Root root(options.root);
    Broom broom(root);
    const auto settings = settle(options, {});
    if (!settings) {
        std::cerr << "aliquot-agent: " << settings.error().message << '\n';
        return 2;
    }
    end_mps(root, options, *settings, broom);
    const auto& grant = settings->grant;
    broom.remove(options.cdi_directory + "/" + grant.cdi_vendor + "-" + grant.cdi_class + ".json");
    sweep_sockets(root, options.kubelet, broom);
    if (!options.feature_file.empty()) broom.remove(options.feature_file);
    const std::string limited = limited_containers(root, options);
    if (limited.empty()) {
        broom.remove(kRunDirectory);
        if (broom.all()) broom.remove(options.state_directory);
        return broom.all() ? 0 : 1;
    }
    const bool rest_is_gone = broom.all();
    broom.keep(std::string(kRegions) + " and " + options.state_directory,
               "containers with limits run: " + limited);
    return rest_is_gone ? node::kLeftInUse : 1;
}

}  // namespace aliquot::agent
