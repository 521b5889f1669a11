// SPDX-License-Identifier: Apache-2.0
#include "exposition/render.h"

#include "exposition/writers.h"

namespace aliquot::exposition {
namespace {

/// About what the text will need: growing it would copy it several times.
std::size_t guess(const Rows& rows) {
    constexpr std::size_t kNode = 8U << 10U;
    constexpr std::size_t kGpu = 20U << 10U;
    constexpr std::size_t kPod = 5U << 10U;
    std::size_t size = kNode + rows.devices.size() * kGpu;
    for (const DeviceRow& device : rows.devices) {
        for (const PartRow& part : device.parts) size += part.pods.size() * kPod;
    }
    return size;
}

}  // namespace

std::string render(const telemetry::Snapshot& snapshot, const Style& style, const Own& own) {
    const Rows rows = make_rows(snapshot, style);
    const Scene scene{snapshot, style, rows};
    std::string out;
    out.reserve(guess(rows));
    Text text(out, style.format);
    write_inventory(text, scene);
    write_gpus(text, scene);
    write_pods(text, scene);
    write_fields(text, scene);
    write_older_names(text, scene);
    write_guards(text, scene);
    write_self(text, scene, own);
    text.finish();
    return out;
}

}  // namespace aliquot::exposition
