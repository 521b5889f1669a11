// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace aliquot::sim::smi {

/// What "nvidia-smi mig ..." asks for.
struct MigRequest {
    enum class Action : std::uint8_t {
        kNone,
        kListProfiles,
        kListPlacements,
        kListGpuInstances,
        kListComputeProfiles,
        kListComputeInstances,
        kCreateGpuInstances,
        kCreateComputeInstances,
        kDestroyGpuInstances,
        kDestroyComputeInstances
    };
    Action action = Action::kNone;
    std::vector<std::string> profiles;        // "19", "3g.20gb:4"
    bool fill = false;                        // -C: a compute instance in each GPU instance
    std::vector<unsigned> gpu_instances;      // -gi; empty: all
    std::vector<unsigned> compute_instances;  // -ci; empty: all
};

/// What one command line asks for.
struct Request {
    enum class Kind : std::uint8_t {
        kTable,
        kList,
        kDetails,
        kQueryGpu,
        kQueryProcesses,
        kMonitorGpus,
        kMonitorProcesses,
        kTopology,
        kSetPersistence,
        kSetComputeMode,
        kSetMigMode,
        kReset,
        kMig,
        kNvlink,
        kHelpQuery,
        kHelpProcessQuery,
        kVersion,
        kHelp
    };
    Kind kind = Kind::kTable;
    std::vector<std::string> gpus;      // -i; empty: all
    std::vector<std::string> fields;    // of a query
    std::vector<std::string> sections;  // -d of -q, upper case; empty: all
    bool xml = false;                   // -x of -q
    std::string file;                   // -f: where it is printed; empty: the standard output
    bool header = true;
    bool units = true;
    std::string groups = "puc";  // -s of dmon
    unsigned value = 0;          // of -pm, -c and -mig
    MigRequest mig;
    /// Between two rounds; 0: one round only.
    std::chrono::milliseconds interval{0};
    unsigned rounds = 0;  // 0: until ended by a signal
};

/// Reads a command line without the program's name.
/// errors   kInvalidInput: the line to print before leaving with exit code 2
Result<Request> parse_request(const std::vector<std::string>& arguments);

/// The same for what follows "mig".
Result<Request> parse_mig_request(std::span<const std::string> arguments);

/// Whether -d knows this word, in upper case; told where the sections are.
bool is_section(const std::string& word);

/// The text of -h.
std::string help_text();

}  // namespace aliquot::sim::smi
