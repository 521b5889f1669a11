// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/result.h"
#include "sim/node/state.h"

namespace aliquot::sim {

/// Makes in `directory` what a machine with the driver has, for GPUs of `state`: copies of the
/// library and of nvidia-smi in the usual places (copies, so that the tree can be mounted elsewhere
/// and survives a rebuild), plain files in place of device nodes, and what /proc and /sys tell.
///
/// library  libnvidia-ml. A libcuda.so.1 beside it comes along
/// smi      empty: the tree gets no nvidia-smi. An nvidia-cuda-mps-control beside it comes along
/// errors   kNotFound: no such library or smi; kPermission, kUnavailable. What has been made then
///          stays: the caller removes it
Result<Done> make_driver_root(const std::filesystem::path& directory, const State& state,
                              const std::filesystem::path& library,
                              const std::filesystem::path& smi);

/// Writes what the kernel module says of its version, which is another one than the library's after
/// FaultKind::kDriverMismatch.
Result<Done> describe_module(const std::filesystem::path& directory, const State& state);

/// The first name in `directory` that make_driver_root() would use and that is taken; empty: none.
std::filesystem::path first_taken_name(const std::filesystem::path& directory);

/// Removes what make_driver_root() made.
Result<Done> remove_driver_root(const std::filesystem::path& directory);

}  // namespace aliquot::sim
