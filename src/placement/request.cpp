// SPDX-License-Identifier: Apache-2.0
#include "placement/request.h"

#include <algorithm>

namespace aliquot::placement {
namespace {

Error wrong(std::string message) {
    return {ErrorCode::kInvalidInput, "request: " + std::move(message)};
}

}  // namespace

Result<Request> checked(Request request) {
    if (request.cpu_milli < 0)
        return wrong("cpu_milli is " + std::to_string(request.cpu_milli) + ", expected 0 or more");
    if (request.memory_mib < 0)
        return wrong("memory_mib is " + std::to_string(request.memory_mib) +
                     ", expected 0 or more");
    if (request.mib < 0)
        return wrong("mib is " + std::to_string(request.mib) + ", expected 0 or more");
    if (request.gpus > kMostDevices)
        return wrong("gpus is " + std::to_string(request.gpus) + ", expected at most " +
                     std::to_string(kMostDevices));
    if (request.milli < 0 || request.milli > kWholeGpu)
        return wrong("milli is " + std::to_string(request.milli) +
                     ", expected 0 to 1000 for each GPU");
    if (!request.mig_profile.empty()) {
        if (request.gpus != 1 || request.milli != 0 || request.mib != 0)
            return wrong("MIG profile " + request.mig_profile +
                         " stands for one GPU and no milli or mib beside it");
    } else if (request.gpus == 0) {
        if (request.milli != 0 || request.mib != 0)
            return wrong("milli or mib without a GPU: set gpus to 1");
        request.models.clear();
    } else if (request.milli < kWholeGpu) {
        if (request.gpus != 1)
            return wrong("gpus is " + std::to_string(request.gpus) + " with " +
                         std::to_string(request.milli) + " milli: a share is of one GPU");
        if (request.milli == 0 && request.mib == 0) return wrong("a share needs milli or mib");
    } else {
        request.mib = 0;  // a whole GPU has all of its memory
    }
    std::sort(request.models.begin(), request.models.end());
    request.models.erase(std::unique(request.models.begin(), request.models.end()),
                         request.models.end());
    std::sort(request.selector.begin(), request.selector.end());
    std::sort(request.tolerations.begin(), request.tolerations.end());
    return request;
}

}  // namespace aliquot::placement
