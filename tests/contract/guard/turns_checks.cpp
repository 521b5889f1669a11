// SPDX-License-Identifier: Apache-2.0
//
// Turns between containers: who can write what, and what becomes of launches when whoever keeps turns
// is another version, silent or gone.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "abi/region.h"
#include "abi/turns.h"
#include "tests/contract/guard/containers.h"
#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/ledger_view.h"

namespace aliquot::guardkit::checks {
namespace {

/// What whoever listens at `socket` hands over: wants, turns; fewer: nobody does.
std::vector<int> pages_at(const std::string& socket) {
    const int wire = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket.copy(address.sun_path, sizeof address.sun_path - 1);
    CHECK_EQ(::connect(wire, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    abi::TurnsHandOver head{};
    iovec part{&head, sizeof head};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    CHECK_EQ(::recvmsg(wire, &message, MSG_CMSG_CLOEXEC), static_cast<long>(sizeof head));
    std::vector<int> files(2);
    std::memcpy(files.data(), CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
    ::close(wire);
    return files;
}

/// Listens at `path` in a thread; what it does with each connection is up to it.
class Listener {
public:
    Listener(const std::string& path, std::function<void(int)> act)
        : wire_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        ::unlink(path.c_str());
        CHECK_EQ(::bind(wire_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        CHECK_EQ(::listen(wire_, 16), 0);
        thread_ = std::thread([this, act = std::move(act)] {
            for (int one = 0; (one = ::accept(wire_, nullptr, nullptr)) >= 0;) act(one);
        });
    }
    ~Listener() {
        ::shutdown(wire_, SHUT_RDWR);
        thread_.join();
        ::close(wire_);
    }

private:
    int wire_;
    std::thread thread_;
};

/// Hands out pages of its own; keeps no turns and has no heartbeat.
class FakeAgent {
public:
    FakeAgent(const std::string& path, std::uint32_t word)
        : wants_(map<abi::WantsPage>(files_[0])),
          turns_(map<abi::TurnsPage>(files_[1])),
          listener_(path, [this](int wire) { answer(wire); }) {
        turns_->magic = abi::kTurnsMagic;
        turns_->abi = abi::kTurnsAbi;
        turns_->size = sizeof(abi::TurnsPage);
        gpu_uuid(0, turns_->devices[0].uuid.bytes);
        turns_->devices[0].word.store(word);
        turns_->heartbeat.store(1);
    }
    [[nodiscard]] unsigned asked() const { return asked_.load(); }
    [[nodiscard]] abi::TurnsPage& page() const { return *turns_; }
    [[nodiscard]] abi::WantsPage& wants() const { return *wants_; }

private:
    template <class Page>
    static Page* map(int& file) {
        file = ::memfd_create("page", MFD_CLOEXEC);
        CHECK_EQ(::ftruncate(file, sizeof(Page)), 0);
        void* const mapped =
            ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        CHECK_EQ(mapped == MAP_FAILED, false);
        return static_cast<Page*>(mapped);
    }
    void answer(int wire) {
        ++asked_;
        abi::TurnsHandOver head{abi::kTurnsHandOverMagic, abi::kTurnsAbi};
        iovec part{&head, sizeof head};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof files_)] = {};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof files_);
        std::memcpy(CMSG_DATA(header), files_, sizeof files_);
        (void)::sendmsg(wire, &message, MSG_NOSIGNAL);
        ::close(wire);
    }

    int files_[2] = {-1, -1};
    abi::WantsPage* wants_;
    abi::TurnsPage* turns_;
    std::atomic<unsigned> asked_{0};
    Listener listener_;  // last: its thread uses all the others
};

}  // namespace

/// By any way that root of a container has to a file that was handed to it.
void nobody_can_write_what_it_is_told_of_turns() {
    const std::vector<int> files = pages_at(environment("ALIQUOT_GUARD_NODE") + "-30");
    const int turns = files[1];
    const auto can_write = [](int file) {
        return ::mmap(nullptr, sizeof(abi::TurnsPage), PROT_READ | PROT_WRITE, MAP_SHARED, file,
                      0) != MAP_FAILED ||
               ::pwrite(file, "x", 1, 0) == 1 || ::ftruncate(file, 0) == 0 ||
               ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0;
    };
    CHECK_EQ(can_write(turns), false);
    (void)::fchmod(turns, 0666);
    const std::string again = "/proc/self/fd/" + std::to_string(turns);
    const int writable = ::open(again.c_str(), O_RDWR | O_CLOEXEC);
    if (writable >= 0) CHECK_EQ(can_write(writable), false);
    void* const mapped = ::mmap(nullptr, sizeof(abi::TurnsPage), PROT_READ, MAP_SHARED, turns, 0);
    CHECK_EQ(mapped == MAP_FAILED, false);
    CHECK_NE(::mprotect(mapped, sizeof(abi::TurnsPage), PROT_READ | PROT_WRITE), 0);
    // Nor cut short what the other side reads.
    CHECK_NE(::ftruncate(files[0], 0), 0);
}

/// Turns that never come cost a few waits, not one for each launch; here, what it may wait for is a
/// container that keeps its turn for as long as it can.
void a_neighbour_that_writes_over_its_wishes_stops_nobody_for_long() {
    const std::vector<int> files = pages_at(environment("ALIQUOT_GUARD_NODE") + "-70");
    void* const mapped =
        ::mmap(nullptr, sizeof(abi::WantsPage), PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0);
    CHECK_EQ(mapped == MAP_FAILED, false);
    Worker one = started(own_region("-one", "30"));
    std::atomic<bool> enough{false};
    std::thread hostile([mapped, &enough] {
        auto* const page = static_cast<abi::WantsPage*>(mapped);
        for (std::uint32_t number = 1; !enough; number = number * 1'664'525 + 1'013'904'223) {
            for (abi::Demand& demand : page->devices) {
                demand.asked.store(number | 1U);
                demand.busy_until_ns.store(~std::uint64_t{0});
                demand.rests.fetch_add(number >> 31U);
            }
            page->changes.fetch_add(1);
            nap_us(100);
        }
    });
    const std::uint64_t began = now_ns();
    bool fine = true;
    for (int i = 0; fine && i < 100; ++i)
        fine = one.number(launch(1)) == 0 && one.number("sync") == 0;
    const std::uint64_t took = now_ns() - began;
    enough = true;
    hostile.join();
    CHECK_EQ(fine, true);
    CHECK_LT(took, 25'000'000'000ULL);  // 100 waits of 250 ms and more without bounds
}

/// A page of turns that says so, as at an orderly end; and nobody listens any more, until somebody does.
void the_end_of_whoever_keeps_turns_stops_nobody() {
    const std::string place = environment("ALIQUOT_GUARD_NODE") + "-ends";
    std::optional<FakeAgent> agent;
    agent.emplace(place, abi::kTurnOthers);  // somebody else has it, for ever
    auto words = own_region("-one", "30");
    words.push_back("ALIQUOT_GUARD_NODE=" + place);
    Worker one = started(words);
    const auto launched = [&] {
        const std::uint64_t began = now_ns();
        for (int i = 0; i < 50; ++i) {
            CHECK_EQ(one.number(launch(1)), 0);
            CHECK_EQ(one.number("sync"), 0);
        }
        return now_ns() - began;
    };
    // Its heart does not beat: no turn comes, and it is found out.
    CHECK_LT(launched(), 20'000'000'000ULL);
    CHECK_GE(agent->asked(), 1U);
    // It says that it has ended, and nobody listens: each launch goes through at once.
    agent->page().heartbeat.store(0);
    agent.reset();
    CHECK_LT(launched(), 10'000'000'000ULL);
    // The pages of the next one are found without a word from anybody.
    agent.emplace(place, abi::kTurnMine | abi::kTurnOthers | 1U << abi::kTurnGrantShift);
    const std::uint64_t end = now_ns() + 30'000'000'000ULL;
    const auto& busy_until = agent->wants().devices[0].busy_until_ns;
    while (busy_until.load() == 0 && now_ns() < end) (void)launched();
    CHECK_NE(busy_until.load(), 0U);
}

/// A guard of this version beside an agent of another one: said, and without turns.
void turns_of_another_version_are_remarked() {
    const std::string place = environment("HOME") + "/other-version";
    const Listener listener(place, [](int wire) {
        const abi::TurnsHandOver head{abi::kTurnsHandOverMagic, abi::kTurnsAbi + 1};
        (void)::send(wire, &head, sizeof head, MSG_NOSIGNAL);
        ::close(wire);
    });
    ::setenv("ALIQUOT_GUARD_NODE", place.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    ::setenv("ALIQUOT_GUARD_WEIGHT", "30", 1);         // NOLINT(concurrency-mt-unsafe)
    Worker one = started({});
    const std::uint64_t began = now_ns();
    for (int i = 0; i < 20; ++i) CHECK_EQ(one.number(launch(1)), 0);
    CHECK_EQ(one.number("sync"), 0);
    CHECK_LT(now_ns() - began, 10'000'000'000ULL);
    CHECK_NE(LedgerView::read().remarks() & abi::kRemarkNoArbiter, 0U);
}

void whoever_listens_and_never_answers_costs_a_moment() {
    const std::string place = environment("HOME") + "/silent";
    std::vector<int> wires;
    {
        const Listener listener(place, [&](int wire) { wires.push_back(wire); });
        ::setenv("ALIQUOT_GUARD_NODE", place.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
        ::setenv("ALIQUOT_GUARD_WEIGHT", "30", 1);         // NOLINT(concurrency-mt-unsafe)
        Worker one = started({});
        const std::uint64_t began = now_ns();
        for (int i = 0; i < 100; ++i) CHECK_EQ(one.number(launch(1)), 0);
        CHECK_EQ(one.number("sync"), 0);
        CHECK_LT(now_ns() - began, 15'000'000'000ULL);  // 200 ms each would be 20 s
        CHECK_NE(LedgerView::read().remarks() & abi::kRemarkNoArbiter, 0U);
    }
    for (const int wire : wires) ::close(wire);
}

}  // namespace aliquot::guardkit::checks
