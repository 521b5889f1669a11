// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/guard/ledger_view.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/contract/guard/driver.h"

namespace aliquot::guardkit {
namespace {

bool read_ledger(abi::Ledger* ledger) {
    const std::string path = environment("ALIQUOT_GUARD_REGION");
    if (path.empty()) return false;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t got = ::pread(file, static_cast<void*>(ledger), sizeof(abi::Ledger), 0);
    ::close(file);
    return got == static_cast<ssize_t>(sizeof(abi::Ledger)) && ledger->magic == abi::kLedgerMagic &&
           ledger->abi == abi::kRegionAbi && ledger->size == sizeof(abi::Ledger);
}

std::shared_ptr<abi::Ledger> room() {
    // Plain data that is read whole from a file: nothing in it needs a constructor.
    void* const memory = ::operator new (sizeof(abi::Ledger), std::align_val_t{64});
    std::memset(memory, 0, sizeof(abi::Ledger));
    return {static_cast<abi::Ledger*>(memory),
            [](abi::Ledger* ledger) { ::operator delete (ledger, std::align_val_t{64}); }};
}

}  // namespace

bool LedgerView::readable() {
    const auto ledger = room();
    return read_ledger(ledger.get());
}

LedgerView LedgerView::read() {
    LedgerView view;
    view.ledger_ = room();
    // Whoever makes the file may not be done with it.
    if (!eventually([&] { return read_ledger(view.ledger_.get()); })) {
        if (environment("ALIQUOT_GUARD_KIT_FOREIGN").empty())
            fail(__FILE__, __LINE__, "no ledger of this abi at ALIQUOT_GUARD_REGION");
        skip("this guard's ledger is not ours");
    }
    return view;
}

unsigned LedgerView::device_place(unsigned gpu) const {
    unsigned char uuid[16];
    gpu_uuid(gpu, uuid);
    for (unsigned i = 0; i < abi::kRegionDevices; ++i) {
        if (std::memcmp(ledger_->devices[i].uuid.bytes, uuid, sizeof uuid) == 0) return i;
    }
    return abi::kRegionDevices;
}

unsigned LedgerView::slot_of(pid_t pid) const {
    for (unsigned i = 0; i < abi::kRegionSlots; ++i) {
        if (ledger_->slots[i].owner.load() >> 32 == static_cast<std::uint64_t>(pid)) return i;
    }
    return abi::kRegionSlots;
}

bool LedgerView::has_slot(pid_t pid) const { return slot_of(pid) != abi::kRegionSlots; }

std::uint64_t LedgerView::tracked(pid_t pid, unsigned gpu) const {
    const unsigned place = device_place(gpu);
    const unsigned slot = slot_of(pid);
    if (place == abi::kRegionDevices || slot == abi::kRegionSlots) return 0;
    return ledger_->slots[slot].devices[place].tracked_bytes.load();
}

std::uint64_t LedgerView::used(unsigned gpu) const {
    const unsigned place = device_place(gpu);
    return place == abi::kRegionDevices ? 0 : ledger_->devices[place].used_bytes.load();
}
std::uint64_t LedgerView::peak(unsigned gpu) const {
    const unsigned place = device_place(gpu);
    return place == abi::kRegionDevices ? 0 : ledger_->devices[place].peak_bytes.load();
}
std::uint64_t LedgerView::denied(unsigned gpu) const {
    const unsigned place = device_place(gpu);
    return place == abi::kRegionDevices ? 0 : ledger_->devices[place].denied.load();
}
std::uint32_t LedgerView::remarks(unsigned gpu) const {
    const unsigned place = device_place(gpu);
    return place == abi::kRegionDevices ? 0 : ledger_->devices[place].remarks.load();
}

std::uint64_t LedgerView::sum_of_slots(unsigned gpu) const {
    const unsigned place = device_place(gpu);
    std::uint64_t sum = 0;
    if (place == abi::kRegionDevices) return 0;
    for (const abi::Slot& slot : ledger_->slots) {
        if (slot.owner.load() == 0) continue;
        sum += slot.devices[place].tracked_bytes.load() + slot.devices[place].overhead_bytes.load();
    }
    return sum;
}

unsigned LedgerView::slots_taken() const {
    unsigned taken = 0;
    for (const abi::Slot& slot : ledger_->slots) taken += slot.owner.load() != 0 ? 1 : 0;
    return taken;
}

ConfigFile::ConfigFile(unsigned gpus) {
    const std::string path = environment("ALIQUOT_GUARD_CONFIG");
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK_GE(file, 0);
    CHECK_EQ(::ftruncate(file, sizeof(abi::Config)), 0);
    void* const memory =
        ::mmap(nullptr, sizeof(abi::Config), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    CHECK_THAT(memory != MAP_FAILED);
    config_ = static_cast<abi::Config*>(memory);
    config_->magic = abi::kConfigMagic;
    config_->abi = abi::kRegionAbi;
    config_->size = sizeof(abi::Config);
    config_->device_count = gpus;
    std::strncpy(config_->container, "checks/pod/main", sizeof config_->container - 1);
    for (unsigned i = 0; i < gpus; ++i) gpu_uuid(i, config_->devices[i].uuid.bytes);
}

ConfigFile::~ConfigFile() { ::munmap(config_, sizeof(abi::Config)); }

}  // namespace aliquot::guardkit
