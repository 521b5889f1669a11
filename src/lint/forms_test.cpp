// SPDX-License-Identifier: Apache-2.0
#include "lint/forms.h"

#include <gtest/gtest.h>

#include <functional>

#include "lint/embedded.h"
#include "lint/rules/form_values.h"

namespace aliquot::lint {
namespace {

TEST(Forms, AreAllReadAndEachIncludedPartIsThere) {
    const auto forms = read_forms(kSchemaFormTable, kDocumentFormTable);
    ASSERT_TRUE(forms.ok()) << forms.error().message;
    EXPECT_GE(forms->size(), 300U);
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

TEST(Forms, HaveTheWordsOfTheTableAboveInPlaceOfTheSchemas) {
    const std::string_view head =
        "# date: 2026-11-23\n# source: here\nform\tpath\ttype\tvalues\tmore\n";
    const std::string schema =
        std::string(head) + "x\t-\tfull\tone\t-\nx\ttwo\tscalar\ta b\trequired\n";
    const std::string own =
        std::string(head) + "x\t-\tmap\tthree\t-\nx\ttwo\tscalar\tc\toptional\n";
    const auto forms = read_forms(schema, own);
    ASSERT_TRUE(forms.ok()) << forms.error().message;
    const FormNode& x = forms->at("x");
    EXPECT_TRUE(x.full);
    for (const char* const key : {"one", "two", "three"}) EXPECT_TRUE(has_key(x, key)) << key;
    EXPECT_FALSE(has_key(x, "four"));
    const FormNode& two = x.keys.at("two");
    EXPECT_FALSE(two.required);
    EXPECT_EQ(two.values, std::vector<std::string_view>{"c"});
}

TEST(FormValues, TakePortsBytesAndSpans) {
    const auto takes = [](FormType type, const char* text) {
        FormNode form;
        form.type = type;
        Value value;
        value.kind = Value::Kind::kString;
        value.scalar = text;
        return !find_wrong_value(form, value).has_value();
    };
    for (const char* const good : {"8080", "80:8080", "127.0.0.1:80:8080/udp",
                                   "9000-9010:9000-9010", ":8080", "${PORT}:80"}) {
        EXPECT_TRUE(takes(FormType::kPorts, good)) << good;
    }
    for (const char* const bad : {"80800", "80:80800", "80:", "a:80", "80:8080/http", "90-80:80"})
        EXPECT_FALSE(takes(FormType::kPorts, bad)) << bad;
    for (const char* const good : {"64m", "8gb", "8GB", "1073741824", "1.5g", "2 gb"})
        EXPECT_TRUE(takes(FormType::kBytes, good)) << good;
    for (const char* const bad : {"8 gigs", "gb", "8x"}) EXPECT_FALSE(takes(FormType::kBytes, bad));
    for (const char* const good : {"30s", "1d12h", "0", "500ms"})
        EXPECT_TRUE(takes(FormType::kSpan, good)) << good;
    for (const char* const bad : {"10 minutes", "30", "12h1d", "5min"})
        EXPECT_FALSE(takes(FormType::kSpan, bad)) << bad;
    for (const char* const good : {"3", "20%", "100%"})
        EXPECT_TRUE(takes(FormType::kShare, good)) << good;
    EXPECT_FALSE(takes(FormType::kShare, "120%"));
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
