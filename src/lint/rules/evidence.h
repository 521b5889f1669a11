// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/gpu_models.h"
#include "lint/set.h"

/// What a file says about the cluster that it is for: charts that it installs, strategies, GPU
/// models, resources outside of pods. Rules of several families ask for it. Any thread.
namespace aliquot::lint {

/// A chart that a command of the file installs or upgrades.
struct ChartInstall {
    const Command* command = nullptr;  // never null
    const Word* word = nullptr;        // of the chart: "nvidia/gpu-operator"; never null
    std::string chart;                 // "gpu-operator"
    std::string alias;                 // "nvidia"; "" for a path, a URL or with --repo
    std::string source;      // the repository's URL, from --repo or `helm repo add`; "": not known
    std::string version;     // "" when none is given
    std::string name_space;  // "" when none is given
    bool local = false;      // a directory or an archive
    bool values_file = false;
    bool options = false;  // a variable behind the chart may hold more of them
    std::vector<std::pair<std::string, Word>> sets;  // "driver.enabled", the word with its value

    /// The value of a --set; empty when it is not given.
    [[nodiscard]] std::string value(std::string_view path) const;
    [[nodiscard]] bool sets_any(std::string_view prefix) const;
};
std::vector<ChartInstall> chart_installs(const File& file);

/// The charts of NVIDIA that manage GPUs for others.
bool is_gpu_chart(std::string_view chart);

/// Whether one of them installs NVIDIA's operator; `microk8s enable gpu` does too.
bool installs_operator(const File& file);

/// Every word for the MIG strategy that the file sets somewhere: configuration of the plugin, Helm
/// values, --set, ClusterPolicy, environment and arguments of the plugin.
struct MigStrategy {
    std::string word;
    Mark mark;
};
std::vector<MigStrategy> mig_strategies(const File& file);

/// GPU models that a text names: "A100 (40GB)", "RTX 3090/4090", "nvidia-tesla-v100".
std::vector<const catalog::GpuModel*> gpu_models_in(std::string_view text);
/// Those of the nearest heading above a block that names one; none: no heading does.
std::vector<const catalog::GpuModel*> gpu_models_above(const File& file, int block);

/// A mapping with `limits` or `requests` that stands in no pod: Helm values and the like.
struct ResourceBlock {
    int object = -1;              // index into File::objects
    std::string key;              // "runnerResources"
    const Value* node = nullptr;  // never null
    std::vector<ResourceValue> requests;
    std::vector<ResourceValue> limits;
    [[nodiscard]] const ResourceValue* gpu() const;
    /// Of the request, else of the limit.
    [[nodiscard]] const ResourceValue* need(std::string_view resource) const;
};
std::vector<ResourceBlock> loose_resources(const File& file);

/// Calls `visit` for every entry of every mapping below (and of) a node, outer ones first.
void walk(const Value& node, const std::function<void(const Value::Entry&)>& visit);

/// The scalar's length in File::original, quotes included; 0 when it is not found there.
std::size_t written_length(const File& file, const Value& scalar);
/// Whether only blanks stand before a mark in its line.
bool begins_line(const File& file, Mark mark);

/// What a pod asks for of one resource: the sum over its containers, or its largest init container.
double pod_amount(const PodSpec& pod, std::string_view resource);
/// The GPUs it asks for, and the first such value; {0, nullptr} for none.
struct GpuNeed {
    double amount = 0;
    const ResourceValue* value = nullptr;
    const Container* container = nullptr;
};
GpuNeed gpu_need(const PodSpec& pod);

/// The block is code or the heading speaks of GPUs; used to keep rules away from other topics.
bool about_gpus(const File& file);

/// "2", "0.5": without needless zeros.
std::string number_text(double value);

}  // namespace aliquot::lint
