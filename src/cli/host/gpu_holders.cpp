// SPDX-License-Identifier: Apache-2.0
#include "cli/host/gpu_holders.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "dra/held_devices.h"
#include "dra/names.h"
#include "dra/prepare.h"
#include "gpu/replica_id.h"

namespace aliquot::cli {
namespace {

/// Extended resources have a slash, drivers of claims have none.
bool is_driver(const std::string& resource) { return !resource.contains('/'); }

class Reader {
public:
    explicit Reader(const gpu::Inventory& inventory) : inventory_(inventory) {
        for (const gpu::Gpu& gpu : inventory.gpus) {
            gpu_of_[gpu.uuid.text] = gpu.uuid.text;
            for (const gpu::MigDevice& one : gpu.mig_devices)
                gpu_of_[one.uuid.text] = gpu.uuid.text;
        }
    }
    void plugin(const std::string& id) { (void)take(std::string(gpu::device_of(id))); }
    void claim(const std::string& driver, const std::string& id, const std::string& holder) {
        if (driver != dra::kDriver && !dra::may_be_gpus(driver)) return;
        if (driver == dra::kDriver && take(std::string(gpu::device_of(dra::device_id_of(id)))))
            return;
        blind(concat({"claim ", holder, " of ", driver, " holds the device '", id,
                      "', which is not one of this node's GPUs by name"}));
    }
    void blind(const std::string& problem) {
        if (made_.problem.empty()) made_.problem = problem;
    }
    GpuHolders done() {
        if (!made_.problem.empty()) {
            for (const gpu::Gpu& gpu : inventory_.gpus) made_.uuids.insert(gpu.uuid.text);
        }
        return std::move(made_);
    }

private:
    bool take(const std::string& device) {
        const auto found = gpu_of_.find(device);
        if (found == gpu_of_.end()) return false;
        made_.uuids.insert(found->second);
        return true;
    }
    const gpu::Inventory& inventory_;
    std::map<std::string, std::string> gpu_of_;  // of a GPU or MIG device
    GpuHolders made_;
};

}  // namespace

GpuHolders holders_of(const gpu::Inventory& inventory, const pods::DeviceHolds& holds,
                      const Result<std::vector<pods::ClaimHold>>& claims) {
    Reader reader(inventory);
    for (const pods::DeviceHold& one : holds.list) {
        if (is_driver(one.resource)) {
            reader.claim(one.resource, one.id, one.pod);
        } else {
            reader.plugin(one.id);
        }
    }
    if (!holds.problem.empty()) reader.blind(holds.problem);
    if (!claims) {
        reader.blind(claims.error().message);
        return reader.done();
    }
    for (const pods::ClaimHold& one : *claims) {
        for (const std::string& id : one.ids) reader.claim(one.driver, id, one.claim);
    }
    return reader.done();
}

}  // namespace aliquot::cli
