// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "top/view.h"

namespace aliquot::top {

// One function for each Kind: all rows in the cluster's order, neither filtered nor sorted.

Table nodes_table(const ClusterSnapshot& cluster);
Table gpus_table(const ClusterSnapshot& cluster, const Scope& scope);
Table pods_table(const ClusterSnapshot& cluster, const History& history, const Scope& scope,
                 Remainders remainders);
Table processes_table(const ClusterSnapshot& cluster, const History& history, const Scope& scope);
/// Of each node, GPU, MIG instance, tenant and process one, each beneath what it is part of.
/// sort, reverse   order the tenants of a part
Table tree_table(const ClusterSnapshot& cluster, Sort sort, bool reverse);
/// What is held and not used, and what nobody holds, by its cost or its GPU hours.
Table waste_table(const ClusterSnapshot& cluster);
/// All that is wrong or has been: nodes that do not answer, health, Xids, memory errors, throttling.
Table errors_table(const ClusterSnapshot& cluster);

/// Goes through all tenants that the scope takes in.
struct Place {
    const telemetry::Snapshot& node;
    const telemetry::Device& device;
    const telemetry::Part& part;
};
bool in_scope(const Scope& scope, const telemetry::Snapshot& node, const telemetry::Device& device);
Subject subject_of(const telemetry::Snapshot& node, const telemetry::Device& device);
Subject subject_of(const Place& place, const telemetry::Tenant& tenant);
/// "0", "0:3" for the GPU instance 3.
std::string gpu_text(const Place& place);
/// What it means, for a person.
std::string degraded_text(pods::Degraded degraded);
/// Sorts rows by a column; rows whose cell is not known come last either way.
void sort_rows(Table& table, Sort sort, bool reverse);

Cell share_cell(const Place& place, const telemetry::Tenant& tenant);
Cell percent_cell(std::optional<std::uint64_t> ppm);
Cell memory_cell(std::optional<std::uint64_t> bytes);
Cell memory_of_cell(std::optional<std::uint64_t> used, std::optional<std::uint64_t> limit);
Cell watts_cell(std::optional<std::uint64_t> milliwatts);
/// Long idleness is marked.
Cell idle_cell(const telemetry::Tenant& tenant);
Cell age_cell(const telemetry::Tenant& tenant);
/// Since the look before; without one, over the time that the tenant was there.
Cell throttled_cell(const History& history, const std::string& key,
                    const telemetry::Tenant& tenant);

}  // namespace aliquot::top
