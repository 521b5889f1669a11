// SPDX-License-Identifier: Apache-2.0
#include "placement/fragmentation.h"

#include <array>
#include <bit>

namespace aliquot::placement {

std::vector<TypicalShape> typical_shapes(const NodeTable& node_table,
                                         std::span<const TaskType> types) {
    std::vector<TypicalShape> shapes;
    for (const TaskType& type : types)
        shapes.push_back({node_table.shape_of(type.request), type.popularity});
    return shapes;
}

double free_on(const Node& node, unsigned device) {
    if (!node.is_mig(device)) return node.milli[device];
    return kWholeGpu / 8.0 * (8 - std::popcount(static_cast<std::uint8_t>(node.milli[device])));
}

double fragmented(const Node& node, std::span<const TypicalShape> types) {
    // By cause, as published: lacks both, lacks GPU, (satisfied), lacks CPU, no GPU asked and CPU
    // there, not there, other model.
    std::array<double, 7> cause{};
    double total = 0;
    for (unsigned i = 0; i < node.devices; ++i) total += free_on(node, i);
    // A device with 1000 milli free and memory taken is not whole: then every device is asked.
    const bool plain = node.mig_devices == 0 && node.memory_used == 0;
    for (const TypicalShape& type : types) {
        const Shape& shape = type.shape;
        const bool cpu = node.cpu >= shape.cpu;
        if (shape.gpus == 0) {
            cause[cpu ? 4 : 5] += type.popularity * total;
            continue;
        }
        if (node.devices == 0 || ((shape.models >> node.model) & 1U) == 0) {
            cause[6] += type.popularity * total;
            continue;
        }
        unsigned fitting = 0;
        double small = 0;
        if (plain && shape.mib == 0 && !shape.mig) {
            std::int32_t sum = 0;  // whole milli: the order of adding plays no part
            for (unsigned i = 0; i < node.devices; ++i) {
                const bool fits = node.milli[i] >= shape.milli;
                fitting += fits ? 1U : 0U;
                sum += fits ? 0 : node.milli[i];
            }
            small = sum;
        } else {
            for (unsigned i = 0; i < node.devices; ++i) {
                if (NodeTable::device_fits(node, i, shape))
                    ++fitting;
                else
                    small += free_on(node, i);
            }
        }
        if (fitting < shape.gpus)
            cause[cpu ? 1 : 0] += type.popularity * total;
        else if (!cpu)
            cause[3] += type.popularity * total;
        else
            cause[1] += type.popularity * small;
    }
    double sum = 0;
    for (const double part : cause) sum += part;
    return sum;
}

double fragmented(const NodeTable& node_table, std::span<const TaskType> types) {
    const std::vector<TypicalShape> shapes = typical_shapes(node_table, types);
    double sum = 0;
    for (NodeId id = 0; id < node_table.size(); ++id)
        sum += fragmented(node_table.node(id), shapes);
    return sum;
}

}  // namespace aliquot::placement
