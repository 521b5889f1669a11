// SPDX-License-Identifier: Apache-2.0
#include "doctor/fix.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "os/spawner.h"

namespace aliquot::doctor {
namespace {

SafeFix write_file(const Facts& facts, std::string id, std::string path, std::string text,
                   std::string then) {
    SafeFix fix{.id = std::move(id), .path = std::move(path)};
    if (const std::string* const now = facts.tree.text(fix.path)) fix.before = *now;
    fix.after = std::move(text);
    fix.then = std::move(then);
    return fix;
}

/// The file without what refuses nvidia: the line stays as a comment.
std::optional<SafeFix> lift_blacklist(const Judged& judged, const Facts& facts) {
    for (const Evidence& evidence : judged.verdict.evidence) {
        const std::string* const text = facts.tree.text(evidence.path);
        if (text == nullptr || evidence.line == 0 ||
            !evidence.path.starts_with("/etc/modprobe.d/")) {
            continue;
        }
        std::string changed;
        for_each_line(*text, [&](std::string_view line, unsigned number) {
            changed += (number == evidence.line ? "# " : "") + std::string(line) + "\n";
        });
        return write_file(facts, judged.id, evidence.path, changed,
                          "sudo update-initramfs -u || sudo dracut -f; sudo modprobe nvidia");
    }
    return std::nullopt;
}

/// "kubectl label node N k=v [--overwrite]" of a fix, as argv; empty when it is anything else.
std::vector<std::string> label_command(std::string_view text) {
    if (!text.starts_with("kubectl label node ")) return {};
    if (text.find_first_of(";|&$`<>\n'\"") != std::string_view::npos) return {};
    std::vector<std::string> argv;
    for (const std::string_view word : words_of(text)) argv.emplace_back(word);
    const bool place_holder = std::ranges::find(argv, "NODE") != argv.end();
    return place_holder ? std::vector<std::string>{} : argv;
}

}  // namespace

std::vector<SafeFix> safe_fixes(const Report& report, const Facts& facts) {
    std::vector<SafeFix> fixes;
    for (const Judged& one : report.checks) {
        const bool bad =
            one.verdict.outcome == Outcome::kFailed || one.verdict.outcome == Outcome::kWarning;
        if (!bad) continue;
        if (one.id == "DRV003") {
            fixes.push_back(
                write_file(facts, one.id, "/etc/modprobe.d/aliquot-nouveau.conf",
                           "# Written by aliquot doctor: nouveau must not take the GPU.\n"
                           "blacklist nouveau\noptions nouveau modeset=0\n",
                           "sudo update-initramfs -u || sudo dracut -f; sudo reboot"));
        } else if (one.id == "DRV007") {
            if (auto fix = lift_blacklist(one, facts)) fixes.push_back(*std::move(fix));
        } else if (one.id == "DRV012") {
            fixes.push_back(
                write_file(facts, one.id, "/etc/modules-load.d/aliquot-nvidia-uvm.conf",
                           "# Written by aliquot doctor: CUDA needs nvidia-uvm at boot.\n"
                           "nvidia-uvm\n",
                           "sudo modprobe nvidia-uvm"));
        } else if (one.id == "DRV014") {
            fixes.push_back(
                write_file(facts, one.id, "/etc/modprobe.d/aliquot-nvidia-mode.conf",
                           "# Written by aliquot doctor: the GPU's files are for everybody.\n"
                           "options nvidia NVreg_DeviceFileMode=0666\n",
                           "reload the nvidia module, or reboot"));
        }
        for (const Fix& fix : one.verdict.fixes) {
            auto argv = label_command(fix.text);
            if (!argv.empty()) fixes.push_back({.id = one.id, .command = std::move(argv)});
        }
    }
    return fixes;
}

std::string show(const SafeFix& fix) {
    if (!fix.command.empty()) return fix.id + "\n$ " + join(fix.command, " ") + "\n";
    std::string text = fix.id + "\n--- " + (fix.before.empty() ? "/dev/null" : fix.path) +
                       "\n+++ " + fix.path + "\n";
    std::vector<std::string> old_lines;
    std::vector<std::string> new_lines;
    for_each_line(fix.before,
                  [&](std::string_view line, unsigned) { old_lines.emplace_back(line); });
    for_each_line(fix.after,
                  [&](std::string_view line, unsigned) { new_lines.emplace_back(line); });
    std::size_t head = 0;
    while (head < old_lines.size() && head < new_lines.size() &&
           old_lines[head] == new_lines[head]) {
        ++head;
    }
    std::size_t tail = 0;
    while (tail + head < old_lines.size() && tail + head < new_lines.size() &&
           old_lines[old_lines.size() - 1 - tail] == new_lines[new_lines.size() - 1 - tail]) {
        ++tail;
    }
    if (head > 0) text += " " + old_lines[head - 1] + "\n";
    for (std::size_t i = head; i + tail < old_lines.size(); ++i) text += "-" + old_lines[i] + "\n";
    for (std::size_t i = head; i + tail < new_lines.size(); ++i) text += "+" + new_lines[i] + "\n";
    if (tail > 0) text += " " + old_lines[old_lines.size() - tail] + "\n";
    return text;
}

Result<Done> apply(const SafeFix& fix, const os::Root& root) {
    if (!fix.command.empty()) {
        auto process =
            os::Process::start({.argv = fix.command, .environment = os::current_environment()});
        if (!process) return std::move(process).error();
        const auto exit = process->wait(std::chrono::seconds(30));
        if (exit && exit->code == 0) return Done{};
        return Error{ErrorCode::kUnavailable, join(fix.command, " ") + ": failed"};
    }
    const auto now = root.read(fix.path);
    if (now ? *now != fix.before : !fix.before.empty()) {
        return Error{ErrorCode::kConflict, fix.path + ": was changed since it was read; run again"};
    }
    return root.write_atomically(fix.path, fix.after);
}

}  // namespace aliquot::doctor
