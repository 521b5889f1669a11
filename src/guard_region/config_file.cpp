// SPDX-License-Identifier: Apache-2.0
#include "guard_region/config_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime is POSIX
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "guard_region/uuid.h"
#include "os/root.h"

namespace aliquot::guard_region {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kRelease = std::memory_order_release;

Result<abi::Config*> map(const std::filesystem::path& file, int fd, int protection) {
    void* const place = ::mmap(nullptr, sizeof(abi::Config), protection, MAP_SHARED, fd, 0);
    if (place == MAP_FAILED) return os::error_from_errno(errno, file.native());
    return static_cast<abi::Config*>(place);
}

void store(abi::DeviceLimits& place, const Limits& limits) {
    place.memory_bytes.store(limits.memory_bytes, kRelaxed);
    place.context_bytes.store(limits.context_bytes, kRelaxed);
    place.cap_ppm.store(limits.cap_ppm, kRelaxed);
    place.weight.store(limits.weight, kRelaxed);
    place.flags.store(limits.kernel_limit ? abi::kKernelLimit : 0U, kRelease);
}

void store_name(char (&place)[sizeof(abi::Config::container)], std::string_view name) {
    name = name.substr(0, sizeof place - 1);
    std::fill(std::copy(name.begin(), name.end(), place), place + sizeof place, '\0');
}

}  // namespace

Result<ConfigFile> ConfigFile::create(const std::filesystem::path& file, const Settings& settings) {
    if (settings.devices.size() > abi::kRegionDevices) {
        return Error{ErrorCode::kInvalidInput,
                     std::to_string(settings.devices.size()) +
                         " GPUs for one container; a guard limits at most " +
                         std::to_string(abi::kRegionDevices)};
    }
    std::array<abi::DeviceUuid, abi::kRegionDevices> uuids{};
    for (std::size_t i = 0; i < settings.devices.size(); ++i) {
        const auto uuid = parse_uuid(settings.devices[i].uuid);
        if (!uuid) return uuid.error();
        uuids[i] = *uuid;
    }
    const Descriptor fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!fd || ::fchmod(fd.get(), 0644) != 0) return os::error_from_errno(errno, file.native());
    // Room first: on a full file system a page that is written through a mapping is a SIGBUS.
    if (const int full = ::posix_fallocate(fd.get(), 0, sizeof(abi::Config)); full != 0) {
        return os::error_from_errno(full, file.native());
    }
    auto mapped = map(file, fd.get(), PROT_READ | PROT_WRITE);
    if (!mapped) return std::move(mapped).error();
    ConfigFile config(*mapped);
    abi::Config& content = **mapped;  // zeros: a new file
    content.abi = abi::kRegionAbi;
    content.size = sizeof(abi::Config);
    content.flags = settings.fail_open ? abi::kFailOpen : 0U;
    content.log_level = settings.log_level;
    content.device_count = static_cast<std::uint32_t>(settings.devices.size());
    store_name(content.container, settings.container);
    for (std::size_t i = 0; i < settings.devices.size(); ++i) {
        content.devices[i].uuid = uuids[i];
        store(content.devices[i], settings.devices[i]);
    }
    content.magic = abi::kConfigMagic;
    return config;
}

Result<ConfigFile> ConfigFile::open(const std::filesystem::path& file, Access access) {
    const bool write = access == Access::kWrite;
    const Descriptor fd(
        ::open(file.c_str(), (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) return os::error_from_errno(errno, file.native());
    std::array<std::uint64_t, 2> head{};  // magic, abi and size
    const bool is_config = ::pread(fd.get(), head.data(), sizeof head, 0) == sizeof head &&
                           head[0] == abi::kConfigMagic;
    const auto version = static_cast<std::uint32_t>(head[1]);
    const Error other{
        ErrorCode::kInvalidInput,
        file.native() + (is_config && version != abi::kRegionAbi
                             ? ": a guard's config of version " + std::to_string(version) +
                                   ", expected " + std::to_string(abi::kRegionAbi)
                             : ": not a guard's config")};
    if (!S_ISREG(status.st_mode) || status.st_size != sizeof(abi::Config)) return other;
    auto mapped = map(file, fd.get(), write ? PROT_READ | PROT_WRITE : PROT_READ);
    if (!mapped) return std::move(mapped).error();
    ConfigFile config(*mapped);
    const abi::Config& content = **mapped;
    if (content.magic != abi::kConfigMagic || content.abi != abi::kRegionAbi ||
        content.size != sizeof(abi::Config)) {
        return other;
    }
    return config;
}

ConfigFile::ConfigFile(ConfigFile&& other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)) {}

ConfigFile& ConfigFile::operator=(ConfigFile&& other) noexcept {
    std::swap(mapped_, other.mapped_);
    return *this;
}

ConfigFile::~ConfigFile() {
    if (mapped_ != nullptr) ::munmap(mapped_, sizeof(abi::Config));
}

unsigned ConfigFile::count() const { return std::min(mapped_->device_count, abi::kRegionDevices); }

Settings ConfigFile::settings() const {
    Settings settings{.fail_open = (mapped_->flags & abi::kFailOpen) != 0,
                      .log_level = mapped_->log_level};
    const std::string_view name(mapped_->container, sizeof mapped_->container);
    settings.container = name.substr(0, name.find('\0'));
    for (unsigned i = 0; i < count(); ++i) {
        const abi::DeviceLimits& device = mapped_->devices[i];
        settings.devices.push_back(
            {.uuid = gpu_text(device.uuid),
             .memory_bytes = device.memory_bytes.load(kRelaxed),
             .context_bytes = device.context_bytes.load(kRelaxed),
             .cap_ppm = device.cap_ppm.load(kRelaxed),
             .weight = device.weight.load(kRelaxed),
             .kernel_limit = (device.flags.load(kRelaxed) & abi::kKernelLimit) != 0});
    }
    return settings;
}

Result<Done> ConfigFile::set_limits(const Limits& limits) {
    const auto uuid = parse_uuid(limits.uuid);
    if (!uuid) return uuid.error();
    for (unsigned i = 0; i < count(); ++i) {
        if (!same(mapped_->devices[i].uuid, *uuid)) continue;
        store(mapped_->devices[i], limits);
        return Done{};
    }
    return Error{ErrorCode::kNotFound, limits.uuid + ": the container was not given this device"};
}

void ConfigFile::set_container(std::string_view name) { store_name(mapped_->container, name); }

void ConfigFile::set_truth(const SlotTruth& truth) {
    if (truth.slot >= abi::kRegionSlots || truth.owner == 0) return;
    abi::ProcessTruth& place = mapped_->truth[truth.slot];
    const bool new_owner = place.owner.load(kRelaxed) != truth.owner;
    bool changed = new_owner || place.host_pid.load(kRelaxed) != truth.host_pid;
    std::array<std::uint64_t, abi::kRegionDevices> next{};
    for (unsigned i = 0; i < abi::kRegionDevices; ++i) {
        const std::uint64_t before =
            new_owner ? abi::kNotMeasured : place.overhead_bytes[i].load(kRelaxed);
        next[i] = truth.overhead_bytes[i].value_or(before);
        changed = changed || next[i] != before;
    }
    if (!changed) return;
    // Readers that find the owner know that the rest is of that owner: it goes first and comes last.
    // Each store releases what is before it: who reads one of them and then the owner finds it gone.
    place.owner.store(0, kRelease);
    place.host_pid.store(truth.host_pid, kRelease);
    for (unsigned i = 0; i < abi::kRegionDevices; ++i) {
        place.overhead_bytes[i].store(next[i], kRelease);
    }
    place.owner.store(truth.owner, kRelease);
}

void ConfigFile::publish_truth() { mapped_->truth_changes.fetch_add(1, kRelease); }

std::optional<std::uint64_t> ConfigFile::told_overhead(unsigned slot, std::uint64_t owner,
                                                       unsigned device) const {
    if (slot >= abi::kRegionSlots || device >= abi::kRegionDevices) return std::nullopt;
    const abi::ProcessTruth& place = mapped_->truth[slot];
    if (owner == 0 || place.owner.load(kRelaxed) != owner) return std::nullopt;
    const std::uint64_t bytes = place.overhead_bytes[device].load(kRelaxed);
    if (bytes == abi::kNotMeasured) return std::nullopt;
    return bytes;
}

void ConfigFile::beat() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
    mapped_->heartbeat_ns.store(static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
                                    static_cast<std::uint64_t>(now.tv_nsec),
                                kRelease);
}

}  // namespace aliquot::guard_region
