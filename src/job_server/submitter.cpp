// SPDX-License-Identifier: Apache-2.0
#include "job_server/submitter.h"

#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "os/root.h"

namespace aliquot::job_server {
namespace {

constexpr int kNotExecutable = 126;  // as shells say it
constexpr int kNoSuchProgram = 127;
constexpr const char* kPreload = "LD_PRELOAD";

std::string variable_here(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    return value == nullptr ? "" : value;
}

/// The spec's variables; those that the guard has set here go before them.
std::vector<std::pair<std::string, std::string>> with_guard(const Spec& spec) {
    std::map<std::string, std::string> all(spec.env.begin(), spec.env.end());
    constexpr std::array kOfGuard{"CUDA_VISIBLE_DEVICES", "ALIQUOT_GUARD_CONFIG",
                                  "ALIQUOT_GUARD_REGION", "ALIQUOT_GUARD_NODE"};
    for (const char* const name : kOfGuard) {
        if (std::string value = variable_here(name); !value.empty()) all[name] = std::move(value);
    }
    const std::string guard = variable_here(kPreload);
    std::string& preload = all[kPreload];
    if (!guard.empty()) preload = preload.empty() ? guard : guard + ":" + preload;
    if (preload.empty()) all.erase(kPreload);
    return {all.begin(), all.end()};
}

int failed(const std::string& what) {
    const int problem = errno;
    std::cerr << "aliquot: " << what << ": " << std::strerror(problem)  // NOLINT: one thread
              << std::endl;
    return problem == ENOENT ? kNoSuchProgram : kNotExecutable;
}

}  // namespace

bool become_submitter(const Spec& spec) {
    if (::geteuid() != 0) return true;
    const bool grouped = spec.user.empty() ? ::setgroups(0, nullptr) == 0
                                           : ::initgroups(spec.user.c_str(), spec.gid) == 0;
    return grouped && ::setresgid(spec.gid, spec.gid, spec.gid) == 0 &&
           ::setresuid(spec.uid, spec.uid, spec.uid) == 0;
}

void set_environment(const std::vector<std::pair<std::string, std::string>>& variables) {
    ::clearenv();
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
}

void execute(const std::vector<std::string>& words) {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
}

int run_guarded(const std::filesystem::path& directory) {
    const auto text = os::Root("/").read((directory / kSpecFile).native());
    const auto spec = text ? read_spec(*text) : Result<Spec>(text.error());
    if (!spec) {
        std::cerr << "aliquot: " << spec.error().message << std::endl;
        return kNotExecutable;
    }
    const auto environment = with_guard(*spec);
    if (!become_submitter(*spec)) return failed("user " + std::to_string(spec->uid));
    // The kernel forgets it when the user changes: it ends with who holds its share all the same.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!spec->workdir.empty() && ::chdir(spec->workdir.c_str()) != 0) return failed(spec->workdir);
    set_environment(environment);
    execute(spec->argv);
    return failed(spec->argv.front());
}

}  // namespace aliquot::job_server
