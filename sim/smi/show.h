// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sim/smi/gpu.h"
#include "sim/smi/request.h"

/// What each kind of request prints. All of them are asked for one round.
namespace aliquot::sim::smi {

/// What one round prints, and the exit code it means for the program.
struct Output {
    std::string text;
    int code = 0;
};

/// The node as a request sees it.
struct View {
    const DriverLibrary& library;
    std::string directory;  // of the simulated node; empty: not one
    std::string driver_version;
    int cuda_version = 0;
    std::size_t attached = 0;  // GPUs of the node
    std::vector<Gpu> gpus;     // those of -i
};

std::string show_table(const View& view);
std::string show_list(const View& view);
std::string show_details(const View& view, const Request& request);
/// -q -x: the same as XML, as programs read it.
std::string show_xml(const View& view);
/// "nvidia-smi nvlink -s": the speed of each link.
std::string show_nvlink(const View& view);
std::string show_version(const View& view);
/// Exit code 2 with the offending field's line when one is not known.
Output show_query(const View& view, const Request& request, bool first_round);
Output show_process_query(const View& view, const Request& request, bool first_round);
std::string show_gpu_monitor(const View& view, const Request& request, bool first_round);
std::string show_process_monitor(const View& view, bool first_round);
std::string show_topology(const View& view);
Output set_persistence(const View& view, const Request& request);
Output set_compute_mode(const View& view, const Request& request);
Output reset(const View& view, const Request& request);
Output set_mig_mode(const View& view, const Request& request);
/// "nvidia-smi mig ...".
Output show_mig(const View& view, const Request& request);
Output change_mig(const View& view, const Request& request);

/// "Unable to determine the device handle for GPU1: GPU is lost": one line for each GPU without a
/// handle; `code` is the first one's.
Output name_missing(const View& view);

}  // namespace aliquot::sim::smi
