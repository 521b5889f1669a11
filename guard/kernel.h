// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

/// The few system calls the guard makes, without the C library: they leave errno alone, need no
/// symbol version, and are no cancellation points. Results are 0 or more, or -errno.
namespace aliquot::guard::kernel {

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) {
#if defined(__x86_64__)
    long result = number;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    register long x4 asm("x4") = e;
    register long x5 asm("x5") = f;
    asm volatile("svc #0"
                 : "+r"(x0)
                 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                 : "memory");
    return x0;
#else
#error "the guard is written for x86-64 and aarch64"
#endif
}

template <class T>
long as_long(T* pointer) {
    return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

/// Addresses come as numbers from the kernel and the loader.
template <class T>
T* as_pointer(std::uintptr_t address) {
    return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

inline int open(const char* path, int flags, unsigned mode = 0) {
    return static_cast<int>(
        call(SYS_openat, AT_FDCWD, as_long(path), flags | O_CLOEXEC, static_cast<long>(mode)));
}
inline void close(int descriptor) { call(SYS_close, descriptor); }

#if defined(__SANITIZE_THREAD__)
// The sanitizer has to know which memory is new.
inline void* map(std::size_t size, int protection, int flags, int descriptor, std::size_t offset) {
    void* at = ::mmap(nullptr, size, protection, flags, descriptor, static_cast<off_t>(offset));
    return at == MAP_FAILED ? nullptr : at;
}
inline void unmap(void* at, std::size_t size) { ::munmap(at, size); }
#else
inline void* map(std::size_t size, int protection, int flags, int descriptor, std::size_t offset) {
    const long at = call(SYS_mmap, 0, static_cast<long>(size), protection, flags, descriptor,
                         static_cast<long>(offset));
    return at < 0 && at > -4096 ? nullptr : as_pointer<void>(static_cast<std::uintptr_t>(at));
}
inline void unmap(void* at, std::size_t size) {
    call(SYS_munmap, as_long(at), static_cast<long>(size));
}
#endif

/// Size of an open file; below 0: -errno.
inline long size_of(int descriptor) { return call(SYS_lseek, descriptor, 0, 2 /*SEEK_END*/); }

inline long lock_byte(int descriptor, int command, short type, std::uint64_t offset) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = 0;
    lock.l_start = static_cast<off_t>(offset);
    lock.l_len = 1;
    return call(SYS_fcntl, descriptor, command, as_long(&lock));
}
/// Whether somebody else holds the byte; true when the system does not tell.
inline bool byte_is_locked(int descriptor, std::uint64_t offset) {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = 0;
    lock.l_start = static_cast<off_t>(offset);
    lock.l_len = 1;
    return call(SYS_fcntl, descriptor, F_OFD_GETLK, as_long(&lock)) != 0 || lock.l_type != F_UNLCK;
}

/// A counter of the processor that is cheaper than a clock, for "not again so soon".
inline std::uint64_t ticks() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    std::uint64_t count = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#endif
}
/// About a tenth of a second of them: between 0.04 and 0.2 s on the machines there are.
inline std::uint64_t tenth_of_ticks() {
#if defined(__x86_64__)
    return 200'000'000;
#else
    std::uint64_t per_second = 0;
    asm volatile("mrs %0, cntfrq_el0" : "=r"(per_second));
    return per_second / 10;
#endif
}
/// By how much CLOCK_MONOTONIC of this process is ahead of the host's: in a time namespace. Set before
/// the first word that others read is written (session.cpp).
inline std::atomic<std::uint64_t> g_clock_ahead_ns{0};

#if defined(ALIQUOT_GUARD_SIMULATED_TIME)
// The tests of shares have a clock and a scheduler of their own (simulated_time.h).
std::uint64_t now_ns();
void sleep_ns(std::uint64_t duration);
void wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint64_t limit_ns,
          bool shared);
void wake(std::atomic<std::uint32_t>& word, int count, bool shared);
#else
/// CLOCK_MONOTONIC as the host has it: what processes of other time namespaces, and the agent, write
/// and compare.
inline std::uint64_t now_ns() {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(time.tv_nsec) -
           g_clock_ahead_ns.load(std::memory_order_relaxed);
}
inline void sleep_ns(std::uint64_t duration) {
    timespec time = {static_cast<time_t>(duration / 1'000'000'000u),
                     static_cast<long>(duration % 1'000'000'000u)};
    call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, as_long(&time), 0);
}

/// Sleeps while `word` is `seen`, at most `limit_ns`. `shared`: between processes.
inline void wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint64_t limit_ns,
                 bool shared) {
    timespec limit = {static_cast<time_t>(limit_ns / 1'000'000'000u),
                      static_cast<long>(limit_ns % 1'000'000'000u)};
    call(SYS_futex, as_long(&word), shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE,
         static_cast<long>(seen), as_long(&limit));
}
inline void wake(std::atomic<std::uint32_t>& word, int count, bool shared) {
    call(SYS_futex, as_long(&word), shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, count);
}
#endif

inline int own_pid() { return static_cast<int>(call(SYS_getpid)); }

}  // namespace aliquot::guard::kernel
