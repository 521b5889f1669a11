// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/text.h"
#include "doctor/facts.h"

namespace aliquot::doctor {
namespace {

constexpr std::size_t kMostLines = 20'000;

/// What a kernel log line must name to be kept.
constexpr std::array<std::string_view, 22> kWords{
    "NVRM",     "nvidia",         "nouveau",      "BAR ",      "can't assign",
    "AER:",     "PCIe Bus",       "Key was",      "rejected",  "unsigned module",
    "Lockdown", "secureboot",     "Secure boot",  "disagrees", "Xid",
    "vermagic", "Unknown symbol", "no space for", "vfio",      "avc:",
    "IOMMU",    "nvswitch"};

/// "NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', GPU has fallen off the bus."
std::optional<Xid> xid_of(std::string_view line, const Location& place) {
    const std::string_view rest = after(line, "Xid (");
    if (rest.empty()) return std::nullopt;
    const auto close = rest.find("):");
    if (close == std::string_view::npos) return std::nullopt;
    std::string_view address = rest.substr(0, close);
    if (address.starts_with("PCI:")) address.remove_prefix(4);
    const auto number = leading_number(rest.substr(close + 2));
    if (!number || *number <= 0 || *number > 9999) return std::nullopt;
    return Xid{std::string(address), static_cast<unsigned>(*number), place};
}

void read_lines(Facts& facts, const std::string& path, const std::string& text) {
    for_each_line(text, [&](std::string_view line, unsigned number) {
        const bool kept =
            std::ranges::any_of(kWords, [&](std::string_view word) { return line.contains(word); });
        if (!kept || facts.host.kernel_log.size() >= kMostLines) return;
        const Location place = place_in(path, number, line);
        if (auto xid = xid_of(line, place)) facts.host.xids.push_back(*std::move(xid));
        facts.host.kernel_log.push_back({std::string(line.substr(0, 1000)), place});
    });
}

}  // namespace

void read_kernel_log(Facts& facts) {
    constexpr std::array<const char*, 16> kLogs{
        "cmd/journal.txt", "cmd/journal.log",     "cmd/syslog*",        "cmd/kernel*",
        "cmd/dmesg*",      "cmd/journal-kernel*", "cmd/journalctl*",    "cmd/kern*",
        "/dev/kmsg",       "/var/log/dmesg",      "/var/log/dmesg.log", "/var/log/kern.log",
        "/var/log/syslog", "/var/log/messages",   "cmd/kmsg*",          "cmd/journal-k.txt"};
    auto& read = facts.host.kernel_log_read;
    for (const char* const pattern : kLogs) {
        for (const std::string& path : facts.tree.paths(pattern)) {
            const Entry* const entry = facts.tree.find(path);
            if (entry->kind == Entry::Kind::kUnreadable && read.unknown()) {
                read.reason = path + ": " + entry->content;
            }
            if (entry->kind != Entry::Kind::kFile) continue;
            read = {State::kOk, true, {}, {path, 0, ""}};
            // The same messages stand in several logs: the first that names the driver is enough.
            if (facts.host.kernel_log.empty() || path.starts_with("cmd/")) {
                read_lines(facts, path, entry->content);
            }
        }
    }
    if (read.unknown() && read.reason == "was not looked at") {
        read.reason = "no kernel log is there (cmd/dmesg.txt, /var/log/kern.log, /dev/kmsg)";
    }
}

}  // namespace aliquot::doctor
