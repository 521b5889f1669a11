// SPDX-License-Identifier: Apache-2.0
#include "turns/pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include "os/root.h"

namespace aliquot::turns {
namespace {

constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW;
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/// Memory of the size of a page's layout, mapped for us; nullptr: errno says why.
template <class Page>
Page* make_page(const char* name, Descriptor& file) {
    file.reset(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file || ::ftruncate(file.get(), sizeof(Page)) != 0) return nullptr;
    void* const place =
        ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    return place == MAP_FAILED ? nullptr : new (place) Page{};
}

Error failed() { return os::error_from_errno(errno, "pages for turns"); }

}  // namespace

Pages::Pages(Pages&& other) noexcept
    : wants_file_(std::move(other.wants_file_)),
      turns_file_(std::move(other.turns_file_)),
      wants_(std::exchange(other.wants_, nullptr)),
      turns_(std::exchange(other.turns_, nullptr)) {}

Pages::~Pages() {
    if (wants_ != nullptr) ::munmap(wants_, sizeof(abi::WantsPage));
    if (turns_ != nullptr) ::munmap(turns_, sizeof(abi::TurnsPage));
}

Result<Pages> Pages::make(std::span<const abi::DeviceUuid> devices) {
    if (devices.size() > abi::kRegionDevices) {
        return Error{ErrorCode::kInvalidInput, std::to_string(devices.size()) +
                                                   " devices, expected at most " +
                                                   std::to_string(abi::kRegionDevices)};
    }
    Pages pages;
    pages.wants_ = make_page<abi::WantsPage>("aliquot-wants", pages.wants_file_);
    if (pages.wants_ == nullptr) return failed();
    Descriptor writable;
    pages.turns_ = make_page<abi::TurnsPage>("aliquot-turns", writable);
    if (pages.turns_ == nullptr) return failed();
    pages.wants_->magic = abi::kWantsMagic;
    pages.wants_->abi = abi::kTurnsAbi;
    pages.wants_->size = sizeof(abi::WantsPage);
    pages.turns_->magic = abi::kTurnsMagic;
    pages.turns_->abi = abi::kTurnsAbi;
    pages.turns_->size = sizeof(abi::TurnsPage);
    for (std::size_t i = 0; i < devices.size(); ++i) pages.turns_->devices[i].uuid = devices[i];
    // The mode alone would not do: root of a container opens what its mode forbids.
    constexpr ::mode_t kReadOnly = 0444;
    if (::fcntl(pages.wants_file_.get(), F_ADD_SEALS, kFixedSize | F_SEAL_SEAL) != 0 ||
        ::fchmod(writable.get(), kReadOnly) != 0 ||
        ::fcntl(writable.get(), F_ADD_SEALS, kFixedSize | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
        return failed();
    }
    const std::string path = "/proc/self/fd/" + std::to_string(writable.get());
    pages.turns_file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!pages.turns_file_) return failed();
    return pages;
}

Result<std::vector<Descriptor>> Pages::open() const {
    std::vector<Descriptor> files;
    for (const Descriptor* const file : {&wants_file_, &turns_file_}) {
        files.emplace_back(::fcntl(file->get(), F_DUPFD_CLOEXEC, 0));
        if (!files.back()) return failed();
    }
    return files;
}

}  // namespace aliquot::turns
