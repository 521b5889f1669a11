// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into a program: counts its calls that change files beneath one directory, and fails one of them once.
//   ALIQUOT_FAULT_UNDER  the directory
//   ALIQUOT_FAULT_LOG    a file outside of it: one line for each counted call, "write /path"
//   ALIQUOT_FAULT_ALL    set: counts what only reads there, too, and what makes descriptors that have no path
//   ALIQUOT_FAULT        "NUMBER:ERRNO": fails call NUMBER (from 1) with ERRNO; empty: fails none
// A short write comes first where the number ends with "s" ("7s:28"): half of it is written, the next call fails.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Plan {
    char under[512] = {};
    std::size_t length = 0;
    int log = -1;
    unsigned long number = 0;
    int error = 0;
    bool half = false;
    bool all = false;
};

Plan read_plan() {
    Plan plan;
    const char* const under = ::getenv("ALIQUOT_FAULT_UNDER");
    if (under == nullptr) return plan;
    plan.length = std::strlen(under);
    if (plan.length >= sizeof plan.under) return {};
    std::memcpy(static_cast<char*>(plan.under), under, plan.length);
    plan.all = ::getenv("ALIQUOT_FAULT_ALL") != nullptr;
    if (const char* const log = ::getenv("ALIQUOT_FAULT_LOG")) {
        const long fd =
            ::syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        plan.log = static_cast<int>(fd);
    }
    if (const char* const fault = ::getenv("ALIQUOT_FAULT")) {
        char* end = nullptr;
        plan.number = std::strtoul(fault, &end, 10);
        plan.half = *end == 's';
        if (plan.half) ++end;
        if (*end == ':') plan.error = static_cast<int>(std::strtol(end + 1, nullptr, 10));
    }
    return plan;
}

const Plan& plan() {
    static const Plan made = read_plan();
    return made;
}

std::atomic<unsigned long> calls{0};

enum class Verdict { kGoOn, kFail, kHalf };

bool is_under(const char* path) {
    const Plan& made = plan();
    return made.length > 0 && path != nullptr &&
           std::strncmp(path, static_cast<const char*>(made.under), made.length) == 0 &&
           (path[made.length] == '/' || path[made.length] == '\0');
}

/// Counts the call, and says what becomes of it.
Verdict count(const char* name, const char* path) {
    const Plan& made = plan();
    const unsigned long number = calls.fetch_add(1) + 1;
    if (made.log >= 0) {
        char line[700];
        const int length =
            std::snprintf(static_cast<char*>(line), sizeof line, "%s %s\n", name, path);
        ::syscall(SYS_write, made.log, static_cast<char*>(line), static_cast<std::size_t>(length));
    }
    if (made.number == 0) return Verdict::kGoOn;
    if (number == made.number && made.half) return Verdict::kHalf;
    const bool fails = number == made.number + (made.half ? 1 : 0);
    return fails ? Verdict::kFail : Verdict::kGoOn;
}

Verdict meet(const char* name, const char* path) {
    return is_under(path) ? count(name, path) : Verdict::kGoOn;
}

/// A descriptor that has no path: whether it cannot be had.
bool fails_without_path(const char* name) {
    const Plan& made = plan();
    return made.all && made.length > 0 && count(name, "-") == Verdict::kFail;
}

int refuse() {
    errno = plan().error;
    return -1;
}

/// The path of a descriptor; empty: it has none.
struct PathOf {
    explicit PathOf(int fd) {
        const int before = errno;
        char link[40];
        std::snprintf(static_cast<char*>(link), sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t length =
            ::readlink(static_cast<char*>(link), static_cast<char*>(path), sizeof path - 1);
        path[length > 0 ? length : 0] = '\0';
        errno = before;
    }
    char path[600] = {};
};

struct PathAt {
    PathAt(int directory, const char* name) {
        if (name == nullptr || name[0] == '/' || directory == AT_FDCWD) {
            std::snprintf(static_cast<char*>(path), sizeof path, "%s", name == nullptr ? "" : name);
            return;
        }
        const PathOf of(directory);
        std::snprintf(static_cast<char*>(path), sizeof path, "%s/%s",
                      static_cast<const char*>(of.path), name);
    }
    char path[700] = {};
};

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool fails(const char* name, int fd) {
    const PathOf of(fd);
    return meet(name, static_cast<const char*>(of.path)) == Verdict::kFail;
}

bool fails_at(const char* name, int directory, const char* path) {
    const PathAt at(directory, path);
    return meet(name, static_cast<const char*>(at.path)) == Verdict::kFail;
}

bool changes(int flags) {
    return plan().all || (flags & O_ACCMODE) != O_RDONLY ||
           (flags & (O_CREAT | O_TRUNC | O_DIRECTORY)) != 0;
}

int open_file(int directory, const char* path, int flags, mode_t mode) {
    if ((flags & O_PATH) == 0 && changes(flags) && fails_at("open", directory, path))
        return refuse();
    return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}

mode_t mode_of(int flags, va_list arguments) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

}  // namespace

extern "C" {

#define OPENS(name)                                    \
    int name(const char* path, int flags, ...) {       \
        va_list arguments;                             \
        va_start(arguments, flags);                    \
        const mode_t mode = mode_of(flags, arguments); \
        va_end(arguments);                             \
        return open_file(AT_FDCWD, path, flags, mode); \
    }
#define OPENS_AT(name)                                          \
    int name(int directory, const char* path, int flags, ...) { \
        va_list arguments;                                      \
        va_start(arguments, flags);                             \
        const mode_t mode = mode_of(flags, arguments);          \
        va_end(arguments);                                      \
        return open_file(directory, path, flags, mode);         \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

ssize_t write(int fd, const void* bytes, size_t size) {
    const PathOf of(fd);
    const Verdict verdict = meet("write", static_cast<const char*>(of.path));
    if (verdict == Verdict::kFail) return refuse();
    if (verdict == Verdict::kHalf && size > 1) size /= 2;
    return ::syscall(SYS_write, fd, bytes, size);
}
ssize_t writev(int fd, const iovec* parts, int count) {
    if (fails("writev", fd)) return refuse();
    return ::syscall(SYS_writev, fd, parts, count);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
    if (fails("pwrite", fd)) return refuse();
    return ::syscall(SYS_pwrite64, fd, bytes, size, offset);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off_t offset) {
    return pwrite(fd, bytes, size, offset);
}
int fsync(int fd) {
    if (fails("fsync", fd)) return refuse();
    return static_cast<int>(::syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
    if (fails("fdatasync", fd)) return refuse();
    return static_cast<int>(::syscall(SYS_fdatasync, fd));
}
int ftruncate(int fd, off_t size) noexcept {
    if (fails("ftruncate", fd)) return refuse();
    return static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}
int ftruncate64(int fd, off_t size) noexcept { return ftruncate(fd, size); }
int posix_fallocate(int fd, off_t offset, off_t size) {
    if (fails("fallocate", fd)) return plan().error;
    return next<int(int, off_t, off_t)>("posix_fallocate")(fd, offset, size);
}
int posix_fallocate64(int fd, off_t offset, off_t size) {
    return posix_fallocate(fd, offset, size);
}
int fchmod(int fd, mode_t mode) noexcept {
    if (fails("fchmod", fd)) return refuse();
    return static_cast<int>(::syscall(SYS_fchmod, fd, mode));
}
void* mmap(void* place, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
    if (fd >= 0 && (plan().all || (flags & MAP_SHARED) != 0) && fails("mmap", fd)) {
        refuse();
        return MAP_FAILED;
    }
    return reinterpret_cast<void*>(::syscall(SYS_mmap, place, size, protection, flags, fd, offset));
}
void* mmap64(void* place, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
    return mmap(place, size, protection, flags, fd, offset);
}
int rename(const char* from, const char* to) noexcept {
    if (fails_at("rename", AT_FDCWD, to)) return refuse();
    return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int link(const char* from, const char* to) noexcept {
    if (fails_at("link", AT_FDCWD, to)) return refuse();
    return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int mkdir(const char* path, mode_t mode) noexcept {
    if (fails_at("mkdir", AT_FDCWD, path)) return refuse();
    return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int memfd_create(const char* name, unsigned flags) noexcept {
    if (fails_without_path("memfd_create")) return refuse();
    return static_cast<int>(::syscall(SYS_memfd_create, name, flags));
}
int socket(int domain, int type, int protocol) noexcept {
    if (fails_without_path("socket")) return refuse();
    return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
}
int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
    if (fails_without_path("accept4")) return refuse();
    return static_cast<int>(::syscall(SYS_accept4, fd, address, length, flags));
}
int epoll_create1(int flags) noexcept {
    if (fails_without_path("epoll_create1")) return refuse();
    return static_cast<int>(::syscall(SYS_epoll_create1, flags));
}
int eventfd(unsigned value, int flags) noexcept {
    if (fails_without_path("eventfd")) return refuse();
    return static_cast<int>(::syscall(SYS_eventfd2, value, flags));
}
int timerfd_create(clockid_t clock, int flags) noexcept {
    if (fails_without_path("timerfd_create")) return refuse();
    return static_cast<int>(::syscall(SYS_timerfd_create, clock, flags));
}
int pipe2(int* fds, int flags) noexcept {
    if (fails_without_path("pipe2")) return refuse();
    return static_cast<int>(::syscall(SYS_pipe2, fds, flags));
}
int close(int fd) {
    const bool failed = fails("close", fd);  // Linux closes it all the same
    const int done = static_cast<int>(::syscall(SYS_close, fd));
    return failed ? refuse() : done;
}

}  // extern "C"
