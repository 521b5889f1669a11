// SPDX-License-Identifier: Apache-2.0
// Any lines as texts: each comes back as it was. Any bytes as a packed text: nothing crashes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "kube_client/packed_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view whole(reinterpret_cast<const char*>(data), size);
    aliquot::kube_client::TextPacker packer;
    std::vector<std::pair<std::string_view, std::string>> kept;
    for (std::size_t at = 0; at <= size && kept.size() < 64;) {
        const std::size_t end = std::min(size, whole.find('\n', at));
        const std::string_view text = whole.substr(at, end - at);
        kept.emplace_back(text, packer.pack(text));
        at = end + 1;
    }
    for (const auto& one : kept) {
        const auto again = packer.unpack(one.second, one.first.size());
        if (!again || *again != one.first) std::abort();
    }
    static_cast<void>(packer.unpack(whole.substr(size / 2), size));
    return 0;
}
