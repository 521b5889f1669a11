// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

/// Names on Node objects that the agent, the commands and other people's tools share.
namespace aliquot::node {

// NVIDIA's: what a person asks of a node.
inline constexpr char kConfigLabel[] = "nvidia.com/device-plugin.config";
inline constexpr char kMigConfigLabel[] = "nvidia.com/mig.config";
inline constexpr char kMigStateLabel[] = "nvidia.com/mig.config.state";

// Ours: what a person asks of a node.
/// How it hands out its GPUs, where `aliquot-agent --dra` is not off; one of kDraModes.
inline constexpr char kDraLabel[] = "aliquot.dev/dra";
inline constexpr std::array<std::string_view, 6> kDraModes{"off",   "auto",       "whole",
                                                           "fixed", "consumable", "dynamic-mig"};

// Ours: annotations that the agent writes.
inline constexpr char kOwnedLabels[] = "aliquot.dev/owned-labels";  // keys, comma-separated
inline constexpr char kOwnedTaints[] = "aliquot.dev/owned-taints";  // KEY:EFFECT, comma-separated
inline constexpr char kConfigStateLabel[] = "aliquot.dev/config.state";  // node/config_choice.h
inline constexpr char kAgent[] = "aliquot.dev/agent";                    // its version
inline constexpr char kConfig[] = "aliquot.dev/config";  // JSON, node/config_choice.h
inline constexpr char kGpus[] = "aliquot.dev/gpus";      // JSON, node/offer_text.h
inline constexpr char kShares[] = "aliquot.dev/shares";  // JSON, node/offer_text.h
/// Who holds which GPU, where pods are placed; JSON, scheduling/served_node.h.
inline constexpr char kGranted[] = "aliquot.dev/granted";
inline constexpr char kMigProblem[] = "aliquot.dev/mig.config.problem";

// Conditions; True is good.
inline constexpr char kGpuHealthy[] = "GpuHealthy";
inline constexpr char kGpuConfigServed[] = "GpuConfigServed";
/// The reason of kGpuConfigServed while pods hold GPUs that are to be served in another way.
inline constexpr char kConfigPending[] = "ConfigPending";
/// While pods that want limits are refused.
inline constexpr char kLimitsNotKept[] = "LimitsNotKept";
inline constexpr char kMigConfigServed[] = "MigConfigServed";
/// Whether containers can get GPUs in the way that they are handed out here (agent/toolkit.h).
inline constexpr char kGpuToolkitReady[] = "GpuToolkitReady";

inline constexpr char kUnhealthyTaint[] = "aliquot.dev/gpu-unhealthy";

/// Every annotation and condition of ours: what an uninstall takes away.
inline constexpr const char* kAnnotations[] = {kAgent,      kConfig,      kGpus,        kGranted,
                                               kMigProblem, kOwnedLabels, kOwnedTaints, kShares};
inline constexpr const char* kConditions[] = {kGpuHealthy, kGpuConfigServed, kMigConfigServed,
                                              kGpuToolkitReady};

/// Exit code of `aliquot-agent --clean-up`: all is gone but what containers use that still run.
inline constexpr int kLeftInUse = 4;

}  // namespace aliquot::node
