// SPDX-License-Identifier: Apache-2.0
#include "nvml/attachment.h"

#include <map>
#include <utility>

namespace aliquot::nvml {
namespace {

/// The holds of this process, by the file they are on.
struct Holds {
    std::mutex mutex;
    std::map<std::string, std::weak_ptr<Attachment>> by_path;
};

Holds& holds() {
    static Holds* const all = new Holds;  // a thread that hangs may outlast the end of main()
    return *all;
}

std::optional<os::FileStatus::Identity> identity_of(const std::string& path) {
    const auto status = os::Root("/").status(path);
    if (!status) return std::nullopt;  // between the old file and the new one
    return status->identity;
}

}  // namespace

Attachment::Attachment(std::unique_ptr<os::DynamicLibrary> file, const os::Root& root,
                       const std::string& driver_root)
    : path_(file->path()),
      kernel_(root, driver_root),
      identity_(identity_of(path_)),
      file_(std::move(file)) {}

bool Attachment::is_replaced() {
    const auto now = identity_of(path_);
    const std::lock_guard lock(mutex_);
    return now && now != identity_;
}

Result<std::shared_ptr<Attachment>> Attachment::open(const os::Root& root,
                                                     const std::string& driver_root) {
    const std::lock_guard lock(holds().mutex);
    auto file = Library::find(library_candidates(root, driver_root));
    if (!file) return std::move(file).error();
    const auto complete = Library::over(**file, std::make_shared<CallPosition>(nullptr));
    if (!complete) return complete.error();
    std::weak_ptr<Attachment>& known = holds().by_path[(*file)->path()];
    if (auto held = known.lock()) return held;
    std::shared_ptr<Attachment> made(new Attachment(*std::move(file), root, driver_root));
    known = made;
    std::erase_if(holds().by_path, [](const auto& entry) { return entry.second.expired(); });
    return made;
}

Attachment::~Attachment() {
    if (!started_ || !file_) return;
    const auto shut_down = reinterpret_cast<decltype(&nvmlShutdown)>(file_->symbol("nvmlShutdown"));
    if (shut_down != nullptr) shut_down();
}

void Attachment::keep(bool keep) {
    const std::lock_guard lock(mutex_);
    keep_ = keep;
}

bool Attachment::keeps() {
    const std::lock_guard lock(mutex_);
    return keep_;
}

void Attachment::watch(const gpu::Uuid& gpu, CallThread::Monitor monitor) {
    const std::lock_guard lock(mutex_);
    std::erase_if(watched_, [](const auto& known) { return known.second.expired(); });
    watched_.emplace_back(gpu, std::move(monitor));
}

std::optional<Hang> Attachment::hang_of(const gpu::Uuid& gpu) {
    const std::lock_guard lock(mutex_);
    std::optional<Hang> first;
    for (const auto& [watched, monitor] : watched_) {
        if (watched != gpu) continue;
        auto hang = monitor.hang();
        if (hang && (!first || hang->since < first->since)) first = std::move(hang);
    }
    return first;
}

void Attachment::stop_when_free(std::unique_lock<std::mutex>& lock, const Library* library) {
    if (inside_ > 0 || busy_ || !started_ || (keep_ && !let_go_)) return;
    busy_ = true;
    lock.unlock();
    if (library != nullptr) library->nvml().nvmlShutdown();
    lock.lock();
    started_ = let_go_ = busy_ = false;
    changed_.notify_all();
}

Error Attachment::cannot_start(const Library& library, nvmlReturn_t code) const {
    const std::string what = "NVIDIA driver: " + library.text(code);
    if (code == NVML_ERROR_LIB_RM_VERSION_MISMATCH) {
        const std::string version = kernel_.module_version();
        return {ErrorCode::kConflict,
                what + ": the loaded kernel module" +
                    (version.empty() ? "" : " (" + version + ")") + " and " + path_ +
                    " are of different versions, as after a driver upgrade; reboot the node or "
                    "reload the nvidia kernel modules"};
    }
    if (code == NVML_ERROR_DRIVER_NOT_LOADED) {
        return {ErrorCode::kUnavailable,
                what +
                    ": the nvidia kernel module is not loaded; run 'modprobe nvidia' or install "
                    "the driver on this node"};
    }
    if (code == NVML_ERROR_NO_PERMISSION) {
        return {ErrorCode::kPermission,
                what +
                    ": /dev/nvidiactl cannot be opened; give this container the GPU devices "
                    "(privileged, or NVIDIA_VISIBLE_DEVICES=all)"};
    }
    return {ErrorCode::kUnavailable, what + " from nvmlInit of " + path_};
}

Attachment::Closure::Closure(std::shared_ptr<Attachment> attachment)
    : attachment_(std::move(attachment)) {
    const std::lock_guard lock(attachment_->mutex_);
    ++attachment_->closures_;
}

Attachment::Closure::~Closure() {
    const std::lock_guard lock(attachment_->mutex_);
    --attachment_->closures_;
}

Attachment::Visit::~Visit() {
    if (caller_ != nullptr) caller_->leave();
}

bool Attachment::Caller::current() const {
    const std::lock_guard lock(attachment_->mutex_);
    return attachment_->started_ && !attachment_->let_go_ &&
           attachment_->generation_ == generation_;
}

Result<Attachment::Visit> Attachment::Caller::enter() {
    Attachment& hold = *attachment_;
    std::unique_lock lock(hold.mutex_);
    if (hold.let_go_ && hold.inside_ > 0) {
        hold.changed_.wait_for(lock, kPatience, [&hold] { return !hold.let_go_; });
    }
    hold.changed_.wait_for(lock, kStartPatience, [&hold] { return !hold.busy_; });
    if (hold.busy_) {
        return Error{ErrorCode::kUnavailable,
                     "NVIDIA driver: the start of " + hold.path_ + " by another thread hangs"};
    }
    if (hold.closures_ > 0) {
        return Error{ErrorCode::kUnavailable,
                     "NVIDIA driver: it is left alone while a GPU is reset"};
    }
    if (!hold.started_) return start(lock);
    ++hold.inside_;
    if (!library_ || generation_ != hold.generation_) {
        library_ = *Library::over(*hold.file_, position_);
        generation_ = hold.generation_;
    }
    return Visit(*this);
}

Result<Attachment::Visit> Attachment::Caller::start(std::unique_lock<std::mutex>& lock) {
    Attachment& hold = *attachment_;
    hold.busy_ = true;
    std::unique_ptr<os::DynamicLibrary> file = std::move(hold.file_);
    const auto identity = identity_of(hold.path_);
    if (identity && identity != hold.identity_) file.reset();  // the loader takes the new file then
    lock.unlock();

    library_.reset();
    Result<Done> outcome = Done{};
    for (const bool again : {true, false}) {
        if (!file) {
            auto found = Library::find({hold.path_});
            if (found) file = *std::move(found);
            if (!found) outcome = found.error();
        }
        if (!file) break;
        auto library = Library::over(*file, position_);
        outcome = library ? Result<Done>(Done{}) : library.error();
        if (!library) break;
        library_ = *std::move(library);
        const nvmlReturn_t code = library_->init();
        if (code == NVML_SUCCESS || code == NVML_ERROR_ALREADY_INITIALIZED) break;
        outcome = hold.cannot_start(*library_, code);
        // The driver may have been replaced as a whole since the old library was opened. The loader
        // takes the new file only when the old one is closed.
        if (code != NVML_ERROR_LIB_RM_VERSION_MISMATCH || !again) break;
        library_.reset();
        file.reset();
    }

    lock.lock();
    hold.busy_ = false;
    hold.let_go_ = false;
    hold.changed_.notify_all();
    hold.file_ = std::move(file);
    if (identity) hold.identity_ = identity;
    if (!outcome) return std::move(outcome).error();
    hold.started_ = true;
    generation_ = ++hold.generation_;
    ++hold.inside_;
    return Visit(*this);
}

std::optional<Attachment::Visit> Attachment::Caller::enter_again() {
    const std::lock_guard lock(attachment_->mutex_);
    const bool same =
        attachment_->started_ && !attachment_->busy_ && attachment_->generation_ == generation_;
    if (!same) return std::nullopt;
    ++attachment_->inside_;
    return Visit(*this);
}

void Attachment::Caller::let_go() {
    std::unique_lock lock(attachment_->mutex_);
    if (!attachment_->started_ || attachment_->generation_ != generation_) return;
    attachment_->let_go_ = true;
    attachment_->stop_when_free(lock, library_.get());
}

void Attachment::Caller::leave() {
    std::unique_lock lock(attachment_->mutex_);
    --attachment_->inside_;
    attachment_->stop_when_free(lock, library_.get());
}

}  // namespace aliquot::nvml
