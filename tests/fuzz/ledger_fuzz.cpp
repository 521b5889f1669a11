// SPDX-License-Identifier: Apache-2.0
// Whatever a tenant writes into its ledger, and whatever lies in /proc or beside a region, is read
// or refused, and what is read can be summed up and printed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "guard_region/estimates.h"
#include "guard_region/ledger.h"
#include "guard_region/processes.h"
#include "guard_region/record.h"
#include "guard_region/status.h"
#include "guard_region/totals.h"
#include "guard_region/truth.h"
#include "guard_region/uuid.h"
#include "guard_region/watchdog.h"

namespace {

using namespace aliquot::guard_region;

void read_texts(std::string_view text) {
    (void)parse_inner_pid(text);
    (void)parse_region(text);
    (void)parse_device(text, "/run/aliquot/regions");
    (void)region_id_in(text);
    (void)parse_uuid(text);
    ContextEstimates estimates;
    estimates.read(text);
    ContextEstimates again;
    again.read(estimates.to_text());
    if (again.to_text() != estimates.to_text()) std::abort();
    if (const auto totals = parse_totals(text)) {
        const auto same = parse_totals(to_text(*totals));
        if (!same || *same != *totals) std::abort();
    }
    const auto record = parse_record(text);
    if (!record) return;
    const auto same = parse_record(to_text(*record));
    if (!same || !(*same == *record)) std::abort();
}

/// The input behind a good head, over and over.
std::vector<std::byte> ledger_of(std::span<const std::uint8_t> data) {
    std::vector<std::byte> bytes(sizeof(aliquot::abi::Ledger));
    for (std::size_t i = 0; i < bytes.size() && !data.empty(); ++i) {
        bytes[i] = static_cast<std::byte>(data[i % data.size()]);
    }
    const std::uint32_t version[2]{aliquot::abi::kRegionAbi, sizeof(aliquot::abi::Ledger)};
    std::memcpy(bytes.data(), &aliquot::abi::kLedgerMagic, sizeof aliquot::abi::kLedgerMagic);
    std::memcpy(bytes.data() + offsetof(aliquot::abi::Ledger, abi), version, sizeof version);
    return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span input(data, size);
    read_texts({reinterpret_cast<const char*>(data), size});
    (void)parse_ledger(std::as_bytes(input), sizeof(aliquot::abi::Ledger));
    auto ledger = parse_ledger(ledger_of(input), sizeof(aliquot::abi::Ledger));
    if (!ledger) std::abort();
    for (SlotView& slot : ledger->slots) slot.alive = slot.index % 2 == 0;
    const std::string uuid = gpu_text(ledger->devices[0].uuid);
    Reading reading{.ledger = *ledger, .problem = {}, .devices = {}, .truths = {}};
    DeviceReading& device = reading.devices.emplace_back();
    device.uuid = uuid;
    device.answered = true;
    device.held.push_back({.process = {.pid = 7}, .bytes = 1U << 30U, .slot = 0U});
    device.held.push_back({.process = {.pid = 8}, .bytes = ~std::uint64_t{0}, .slot = {}});
    (void)find_truths(*ledger, *ledger, reading.devices);
    const Settings settings{.container = {}, .devices = {{.uuid = uuid, .memory_bytes = 1}}};
    const auto status = make_status({}, settings, reading);
    if (status.devices.size() > 1) std::abort();
    Watchdog watchdog(WatchdogPolicy::kKill, {});
    for (int i = 0; i < 4; ++i) (void)watchdog.look("r", reading, {1});
    return 0;
}
