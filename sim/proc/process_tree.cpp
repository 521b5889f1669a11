// SPDX-License-Identifier: Apache-2.0
#include "sim/proc/process_tree.h"

#include <fcntl.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): renameat2() is not standard C++
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/number.h"
#include "k8s/cgroup.h"
#include "os/process_stat.h"

namespace aliquot::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kInit = 1;
constexpr std::uint32_t kThreadDaemon = 2;
constexpr std::size_t kMostStatBytes = 4096;
constexpr std::size_t kMostProcesses = 100'000;

/// 64 hex digits that follow from `words`.
std::string container_id_of(std::string_view words) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string id;
    for (std::uint64_t part = 0; part < 4; ++part) {
        std::uint64_t hash = 14695981039346656037U + part;  // FNV-1a
        for (const char c : words) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
        for (int digit = 0; digit < 16; ++digit, hash >>= 4U) id += kDigits[hash & 15U];
    }
    return id;
}

std::string stat_line(std::uint32_t pid, const std::string& command, std::uint32_t parent,
                      std::uint64_t start_ticks) {
    return std::to_string(pid) + " (" + command.substr(0, 15) + ") S " + std::to_string(parent) +
           " " + std::to_string(pid) + " " + std::to_string(pid) +
           " 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 " + std::to_string(start_ticks) +
           " 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n";
}

Result<Done> write_file(const fs::path& path, std::string_view text) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    file.flush();
    if (file) return Done{};
    return Error{ErrorCode::kUnavailable, path.native() + ": cannot be written"};
}

Result<Done> make_link(const fs::path& link, const fs::path& target) {
    std::error_code problem;
    fs::remove(link, problem);
    fs::create_symlink(target, link, problem);
    if (problem) return os::error_from_errno(problem.value(), link.native());
    return Done{};
}

/// Puts what was made at `from` to `to`, so that `to` is never missing when it was there before.
Result<Done> put_in_place(const fs::path& from, const fs::path& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
        std::error_code problem;
        fs::remove_all(to, problem);
        fs::rename(from, to, problem);
        if (problem) return os::error_from_errno(problem.value(), to.native());
    }
    std::error_code ignored;
    fs::remove_all(from, ignored);
    return Done{};
}

bool is_name(std::string_view name) {
    constexpr std::size_t kLongest = 253;
    return !name.empty() && name.size() <= kLongest && name.front() != '.' &&
           name.find_first_of("/_") == std::string_view::npos;
}

std::optional<std::uint32_t> pid_of(std::string_view name) {
    const auto pid = parse_number<std::uint32_t>(name);
    return pid != 0 ? pid : std::nullopt;
}

std::optional<os::ProcessStat> real_stat(const os::Root& machine, std::uint32_t pid) {
    const auto text = machine.read("/" + std::to_string(pid) + "/stat", kMostStatBytes);
    if (!text) return std::nullopt;
    auto stat = os::parse_stat(*text);
    if (!stat || stat->has_ended()) return std::nullopt;
    return stat;
}

}  // namespace

ProcessTree::ProcessTree(const os::Root& root, ProcessTreeOptions options)
    : root_(root), options_(std::move(options)) {}

std::string ProcessTree::directory_of(std::uint32_t pid) const {
    return options_.proc + "/" + std::to_string(pid);
}

Result<Done> ProcessTree::begin() {
    std::error_code problem;
    if (fs::equivalent(root_.resolve(options_.proc), options_.real_proc, problem)) {
        return Error{ErrorCode::kConflict, root_.resolve(options_.proc).native() +
                                               ": is this machine's own /proc; the simulated "
                                               "node needs a directory of its own there"};
    }
    for (const std::string& directory :
         {options_.proc, options_.pod_logs, options_.container_logs}) {
        auto made = root_.make_directories(directory);
        if (!made) return made;
    }
    auto init = put_process({}, {}, {.pid = kInit, .start_ticks = 1, .command = "systemd"});
    if (!init) return init;
    return put_process({}, {}, {.pid = kThreadDaemon, .start_ticks = 1, .command = "kthreadd"});
}

bool ProcessTree::is_known(const Place& place) const {
    const auto pod = pods_.find(place.pod_uid);
    return pod != pods_.end() && pod->second.containers.contains(place.container);
}

std::string ProcessTree::text_of(const Place& place) const {
    if (place.container.empty()) return host_cgroup_text(options_.form, "host");
    const Pod& pod = pods_.at(place.pod_uid);
    return cgroup_text(options_.form, pod.identity.quality, place.pod_uid,
                       pod.containers.at(place.container).id);
}

Result<std::string> ProcessTree::start_container(const PodOnNode& pod, const std::string& container,
                                                 const std::string& log) {
    const std::string name = pod.pod_namespace + "/" + pod.name + "/" + container;
    if (!is_name(pod.pod_namespace) || !is_name(pod.name) || !is_name(container)) {
        return Error{ErrorCode::kInvalidInput, name + ": not the names of a pod and a container"};
    }
    const Pod* const known = pods_.contains(pod.uid) ? &pods_.at(pod.uid) : nullptr;
    unsigned starts = 0;
    if (known != nullptr && known->containers.contains(container)) {
        starts = known->containers.at(container).starts;
    }
    const std::string id =
        container_id_of(pod.uid + "/" + container + "/" + std::to_string(starts));
    const auto place = k8s::place_of(cgroup_text(options_.form, pod.quality, pod.uid, id));
    if (!place || place->pod_uid != pod.uid) {
        return Error{ErrorCode::kInvalidInput,
                     name + ": uid '" + pod.uid +
                         "' cannot be a pod's: 8-4-4-4-12 or 32 hex digits are expected"};
    }
    Pod& entry = pods_[pod.uid];
    entry.identity = pod;
    entry.logs = options_.pod_logs + "/" + pod.pod_namespace + "_" + pod.name + "_" + pod.uid;
    const std::string folder = entry.logs + "/" + container;
    auto made = root_.make_directories(folder);
    if (!made) return std::move(made).error();
    const std::string file = folder + "/" + std::to_string(starts) + ".log";
    if (!log.empty()) {
        auto linked = make_link(root_.resolve(file), log);
        if (!linked) return std::move(linked).error();
    }
    Container& started = entry.containers[container];
    if (!started.log_link.empty()) (void)root_.remove(started.log_link);
    started = {.id = id,
               .log_link = options_.container_logs + "/" + pod.name + "_" + pod.pod_namespace +
                           "_" + container + "-" + id + ".log",
               .starts = starts + 1};
    auto linked = make_link(root_.resolve(started.log_link), file);
    if (!linked) return std::move(linked).error();
    return id;
}

Result<Done> ProcessTree::write_scripted(const Scripted& process, const std::string& cgroup) const {
    const std::string draft = options_.proc + "/.new";
    const fs::path folder = root_.resolve(draft);
    auto made = root_.make_directories(draft);
    if (!made) return made;
    const std::uint32_t parent = process.pid <= kThreadDaemon ? 0 : kInit;
    for (const auto& [name, text] :
         {std::pair<const char*, std::string>{
              "stat", stat_line(process.pid, process.command, parent, process.start_ticks)},
          {"comm", process.command.substr(0, 15) + "\n"},
          {"cgroup", cgroup}}) {
        auto written = write_file(folder / name, text);
        if (!written) return written;
    }
    return put_in_place(folder, root_.resolve(directory_of(process.pid)));
}

Result<Done> ProcessTree::write_real(std::uint32_t pid, const Place& place) const {
    const std::string draft = options_.proc + "/.new";
    const fs::path folder = root_.resolve(draft);
    const fs::path real = fs::path(options_.real_proc) / std::to_string(pid);
    auto made = root_.make_directories(draft);
    if (!made) return made;
    for (const char* name : {"stat", "comm"}) {
        auto linked = make_link(folder / name, real / name);
        if (!linked) return linked;
    }
    auto written = write_file(folder / "cgroup", text_of(place));
    if (!written) return written;
    return put_in_place(folder, root_.resolve(directory_of(pid)));
}

Result<Done> ProcessTree::add_process(const std::string& pod_uid, const std::string& container,
                                      pid_t pid) {
    const Place place{pod_uid, container};
    if (!is_known(place)) {
        return Error{ErrorCode::kNotFound,
                     pod_uid + "/" + container + ": no such container was started"};
    }
    const auto number = static_cast<std::uint32_t>(pid);
    const auto stat = real_stat(os::Root(options_.real_proc), number);
    if (!stat) {
        return Error{ErrorCode::kNotFound, "process " + std::to_string(pid) + ": has ended"};
    }
    auto written = write_real(number, place);
    if (!written) return written;
    others_.erase(number);
    processes_[number] = {.place = place, .start_ticks = stat->start_ticks};
    return Done{};
}

Result<Done> ProcessTree::put_process(const std::string& pod_uid, const std::string& container,
                                      const Scripted& process) {
    const Place place = container.empty() ? Place{} : Place{pod_uid, container};
    if (!container.empty() && !is_known(place)) {
        return Error{ErrorCode::kNotFound,
                     pod_uid + "/" + container + ": no such container was started"};
    }
    auto written = write_scripted(process, text_of(place));
    if (!written) return written;
    others_.erase(process.pid);
    processes_[process.pid] = {
        .place = place, .start_ticks = process.start_ticks, .scripted = true};
    return Done{};
}

void ProcessTree::hide(std::uint32_t pid) {
    std::error_code ignored;
    fs::remove_all(root_.resolve(directory_of(pid)), ignored);
    others_.erase(pid);
}

void ProcessTree::remove_pod(const std::string& pod_uid) {
    const auto pod = pods_.find(pod_uid);
    if (pod == pods_.end()) return;
    std::erase_if(processes_, [&](const auto& entry) {
        if (entry.second.place.pod_uid != pod_uid) return false;
        hide(entry.first);
        return true;
    });
    for (const auto& container : pod->second.containers) {
        (void)root_.remove(container.second.log_link);
    }
    std::error_code ignored;
    fs::remove_all(root_.resolve(pod->second.logs), ignored);
    pods_.erase(pod);
}

void ProcessTree::show_other(std::uint32_t pid) {
    const fs::path real = fs::path(options_.real_proc) / std::to_string(pid);
    if (make_link(root_.resolve(directory_of(pid)), real)) others_.insert(pid);
}

void ProcessTree::refresh() {
    const os::Root machine(options_.real_proc);
    std::map<std::uint32_t, os::ProcessStat> running;
    const auto names = machine.list("/", kMostProcesses);
    if (!names) return;
    for (const std::string& name : *names) {
        const auto pid = pid_of(name);
        if (!pid) continue;
        if (auto stat = real_stat(machine, *pid)) running.emplace(*pid, *std::move(stat));
    }

    std::map<std::uint32_t, Place> groups;  // of pods' first processes
    for (auto entry = processes_.begin(); entry != processes_.end();) {
        const auto found = running.find(entry->first);
        const bool gone =
            !entry->second.scripted &&
            (found == running.end() || found->second.start_ticks != entry->second.start_ticks);
        if (gone) {
            hide(entry->first);
            entry = processes_.erase(entry);
            continue;
        }
        if (!entry->second.scripted && found->second.group == entry->first) {
            groups.emplace(entry->first, entry->second.place);
        }
        ++entry;
    }

    // A child can have a smaller pid than its parent, so look until nobody new is found.
    for (bool found = true; found;) {
        found = false;
        for (const auto& [pid, stat] : running) {
            if (processes_.contains(pid)) continue;
            const auto parent = processes_.find(stat.parent);
            const auto group = groups.find(stat.group);
            const bool by_parent = parent != processes_.end() && !parent->second.scripted;
            if (!by_parent && group == groups.end()) continue;
            const Place place = by_parent ? parent->second.place : group->second;
            if (!write_real(pid, place)) continue;
            others_.erase(pid);
            processes_[pid] = {.place = place, .start_ticks = stat.start_ticks};
            found = true;
        }
    }
    if (!options_.others) return;
    for (auto other = others_.begin(); other != others_.end();) {
        const std::uint32_t pid = *other++;
        if (!running.contains(pid)) hide(pid);
    }
    for (const auto& entry : running) {
        if (!processes_.contains(entry.first) && !others_.contains(entry.first)) {
            show_other(entry.first);
        }
    }
}

}  // namespace aliquot::sim
