// SPDX-License-Identifier: Apache-2.0
#include "sim/node/node.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "os/root.h"
#include "sim/node/capabilities.h"
#include "sim/node/driver_root.h"
#include "sim/node/engine.h"
#include "sim/node/fault.h"
#include "sim/node/identity.h"
#include "sim/node/mig.h"
#include "sim/node/processes.h"
#include "sim/node/shared_state.h"
#include "sim/node/topology.h"
#include "sim/node/usage.h"

namespace aliquot::sim {
namespace {

namespace fs = std::filesystem;

/// Stands in the directory while create() is at work; what it finds after a kill is its own.
constexpr std::string_view kUnfinished = ".node.unfinished";

Error locked_up(const fs::path& directory) {
    return {ErrorCode::kUnavailable,
            "node " + directory.string() +
                ": its lock is not given back; is one of its processes stopped?"};
}

Error no_such_gpu(const State& state, unsigned gpu) {
    return {ErrorCode::kNotFound,
            "there is no GPU " + std::to_string(gpu) + ": the node has " +
                (state.gpu_count == 0 ? std::string("none")
                                      : "0 to " + std::to_string(state.gpu_count - 1))};
}

Error in_use(unsigned gpu, std::size_t processes) {
    return {ErrorCode::kConflict, "GPU " + std::to_string(gpu) + " is in use by " +
                                      std::to_string(processes) + " process(es): end them first"};
}

/// Keeps other create() calls out of a directory; the kernel lets go of it when we are killed.
class DirectoryLock {
public:
    static Result<DirectoryLock> take(const fs::path& directory) {
        const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (descriptor < 0) return os::error_from_errno(errno, directory.string());
        DirectoryLock lock(descriptor);
        if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
            return Error{ErrorCode::kConflict,
                         "another node is being made or removed in " + directory.string()};
        }
        return lock;
    }
    DirectoryLock(DirectoryLock&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)) {}
    DirectoryLock& operator=(DirectoryLock&&) = delete;
    DirectoryLock(const DirectoryLock&) = delete;
    DirectoryLock& operator=(const DirectoryLock&) = delete;
    ~DirectoryLock() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }

private:
    explicit DirectoryLock(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
};

/// Makes the directory itself. Returns whether it was not there before.
Result<bool> make_directory(const fs::path& directory) {
    std::error_code problem;
    if (directory.has_parent_path()) fs::create_directories(directory.parent_path(), problem);
    if (problem) return os::error_from_errno(problem.value(), directory.string());
    if (::mkdir(directory.c_str(), 0755) == 0) return true;
    if (errno != EEXIST) return os::error_from_errno(errno, directory.string());
    struct stat status {};
    if (::stat(directory.c_str(), &status) != 0)
        return os::error_from_errno(errno, directory.string());
    if (!S_ISDIR(status.st_mode)) {
        return Error{ErrorCode::kConflict, directory.string() + " exists and is not a directory"};
    }
    if (status.st_uid != ::geteuid()) {
        return Error{ErrorCode::kPermission, directory.string() + " belongs to user " +
                                                 std::to_string(status.st_uid) +
                                                 ": name another one with --state"};
    }
    return false;
}

std::vector<MigDeviceView> mig_views(const State& state, unsigned gpu) {
    std::vector<MigDeviceView> views;
    for (const Instance& device : mig_devices(state, gpu)) {
        const auto parent = find_gpu_instance(state, gpu, device.gpu_instance);
        const auto* const compute = find_compute_instance(state, gpu, device);
        MigDeviceView view;
        view.instance = device;
        view.index = compute->device_index;
        view.uuid = compute->uuid.view();
        view.profile = device_profile_name(*parent.profile, compute->slices);
        view.start = parent.state->start;
        view.size = parent.state->size;
        view.memory_total_bytes = memory_bytes(*parent.profile);
        view.memory_used_bytes =
            used_bytes_on(state, gpu, device.gpu_instance) + reserved_bytes_on(*parent.profile);
        for (const ProcessState& process : processes_on(state, gpu)) {
            if (process.where() == device) ++view.processes;
        }
        views.push_back(std::move(view));
    }
    return views;
}

std::string fault_of(const State& state, const FaultState& fault) {
    const std::string text = fault_text(fault);
    if (state.driver_mismatch == 0) return text;
    return "driver/library mismatch" + (text.empty() ? text : ", " + text);
}

void remove_traces(const fs::path& directory, bool directory_made) {
    (void)remove_driver_root(directory);
    std::error_code ignored;
    fs::remove(directory / kUnfinished, ignored);
    if (directory_made) fs::remove(directory, ignored);  // only when it is empty
}

}  // namespace

class Node::Implementation {
public:
    Implementation(fs::path directory, std::unique_ptr<SharedState> state)
        : directory_(std::move(directory)), state_(std::move(state)) {}
    fs::path directory_;
    std::unique_ptr<SharedState> state_;
};

Node::Node(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

const fs::path& Node::directory() const { return implementation_->directory_; }

Result<Node> Node::create(const fs::path& directory, const NodeOptions& options,
                          const fs::path& library, const fs::path& smi) {
    auto content = state_for(options);
    if (!content) return std::move(content).error();
    const auto made = make_directory(directory);
    if (!made) return made.error();
    (*content)->directory_made = *made ? 1 : 0;
    const auto lock = DirectoryLock::take(directory);
    if (!lock) return lock.error();

    std::error_code problem;
    if (fs::exists(directory / kStateFile, problem)) {
        return Error{ErrorCode::kConflict, "there is a simulated node in " + directory.string() +
                                               " already: take it down (aliquot sim down --state " +
                                               directory.string() + "), or name another --state"};
    }
    if (fs::exists(directory / kUnfinished, problem)) remove_traces(directory, false);
    if (const auto taken = first_taken_name(directory); !taken.empty()) {
        return Error{ErrorCode::kConflict,
                     taken.string() +
                         " exists and is not a simulated node's: name an empty or new directory"};
    }
    std::ofstream(directory / kUnfinished).close();
    if (auto tree = make_driver_root(directory, **content, library, smi); !tree) {
        remove_traces(directory, *made);
        return std::move(tree).error();
    }
    if (auto file = SharedState::create(directory / kStateFile, **content); !file) {
        remove_traces(directory, *made);
        return std::move(file).error();
    }
    fs::remove(directory / kUnfinished, problem);
    return open(directory);
}

Result<Node> Node::open(const fs::path& directory) {
    auto state = SharedState::open(directory / kStateFile);
    if (!state) {
        if (state.error().code != ErrorCode::kNotFound) return std::move(state).error();
        return Error{ErrorCode::kNotFound, "there is no simulated node in " + directory.string()};
    }
    std::error_code problem;
    const fs::path absolute = fs::absolute(directory, problem);
    return Node(
        std::make_unique<Implementation>(problem ? directory : absolute, *std::move(state)));
}

Result<Done> Node::destroy(const fs::path& directory) {
    const auto lock = DirectoryLock::take(directory);
    if (!lock) {
        if (lock.error().code != ErrorCode::kNotFound) return lock.error();
        return Error{ErrorCode::kNotFound, "there is no simulated node in " + directory.string()};
    }
    bool directory_made = false;
    {
        const auto state = SharedState::open(directory / kStateFile);
        if (!state && state.error().code == ErrorCode::kNotFound) {
            return Error{ErrorCode::kNotFound,
                         "there is no simulated node in " + directory.string()};
        }
        if (!state && !SharedState::begins_as_one(directory / kStateFile)) return state.error();
        if (state) {
            (*state)->destroy();
            directory_made = (*state)->made_directory();
        }
    }
    std::error_code problem;
    std::ofstream(directory / kUnfinished).close();
    fs::remove(directory / kStateFile, problem);
    if (problem) return os::error_from_errno(problem.value(), (directory / kStateFile).string());
    if (auto removed = remove_driver_root(directory); !removed) return removed;
    remove_traces(directory, directory_made);
    return Done{};
}

std::vector<GpuView> Node::gpus() const {
    SharedState& shared = *implementation_->state_;
    std::vector<GpuView> views;
    const auto state = shared.lock();
    if (!state) return views;
    drop_dead_processes(**state);
    const std::uint64_t now = monotonic_ns();
    for (unsigned i = 0; i < std::min((*state)->gpu_count, kMaxGpus); ++i) {
        settle_gpu(**state, i, now);
        const GpuState& gpu = (*state)->gpus[i];
        const Model* const model = find_model(gpu.model.view());
        if (model == nullptr) continue;
        const Load load = load_on(**state, i);
        GpuView view;
        view.index = i;
        view.model = gpu.model.view();
        view.product = model->product;
        view.uuid = gpu.uuid.view();
        view.pci_bus_id = bus_id(gpu.pci_domain, gpu.pci_bus, 8);
        view.memory_total_bytes = model->memory_bytes();
        view.memory_used_bytes = load.memory_bytes + model->reserved_bytes();
        view.memory_peak_bytes = (*state)->memory[i].peak_bytes;
        view.processes = load.processes;
        view.fault = shared.destroyed() ? "lost" : fault_of(**state, gpu.fault);
        view.last_xid = gpu.fault.last_xid;
        view.mig_capable = model->mig_devices > 0;
        view.mig_enabled = gpu.mig_current != 0;
        view.mig_pending = gpu.mig_pending != 0;
        view.mig_devices = mig_views(**state, i);
        views.push_back(std::move(view));
    }
    return views;
}

std::vector<ProcessView> Node::processes(unsigned gpu) const {
    std::vector<ProcessView> views;
    const auto state = implementation_->state_->lock();
    if (!state || gpu >= std::min((*state)->gpu_count, kMaxGpus)) return views;
    drop_dead_processes(**state);
    const std::uint64_t now = monotonic_ns();
    advance_gpu(**state, gpu, now);
    settle_gpu(**state, gpu, now);
    for (unsigned entry = 0; entry < kMaxProcesses; ++entry) {
        const ProcessState& process = (*state)->processes[entry];
        if (process.pid == 0 || process.gpu != gpu) continue;
        const WorkState& work = (*state)->work[entry];
        views.push_back({.pid = process.pid,
                         .where = process.where(),
                         .memory_bytes = process.memory_bytes,
                         .memory_peak_bytes = process.memory_peak_bytes,
                         .sm_percent = process.sm_percent,
                         .share_percent = (share_of(**state, entry) + 500) / 1000,
                         .submitted_ns = work.submitted_ns,
                         .executed_ns = work.executed_ns});
    }
    std::ranges::sort(views, {}, &ProcessView::pid);
    return views;
}

void Node::reset_peaks() {
    if (const auto state = implementation_->state_->lock()) sim::reset_peaks(**state);
}

Result<Done> Node::inject(unsigned gpu, FaultKind kind, std::uint64_t value,
                          const Instance& where) {
    SharedState& shared = *implementation_->state_;
    if (shared.destroyed()) return Error{ErrorCode::kUnavailable, "the node was taken down"};
    {
        const auto state = shared.lock();
        if (!state) return locked_up(directory());
        if (gpu >= (*state)->gpu_count) return no_such_gpu(**state, gpu);
        const std::uint32_t before = (*state)->driver_mismatch;
        if (auto applied = apply_fault(**state, gpu, kind, value, where); !applied) return applied;
        if ((*state)->driver_mismatch != before) {
            if (auto told = describe_module(directory(), **state); !told) return told;
        }
    }
    shared.announce();
    return Done{};
}

Result<Done> Node::set_process(unsigned gpu, std::uint32_t pid, std::uint64_t memory_bytes,
                               unsigned sm_percent, const Instance& where, ProcessKind kind) {
    SharedState& shared = *implementation_->state_;
    if (shared.destroyed()) return Error{ErrorCode::kUnavailable, "the node was taken down"};
    {
        const auto state = shared.lock();
        if (!state) return locked_up(directory());
        if (gpu >= (*state)->gpu_count) return no_such_gpu(**state, gpu);
        const FaultState& fault = (*state)->gpus[gpu].fault;
        if (memory_bytes > 0 && fault.lost != 0) {
            return Error{ErrorCode::kUnavailable, "GPU " + std::to_string(gpu) + " is lost"};
        }
        auto put = put_process(**state, gpu, pid, memory_bytes, sm_percent, where, kind);
        if (!put) return put;
    }
    shared.announce();
    return Done{};
}

Result<std::chrono::steady_clock::time_point> Node::run_script(unsigned gpu, std::uint32_t pid,
                                                               const LoadScript& script,
                                                               const Instance& where,
                                                               ProcessKind kind) {
    std::uint64_t begun_ns = 0;
    SharedState& shared = *implementation_->state_;
    if (shared.destroyed()) return Error{ErrorCode::kUnavailable, "the node was taken down"};
    {
        const auto state = shared.lock();
        if (!state) return locked_up(directory());
        if (gpu >= (*state)->gpu_count) return no_such_gpu(**state, gpu);
        if ((*state)->gpus[gpu].fault.lost != 0) {
            return Error{ErrorCode::kUnavailable, "GPU " + std::to_string(gpu) + " is lost"};
        }
        const auto put = put_script(**state, gpu, pid, script, where, kind);
        if (!put) return put.error();
        begun_ns = *put;
    }
    shared.announce();
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(begun_ns));
}

Result<Done> Node::cut(unsigned gpu, std::string_view layout) {
    SharedState& shared = *implementation_->state_;
    if (shared.destroyed()) return Error{ErrorCode::kUnavailable, "the node was taken down"};
    {
        const auto state = shared.lock();
        if (!state) return locked_up(directory());
        if (gpu >= (*state)->gpu_count) return no_such_gpu(**state, gpu);
        if (auto done = cut_gpu(**state, gpu, layout); !done) return done;
        update_capability_files(directory(), **state);
    }
    shared.announce();
    return Done{};
}

Result<Done> Node::reset(unsigned gpu) {
    SharedState& shared = *implementation_->state_;
    if (shared.destroyed()) return Error{ErrorCode::kUnavailable, "the node was taken down"};
    {
        const auto state = shared.lock();
        if (!state) return locked_up(directory());
        if (gpu >= (*state)->gpu_count) return no_such_gpu(**state, gpu);
        drop_dead_processes(**state);
        if (const auto users = processes_on(**state, gpu).size(); users > 0) {
            return in_use(gpu, users);
        }
        apply_reset(**state, gpu);
        update_capability_files(directory(), **state);
    }
    shared.announce();
    return Done{};
}

}  // namespace aliquot::sim
