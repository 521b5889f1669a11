// SPDX-License-Identifier: Apache-2.0
// Any bytes as what an API server answers: our Secret, kinds and groups, DaemonSet, pods, Nodes,
// ConfigMaps. Nothing crashes, and a refusal says why.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "controller/secret.h"
#include "install/apply.h"
#include "kube_client/discovery.h"
#include "node/gpu_node.h"
#include "scaling/front_proxy.h"
#include "scaling/kube_directory.h"
#include "verify/test_pod.h"

namespace {

void insist(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto kept = controller::read_secret(text);
    insist(kept.credentials.serving.key.size() <= size);
    const auto kinds = kube_client::read_kinds(text, "v1");
    insist(kinds || !kinds.failure().message.empty());
    const auto versions = kube_client::read_preferred_versions(text);
    insist(versions || !versions.failure().message.empty());
    (void)install::read_rollout(text);
    const auto node = node::read_gpu_node(text);
    insist(node || !node.error().message.empty());
    if (const auto holder = node::read_holder(text)) insist(!holder->devices.empty());
    const auto authority = scaling::read_proxy_authority(text);
    insist(authority || !authority.error().message.empty());
    (void)scaling::read_pod(text);
    (void)verify::read_state(text);
    (void)verify::read_answer(text);
    return 0;
}
