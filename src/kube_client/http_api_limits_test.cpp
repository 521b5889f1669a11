// SPDX-License-Identifier: Apache-2.0
// Whatever a server sends, a client keeps within its limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/coding.h"
#include "kube_client/http_api.h"
#include "kube_client/scripted_server.h"
#include "kube_client/store.h"

namespace aliquot::kube_client {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Talk = ScriptedServer::Talk;

class Nobody final : public Credentials {
public:
    Result<std::shared_ptr<const Identity>> current(const std::stop_token& /*stop*/) override {
        return std::make_shared<const Identity>();
    }
    bool refused(const std::shared_ptr<const Identity>& /*shown*/) override { return false; }
};

std::unique_ptr<HttpApi> api_of(const ScriptedServer& server, HttpApiOptions options) {
    options.first_wait = 1ms;
    options.longest_wait = 5ms;
    return std::make_unique<HttpApi>(Destination{.url = server.url()}, std::make_unique<Nobody>(),
                                     std::move(options));
}

constexpr const char* kPod = R"({"kind":"Pod","metadata":{"name":"web"}})";

std::string list_of(std::size_t items, std::size_t bytes) {
    std::string text =
        R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[)";
    const std::string filling(bytes, 'x');
    for (std::size_t i = 0; i < items; ++i) {
        text += (i == 0 ? "" : ",") + (R"({"metadata":{"name":"n)" + std::to_string(i)) +
                R"("},"spec":{"note":")" + filling + "\"}}";
    }
    return text + "]}";
}

TEST(HttpApiLimits, KeepsWithinItsLimitsWhateverTheServerSends) {
    HttpApiOptions options;
    options.transport.limits = {
        .answer_bytes = 300'000, .object_bytes = 50'000, .unread_bytes = 100'000};
    const std::vector<std::pair<std::string, ScriptedServer::Script>> servers{
        {"an endless body",
         [](Talk& talk) {
             talk.begin(200);
             while (talk.chunk(std::string(100'000, ' '))) {
             }
         }},
        {"an endless object",
         [](Talk& talk) {
             talk.begin(200);
             talk.chunk(R"({"kind":"NodeList","items":[{"metadata":{"name":")");
             while (talk.chunk(std::string(100'000, 'x'))) {
             }
         }},
        {"endless objects",
         [](Talk& talk) {
             talk.begin(200);
             talk.chunk(R"({"kind":"NodeList","items":[)");
             while (talk.chunk(R"({"metadata":{"name":"a"},"x":")" + std::string(40'000, 'x') +
                               "\"},")) {
             }
         }},
        {"depth without end",
         [](Talk& talk) {
             talk.begin(200);
             while (talk.chunk(std::string(100'000, '['))) {
             }
         }},
        {"a bomb",
         [](Talk& talk) {
             talk.answer(200, http::gzip(std::string(50U << 20U, ' ')),
                         {{"Content-Encoding", "gzip"}});
         }},
        {"an endless header", [](Talk& talk) {
             talk.answer(200, kPod, {{"X-Long", std::string(5U << 20U, 'x')}});
         }}};
    for (const auto& [name, script] : servers) {
        ScriptedServer server(script);
        auto api = api_of(server, options);
        const auto listed = api->list(resources::nodes(), {}, {.deadline = 20s});
        EXPECT_FALSE(listed) << name;
        EXPECT_LT(listed.failure().message.size(), 400U) << name;
        if (name == "endless objects") {
            EXPECT_TRUE(listed.failure().is(Reason::kTooLarge));
            EXPECT_THAT(listed.failure().message,
                        HasSubstr("list nodes: the items have more than 300000 bytes"));
        }
        if (name == "an endless object") {
            EXPECT_THAT(listed.failure().message, HasSubstr("an object has more than 50000 bytes"));
        }
        EXPECT_FALSE(api->get(resources::nodes(), {"", "a"}, {.deadline = 20s})) << name;
    }
}

TEST(HttpApiLimits, ReadsAListThatIsLargerThanItsLimitsWhenLittleOfItIsKept) {
    const std::string text = list_of(2000, 20'000);  // 40 MB, from a server that divides nothing
    ScriptedServer server([&](Talk& talk) { talk.answer(200, text); });
    HttpApiOptions options;
    options.transport.limits = kControllerLimits;
    auto api = api_of(server, options);
    const auto kept =
        api->list(resources::nodes(), {.projection = keep_fields({})}, {.deadline = 300s});
    ASSERT_TRUE(kept) << kept.failure().message;
    EXPECT_EQ(kept->items.size(), 2000U);
    EXPECT_EQ(kept->items[1999].json,
              R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n1999"}})");
    EXPECT_EQ(kept->resource_version, "7");
    const auto all = api->list(resources::nodes(), {}, {.deadline = 300s});
    ASSERT_FALSE(all);
    EXPECT_TRUE(all.failure().is(Reason::kTooLarge)) << all.failure().message;
}

}  // namespace
}  // namespace aliquot::kube_client
