// SPDX-License-Identifier: Apache-2.0
// The estimate against what others published about GPU memory in use. Every row of published_memory.tsv is
// held to 20 %, and its error is printed.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <set>

#include "base/number.h"
#include "catalog/table.h"
#include "sizing/memory.h"
#include "tests/case_files.h"

namespace aliquot::sizing {
namespace {

struct Published {
    std::string name;
    double gib = 0;
    double estimated = 0;

    [[nodiscard]] double error_percent() const { return (estimated / gib - 1) * 100; }
};

Published compare(const std::vector<std::string_view>& row) {
    Load load;
    if (row[1] == "lora") load.task = Task::kTrainLora;
    if (row[1] == "qlora") load.task = Task::kTrainQlora;
    if (!row[3].empty()) load.dtype = *parse_dtype(row[3]);
    load.context = catalog::number_of(row[4]);
    load.batch = catalog::number_of(row[5]);
    load.gpus = catalog::count_of(row[6]);
    if (!row[7].empty()) load.lora_percent = catalog::number_of(row[7]);
    Published found{std::string(row[0]), catalog::number_of(row[9]), 0};
    const auto shape = model_by_name(row[2]);
    EXPECT_TRUE(shape) << row[2];
    if (!shape) return found;
    const auto need = estimate_memory(*shape, load);
    EXPECT_TRUE(need) << row[0];
    if (!need) return found;
    found.estimated = need->per_gpu_gib;
    for (const Term& term : need->terms) {
        if (row[8] == "no cache" && term.name == "cache") found.estimated -= term.per_gpu_gib;
    }
    return found;
}

TEST(PublishedMemory, IsWithinAFifthOfTheEstimate) {
    const std::string text =
        cases::read(std::filesystem::path(ALIQUOT_SOURCE_DIR) / "src/sizing/published_memory.tsv");
    const auto table = catalog::read_table(text);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_GE(table->rows.size(), 30U);
    std::set<std::string> names;
    double sum = 0;
    for (const auto& row : table->rows) {
        const Published one = compare(row);
        EXPECT_TRUE(names.insert(one.name).second) << one.name << " stands twice";
        EXPECT_FALSE(row[10].empty()) << one.name << " names no source";
        EXPECT_LE(std::abs(one.error_percent()), 20) << one.name;
        std::cout << one.name << ": " << decimal_text(one.estimated) << " for "
                  << decimal_text(one.gib) << " GiB, " << decimal_text(one.error_percent(), 1)
                  << " %\n";
        sum += std::abs(one.error_percent());
    }
    EXPECT_LE(sum / static_cast<double>(table->rows.size()), 10);
}

}  // namespace
}  // namespace aliquot::sizing
