// SPDX-License-Identifier: Apache-2.0
#include "nvml/inquiry.h"

namespace aliquot::nvml {

bool is_lost(nvmlReturn_t code) {
    switch (code) {
        case NVML_ERROR_UNINITIALIZED:
        case NVML_ERROR_DRIVER_NOT_LOADED:
        case NVML_ERROR_GPU_IS_LOST:
        case NVML_ERROR_RESET_REQUIRED:
        case NVML_ERROR_GPU_NOT_FOUND:
            return true;
        default:
            return false;
    }
}

bool Inquiry::is_lasting(nvmlReturn_t code) {
    switch (code) {
        case NVML_ERROR_INVALID_ARGUMENT:  // the handle was just good: it does not know the question
        case NVML_ERROR_NOT_SUPPORTED:
        case NVML_ERROR_NO_PERMISSION:
        case NVML_ERROR_FUNCTION_NOT_FOUND:
        case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
        case NVML_ERROR_DEPRECATED:
            return true;
        default:
            return false;
    }
}

bool Inquiry::note_failure(const char* call, nvmlReturn_t code) {
    if (code == NVML_SUCCESS) {
        answered_ = true;
        return true;
    }
    if (is_lost(code)) end_ = code;
    if (!is_not_reported(code)) failures_.push_back({call, code});
    return false;
}

}  // namespace aliquot::nvml
