// SPDX-License-Identifier: Apache-2.0
#include "mig/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace aliquot::mig {
namespace {

constexpr const char* kJournal = "/journal.json";
constexpr const char* kLastApplied = "/wish.json";
constexpr const char* kLock = "/lock";
constexpr std::chrono::milliseconds kPollLock{20};  // flock() that waits has no limit
constexpr std::size_t kMostBytes = 1U << 20U;

/// Waits for the lock; false: somebody else kept it.
bool take_lock(int lock, std::chrono::milliseconds wait, os::Clock& clock) {
    const auto end = clock.now() + wait;
    while (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK || clock.now() >= end) return false;
        clock.sleep_for(kPollLock, {});
    }
    return true;
}

}  // namespace

Result<StateDirectory> StateDirectory::open(const os::Root& root, std::string path,
                                            std::chrono::milliseconds wait, os::Clock& clock) {
    auto made = root.make_directories(path);
    if (!made) return std::move(made).error().during("MIG state directory");
    const auto lock_file = root.resolve(path + kLock);
    const int lock = ::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) return os::error_from_errno(errno, lock_file.native());
    const int directory = ::open(root.resolve(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        const int number = errno;
        ::close(lock);
        return os::error_from_errno(number, path);
    }
    StateDirectory state(root, std::move(path), lock, directory);
    if (take_lock(lock, wait, clock)) return state;
    return Error{ErrorCode::kConflict,
                 lock_file.native() + ": another process is changing MIG on this node; waited " +
                     std::to_string(wait.count()) + " ms for it"};
}

StateDirectory::StateDirectory(const os::Root& root, std::string path, int lock, int directory)
    : root_(&root), path_(std::move(path)), lock_(lock), directory_(directory) {}

StateDirectory::StateDirectory(StateDirectory&& other) noexcept
    : root_(other.root_),
      path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      directory_(std::exchange(other.directory_, -1)) {}

StateDirectory::~StateDirectory() {
    if (directory_ >= 0) ::close(directory_);
    if (lock_ >= 0) ::close(lock_);  // and with it the lock
}

Result<std::optional<Journal>> StateDirectory::read_journal() const {
    const auto text = root_->read(path_ + kJournal, kMostBytes);
    if (!text && text.error().code == ErrorCode::kNotFound) return std::optional<Journal>{};
    if (!text) return text.error();
    auto journal = parse_journal(*text);
    if (journal) return std::optional<Journal>(std::move(*journal));
    return Error{ErrorCode::kConflict,
                 root_->resolve(path_ + kJournal).native() + ": " + journal.error().message +
                     "; look at the GPUs (aliquot mig list), then remove the file"};
}

Result<Done> StateDirectory::write_journal(const Journal& journal) const {
    return write(path_ + kJournal, to_json(journal));
}

Result<Done> StateDirectory::remove_journal() const {
    auto removed = root_->remove(path_ + kJournal);
    if (!removed) return removed;
    return settle();
}

Result<LastApplied> StateDirectory::read_last_applied() const {
    const auto text = root_->read(path_ + kLastApplied, kMostBytes);
    if (!text && text.error().code == ErrorCode::kNotFound) return LastApplied{};
    if (!text) return text.error();
    auto spec = parse_last_applied(*text);
    if (!spec) return std::move(spec).error().during(root_->resolve(path_ + kLastApplied).native());
    return spec;
}

Result<Done> StateDirectory::write_last_applied(const LastApplied& spec) const {
    return write(path_ + kLastApplied, to_json(spec));
}

Result<Done> StateDirectory::write(const std::string& file, const std::string& text) const {
    return root_->write_atomically(file, text, 0600);
}

Result<Done> StateDirectory::settle() const {
    if (::fsync(directory_) == 0 || errno == EINVAL) return Done{};  // some file systems cannot
    return os::error_from_errno(errno, path_);
}

}  // namespace aliquot::mig
