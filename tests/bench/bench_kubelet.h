// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace aliquot::bench {

/// A device plugin to measure: how to start it.
struct Plugin {
    std::string name;
    std::vector<std::string> argv;  // "{socket}" and "{directory}" stand for kubelet.sock's place
    std::map<std::string, std::string> environment;  // beside the bench's own; same words
};

/// What to do with it.
struct Load {
    std::string resource;          // empty: the first that registers
    std::string directory;         // of kubelet.sock; empty: a temporary one
    std::string plugin_directory;  // of the plugin's socket; empty: the same
    std::string output_path;       // of the plugin; empty: /dev/null
    unsigned allocations = 5000;
    unsigned preferences = 250;  // of each size
    std::vector<unsigned> sizes{1, 2, 4, 8};
    unsigned replicas_per_allocation = 1;
    std::chrono::milliseconds timeout{10'000};  // for each single step
};

/// One round with one plugin. Times in microseconds, memory in KiB.
struct Round {
    double exec_to_register = 0;
    double first_list = 0;  // ListAndWatch call to first message
    std::size_t devices = 0;
    std::vector<double> allocate;                        // sorted
    std::map<unsigned, std::vector<double>> preference;  // by size, sorted
    std::size_t resident_start = 0;
    std::size_t resident_load = 0;
    std::size_t threads = 0;
    std::size_t binary_bytes = 0;
};

/// Starts the plugin under a kubelet that only registers, listens, asks and allocates; ends it.
/// errors   kUnavailable: it did not register, list or answer in time; kNotFound: no such program
Result<Round> measure(const Plugin& plugin, const Load& load);

}  // namespace aliquot::bench
