// SPDX-License-Identifier: Apache-2.0
#include "job_server/attempt.h"

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "base/number.h"
#include "base/text.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "os/errno_error.h"
#include "os/process_stat.h"
#include "os/replace_file.h"
#include "os/root.h"

namespace aliquot::job_server {
namespace {

namespace fs = std::filesystem;
using document::Value;

std::string content(const fs::path& file) {
    auto text = os::Root("/").read(file.native());
    return text ? *std::move(text) : std::string();
}

template <class Number>
Number number_in(const Value& value, const char* key) {
    return parse_number<Number>(document::text_at(value, {key})).value_or(Number{});
}

std::optional<os::ProcessStat> stat_of(pid_t pid) {
    return os::parse_stat(content("/proc/" + std::to_string(pid) + "/stat"));
}

std::optional<Ending> ending_in(const fs::path& directory) {
    const auto text = os::Root("/").read((directory / kExitFile).native());
    if (!text) return std::nullopt;
    const auto value = document::parse_json(*text);
    if (!value) return std::nullopt;
    const auto cause = jobs::cause_of(document::text_at(*value, {"cause"}));
    return Ending{.cause = cause.value_or(jobs::Cause::kNodeLost),
                  .code = number_in<int>(*value, "code"),
                  .reason = document::text_at(*value, {"reason"})};
}

}  // namespace

std::string boot_id() { return std::string(trim(content("/proc/sys/kernel/random/boot_id"))); }

std::string to_text(const Spec& spec) {
    const auto variables = [](const auto& all) {
        return document::make_sequence(all, [](const auto& one) {
            return document::make_mapping({{"name", one.first}, {"value", one.second}});
        });
    };
    return document::to_json_line(document::make_mapping({{"argv", spec.argv},
                                                          {"aside", spec.aside},
                                                          {"env", variables(spec.env)},
                                                          {"guard", spec.guard},
                                                          {"guardEnv", variables(spec.guard_env)},
                                                          {"workdir", spec.workdir},
                                                          {"uid", spec.uid},
                                                          {"gid", spec.gid},
                                                          {"user", spec.user},
                                                          {"seconds", spec.seconds},
                                                          {"graceMs", spec.grace_ms},
                                                          {"outputBytes", spec.output_bytes},
                                                          {"cgroup", spec.cgroup},
                                                          {"memoryBytes", spec.memory_bytes},
                                                          {"cpuMilli", spec.cpu_milli}}));
}

Result<Spec> read_spec(const std::string& text) {
    const auto value = document::parse_json(text);
    if (!value) return value.error();
    Spec spec;
    for (const auto& [key, words] :
         {std::pair{"argv", &spec.argv}, {"aside", &spec.aside}, {"guard", &spec.guard}}) {
        for (const Value& word : document::items_at(*value, {key})) words->push_back(word.scalar);
    }
    for (const auto& [key, variables] :
         {std::pair{"env", &spec.env}, {"guardEnv", &spec.guard_env}}) {
        for (const Value& one : document::items_at(*value, {key})) {
            variables->emplace_back(document::text_at(one, {"name"}),
                                    document::text_at(one, {"value"}));
        }
    }
    if (spec.argv.empty()) return Error{ErrorCode::kInvalidInput, "a spec without a program"};
    spec.workdir = document::text_at(*value, {"workdir"});
    spec.uid = number_in<uid_t>(*value, "uid");
    spec.gid = number_in<gid_t>(*value, "gid");
    spec.user = document::text_at(*value, {"user"});
    spec.seconds = number_in<std::int64_t>(*value, "seconds");
    spec.grace_ms = number_in<std::int64_t>(*value, "graceMs");
    spec.output_bytes = number_in<std::uint64_t>(*value, "outputBytes");
    spec.cgroup = document::text_at(*value, {"cgroup"});
    spec.memory_bytes = number_in<std::uint64_t>(*value, "memoryBytes");
    spec.cpu_milli = number_in<std::int64_t>(*value, "cpuMilli");
    return spec;
}

Result<Done> prepare_attempt(const fs::path& directory, const Spec& spec) {
    // Others pass through to an output that is theirs, and see nothing else.
    constexpr ::mode_t kPassThrough = 0711;
    if (::mkdir(directory.c_str(), kPassThrough) != 0 && errno != EEXIST) {
        return os::error_from_errno(errno, directory.native());
    }
    ::chmod(directory.c_str(), kPassThrough);
    return os::replace_file(directory / kSpecFile, to_text(spec), 0600);
}

Look look_at(const fs::path& directory) {
    Look look;
    const Descriptor started(::open((directory / kStartedFile).c_str(), O_RDONLY | O_CLOEXEC));
    if (!started) return look;
    // First the lock, then `exit`: a runner writes that before it lets go.
    const bool alive = ::flock(started.get(), LOCK_SH | LOCK_NB) != 0;
    const std::string text = content(directory / kStartedFile);
    const auto words = words_of(std::string_view(text));
    if (words.size() != 3) {  // "void", or a server that was killed before it wrote that
        look.kind = Look::Kind::kVoid;
        return look;
    }
    look.boot = words[0];
    look.runner = parse_number<pid_t>(words[1]).value_or(0);
    look.start_ticks = parse_number<std::uint64_t>(words[2]).value_or(0);
    if (auto ending = ending_in(directory)) {
        look.kind = Look::Kind::kEnded;
        look.ending = *std::move(ending);
    } else {
        look.kind = alive ? Look::Kind::kAlive : Look::Kind::kLost;
    }
    return look;
}

bool take_back(const fs::path& directory) {
    const Descriptor made(
        ::open((directory / kStartedFile).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    // Without its directory nobody can begin it: the runner could not make `started` either.
    if (!made) return errno == ENOENT;
    constexpr std::string_view kVoid = "void\n";
    return write_at(made.get(), kVoid.data(), kVoid.size(), 0) && ::fsync(made.get()) == 0;
}

Descriptor open_runner(const Look& alive) {
    if (alive.runner <= 1 || alive.boot != boot_id()) return {};
    Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, alive.runner, 0)));
    if (!process) return {};
    const auto stat = stat_of(alive.runner);
    if (!stat || stat->start_ticks != alive.start_ticks) return {};
    return process;
}

void end_left_over(const Look& lost, const std::string& cgroup) {
    if (!cgroup.empty()) {
        std::ofstream(cgroup + "/cgroup.kill") << "1";
        ::rmdir(cgroup.c_str());
    }
    if (lost.boot != boot_id() || lost.runner <= 1) return;
    const auto leader = stat_of(lost.runner);
    if (leader && leader->start_ticks != lost.start_ticks) return;  // another one has its number
    const auto names = os::Root("/").list("/proc", 100'000);
    if (!names) return;
    for (const std::string& name : *names) {
        const auto pid = parse_number<pid_t>(name);
        if (!pid) continue;
        const auto stat = stat_of(*pid);
        const auto session = static_cast<std::uint32_t>(lost.runner);
        if (stat && stat->session == session && stat->start_ticks >= lost.start_ticks) {
            ::kill(*pid, SIGKILL);
        }
    }
}

}  // namespace aliquot::job_server
