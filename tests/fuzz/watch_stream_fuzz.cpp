// SPDX-License-Identifier: Apache-2.0
// Any bytes as a watch stream: however they are cut, the same events and the same end come out. The
// same bytes as a list, an object and a Status.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "kube_client/page.h"
#include "kube_client/store.h"
#include "kube_client/watch.h"

namespace {

using namespace aliquot::kube_client;

struct Seen {
    std::vector<WatchEvent> events;
    bool good = true;
};

Seen decode(std::string_view text, std::size_t piece) {
    WatchDecoder decoder(1U << 16U);
    decoder.keep_managed_fields = false;
    Seen seen;
    for (std::size_t at = 0; at < text.size() && seen.good; at += piece) {
        seen.good = decoder.push(text.substr(at, piece), seen.events).ok();
    }
    return seen;
}

void check(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > (1U << 15U)) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const Seen whole = decode(text, text.size() + 1);
    for (const std::size_t piece : {1U, 7U}) {
        const Seen cut = decode(text, piece);
        check(cut.good == whole.good && cut.events.size() == whole.events.size());
        for (std::size_t i = 0; i < cut.events.size(); ++i) {
            check(cut.events[i].object.json == whole.events[i].object.json);
            check(cut.events[i].object.name == whole.events[i].object.name);
        }
    }
    static const Projection kKeep = keep_fields({"metadata.labels", "spec.containers.name"});
    (void)kKeep(text);
    (void)read_page(text, "list", false);
    (void)read_object(std::string(text));
    (void)read_metadata(text);
    (void)failure_of(500, text, "fuzz");
    return 0;
}
