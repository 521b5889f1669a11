// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "cli/host/driver_choice.h"
#include "cli/host/run_device.h"
#include "guard_region/config_file.h"
#include "guard_region/ledger_file.h"
#include "guard_region/runs.h"
#include "guard_region/status.h"
#include "turns/shared_keeper.h"

/// A program of this machine with a share of a GPU, kept by the guard.
namespace aliquot::cli {

/// The GPUs of this machine and the guard's library.
struct GuardedHost {
    std::unique_ptr<nvml::Driver> driver;
    std::vector<RunDevice> devices;
    std::filesystem::path library;
    std::optional<guard_region::Runs> runs;
};

/// guard_library      empty: the one beside this program's directory
/// errors   of the driver; kNotFound and others: the guard's library cannot be used
Result<GuardedHost> open_guarded_host(const DriverChoice& choice, const std::string& guard_library,
                                      const std::filesystem::path& program_directory,
                                      const std::map<std::string, std::string>& environment);

/// Its limits, as they are given.
struct ShareRequest {
    std::string memory;    // "2Gi"; empty: no limit
    unsigned compute = 0;  // percent; 0: no limit
    unsigned weight = 0;   // 0: none
    std::string program;   // for the books
    bool fail_open = false;
    bool overcommit = false;
};

/// A place in the books, its limits and its ledger; given back by the destructor.
struct GuardedShare {
    guard_region::Reservation reservation;
    guard_region::ConfigFile config;
    guard_region::LedgerFile ledger;
    std::unique_ptr<turns::SharedKeeper> turns;  // where it takes turns
};

/// errors   of guard_region::Runs::reserve()
Result<GuardedShare> make_share(const GuardedHost& host, const RunDevice& device,
                                const ShareRequest& request);

/// Lets a program see the device alone, and start under the guard.
void add_guard(const GuardedHost& host, const RunDevice& device, const GuardedShare& share,
               std::map<std::string, std::string>& environment);

/// Looks twice a second at what shares hold, and tells their guards, until it goes.
class ShareWatch {
public:
    /// shares   of `device`; they and the host's driver outlive this, and nobody else uses the driver meanwhile
    ShareWatch(const GuardedHost& host, const RunDevice& device, std::vector<GuardedShare*> shares);

private:
    std::jthread looking_;
};

/// What the ledger of a share says of its device.
/// errors   of LedgerFile::read()
Result<guard_region::DeviceStatus> usage_of(const GuardedShare& share, const RunDevice& device);

}  // namespace aliquot::cli
