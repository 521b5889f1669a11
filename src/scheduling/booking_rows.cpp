// SPDX-License-Identifier: Apache-2.0
#include "scheduling/booking_rows.h"

#include <algorithm>

namespace aliquot::scheduling {

std::vector<GpuBooking> booking_rows(const Bookings& bookings) {
    std::map<std::string, std::map<std::pair<std::string, std::string>, std::vector<std::string>>>
        pods;
    bookings.visit([&](const GpuPod& pod, const std::vector<Target>& targets) {
        for (const Target& target : targets) {
            for (const auto& [resource, gpus] : target.units) {
                for (const auto& gpu : gpus) {
                    pods[target.node][{resource, gpu.first}].push_back(
                        pod.full_name() + (pod.node.empty() ? " (planned)" : ""));
                }
            }
        }
    });
    std::vector<GpuBooking> rows;
    for (const auto& [name, node] : bookings.nodes()) {
        for (const std::size_t index : bookings.pools().of_node(name)) {
            const Pool& pool = bookings.pools().all()[index];
            for (unsigned i = 0; i < pool.gpus.size(); ++i) {
                GpuBooking row{.node = name,
                               .gpu = pool.gpus[i],
                               .resource = pool.resource,
                               .units = pool.units,
                               .free = bookings.pools().free_units(pool, i),
                               .pods = pods[name][{pool.resource, pool.gpus[i]}]};
                std::sort(row.pods.begin(), row.pods.end());
                rows.push_back(std::move(row));
            }
        }
    }
    return rows;
}

}  // namespace aliquot::scheduling
