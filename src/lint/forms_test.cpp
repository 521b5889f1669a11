// SPDX-License-Identifier: Apache-2.0
#include "lint/forms.h"

#include <gtest/gtest.h>

#include <functional>

#include "lint/embedded.h"
#include "lint/rules/form_values.h"

namespace aliquot::lint {
namespace {

TEST(Forms, AreAllReadAndEachIncludedPartIsThere) {
    const auto forms = read_forms(kDocumentFormTable);
    ASSERT_TRUE(forms.ok()) << forms.error().message;
    EXPECT_GE(forms->size(), 40U);
    const std::function<void(const FormNode&)> look = [&](const FormNode& node) {
        if (!node.include.empty()) {
            EXPECT_TRUE(forms->find(node.include) != forms->end()) << node.include;
        }
        for (const auto& [key, child] : node.keys) look(child);
        for (const FormNode& child : node.any) look(child);
        for (const FormNode& child : node.items) look(child);
    };
    for (const auto& [name, form] : *forms) look(form);
}

TEST(Forms, HaveTheWordsOfWhatIsNoDocument) {
    EXPECT_GE(words_of_form("nvidia-smi").size(), 80U);
    EXPECT_GE(words_of_form("cel functions").size(), 60U);
    EXPECT_TRUE(words_of_form("nothing of the kind").empty());
}

TEST(Forms, RefuseATableWithATypeThatThereIsNot) {
    EXPECT_FALSE(read_forms("# date: 2026-11-23\n# source: here\nform\tpath\ttype\tvalues\tmore\n"
                            "x\ta\tstring\t-\t-\n")
                     .ok());
    EXPECT_FALSE(read_forms("# date: 2026-11-23\n# source: here\nform\tpath\ttype\tvalues\tmore\n"
                            "x\ta\ttext\t-\tsometimes\n")
                     .ok());
}

TEST(FormValues, TakeSchedulesOfCron) {
    for (const char* const good : {"0 2 * * *", "*/5 0-6 1,15 jan-jun MON", "@daily",
                                   "@every 1h30m", "0 0 ? * 0", "5-55/10 * * * sun-sat"}) {
        EXPECT_TRUE(is_cron_schedule(good)) << good;
    }
    for (const char* const bad :
         {"0 25 * * *", "60 * * * *", "0 2 * *", "0 0 0 * *", "* * * 13 *", "0 2 * * * *", "@dayly",
          "*/0 * * * *", "0 5-2 * * *", "0 0 * * 8"}) {
        EXPECT_FALSE(is_cron_schedule(bad)) << bad;
    }
}

TEST(FormValues, TakeDurationsAsGoReadsThem) {
    for (const char* const good : {"0", "30s", "1h30m", "1.5h", "-1m", "300ms"}) {
        EXPECT_TRUE(is_go_duration(good)) << good;
    }
    for (const char* const bad : {"", "30", "1d", "5 m", "m", "1h30", "five"}) {
        EXPECT_FALSE(is_go_duration(bad)) << bad;
    }
}

}  // namespace
}  // namespace aliquot::lint
