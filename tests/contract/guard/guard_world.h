// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/node/node.h"
#include "tests/contract/guard/turns_world.h"

/// What the programs of the kit run in: a simulated node, or the machine's own driver, and a
/// container's files for the guard. Each test has one of its own.
///
/// ALIQUOT_GUARD_KIT_LIBRARY   another preload library than the built one, or "none"
/// ALIQUOT_GUARD_KIT_DRIVER    a folder with libcuda.so.1 and libnvidia-ml.so.1 instead of ours
namespace aliquot::guardkit {

namespace fs = std::filesystem;

/// A check's settings, in the words of checks.inc.
struct Settings {
    std::string memory = "4Gi";
    unsigned gpus = 1;
    std::string model = "a2";     // of the simulated GPUs
    std::string driver;           // "", "plain", "behind", "none"
    std::string region = "file";  // "none", "missing", "hami"
    std::string fail;             // "", "open", "closed", "both"
    std::string lines = "0";
    bool all_routes = false;
    bool config = false;
    bool stranger = false;
    bool twice = false;
    bool turns = false;
    bool peak = false;
    std::map<std::string, std::string> environment;
};
Settings parse_settings(const std::string& text);

struct Outcome {
    int code = 0;
    bool late = false;
    std::string out;
    std::string error;
};

class GuardWorld {
public:
    explicit GuardWorld(const Settings& settings);
    ~GuardWorld();

    /// Runs a program under the guard with the settings' environment.
    Outcome run(const std::vector<std::string>& arguments, std::chrono::seconds limit,
                const std::map<std::string, std::string>& more = {});
    /// The same without the guard.
    Outcome run_bare(const std::vector<std::string>& arguments, std::chrono::seconds limit);

    /// Without LD_PRELOAD, but with the guard in /etc/ld.so.preload of a mount namespace of its own.
    /// Empty: that is not permitted here.
    std::optional<Outcome> run_preloaded(const std::vector<std::string>& arguments,
                                         std::chrono::seconds limit);

    /// The whole environment of a program under the guard.
    [[nodiscard]] std::map<std::string, std::string> environment() const;
    [[nodiscard]] fs::path directory() const { return scratch_.path(); }
    [[nodiscard]] sim::Node& node() { return *node_; }
    /// The most that processes ever held of a GPU together, by the simulated node's own books; 0
    /// over another driver.
    [[nodiscard]] std::uint64_t peak_bytes(unsigned gpu) const;
    /// Who keeps turns, from the first call on.
    TurnsWorld& turns();
    /// A new container: its files are gone.
    void forget_region();

    /// The preload library; empty: none.
    static fs::path library();
    static bool real_driver();

private:
    Outcome run_in(const std::vector<std::string>& arguments, std::chrono::seconds limit,
                   std::map<std::string, std::string> environment,
                   const std::vector<os::Command::Bind>& binds = {});
    void make_driver_folder();
    void make_node();
    [[nodiscard]] std::string gpu_uuid() const;

    Settings settings_;
    os::TemporaryDirectory scratch_;
    std::unique_ptr<sim::Node> node_;
    std::unique_ptr<TurnsWorld> turns_;
};

}  // namespace aliquot::guardkit
