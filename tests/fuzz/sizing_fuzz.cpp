// SPDX-License-Identifier: Apache-2.0
// Any bytes as config.json, safetensors header, name of a model and measured runs: nothing crashes,
// and what is read is a network of a possible size.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sizing/measured.h"
#include "sizing/memory.h"
#include "sizing/model.h"

namespace {

namespace sizing = aliquot::sizing;

void expect(bool holds) {
    if (!holds) std::abort();
}

void check(const aliquot::Result<sizing::ModelShape>& shape) {
    if (!shape) {
        expect(!shape.error().message.empty());
        return;
    }
    expect(std::isfinite(shape->parameters) && shape->parameters >= 0);
    for (const auto task :
         {sizing::Task::kInference, sizing::Task::kTrainFull, sizing::Task::kTrainQlora}) {
        sizing::Load load;
        load.task = task;
        load.gpus = 4;
        const auto need = sizing::estimate_memory(*shape, load);
        expect(!need || (std::isfinite(need->total_gib) && need->total_gib >= 0));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check(sizing::read_model_config("c", text));
    check(sizing::read_safetensors("s", text));
    check(sizing::model_by_name(text.substr(0, 300)));
    const auto runs = sizing::read_runs("r", text);
    if (runs) {
        const auto sizes = sizing::right_size(*runs, 3);
        expect(!sizes || sizes->size() <= runs->size());
    }
    return 0;
}
