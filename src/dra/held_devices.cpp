// SPDX-License-Identifier: Apache-2.0
#include "dra/held_devices.h"

#include "base/text.h"
#include "cdi/spec.h"
#include "dra/checkpoint.h"
#include "dra/claim_spec.h"
#include "gpu/replica_id.h"

namespace aliquot::dra {
namespace {

constexpr std::string_view kNote = ".claim";
constexpr std::string_view kLostNote = ".claim.bad";
constexpr std::size_t kMostNoteBytes = 256U << 10U;

}  // namespace

bool may_be_gpus(std::string_view driver) {
    return contains_folded(driver, "gpu") || contains_folded(driver, "nvidia");
}

Result<std::vector<PreparedDevice>> devices_by_spec(const os::Root& root, const std::string& path) {
    std::vector<PreparedDevice> devices;
    const auto text = root.read(path);
    if (!text && text.error().code == ErrorCode::kNotFound) return devices;
    if (!text && text.error().code != ErrorCode::kInvalidInput) return text.error();
    const auto spec = text ? cdi::parse(*text) : Result<cdi::Spec>(text.error());
    if (!spec) return devices;
    for (const cdi::Device& one : spec->devices) {
        const std::string uuid(gpu::device_of(device_id_of(one.name)));
        if (uuid.empty()) return std::vector<PreparedDevice>{};
        devices.push_back({.uuid = uuid, .gpu = uuid, .cdi_name = one.name, .whole = true});
    }
    return devices;
}

void HeldDevices::take_problem(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
}

void HeldDevices::take_claim(const std::string& driver, const std::string& id,
                             const std::string& holder) {
    if (!may_be_gpus(driver)) return;
    const std::string device = driver == kDriver ? device_id_of(id) : std::string();
    if (!device.empty()) {
        uuids_.emplace(gpu::device_of(device));
        return;
    }
    take_problem(concat({holder, " holds '", id, "' of ", driver,
                         ", which may be any GPU: the name does not tell"}));
}

void HeldDevices::take(const kubelet::Holder& holder) {
    for (const std::string& id : holder.ids) {
        if (!holder.claim.empty()) {
            take_claim(holder.resource, id, "pod " + holder.pod_namespace + "/" + holder.pod);
        } else if (id.starts_with("GPU-") || id.starts_with("MIG-")) {
            uuids_.emplace(gpu::device_of(id));
        }
    }
}

void HeldDevices::take(const pods::ClaimHold& hold) {
    for (const std::string& id : hold.ids) take_claim(hold.driver, id, "claim " + hold.claim);
}

void HeldDevices::take_notes(const os::Root& root, const NotePlaces& places) {
    const auto names = root.list(places.notes);
    if (!names && names.error().code == ErrorCode::kNotFound) return;
    if (!names) return take_problem(names.error().message);
    for (const std::string& name : *names) {
        const bool lost = name.ends_with(kLostNote);
        if (!lost && !name.ends_with(kNote)) continue;
        const std::string path = places.notes + "/" + name;
        const auto text = root.read(path, kMostNoteBytes);
        if (!text && text.error().code == ErrorCode::kNotFound) continue;  // unprepared meanwhile
        const auto note = text ? parse_prepared_claim(*text) : Result<PreparedClaim>(text.error());
        std::vector<PreparedDevice> devices;
        if (note && !lost) {
            devices = note->devices;
        } else {
            const std::string uid = name.substr(0, name.find('.'));
            auto told = devices_by_spec(root, places.cdi + "/" + cdi_file_name(uid));
            if (told) devices = *std::move(told);
            if (devices.empty()) {
                take_problem(path + " cannot be read: nobody can say what its claim holds");
            }
        }
        for (const PreparedDevice& device : devices) {
            // Of one that is still being made the GPU is known.
            if (!device.admin) uuids_.insert(device.uuid.empty() ? device.gpu : device.uuid);
        }
    }
}

}  // namespace aliquot::dra
