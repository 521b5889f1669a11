// SPDX-License-Identifier: Apache-2.0
#include "catalog/gpu_instances.h"

#include <algorithm>
#include <vector>

#include "base/nearest_word.h"
#include "catalog/embedded.h"
#include "catalog/table.h"

namespace aliquot::catalog {
namespace {

GpuInstance instance_of(const std::vector<std::string_view>& row) {
    GpuInstance instance;
    instance.cloud = row[0];
    instance.type = row[1];
    instance.gpu = row[2];
    instance.gpu_count = count_of(row[3]);
    instance.gpu_memory_mib = count_of(row[4]);
    instance.model =
        find_gpu_model(instance.gpu, instance.gpu_count == 0 ? 0 : instance.gpu_memory_mib);
    instance.vcpu = count_of(row[5]);
    instance.memory_gib = number_of(row[6]);
    instance.allocatable_cpu_milli = count_of(row[7]);   // "3920m"
    instance.allocatable_memory_mib = count_of(row[8]);  // "14481Mi"
    instance.usd_per_hour = number_of(row[9]);
    instance.region = row[11];
    instance.price_date = row[12];
    instance.spot_usd_per_hour = number_of(row[13]);
    return instance;
}

const std::vector<GpuInstance>& all_instances() {
    static const std::vector<GpuInstance> kInstances = [] {
        std::vector<GpuInstance> made;
        const auto table = read_table(kGpuInstanceTable);
        if (!table) return made;
        for (const auto& row : table->rows) {
            GpuInstance instance = instance_of(row);
            if (instance.model != nullptr) made.push_back(instance);
        }
        return made;
    }();
    return kInstances;
}

}  // namespace

std::span<const GpuInstance> gpu_instances() { return all_instances(); }

const GpuInstance* find_gpu_instance(std::string_view type) {
    const auto& known = all_instances();
    const auto found = std::ranges::find_if(
        known, [type](const GpuInstance& one) { return same_letters(one.type, type); });
    return found == known.end() ? nullptr : &*found;
}

std::string_view nearest_gpu_instance(std::string_view type) {
    std::vector<std::string_view> types;
    for (const GpuInstance& one : all_instances()) types.push_back(one.type);
    return nearest_word(type, types);
}

}  // namespace aliquot::catalog
