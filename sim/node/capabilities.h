// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sim/node/state.h"

/// The driver's capability devices: one for each MIG instance that exists, so that a container can
/// be given one and not the others.
namespace aliquot::sim {

/// Minor number of a GPU instance's device, or of a compute instance's (kNoInstance: the former).
/// source   the static table of /proc/driver/nvidia-caps/mig-minors
unsigned capability_minor(unsigned gpu, unsigned gpu_instance, unsigned compute_instance);

/// The content of "/proc/driver/nvidia-caps/mig-minors": every instance that could ever be.
std::string mig_minors(const State& state);

/// Makes and removes files in `directory`/dev/nvidia-caps until there is one for each instance that
/// exists, and "config" and "monitor". Under the node's lock. What cannot be written (a read-only
/// view of the node) stays as it is: the next one who may puts it right.
void update_capability_files(const std::filesystem::path& directory, const State& state);

/// What `list` (ALIQUOT_SIM_VISIBLE_DEVICES) means here: itself, or for the word "devices" what has its
/// files in `directory`, which is what a driver goes by in a container: a GPU by nvidia<minor>, of a
/// GPU in MIG mode besides the devices whose capability files are there. Indices, with commas.
std::string listed_devices(const State& state, std::string_view list,
                           const std::filesystem::path& directory = "/dev");

}  // namespace aliquot::sim
