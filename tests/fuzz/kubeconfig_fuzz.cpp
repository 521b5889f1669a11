// SPDX-License-Identifier: Apache-2.0
// Any bytes as a kubeconfig are read or refused with a place; what is read can be chosen from. The
// same bytes as an exec plugin's answer and as base64.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kube_client/credentials.h"
#include "kube_client/kubeconfig.h"
#include "kube_client/url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot::kube_client;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    (void)decode_base64(text);
    (void)read_exec_answer(text, "client.authentication.k8s.io/v1");
    if (const auto url = parse_url(text)) {
        const auto again = parse_url(url->text());
        if (!again || again->text() != url->text()) std::abort();
    }
    auto config = parse_kubeconfig(text, "/k/config");
    if (!config) {
        if (!config.error().message.starts_with("/k/config:")) std::abort();
        return 0;
    }
    (void)choose(*config, "");
    for (const auto& [name, context] : config->contexts) (void)choose(*config, name);
    return 0;
}
