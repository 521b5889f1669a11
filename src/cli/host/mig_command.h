// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/columns.h"
#include "base/result.h"
#include "cli/command.h"
#include "cli/host/driver_choice.h"
#include "document/value.h"
#include "gpu/hardware.h"
#include "gpu/partitioning.h"
#include "mig/apply.h"
#include "mig/config.h"
#include "mig/plan.h"
#include "os/root.h"

/// The parts of `aliquot mig`.
namespace aliquot::cli {

struct MigOptions {
    std::string file;               // of configurations
    std::string select;             // one of them
    std::string want;               // a spec, "none" or "off"
    std::string now;                // instances that are there, offline
    std::string model;              // offline
    std::vector<std::string> gpus;  // indices or uuids
    DriverChoice driver;
    std::string state;
    std::string pod_resources;
    std::string label = "current";
    std::string format = "table";
    std::string svg;  // plan: a file for a picture
    unsigned limit_s = 120;
    unsigned wait_s = 30;
    bool all = false;
    bool dry_run = false;
    bool leave_busy = false;
    bool no_reset = false;
    bool restore = false;
};

/// A node's GPUs, through their driver.
struct MigNode {
    std::unique_ptr<os::Root> root;
    std::unique_ptr<gpu::Sensors> owner;
    gpu::Partitioner* partitioner = nullptr;
    gpu::Inventory inventory;
    std::set<std::string> held;  // uuids that pods hold
    std::string remark;          // why `held` is not known; empty: it is, or there is no kubelet
};
Result<MigNode> open_mig_node(const MigOptions& words);

/// What the words spec for: of every GPU that a configuration names, or of those that the words
/// name. Says why not and sets the exit code otherwise.
std::optional<std::vector<mig::GpuSpec>> specs_of(Context& context, const MigOptions& words,
                                                  const MigNode& node);

/// The spec of --want, or of the one configuration that fits board 0 of a model.
std::optional<mig::LayoutSpec> offline_spec(Context& context, const MigOptions& words,
                                            const catalog::GpuModel& model);

void mig_profiles(Context& context, const MigOptions& words);
void mig_plan(Context& context, const MigOptions& words);
void mig_list(Context& context, const MigOptions& words);
void mig_apply(Context& context, const MigOptions& words);
void mig_assert(Context& context, const MigOptions& words);
void mig_export(Context& context, const MigOptions& words);

/// {"profile","start","size"}; "compute" where it is split, "busy" where it is.
document::Value to_node(const mig::Instance& instance);
document::Value to_node(const std::vector<mig::Instance>& instances);
document::Value to_node(const std::vector<mig::Step>& steps);
document::Value to_node(const mig::Refusal& refusal);

/// "1g.5gb*2 or 2g.10gb" would fit beside these; "nothing".
std::string what_fits(const mig::Geometry& geometry, const std::vector<mig::Instance>& layout);

void print_steps(std::ostream& out, const std::vector<mig::Step>& steps);
void print_refusal(std::ostream& out, const mig::Refusal& refusal);

/// "2g.10gb@0 3g.20gb@4 (busy)".
std::string layout_text(const std::vector<mig::Instance>& layout);

}  // namespace aliquot::cli
