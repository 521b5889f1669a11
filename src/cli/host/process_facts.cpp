// SPDX-License-Identifier: Apache-2.0
#include "cli/host/process_facts.h"

#include <pwd.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGTERM for pidfd_send_signal
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "base/descriptor.h"

namespace aliquot::cli {
namespace {

constexpr std::size_t kLongestCommandLine = 4096;

std::string folder_of(std::uint32_t pid) { return "/proc/" + std::to_string(pid); }

/// At most kLongestCommandLine bytes; empty where the process has ended.
std::string first_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(kLongestCommandLine, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return text;
}

/// The kernel keeps 15 bytes of a name.
bool has_name(std::uint32_t pid, const std::string& command) {
    std::string name = first_of(folder_of(pid) + "/comm");
    if (name.ends_with('\n')) name.pop_back();
    constexpr std::size_t kLongestName = 15;
    return !name.empty() && name == command.substr(0, kLongestName);
}

std::string user_name(uid_t user) {
    constexpr std::size_t kBytes = 4096;
    std::array<char, kBytes> bytes{};
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(user, &entry, bytes.data(), bytes.size(), &found) != 0 || found == nullptr)
        return std::to_string(user);
    return entry.pw_name;
}

top::ProcessFacts facts_of(std::uint32_t pid, std::map<uid_t, std::string>& users) {
    top::ProcessFacts facts;
    struct stat status {};
    if (::stat(folder_of(pid).c_str(), &status) == 0) {
        auto known = users.find(status.st_uid);
        if (known == users.end())
            known = users.emplace(status.st_uid, user_name(status.st_uid)).first;
        facts.user = known->second;
    }
    facts.command_line = first_of(folder_of(pid) + "/cmdline");
    while (facts.command_line.ends_with('\0')) facts.command_line.pop_back();
    std::ranges::replace(facts.command_line, '\0', ' ');
    return facts;
}

}  // namespace

std::map<std::uint32_t, top::ProcessFacts> read_process_facts(const telemetry::Snapshot& snapshot) {
    std::map<std::uint32_t, top::ProcessFacts> facts;
    std::map<uid_t, std::string> users;
    const auto take = [&](const std::vector<telemetry::Process>& processes) {
        for (const telemetry::Process& process : processes) {
            if (!facts.contains(process.pid) && has_name(process.pid, process.command))
                facts.emplace(process.pid, facts_of(process.pid, users));
        }
    };
    for (const telemetry::Device& device : snapshot.devices) {
        for (const telemetry::Part& part : device.parts) {
            for (const telemetry::Tenant& tenant : part.tenants) take(tenant.processes);
            take(part.others);
        }
    }
    return facts;
}

Result<Done> end_process(std::uint32_t pid, const std::string& command) {
    // The descriptor stays with this process when its number goes to another.
    const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
    const std::string name = "process " + std::to_string(pid) + " (" + command + ")";
    if (process.get() < 0 || !has_name(pid, command))
        return Error{ErrorCode::kNotFound, name + " has ended"};
    if (::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0U) == 0) return Done{};
    const bool forbidden = errno == EPERM;
    return Error{forbidden ? ErrorCode::kPermission : ErrorCode::kNotFound,
                 name + (forbidden ? " is another user's: run as root to end it" : " has ended")};
}

}  // namespace aliquot::cli
