// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "nvml/driver.h"
#include "nvml/fake_library.h"
#include "os/dynamic_library.h"
#include "os/temporary_directory.h"

namespace aliquot::nvml::fake {

inline const std::string kNew = NVML_FAKE_NEW;
inline const std::string kOld = NVML_FAKE_OLD;

/// A driver over one of the two fake libraries, on a node that is an empty directory.
class Bench {
public:
    explicit Bench(std::string path, std::chrono::milliseconds deadline = std::chrono::seconds(30))
        : path_(std::move(path)), root_(directory_.path()), deadline_(deadline) {
        auto file = os::DynamicLibrary::open({path_});
        if (!file) throw std::runtime_error(file.error().message);
        file_ = std::make_unique<os::DynamicLibrary>(*std::move(file));
        control_ = reinterpret_cast<GetControl>(file_->symbol("fake_control"))();
        for (auto& gpu : control_->gpus) {
            gpu.error = gpu.handle_error = 0;
            gpu.memory_used = 0;
        }
        control_->init_error = control_->inits = control_->initialised = control_->waits = 0;
        control_->init_errors_left = -1;
        control_->count = kGpus;
        control_->processes = 2;
        control_->xid = 0;
        control_->xid_instance = 0xFFFFFFFF;
        control_->event_type = 8;
        control_->virtualization = 0;
        control_->linked = true;
        control_->graphics_gpu = -1;
        control_->mig = {};
        control_->hang_gpu = -1;
        control_->hang_all = false;
    }

    [[nodiscard]] std::unique_ptr<Driver> driver(
        std::chrono::milliseconds reopen_after = std::chrono::milliseconds(0)) const {
        return open({.driver_root = path_, .deadline = deadline_, .reopen_after = reopen_after});
    }

    [[nodiscard]] std::unique_ptr<Driver> open(DriverOptions options) const {
        auto driver = Driver::open(root_, std::move(options));
        if (!driver) throw std::runtime_error(driver.error().message);
        return *std::move(driver);
    }

    Control* operator->() const { return control_; }
    [[nodiscard]] const os::Root& root() const { return root_; }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
    os::TemporaryDirectory directory_;
    os::Root root_;
    std::chrono::milliseconds deadline_;
    std::unique_ptr<os::DynamicLibrary> file_;  // keeps the library's state over a reopening
    Control* control_ = nullptr;
};

}  // namespace aliquot::nvml::fake
