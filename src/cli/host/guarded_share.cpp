// SPDX-License-Identifier: Apache-2.0
#include "cli/host/guarded_share.h"

#include <elf.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string_view>

#include "guard_region/guard_library.h"
#include "guard_region/meter.h"
#include "k8s/memory_amount.h"
#include "nvml/driver.h"
#include "os/clock.h"
#include "os/errno_error.h"
#include "os/root.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kUntilTurns{5000};
constexpr std::chrono::milliseconds kDriverDeadline{2000};
constexpr std::chrono::milliseconds kBetweenLooks{500};

/// ld.so passes over what it cannot preload, and the program would run without any limit.
bool is_shared_object(const fs::path& file) {
    std::array<char, SELFMAG> magic{};
    std::error_code problem;
    std::ifstream in(file, std::ios::binary);
    return fs::is_regular_file(file, problem) && in.read(magic.data(), magic.size()) &&
           std::string_view(magic.data(), magic.size()) == ELFMAG;
}

Result<fs::path> find_library(const std::string& given, const fs::path& program_directory) {
    fs::path library = given.empty()
                           ? program_directory.parent_path() / "lib" / guard_region::kLibraryFile
                           : fs::absolute(given);
    if (::access(library.c_str(), R_OK) != 0) {
        return os::error_from_errno(errno, library.native()).during("the guard's library");
    }
    // LD_PRELOAD is a list with these between its elements.
    if (library.native().find_first_of(" :") != std::string::npos) {
        return Error{ErrorCode::kInvalidInput,
                     library.native() + ": a blank or colon in this path cannot be preloaded"};
    }
    if (!is_shared_object(library)) {
        return Error{ErrorCode::kInvalidInput, library.native() + ": expected a shared library, " +
                                                   std::string(guard_region::kLibraryFile)};
    }
    return library;
}

Result<guard_region::Limits> limits_of(const ShareRequest& request, const RunDevice& device) {
    guard_region::Limits limits{.uuid = device.uuid,
                                .context_bytes = device.context_bytes,
                                .cap_ppm = request.compute * guard_region::kPpmPerPercent,
                                .weight = request.weight};
    if (!request.memory.empty()) {
        const auto bytes = k8s::parse_bytes(request.memory);
        if (!bytes) return bytes.error();
        limits.memory_bytes = *bytes;
    }
    return limits;
}

void prepend(std::map<std::string, std::string>& environment, const char* name,
             const std::string& value) {
    std::string& old = environment[name];
    old = old.empty() ? value : value + ":" + old;
}

}  // namespace

Result<GuardedHost> open_guarded_host(const DriverChoice& choice, const std::string& guard_library,
                                      const fs::path& program_directory,
                                      const std::map<std::string, std::string>& environment) {
    GuardedHost host;
    auto library = find_library(guard_library, program_directory);
    if (!library) return std::move(library).error();
    host.library = *std::move(library);
    nvml::DriverOptions options = driver_options_below_root(choice);
    options.deadline = kDriverDeadline;
    auto driver = nvml::Driver::open(os::Root("/"), options);
    if (!driver) return std::move(driver).error();
    host.driver = *std::move(driver);
    const auto inventory = host.driver->enumerate(gpu::Links::kLeaveOut);
    if (!inventory) return inventory.error();
    host.devices = devices_of(*inventory);
    const auto place = guard_region::Runs::usual_place(environment);
    if (!place) return place.error();
    host.runs.emplace(*place);
    return host;
}

Result<GuardedShare> make_share(const GuardedHost& host, const RunDevice& device,
                                const ShareRequest& request) {
    const auto limits = limits_of(request, device);
    if (!limits) return limits.error();
    auto reservation = host.runs->reserve({.settings = {.container = request.program,
                                                        .fail_open = request.fail_open,
                                                        .devices = {*limits}},
                                           .device_memory_bytes = device.memory_bytes,
                                           .overcommit = request.overcommit});
    if (!reservation) return std::move(reservation).error();
    auto config = guard_region::ConfigFile::open(reservation->config());
    if (!config) return std::move(config).error();
    auto ledger = guard_region::LedgerFile::open(reservation->ledger());
    if (!ledger) return std::move(ledger).error();
    std::unique_ptr<turns::SharedKeeper> turns;
    if (limits->weight != 0 || limits->cap_ppm != 0) {
        turns = std::make_unique<turns::SharedKeeper>(*host.runs);
        // Without, the program runs all the same, and joins when there is somebody.
        turns::SharedKeeper::wait_for(reservation->node(), kUntilTurns);
    }
    return GuardedShare{*std::move(reservation), *std::move(config), *std::move(ledger),
                        std::move(turns)};
}

void add_guard(const GuardedHost& host, const RunDevice& device, const GuardedShare& share,
               std::map<std::string, std::string>& environment) {
    environment["CUDA_VISIBLE_DEVICES"] = device.uuid;
    environment["ALIQUOT_GUARD_CONFIG"] = share.reservation.config();
    environment["ALIQUOT_GUARD_REGION"] = share.reservation.ledger();
    environment["ALIQUOT_GUARD_NODE"] = share.reservation.node();
    prepend(environment, "LD_PRELOAD", host.library.native());
}

ShareWatch::ShareWatch(const GuardedHost& host, const RunDevice& device,
                       std::vector<GuardedShare*> shares)
    : looking_([driver = host.driver.get(), uuid = device.uuid,
                shares = std::move(shares)](const std::stop_token& stop) {
          // From look to look: what a process holds is known from two that follow each other.
          const os::Root root("/");
          guard_region::HostProcesses processes(root);
          guard_region::Meter meter(*driver, processes);
          std::vector<guard_region::Metered> regions;
          for (GuardedShare* const share : shares) {
              regions.push_back({.id = "run " + std::to_string(regions.size()),
                                 .ledger = &share->ledger,
                                 .config = &share->config,
                                 .uuids = {uuid},
                                 .by_mount = false});
          }
          os::SystemClock clock;
          while (clock.sleep_for(kBetweenLooks, stop)) (void)meter.look(regions);
      }) {}

Result<guard_region::DeviceStatus> usage_of(const GuardedShare& share, const RunDevice& device) {
    auto ledger = share.ledger.read();
    if (!ledger) return std::move(ledger).error();
    guard_region::Reading reading;
    reading.ledger = *std::move(ledger);
    auto status =
        guard_region::make_status({.uuids = {device.uuid}}, share.config.settings(), reading);
    return std::move(status.devices.front());
}

}  // namespace aliquot::cli
