// SPDX-License-Identifier: Apache-2.0
#include "agent/clean_up.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "agent/late_driver.h"
#include "agent/mps_link.h"
#include "agent/paths.h"
#include "agent/settings.h"
#include "kubelet/pod_resources.h"
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
    LateDriver driver(
        root, {.driver_root = mounted ? settings.container_driver_root : settings.driver_root,
               .deadline = options.driver_deadline});
    os::SystemClock clock;
    MpsLink mps(root, driver, driver, settings,
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

/// Whether a container runs that has a limit of ours mounted.
bool has_guarded(const os::Root& root, const Options& options) {
    const auto regions = root.list(kRegions);
    if (!regions || regions->empty()) return false;
    kubelet::PodResources pods(root, options.kubelet.pod_resources_socket);
    const auto holders = pods.list(kLastHolderTimeout);
    return !holders || !holders->empty();
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
    if (has_guarded(root, options)) {
        broom.keep(std::string(kRegions) + " and " + options.state_directory,
                   "containers with limits run; remove them when these have ended");
    } else {
        broom.remove(kRunDirectory);
        if (broom.all()) broom.remove(options.state_directory);
    }
    return broom.all() ? 0 : 1;
}

}  // namespace aliquot::agent
