// SPDX-License-Identifier: Apache-2.0
#include "agent/context_book.h"

#include <utility>

#include "base/log.h"
#include "catalog/gpu_models.h"
#include "guard_region/uuid.h"

namespace aliquot::agent {
namespace {

unsigned multiprocessors_of(const gpu::Gpu& gpu) {
    constexpr unsigned kMibShift = 20;
    const catalog::GpuModel* const model =
        catalog::find_gpu_model(gpu.model, static_cast<unsigned>(gpu.memory_bytes >> kMibShift));
    if (model == nullptr) return 0;
    return guard_region::multiprocessors_of(model->cuda_cores, gpu.compute_major,
                                            gpu.compute_minor);
}

/// The GPU with this name, or from which the MIG device with this name is cut.
const gpu::Gpu* gpu_of(const gpu::Inventory& inventory, const std::string& uuid) {
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (gpu.uuid.text == uuid) return &gpu;
        for (const gpu::MigDevice& mig : gpu.mig_devices) {
            if (mig.uuid.text == uuid) return &gpu;
        }
    }
    return nullptr;
}

}  // namespace

ContextBook::ContextBook(const os::Root& root, std::string file,
                         const Latest<Observation>& observations)
    : root_(root), file_(std::move(file)), observations_(observations) {
    const auto learned = root_.read(file_);
    if (learned) estimates_.read(*learned);
}

std::uint64_t ContextBook::bytes(const std::string& uuid) const {
    const auto seen = observations_.get().value;
    const gpu::Gpu* const gpu = seen ? gpu_of(seen->inventory, uuid) : nullptr;
    if (gpu == nullptr) return guard_region::first_estimate(0);
    const std::scoped_lock lock(mutex_);
    return estimates_.estimate(
        {.model = gpu->model, .driver_version = seen->inventory.driver_version},
        multiprocessors_of(*gpu));
}

void ContextBook::learn(const guard_region::Record& record, const guard_region::Reading& reading,
                        os::TimePoint now) {
    if (!reading.ledger || reading.truths.empty()) return;
    const auto seen = observations_.get().value;
    if (!seen) return;
    std::string text;
    for (const guard_region::SlotTruth& truth : reading.truths) {
        const guard_region::SlotView* const slot = reading.ledger->find(truth.slot, truth.owner);
        for (std::size_t i = 0; slot != nullptr && i < record.uuids.size(); ++i) {
            const auto& bytes = truth.overhead_bytes[i];
            const gpu::Gpu* const gpu = gpu_of(seen->inventory, record.uuids[i]);
            if (!bytes || *bytes == abi::kNotMeasured || gpu == nullptr) continue;
            const auto uuid = guard_region::parse_uuid(record.uuids[i]);
            const auto place = uuid ? reading.ledger->place_of(*uuid) : std::nullopt;
            if (!place || slot->devices[*place].contexts != 1) continue;
            const std::string process = record.id + ":" + std::to_string(truth.owner);
            const std::scoped_lock lock(mutex_);
            const bool learned = estimates_.note(
                {.model = gpu->model, .driver_version = seen->inventory.driver_version},
                multiprocessors_of(*gpu), process, *bytes, now);
            if (learned) text = estimates_.to_text();
        }
    }
    if (text.empty()) return;
    const auto kept = root_.write_atomically(file_, text, 0600);
    if (!kept) log::debug("guard.estimates_not_kept", {{"why", kept.error().message}});
}

}  // namespace aliquot::agent
