// SPDX-License-Identifier: Apache-2.0
// Services of systemd and the devices they may open: SVC001 (none at all), SVC002 (a list that lacks one).
#include <algorithm>
#include <array>

#include "base/text.h"
#include "lint/report.h"
#include "lint/rules/unit.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

/// Whether `/dev/nvidia0` and the like are put into the private /dev again.
bool binds_devices(const Unit& unit) {
    for (const std::string_view key : {"BindPaths", "BindReadOnlyPaths"}) {
        for (const std::string& word : unit.words("Service", key)) {
            if (contains(word, "/dev/nvidia") || word == "/dev" || word.starts_with("/dev:")) {
                return true;
            }
        }
    }
    return false;
}

void check_private(const Unit& unit, Report& report) {
    const UnitLine* line = unit.switched_on("PrivateDevices");
    if (line == nullptr || binds_devices(unit)) return;
    auto entry = report.add("SVC001", unit.mark(*line),
                            "PrivateDevices=" + line->value + " in a service that uses GPUs");
    entry.expected("PrivateDevices=no, with DevicePolicy=closed and a list of devices")
        .fix(
            "DevicePolicy=closed\nDeviceAllow=char-nvidia rw\nDeviceAllow=char-nvidiactl "
            "rw\nDeviceAllow=char-nvidia-uvm rw");
    if (unit.gpu_use() == GpuUse::kMaybe) entry.severity(Severity::kWarning);
}

/// What the lines DeviceAllow= let in.
struct Allowed {
    bool gpus = false;      // /dev/nvidia0
    bool control = false;   // /dev/nvidiactl
    bool memory = false;    // /dev/nvidia-uvm
    bool old_name = false;  // char-nvidia-frontend, and no newer name
    bool others = false;    // another maker's, or all
};

bool matches(std::string_view device, std::string_view name) {
    if (device.ends_with('*')) return name.starts_with(device.substr(0, device.size() - 1));
    return device == name;
}

bool has_new_name(std::string_view device) {
    return matches(device, "char-nvidia") || matches(device, "char-nvidiactl");
}

void read_device(std::string_view device, Allowed& allowed) {
    constexpr std::array<std::string_view, 5> kOthers{"/dev/dri", "char-drm", "/dev/kfd",
                                                      "char-kfd", "/dev/dxg"};
    allowed.others = allowed.others || device == "char-*" ||
                     std::any_of(kOthers.begin(), kOthers.end(), [device](std::string_view one) {
                         return device.starts_with(one);
                     });
    constexpr std::string_view kNode = "/dev/nvidia";
    if (device.starts_with(kNode)) {
        const std::string_view rest = device.substr(kNode.size());
        allowed.gpus = allowed.gpus ||
                       (!rest.empty() && (is_digit(rest[0]) || rest[0] == '[' || rest[0] == '*'));
    }
    // A name of /proc/devices stands for all of its major number: GPUs and their control device have one.
    const bool together = has_new_name(device) || device == "char-nvidia-frontend";
    allowed.gpus = allowed.gpus || together;
    allowed.control = allowed.control || together || matches(device, "/dev/nvidiactl");
    allowed.memory =
        allowed.memory || matches(device, "/dev/nvidia-uvm") || matches(device, "char-nvidia-uvm");
}

Allowed read_allowed(const std::vector<const UnitLine*>& lines) {
    Allowed allowed;
    bool new_name = false;
    for (const UnitLine* line : lines) {
        const auto words = syntax::unit_words(line->value);
        if (words.empty()) continue;
        read_device(words.front(), allowed);
        new_name =
            new_name || has_new_name(words.front()) || words.front().starts_with("/dev/nvidia0");
        allowed.old_name = allowed.old_name || words.front() == "char-nvidia-frontend";
    }
    allowed.old_name = allowed.old_name && !new_name;
    return allowed;
}

void check_list(const Unit& unit, Report& report) {
    const auto lines = unit.all("Service", "DeviceAllow");
    const UnitLine* policy = unit.setting("DevicePolicy");
    const bool closed =
        policy != nullptr && (policy->value == "closed" || policy->value == "strict");
    if (lines.empty() && !closed) return;
    const Allowed allowed = read_allowed(lines);
    const UnitLine& place = lines.empty() ? *policy : *lines.back();
    const bool nothing = !allowed.gpus && !allowed.control && !allowed.memory;
    const auto say = [&](const std::string& what, const std::string& fix) {
        auto entry = report.add("SVC002", unit.mark(place), what);
        entry.expected(fix).fix(fix);
        if (unit.gpu_use() == GpuUse::kMaybe) entry.severity(Severity::kWarning);
    };
    if (nothing) {
        if (allowed.others) return;
        return say("the service may open no device of NVIDIA's",
                   "DeviceAllow=char-nvidia rw, with char-nvidiactl and char-nvidia-uvm");
    }
    if (!allowed.gpus) return say("the list has no GPU", "DeviceAllow=char-nvidia rw");
    if (!allowed.control)
        return say("the list has no /dev/nvidiactl", "DeviceAllow=/dev/nvidiactl rw");
    if (!allowed.memory && unit.gpu_use() != GpuUse::kTool) {
        return say("the list has no /dev/nvidia-uvm, without which CUDA does not begin",
                   "DeviceAllow=/dev/nvidia-uvm rw");
    }
    if (!allowed.old_name) return;
    report
        .add("SVC002", unit.mark(place),
             "char-nvidia-frontend is a name that only older drivers have; newer ones say "
             "char-nvidia")
        .expected("DeviceAllow=char-nvidia rw beside it")
        .severity(Severity::kWarning);
}

}  // namespace

void check_unit_devices(const Unit& unit, Report& report) {
    check_private(unit, report);
    if (unit.switched_on("PrivateDevices") == nullptr) check_list(unit, report);
}

}  // namespace aliquot::lint
