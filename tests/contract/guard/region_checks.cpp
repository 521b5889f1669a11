// SPDX-License-Identifier: Apache-2.0
//
// The files: a ledger that cannot be used, limits from a config and their changes, the words of the
// environment.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/contract/guard/counting.h"
#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/ledger_view.h"
#include "tests/contract/guard/worker.h"

namespace aliquot::guardkit::checks {
namespace {

std::string region() { return environment("ALIQUOT_GUARD_REGION"); }

void write_region(std::size_t bytes, std::uint64_t magic, std::uint32_t abi) {
    const int file = ::open(region().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    CHECK_GE(file, 0);
    std::vector<unsigned char> content(bytes, 0);
    const std::uint32_t size = sizeof(abi::Ledger);
    if (bytes >= 16) {
        std::memcpy(content.data(), &magic, 8);
        std::memcpy(content.data() + 8, &abi, 4);
        std::memcpy(content.data() + 12, &size, 4);
    }
    CHECK_EQ(::write(file, content.data(), bytes), static_cast<long>(bytes));
    ::close(file);
}

/// With ALIQUOT_GUARD_FAIL=closed nothing of CUDA may start; the list of checks counts the lines.
void stays_closed() {
    if (environment("ALIQUOT_GUARD_FAIL") == "open") {
        CHECK_OK(CU(cuInit)(0));
        CUcontext context = nullptr;
        CHECK_OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
        CHECK_OK(CU(cuCtxSetCurrent)(context));
        std::size_t bare_free = 0;
        std::size_t bare_total = 0;
        CHECK_OK(BARE(cuMemGetInfo_v2)(&bare_free, &bare_total));
        const View view = memory_view();
        CHECK_EQ(view.total, bare_total);
        CUdeviceptr pointer = 0;
        CHECK_OK(CU(cuMemAlloc_v2)(&pointer, 5 * kGi));  // of a limit of 4
        CHECK_OK(CU(cuMemFree_v2)(pointer));
        return;
    }
    errno = 99;
    CHECK_EQ(CU(cuInit)(0), CUDA_ERROR_SYSTEM_NOT_READY);
    CHECK_EQ(errno, 99);
    CHECK_EQ(CU(cuInit)(0), CUDA_ERROR_SYSTEM_NOT_READY);
    void* address = nullptr;
    CHECK_OK(CU(cuGetProcAddress)("cuInit", &address, 12000, 0));
    CHECK_EQ(reinterpret_cast<decltype(&cuInit)>(address)(0), CUDA_ERROR_SYSTEM_NOT_READY);
    CUdeviceptr pointer = 0;
    CHECK_NE(CU(cuMemAlloc_v2)(&pointer, kMi), CUDA_SUCCESS);
}

void set_limit(ConfigFile& config, std::uint64_t bytes) {
    config->devices[0].memory_bytes.store(bytes);
}

CUresult allocate(std::uint64_t bytes) {
    CUdeviceptr pointer = 0;
    return CU(cuMemAlloc_v2)(&pointer, bytes);
}

}  // namespace

void a_ledger_of_another_abi() {
    write_region(sizeof(abi::Ledger), abi::kLedgerMagic, abi::kRegionAbi + 1);
    stays_closed();
}
void a_ledger_that_is_none() {
    write_region(sizeof(abi::Ledger), 0x1122334455667788, abi::kRegionAbi);
    stays_closed();
}
void a_ledger_cut_short() {
    write_region(4096, abi::kLedgerMagic, abi::kRegionAbi);
    stays_closed();
}
void a_ledger_in_a_directory_that_is_missing() { stays_closed(); }
void a_ledger_that_is_a_directory() {
    CHECK_EQ(::mkdir(region().c_str(), 0777), 0);
    stays_closed();
}
void a_ledger_that_is_a_pipe() {
    CHECK_EQ(::mkfifo(region().c_str(), 0666), 0);
    stays_closed();
}
void a_ledger_that_may_only_be_read() {
    write_region(sizeof(abi::Ledger), abi::kLedgerMagic, abi::kRegionAbi);
    CHECK_EQ(::chmod(region().c_str(), 0444), 0);
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) skip("cannot become another");
    (void)cuda_library();
    if (BARE(cuInit)(0) != CUDA_SUCCESS) skip("this driver is root's");
    stays_closed();
}

void an_empty_file_becomes_a_ledger() {
    // As an agent makes it ready that leaves the rest to the guard.
    write_region(0, 0, 0);
    start_cuda();
    CHECK_EQ(allocate(5 * kGi), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_EQ(allocate(kGi), CUDA_SUCCESS);
    CHECK_EQ(counted(), kGi);
}

void many_processes_make_the_ledger_at_once() {
    physical_base();
    std::vector<Worker> workers;
    for (unsigned long i = 0; i < scaled(32, 25); ++i) workers.push_back(Worker::start());
    std::vector<std::thread> threads;
    std::vector<long long> results(workers.size(), -1);
    for (std::size_t i = 0; i < workers.size(); ++i)
        threads.emplace_back([&, i] { results[i] = workers[i].number("init"); });
    for (std::thread& thread : threads) thread.join();
    for (const long long result : results)
        CHECK_THAT(result == 0 || result == CUDA_ERROR_OUT_OF_MEMORY);
    for (std::size_t i = 0; i < workers.size(); ++i)
        if (results[i] == 0) (void)workers[i].number("fill 67108864");
    check_physical(4 * kGi);
    check_sums();
}

void a_ledger_whose_slots_are_all_taken() {
    start_cuda();
    // Every other place is held by somebody who lives: us, by locks of our own.
    const int file = ::open(region().c_str(), O_RDWR | O_CLOEXEC);
    CHECK_GE(file, 0);
    const LedgerView view = LedgerView::read();
    const auto first = reinterpret_cast<const char*>(&view.ledger());
    for (unsigned i = 0; i < abi::kRegionSlots; ++i) {
        const abi::Slot& slot = view.ledger().slots[i];
        if (slot.owner.load() != 0) continue;
        struct flock lock {};
        lock.l_type = F_WRLCK;
        lock.l_start = static_cast<off_t>(abi::kSlotLockOffset + i);
        lock.l_len = 1;
        CHECK_EQ(::fcntl(file, F_OFD_SETLK, &lock), 0);
        const std::uint64_t owner = (std::uint64_t{999'999} << 32) + i + 1;
        CHECK_EQ(::pwrite(file, &owner, sizeof owner, reinterpret_cast<const char*>(&slot) - first),
                 8L);
    }
    // One process too many is refused cleanly: it must neither crash nor run without a limit.
    Worker worker = Worker::start({.environment = {"ALIQUOT_GUARD_LOG=off"}});
    const long long result = worker.number("init");
    CHECK_NE(result, 0LL);
    CHECK_EQ(allocate(kGi), CUDA_SUCCESS);  // we go on
}

namespace {

/// Every place of a new ledger is a device's that there is not.
void fill_with_junk() {
    Worker worker = Worker::start();  // makes the ledger
    CHECK_EQ(worker.number("init"), 0);
    CHECK_EQ(worker.finish(), 0);
    const int file = ::open(region().c_str(), O_RDWR | O_CLOEXEC);
    CHECK_GE(file, 0);
    for (std::size_t i = 0; i < abi::kRegionDevices; ++i) {
        abi::DeviceUuid junk;
        std::memset(junk.bytes, static_cast<int>(i + 1), sizeof junk.bytes);
        const auto at =
            static_cast<off_t>(offsetof(abi::Ledger, devices) + i * sizeof(abi::DeviceLedger) +
                               offsetof(abi::DeviceLedger, uuid));
        CHECK_EQ(::pwrite(file, &junk, sizeof junk, at), static_cast<long>(sizeof junk));
    }
    ::close(file);
}

}  // namespace

void junk_devices_in_the_ledger_are_no_way_out() {
    fill_with_junk();
    start_cuda();
    const bool open = environment("ALIQUOT_GUARD_FAIL") == "open";
    CHECK_EQ(allocate(64 * kMi), open ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
    CUdeviceptr pointer = 0;
    CHECK_EQ(CU(cuMemAllocAsync)(&pointer, 64 * kMi, nullptr),
             open ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_THAT((LedgerView::read().ledger().devices[0].remarks & abi::kRemarkTableFull) != 0);
}

void junk_devices_give_way_to_those_of_the_config() {
    ConfigFile config;
    set_limit(config, kGi);
    fill_with_junk();
    start_cuda();
    CHECK_EQ(memory_view().total, kGi);
    CHECK_EQ(allocate(64 * kMi), CUDA_SUCCESS);
    CHECK_EQ(counted(), 64 * kMi);
    CHECK_EQ(allocate(kGi), CUDA_ERROR_OUT_OF_MEMORY);
}

void limits_come_from_the_config() {
    ConfigFile config;  // beats the 4 GiB of the environment
    set_limit(config, 2 * kGi);
    start_cuda();
    CHECK_EQ(memory_view().total, 2 * kGi);
    CHECK_EQ(allocate(2 * kGi + 1), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_EQ(allocate(kGi), CUDA_SUCCESS);
}

void limits_change_while_programs_run() {
    ConfigFile config;
    config->devices[0].context_bytes.store(256 * kMi);
    set_limit(config, kGi);
    start_cuda();
    CUdeviceptr first = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&first, 512 * kMi));
    CHECK_EQ(allocate(512 * kMi), CUDA_ERROR_OUT_OF_MEMORY);
    set_limit(config, 3 * kGi);  // more: at once
    CHECK_EQ(memory_view().total, 3 * kGi);
    CUdeviceptr second = 0;
    CHECK_OK(CU(cuMemAlloc_v2)(&second, kGi));
    set_limit(config, kGi);  // less than is used: nothing is taken away, nothing more is given
    const View view = memory_view();
    CHECK_EQ(view.total, kGi);
    CHECK_EQ(view.free, 0U);
    CHECK_EQ(allocate(4096), CUDA_ERROR_OUT_OF_MEMORY);
    nvmlMemory_t memory{};
    nvmlDevice_t device = nullptr;
    CHECK_OK(NVML(nvmlInit_v2)());
    CHECK_OK(NVML(nvmlDeviceGetHandleByIndex_v2)(0, &device));
    CHECK_OK(NVML(nvmlDeviceGetMemoryInfo)(device, &memory));
    CHECK_EQ(memory.total, kGi);
    CHECK_EQ(memory.free, 0U);
    CHECK_LE(memory.used, memory.total);
    CHECK_OK(CU(cuMemFree_v2)(second));
    set_limit(config, 0);  // none
    std::size_t bytes = 0;
    CHECK_OK(BARE(cuDeviceTotalMem_v2)(&bytes, 0));
    CHECK_EQ(memory_view().total, bytes);
    CHECK_EQ(allocate(4 * kGi), CUDA_SUCCESS);
    CHECK_OK(CU(cuMemFree_v2)(first));
    check_sums();
}

/// A weight that is set while a program runs is one from its next launch on: then it takes turns. How
/// the other side reads weights is tested there (src/turns).
void turns_are_told_in_any_config() {
    ConfigFile config;
    Worker worker = Worker::start();
    CHECK_EQ(worker.number("init"), 0);
    const auto launched = [&] {
        for (int i = 0; i < 200; ++i) CHECK_EQ(worker.number("launch 10000"), 0);
        CHECK_EQ(worker.number("sync"), 0);
    };
    launched();
    config->devices[0].weight.store(30);
    launched();
    CHECK_EQ(LedgerView::read().remarks() & abi::kRemarkNoArbiter, 0U);
    config->devices[0].weight.store(70);
    launched();
    CHECK_EQ(LedgerView::read().remarks() & abi::kRemarkNoArbiter, 0U);
}

void a_context_that_does_not_fit_is_refused() {
    ConfigFile config;
    config->heartbeat_ns.store(now_ns());
    config->devices[0].context_bytes.store(kGi);
    set_limit(config, 512 * kMi);
    CHECK_OK(CU(cuInit)(0));
    CUcontext context = reinterpret_cast<CUcontext>(0x5a5a);
    CHECK_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_EQ(static_cast<const void*>(context), reinterpret_cast<const void*>(0x5a5a));
    CHECK_EQ(CU(cuCtxCreate_v2)(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    set_limit(config, 2 * kGi);
    CHECK_OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
}

void the_agents_figures_count() {
    ConfigFile config;
    config->heartbeat_ns.store(now_ns());
    config->devices[0].context_bytes.store(256 * kMi);
    set_limit(config, 2 * kGi);
    start_cuda();
    CHECK_OK(allocate(64 * kMi));
    const View estimated = memory_view();
    CHECK_LE(estimated.free, 2 * kGi - 256 * kMi - 64 * kMi);
    // The agent has measured: this process holds 1 GiB more than it allocated.
    const unsigned slot = LedgerView::read().slot_of(::getpid());
    CHECK_LT(slot, abi::kRegionSlots);
    abi::ProcessTruth& truth = config->truth[slot];
    const auto tell = [&](std::uint64_t bytes) {
        truth.owner.store(0);
        truth.host_pid.store(::getpid());
        truth.overhead_bytes[0].store(bytes);
        truth.owner.store(LedgerView::read().ledger().slots[slot].owner.load());
        config->heartbeat_ns.store(now_ns());
        config->truth_changes.fetch_add(2);
    };
    tell(kGi);
    CHECK_THAT(eventually([&] {
        (void)allocate(1);
        return memory_view().free <= kGi - 64 * kMi;
    }));
    CHECK_EQ(allocate(kGi), CUDA_ERROR_OUT_OF_MEMORY);
    tell(2 * kGi);  // beyond the limit: no error, nothing free
    CHECK_THAT(eventually([&] {
        (void)allocate(1);
        return memory_view().free == 0;
    }));
    CHECK_EQ(allocate(4096), CUDA_ERROR_OUT_OF_MEMORY);
    tell(64 * kMi);  // and less again
    CHECK_THAT(eventually([&] { return allocate(kGi) == CUDA_SUCCESS; }));
    check_sums();
}

void a_config_that_is_none_closes() {
    const int file =
        ::open(environment("ALIQUOT_GUARD_CONFIG").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CHECK_EQ(::write(file, "something else", 14), 14L);
    ::close(file);
    stays_closed();
}

void a_limit_without_a_region_holds_for_the_process() {
    start_cuda();
    CHECK_EQ(memory_view().total, kGi);
    CHECK_EQ(allocate(kGi), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_EQ(allocate(128 * kMi), CUDA_SUCCESS);
}

/// Limits by whatever words the list of checks sets: ALIQUOT_GUARD_KIT_EXPECT bytes.
void a_limit_in_these_words() {
    start_cuda();
    CHECK_EQ(memory_view().total, environment_number("ALIQUOT_GUARD_KIT_EXPECT", 0));
    CHECK_EQ(allocate(environment_number("ALIQUOT_GUARD_KIT_EXPECT", 0)), CUDA_ERROR_OUT_OF_MEMORY);
}
void a_limit_in_mebibytes() { a_limit_in_these_words(); }
void a_limit_in_kibibytes() { a_limit_in_these_words(); }
void a_limit_in_bytes() { a_limit_in_these_words(); }
void a_limit_with_a_fraction() { a_limit_in_these_words(); }
void a_limit_for_the_first_gpu_only() { a_limit_in_these_words(); }
void a_limit_in_hamis_words() { a_limit_in_these_words(); }
void a_limit_in_hamis_words_by_gpu() { a_limit_in_these_words(); }
void a_limit_in_hamis_words_and_ours() { a_limit_in_these_words(); }
void a_limit_that_is_no_number() { stays_closed(); }
void a_limit_below_nothing() { stays_closed(); }

}  // namespace aliquot::guardkit::checks
