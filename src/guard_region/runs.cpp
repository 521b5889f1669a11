// SPDX-License-Identifier: Apache-2.0
#include "guard_region/runs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "abi/region.h"
#include "guard_region/config_file.h"
#include "guard_region/ledger_file.h"
#include "guard_region/uuid.h"
#include "k8s/memory_amount.h"
#include "os/root.h"

namespace aliquot::guard_region {
namespace {

namespace fs = std::filesystem;

constexpr ::mode_t kOwnerOnly = 0700;
/// Root's runs may be programs of others, who pass through to what they were told of: names cannot be guessed.
constexpr ::mode_t kPassThrough = 0711;
constexpr char kRootsPlace[] = "/run/aliquot/run";
constexpr char kAlive[] = "alive";
constexpr std::string_view kPrefix = "run-";

/// Makes a directory that nobody else can write; checks one that is there.
Result<Done> own_directory(const fs::path& path) {
    const bool made = ::mkdir(path.c_str(), kOwnerOnly) == 0;
    if (!made && errno != EEXIST) return os::error_from_errno(errno, path.native());
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return os::error_from_errno(errno, path.native());
    constexpr ::mode_t kOthersWrite = 0022;
    if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() ||
        (status.st_mode & kOthersWrite) != 0) {
        return Error{ErrorCode::kPermission,
                     path.native() + ": not a directory of this user alone; remove it"};
    }
    if (::geteuid() == 0 && (made || path == kRootsPlace) &&
        ::chmod(path.c_str(), kPassThrough) != 0)
        return os::error_from_errno(errno, path.native());
    return Done{};
}

bool is_usable(const fs::path& path) {
    std::error_code problem;
    return path.is_absolute() && fs::is_directory(path, problem);
}

/// Whether the process that made this run still has it.
bool has_owner(const fs::path& directory) {
    const Descriptor alive(::open((directory / kAlive).c_str(), O_RDONLY | O_CLOEXEC));
    return alive && ::flock(alive.get(), LOCK_SH | LOCK_NB) != 0;
}

/// Also of a run whose `aliquot run` was killed while processes of it go on.
bool is_alive(const fs::path& directory) {
    if (has_owner(directory)) return true;
    const auto ledger = LedgerFile::open(directory / abi::kLedgerFile);
    return ledger && ledger->held();
}

std::optional<Run> read_run(const fs::path& directory) {
    const auto config = ConfigFile::open(directory / abi::kConfigFile);
    if (!config) return std::nullopt;
    const Settings settings = config->settings();
    if (settings.devices.empty()) return std::nullopt;
    return Run{
        .directory = directory, .name = settings.container, .limits = settings.devices.front()};
}

std::optional<Error> does_not_fit(const RunRequest& request, const std::vector<Run>& living) {
    const Limits& wanted = request.settings.devices.front();
    if (request.overcommit || wanted.memory_bytes == 0 || request.device_memory_bytes == 0) {
        return std::nullopt;
    }
    std::uint64_t taken = 0;
    unsigned count = 0;
    for (const Run& run : living) {
        if (!same_device(run.limits.uuid, wanted.uuid)) continue;
        taken = saturating_add(taken, run.limits.memory_bytes);
        count += run.limits.memory_bytes > 0 ? 1U : 0U;
    }
    if (saturating_add(taken, wanted.memory_bytes) <= request.device_memory_bytes) {
        return std::nullopt;
    }
    std::string others;
    if (count > 0) {
        others = ", and " + std::to_string(count) + (count == 1 ? " run has " : " runs have ") +
                 k8s::bytes_text(taken);
    }
    return Error{ErrorCode::kConflict,
                 wanted.uuid + ": " + k8s::bytes_text(wanted.memory_bytes) +
                     " asked for, but the device has " +
                     k8s::bytes_text(request.device_memory_bytes) + others + " of it: " +
                     k8s::bytes_text(request.device_memory_bytes -
                                     std::min(request.device_memory_bytes, taken)) +
                     " is left"};
}

}  // namespace

Reservation::~Reservation() {
    if (directory_.empty()) return;
    // Somebody it has left behind still counts on the ledger: then the next run clears it.
    const auto ledger = LedgerFile::open(directory_ / abi::kLedgerFile);
    if (ledger && ledger->held()) return;
    std::error_code problem;
    fs::remove_all(directory_, problem);
}

fs::path Reservation::config() const { return directory_ / abi::kConfigFile; }
fs::path Reservation::ledger() const { return directory_ / abi::kLedgerFile; }
fs::path Reservation::node() const { return directory_ / abi::kNodeFile; }

Result<fs::path> Runs::usual_place(const std::map<std::string, std::string>& environment) {
    const auto variable = [&](const char* name) -> fs::path {
        const auto found = environment.find(name);
        return found == environment.end() ? fs::path() : fs::path(found->second);
    };
    if (const fs::path named = variable("ALIQUOT_RUN_DIRECTORY"); !named.empty()) {
        const auto made = own_directory(named);
        if (!made) return made.error();
        return named;
    }
    if (::geteuid() == 0) {
        std::error_code problem;
        fs::create_directories("/run/aliquot", problem);
        const auto made = own_directory(kRootsPlace);
        if (made) return fs::path(kRootsPlace);
    }
    const std::string uid = std::to_string(::geteuid());
    for (const fs::path& place : {variable("XDG_RUNTIME_DIR"), fs::path("/run/user/" + uid)}) {
        if (is_usable(place) && own_directory(place / "aliquot")) return place / "aliquot";
    }
    const fs::path temporary = is_usable(variable("TMPDIR")) ? variable("TMPDIR") : "/tmp";
    fs::path place = temporary / ("aliquot-" + uid);
    const auto made = own_directory(place);
    if (!made) return made.error();
    return place;
}

Result<Descriptor> Runs::lock_books() const {
    constexpr std::chrono::milliseconds kPause{20};  // polled: flock() that waits has no limit
    constexpr int kTries = 250;  // five seconds: nobody holds it for more than a moment
    Descriptor books(::open((base_ / "books").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!books) return os::error_from_errno(errno, base_.native());
    for (int i = 0; i < kTries; ++i) {
        if (::flock(books.get(), LOCK_EX | LOCK_NB) == 0) return books;
        if (errno != EWOULDBLOCK && errno != EINTR) break;
        std::this_thread::sleep_for(kPause);
    }
    return os::error_from_errno(errno, (base_ / "books").native());
}

std::vector<fs::path> Runs::directories() const {
    std::vector<fs::path> found;
    const auto names = os::Root(base_).list("/");
    if (!names) return found;
    for (const std::string& name : *names) {
        if (name.starts_with(kPrefix)) found.push_back(base_ / name);
    }
    return found;
}

void Runs::sweep() const {
    std::error_code problem;
    for (const fs::path& directory : directories()) {
        if (!is_alive(directory)) fs::remove_all(directory, problem);
    }
}

std::vector<Run> Runs::list() const {
    std::vector<Run> living;
    for (const fs::path& directory : directories()) {
        if (!is_alive(directory)) continue;
        if (auto run = read_run(directory)) living.push_back(*std::move(run));
    }
    return living;
}

Result<Reservation> Runs::reserve(const RunRequest& request) const {
    if (request.settings.devices.size() != 1) {
        return Error{ErrorCode::kInvalidInput, "a run has one device"};
    }
    const auto books = lock_books();
    if (!books) return books.error();
    sweep();
    if (auto problem = does_not_fit(request, list())) return *std::move(problem);
    const fs::path directory = base_ / (std::string(kPrefix) + std::to_string(::getpid()) + "-" +
                                        std::to_string(random_region()));
    const auto made = own_directory(directory);
    if (!made) return made.error();
    Descriptor alive(
        ::open((directory / kAlive).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const bool locked = alive && ::flock(alive.get(), LOCK_EX | LOCK_NB) == 0;
    Reservation reservation(directory, std::move(alive));  // clears what a failure leaves
    if (!locked) return os::error_from_errno(errno, directory.native());
    const auto config = ConfigFile::create(reservation.config(), request.settings);
    if (!config) return config.error();
    const auto ledger = create_ledger(reservation.ledger(), random_region());
    if (!ledger) return ledger.error();
    return reservation;
}

}  // namespace aliquot::guard_region
