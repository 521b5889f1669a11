// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of machines, as the state that a provider goes on with, as the record of a gate, as a bill of
// materials: nothing crashes, and what is read keeps its promises.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gate/record.h"
#include "node_groups/fleet.h"
#include "pools/image_contract.h"

namespace {

void expect(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace gate = aliquot::gate;
    namespace node_groups = aliquot::node_groups;
    namespace pools = aliquot::pools;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (auto groups = node_groups::read_groups("f", text)) {
        for (const auto& group : *groups) {
            expect(!group.machines.empty() && group.pool.max <= group.machines.size());
            for (const auto& machine : group.machines) {
                expect(node_groups::command_for(group.power.start, machine).ok());
            }
        }
        node_groups::Fleet fleet(*std::move(groups));
        node_groups::Fleet other = fleet;
        expect(other.restore(fleet.to_json()).ok() && other.to_json() == fleet.to_json());
    }
    node_groups::Group lab;
    lab.pool.name = "lab";
    lab.pool.max = 2;
    lab.machines = {{.name = "gpu-a"}, {.name = "gpu-b"}};
    node_groups::Fleet fleet({lab});
    (void)fleet.restore(text);
    expect(fleet.target("lab") <= 2);
    if (const auto record = gate::read_record(text)) {
        const auto again = gate::read_record(gate::to_json(*record));
        expect(again && again->size() == record->size());
    }
    if (const auto packages = pools::read_bill_of_materials(text)) {
        expect(pools::check_contract("ci-cuda", *packages).ok());
    }
    return 0;
}
