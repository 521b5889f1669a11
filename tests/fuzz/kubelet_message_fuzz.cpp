// SPDX-License-Identifier: Apache-2.0
//
// Whatever kubelet (or who poses as it) sends: each request message of the device plugin, through
// our conversion, to a decider that insists on its contract.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "api/kubelet/deviceplugin.pb.h"
#include "api/kubelet/pluginregistration.pb.h"
#include "api/kubelet/podresources.pb.h"
#include "kubelet/to_proto.h"

namespace {

using aliquot::Error;
using aliquot::ErrorCode;
using aliquot::Result;
namespace grant = aliquot::grant;
namespace kubelet = aliquot::kubelet;

void insist(bool condition) {
    if (!condition) std::abort();
}

class StrictDecider final : public kubelet::Decider {
public:
    std::vector<std::string> prefer(std::span<const std::string> available,
                                    std::span<const std::string> must_include,
                                    std::size_t size) noexcept override {
        insist(size > 0 || available.empty());
        insist(size <= available.size() + must_include.size());
        std::vector<std::string> chosen(must_include.begin(), must_include.end());
        for (const auto& id : available)
            if (chosen.size() < size) chosen.push_back(id);
        return chosen;
    }
    Result<grant::Grant> allocate(std::span<const std::string> ids) override {
        if (ids.empty()) return Error{ErrorCode::kInvalidInput, "nothing asked for"};
        const std::set<std::string> once(ids.begin(), ids.end());
        if (once.size() != ids.size()) return Error{ErrorCode::kConflict, ids[0] + ": twice"};
        grant::Grant grant;
        for (const auto& id : ids) {
            if (id.empty()) return Error{ErrorCode::kNotFound, "an id is empty"};
            grant.environment[id] = id;
            grant.cdi_devices.push_back(id);
            grant.mounts.push_back({id, id});
            grant.device_nodes.push_back({id, id});
        }
        return grant;
    }
};

template <class Message>
void read(const std::string& bytes) {
    Message message;
    if (!message.ParseFromString(bytes)) return;
    Message again;
    insist(again.ParseFromString(message.SerializeAsString()));
}

void allocate(const std::string& bytes) {
    v1beta1::AllocateRequest request;
    if (!request.ParseFromString(bytes)) return;
    StrictDecider decider;
    const auto response = kubelet::allocate(decider, "nvidia.com/gpu", request);
    if (!response) {
        insist(!response.error().message.empty());
        return;
    }
    insist(response->container_responses_size() == request.container_requests_size());
}

void prefer(const std::string& bytes) {
    v1beta1::PreferredAllocationRequest request;
    if (!request.ParseFromString(bytes)) return;
    StrictDecider decider;
    const auto response = kubelet::prefer(decider, request);
    insist(response.container_responses_size() == request.container_requests_size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    google::protobuf::SetLogHandler(nullptr);  // it has a line for every string that is not UTF-8
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    allocate(bytes);
    prefer(bytes);
    read<v1beta1::PreStartContainerRequest>(bytes);
    read<v1beta1::RegisterRequest>(bytes);
    read<v1beta1::ListAndWatchResponse>(bytes);
    read<pluginregistration::RegistrationStatus>(bytes);
    read<v1::ListPodResourcesResponse>(bytes);
    read<v1::AllocatableResourcesResponse>(bytes);
    return 0;
}
