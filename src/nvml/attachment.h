// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi/nvml.h"
#include "base/result.h"
#include "gpu/inventory.h"
#include "nvml/call_thread.h"
#include "nvml/function.h"
#include "nvml/kernel_files.h"
#include "nvml/library.h"
#include "os/dynamic_library.h"
#include "os/root.h"

namespace aliquot::nvml {

/// The process's hold on one libnvidia-ml.so.1. NVML counts its users by process and finds a lost
/// GPU again, or a reloaded driver, only after the last of them has left; the loader takes a new
/// file only when the old one is closed. So all sessions of a process share one hold, and whoever
/// wants it taken anew has it let go as soon as nobody is inside.
///
/// Thread-safe; used through a Caller for each thread.
class Attachment {
public:
    /// How long somebody who enters waits for a hold to be let go of that others are still inside
    /// of. After that it is used as it is: one of them may hang.
    static constexpr std::chrono::milliseconds kPatience{400};
    /// How long one waits for the start or the end of another's hold.
    static constexpr std::chrono::seconds kStartPatience{60};

    /// The hold on the library that is found there; a new one when there is none.
    /// errors   as Library::open
    static Result<std::shared_ptr<Attachment>> open(const os::Root& root,
                                                    const std::string& driver_root);
    ~Attachment();
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    /// Whether another file lies at the path than the one that was opened.
    [[nodiscard]] bool is_replaced();

    /// Whether the hold outlasts the last Visit. While some GPU waits for a reset nobody may have
    /// it open between two questions.
    void keep(bool keep);
    [[nodiscard]] bool keeps();

    /// Whoever asks about one GPU on a thread of his own says so: what hangs there hangs for all.
    void watch(const gpu::Uuid& gpu, CallThread::Monitor monitor);
    /// The first call about this GPU, of all that were said to be watched, that does not return.
    [[nodiscard]] std::optional<Hang> hang_of(const gpu::Uuid& gpu);

    /// While it lives nobody enters: somebody else wants the GPUs for himself.
    class Closure {
    public:
        explicit Closure(std::shared_ptr<Attachment> attachment);
        ~Closure();
        Closure(const Closure&) = delete;
        Closure& operator=(const Closure&) = delete;

    private:
        std::shared_ptr<Attachment> attachment_;
    };

    /// One thread's way to the library.
    class Caller;
    /// The right to call it, for as long as it lives.
    class Visit;

private:
    Attachment(std::unique_ptr<os::DynamicLibrary> file, const os::Root& root,
               const std::string& driver_root);

    [[nodiscard]] Error cannot_start(const Library& library, nvmlReturn_t code) const;
    /// Lets go when that is wanted and nobody is inside. `lock` is released meanwhile.
    void stop_when_free(std::unique_lock<std::mutex>& lock, const Library* library);

    std::string path_;
    KernelFiles kernel_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<os::FileStatus::Identity> identity_;  // of the file when it was opened
    std::unique_ptr<os::DynamicLibrary> file_;  // nullptr: closed, and could not be opened again
    std::uint64_t generation_ = 0;              // counts starts
    unsigned inside_ = 0;
    unsigned closures_ = 0;
    bool started_ = false;
    bool busy_ = false;  // somebody starts or stops it
    bool let_go_ = false;
    bool keep_ = true;
    std::vector<std::pair<gpu::Uuid, CallThread::Monitor>> watched_;
};

class Attachment::Visit {
public:
    explicit Visit(Caller& caller) : caller_(&caller) {}
    ~Visit();
    Visit(Visit&& other) noexcept : caller_(other.caller_) { other.caller_ = nullptr; }
    Visit& operator=(Visit&&) = delete;
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

private:
    Caller* caller_;
};

class Attachment::Caller {
public:
    /// position   where this thread is, for messages
    Caller(std::shared_ptr<Attachment> attachment, std::shared_ptr<CallPosition> position)
        : attachment_(std::move(attachment)), position_(std::move(position)) {}
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    /// Starts NVML when that was not done yet. May take as long as the driver likes.
    /// errors   kUnavailable, kPermission, kConflict (versions of kernel module and library differ)
    Result<Visit> enter();
    /// Only when the hold still is the one of the last visit.
    std::optional<Visit> enter_again();
    /// Lets go of it, now or when the last Visit ends, unless it is another one than that of the
    /// last visit by now.
    void let_go();

    /// Of the last visit; counts from 1. What another generation has given means nothing any more.
    [[nodiscard]] std::uint64_t generation() const { return generation_; }
    /// Whether the hold still is the one of the last visit.
    [[nodiscard]] bool current() const;
    /// Only during a Visit.
    [[nodiscard]] Library& library() { return *library_; }
    [[nodiscard]] const std::shared_ptr<Attachment>& attachment() const { return attachment_; }

private:
    friend class Attachment::Visit;
    Result<Visit> start(std::unique_lock<std::mutex>& lock);
    void leave();

    std::shared_ptr<Attachment> attachment_;
    std::shared_ptr<CallPosition> position_;
    std::unique_ptr<Library> library_;
    std::uint64_t generation_ = 0;
};

}  // namespace aliquot::nvml
