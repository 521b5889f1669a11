// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "gpu/inventory.h"
#include "os/root.h"

namespace aliquot::mps {

/// Host directory of everything about MPS, unless flags.mpsRoot names another: the one that
/// NVIDIA's operator uses.
inline constexpr std::string_view kDefaultRoot = "/run/nvidia/mps";

/// The host directories of the control daemon of one GPU.
struct Directories {
    std::string base;  // "/run/nvidia/mps/GPU-3f2a"
    std::string pipe;  // CUDA_MPS_PIPE_DIRECTORY: clients find the daemon here
    std::string log;   // CUDA_MPS_LOG_DIRECTORY: not given to clients
    std::string shm;   // /dev/shm of the daemon, its servers and the clients of this GPU
};
Directories directories_of(std::string_view mps_root, const gpu::Uuid& gpu);

/// Where a container finds the pipe directory: "/mps/nvidia.com/gpu/pipe", as NVIDIA's plugin has
/// it, so that images that know the path work.
std::string container_pipe_directory(std::string_view resource);

/// Makes them. Everybody may enter and read 0755, also the parents as far as they are ours to make;
/// shm is for everybody to write (1777), as /dev/shm is.
/// errors   kPermission, kUnavailable; kConflict: a parent directory does not let other users
///          through, so a pod that is not root could not reach the daemon (the message names it);
///          kInvalidInput: the path is too long for a socket
Result<Done> make_directories(const os::Root& root, const Directories& directories);

/// Removes what make_directories() made of one GPU.
void remove_directories(const os::Root& root, const Directories& directories);

}  // namespace aliquot::mps
