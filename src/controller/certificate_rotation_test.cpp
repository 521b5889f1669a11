// SPDX-License-Identifier: Apache-2.0
#include "controller/certificate_rotation.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "controller/secret.h"
#include "kube_client/stub_api.h"

namespace aliquot::controller {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr char kSecrets[] = "/api/v1/secrets";
constexpr char kConfigurations[] =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const http::Instant kStart = http::Instant(1'900'000'000s);

class ACertificateRotation : public testing::Test {
protected:
    void SetUp() override {
        api_.put(kConfigurations, {"", "aliquot"},
                 R"({"webhooks":[{"name":"pods.aliquot.dev","clientConfig":{}}]})");
    }
    kube_client::StoredObject object(const char* collection, const kube_client::ObjectKey& key) {
        const auto json = api_.json(collection, key);
        if (!json) return nullptr;
        return std::make_shared<const kube_client::Object>(*kube_client::read_object(*json));
    }
    Result<http::Instant> tend(http::Instant now, std::uint64_t epoch = 1) {
        return rotation_.tend(object(kSecrets, rotation_.options().secret),
                              object(kConfigurations, {"", "aliquot"}), now, {.epoch = epoch});
    }
    Credentials kept() {
        return read_secret(api_.json(kSecrets, rotation_.options().secret).value_or(""))
            .credentials;
    }
    std::string trusted() {
        const Json root = Json::parse(*api_.json(kConfigurations, {"", "aliquot"}));
        return root["webhooks"][0]["clientConfig"].value("caBundle", "");
    }

    kube_client::StubApi api_;
    CertificateRotation rotation_{
        api_, {.names = {"DNS:hook.ns.svc"}, .lifetimes = {.authority = 900h, .certificate = 90h}}};
};

TEST_F(ACertificateRotation, MakesTheSecretAndIsTrusted) {
    const auto next = tend(kStart);
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(*next, kStart + 60h);
    EXPECT_TRUE(is_usable(kept().serving, kStart));
    EXPECT_EQ(trusted(), encode_base64(kept().bundle()));
    const auto versions = api_.versions(kSecrets);
    ASSERT_TRUE(tend(kStart + 1h));
    EXPECT_EQ(api_.versions(kSecrets), versions) << "nothing was due";
}

TEST_F(ACertificateRotation, RenewsAndTellsTheConfiguration) {
    ASSERT_TRUE(tend(kStart));
    const Credentials before = kept();
    ASSERT_TRUE(tend(kStart + 601h));
    EXPECT_NE(kept().authority.certificate, before.authority.certificate);
    EXPECT_EQ(kept().previous.certificate, before.authority.certificate);
    EXPECT_EQ(trusted(), encode_base64(kept().bundle()));
}

TEST_F(ACertificateRotation, MendsABrokenSecretAndAForeignBundle) {
    ASSERT_TRUE(tend(kStart));
    api_.put(kSecrets, rotation_.options().secret, R"({"data":{"tls.crt":"AAAA"}})");
    api_.put(kConfigurations, {"", "aliquot"},
             R"({"webhooks":[{"name":"pods.aliquot.dev","clientConfig":{"caBundle":"AAAA"}}]})");
    ASSERT_TRUE(tend(kStart));
    EXPECT_TRUE(is_usable(kept().serving, kStart));
    EXPECT_EQ(trusted(), encode_base64(kept().bundle()));
    api_.erase(kSecrets, rotation_.options().secret);
    ASSERT_TRUE(tend(kStart));
    EXPECT_TRUE(is_usable(kept().serving, kStart));
}

TEST_F(ACertificateRotation, DoesNotWriteOverANewerLeader) {
    ASSERT_TRUE(tend(kStart, 5));
    const auto stale = tend(kStart + 800h, 4);
    ASSERT_FALSE(stale);
    EXPECT_EQ(stale.error().code, ErrorCode::kConflict);
    EXPECT_THAT(stale.error().message, testing::HasSubstr("newer leader"));
}

TEST_F(ACertificateRotation, AStaleViewOfTheSecretWritesNothing) {
    ASSERT_TRUE(tend(kStart));
    const auto stale = object(kSecrets, rotation_.options().secret);
    ASSERT_TRUE(tend(kStart + 61h));
    const auto late = rotation_.tend(stale, nullptr, kStart + 61h, {.epoch = 1});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kConflict);
}

TEST(TrustPatch, NamesOnlyWhatDiffers) {
    const std::string encoded = encode_base64("B");
    EXPECT_EQ(trust_patch("no json", "B"), "");
    EXPECT_EQ(
        trust_patch(
            R"({"webhooks":[{"name":"a","clientConfig":{"caBundle":")" + encoded + R"("}}]})", "B"),
        "");
    const Json patch =
        Json::parse(trust_patch(R"({"webhooks":[{"name":"a","clientConfig":{"caBundle":")" +
                                    encoded + R"("}},{"name":"b","clientConfig":{"url":"u"}}]})",
                                "B"));
    EXPECT_EQ(patch["webhooks"].size(), 1U);
    EXPECT_EQ(patch["webhooks"][0]["name"], "b");
    EXPECT_FALSE(patch["webhooks"][0]["clientConfig"].contains("url"));
}

}  // namespace
}  // namespace aliquot::controller
