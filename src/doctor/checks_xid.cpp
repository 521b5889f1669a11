// SPDX-License-Identifier: Apache-2.0
// Error numbers of the driver in the kernel log.
#include "catalog/xid.h"
#include "doctor/check.h"

namespace aliquot::doctor {
namespace {

Verdict judge_xids(const Facts& facts, catalog::XidClass kind) {
    const Xid* last = nullptr;
    unsigned count = 0;
    for (const Xid& one : facts.host.xids) {
        const auto* const known = catalog::find_xid(one.number);
        const auto is = known == nullptr ? catalog::XidClass::kDriver : known->kind;
        if (is != kind || one.number == 79) continue;
        last = &one;
        ++count;
    }
    if (last == nullptr) {
        if (!facts.host.kernel_log_read.ok()) return unknown(facts.host.kernel_log_read.reason);
        return ok("no Xid of this class in the kernel log");
    }
    const auto* const known = catalog::find_xid(last->number);
    // Some driver errors want no more than a restart of the application.
    const bool serious = kind == catalog::XidClass::kHardware ||
                         (kind == catalog::XidClass::kDriver && known != nullptr &&
                          !known->action.starts_with("restart the application"));
    const std::string text = "Xid " + std::to_string(last->number) + " at GPU " + last->address +
                             ": " +
                             (known == nullptr ? "not in our table" : std::string(known->meaning)) +
                             " (" + std::string(catalog::word(kind)) +
                             (count > 1 ? ", " + std::to_string(count) + " such" : "") + ").";
    auto verdict = serious ? failed(text) : warning(text);
    verdict.because(last->place, "no Xid");
    if (known != nullptr) {
        verdict.note(std::string(known->action) +
                     (known->plugin_unhealthy
                          ? ". NVIDIA's device plugin takes the GPU away until it is restarted."
                          : ""));
    } else {
        verdict.note("Look the number up in NVIDIA's Xid catalogue.");
    }
    verdict.as(Confidence::kLikely);
    return verdict;
}

Verdict judge_xid_hardware(const Facts& facts) {
    return judge_xids(facts, catalog::XidClass::kHardware);
}
Verdict judge_xid_driver(const Facts& facts) {
    return judge_xids(facts, catalog::XidClass::kDriver);
}
Verdict judge_xid_application(const Facts& facts) {
    return judge_xids(facts, catalog::XidClass::kApplication);
}
Verdict judge_xid_information(const Facts& facts) {
    return judge_xids(facts, catalog::XidClass::kInformation);
}

constexpr Check kXidChecks[] = {
    {"XID001", Level::kNvml, false, "DRV009 NVML003 NVML004 NVML011 NVML015 NVML016",
     judge_xid_hardware},
    {"XID002", Level::kNvml, false, "DRV009 NVML003 NVML004 NVML011 NVML015 NVML016 XID001",
     judge_xid_driver},
    {"XID003", Level::kNvml, false, "DRV009 NVML003 NVML004 XID001 XID002", judge_xid_application},
    {"XID004", Level::kNvml, false, "DRV009 NVML003 NVML004 XID001 XID002", judge_xid_information},
};

}  // namespace

std::span<const Check> xid_checks() { return kXidChecks; }

}  // namespace aliquot::doctor
