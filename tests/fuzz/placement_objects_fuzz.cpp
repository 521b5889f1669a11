// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Pod, a Node, a plan or what was granted: nothing crashes; what is written reads back; books that got
// them stay whole.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "k8s/node.h"
#include "scheduling/books.h"
#include "scheduling/moved_pods.h"
#include "scheduling/plan.h"
#include "scheduling/release.h"

namespace {

void expect(bool holds) {
    if (!holds) std::abort();
}

aliquot::scheduling::ServedNode one_node() {
    return {.name = "n",
            .is_open = true,
            .cpu_milli = 8'000,
            .memory_mib = 32'768,
            .gpus = {{"GPU-1", {{"nvidia.com/gpu", 4}}}, {"GPU-2", {{"nvidia.com/gpu", 4}}}}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot;              // NOLINT(google-build-using-namespace)
    using namespace aliquot::scheduling;  // NOLINT(google-build-using-namespace)
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto plan = parse_plan(text)) {
        const auto again = parse_plan(to_json(*plan));
        expect(again && *again == *plan);
    }
    if (const auto note = parse_move_note(text)) {
        const auto again = parse_move_note(to_json(*note));
        expect(again && again->to == note->to);
        GpuPod prefers{
            .uid = "w", .devices = {{"main", "nvidia.com/gpu", 2}}, .preferred = note->to};
        Books books;
        books.set_node(one_node());
        (void)books.decide(prefers);
        expect(books.self_check().empty());
    }
    const Granted granted = parse_granted(text);
    expect(parse_granted(to_json(granted)) == granted);
    (void)release_patch(text, {.generation = 1, .targets = {{.node = "n"}}}, {{"n", "n"}});
    Books books;
    books.set_node(one_node());
    if (const auto node = k8s::parse_node(text)) {
        if (auto served = read_served_node(*node)) books.set_node(*std::move(served));
    }
    if (auto pod = read_gpu_pod(text)) {
        (void)books.what_if(*pod);
        (void)books.near_misses(*pod, 3);
        MovedPods moved;
        moved.set(*pod, std::chrono::system_clock::now());
        if (const auto plan = parse_plan(pod->plan)) books.adopt(*pod, plan->targets);
        (void)books.decide(*pod);
        books.set_pod(*pod);
        expect(books.self_check().empty());
        books.remove_pod(pod->uid);
    }
    expect(books.self_check().empty());
    return 0;
}
