// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Host paths that are ours.
namespace aliquot::agent {

inline constexpr char kRunDirectory[] = "/run/aliquot";
inline constexpr char kRegions[] = "/run/aliquot/regions";
/// The counters of telemetry, for the agent that comes after us; a reboot takes them away, and the
/// driver's with them.
inline constexpr char kCounters[] = "/run/aliquot/counters.json";
/// Of our sockets in kubelet's directory: "nvidia-gpu.sock", as NVIDIA's plugin.
inline constexpr char kSocketPrefix[] = "nvidia-";

}  // namespace aliquot::agent
