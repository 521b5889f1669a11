// SPDX-License-Identifier: Apache-2.0
#include "registry/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/digest.h"
#include "registry/test_registry.h"

namespace aliquot::registry {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Client client_of(const TestRegistry& registry, ClientOptions options) {
    return {*parse_reference(registry.host() + "/ci:1"), std::move(options)};
}
Client client_of(const TestRegistry& registry) {
    return client_of(registry, registry.client_options());
}

TEST(RegistryClient, GetsManifestsAndBlobsByTheirDigests) {
    TestRegistry registry;
    const std::string digest = registry.put_manifest("1", "{}");
    const std::string blob = registry.put_blob("bytes");
    Client client = client_of(registry);
    const auto manifest = client.manifest("1");
    ASSERT_TRUE(manifest) << manifest.error().message;
    EXPECT_EQ(manifest->text, "{}");
    EXPECT_EQ(manifest->digest, digest);
    EXPECT_EQ(manifest->media_type, "application/vnd.oci.image.manifest.v1+json");
    EXPECT_EQ(*client.blob(blob, 100), "bytes");
    EXPECT_EQ(digest, "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
}

TEST(RegistryClient, GetsATokenOnceAndShowsItToTheRegistryOnly) {
    TestRegistry registry({.tls = true, .wants_token = true, .redirects = true});
    registry.put_manifest("1", "{}");
    const std::string blob = registry.put_blob("bytes");
    Client client = client_of(registry);
    ASSERT_TRUE(client.manifest("1"));
    const auto text = client.blob(blob, 100);
    ASSERT_TRUE(text) << text.error().message;
    const std::string token = " Bearer for-repository:ci:pull";
    EXPECT_THAT(registry.seen(),
                ElementsAre("/v2/ci/manifests/1", "/token", "/v2/ci/manifests/1" + token,
                            "/v2/ci/blobs/" + blob + token, "store /" + blob));
}

TEST(RegistryClient, ShowsALoginToWhoGivesTokens) {
    TestRegistry registry({.wants_token = true, .login = "ci:secret"});
    registry.put_manifest("1", "{}");
    auto options = registry.client_options();
    options.login = Login{"ci", "secret"};
    EXPECT_TRUE(client_of(registry, options).manifest("1"));
    EXPECT_THAT(registry.seen(), Contains("/token Basic Y2k6c2VjcmV0"));
    options.login->password = "wrong";
    const auto refused = client_of(registry, options).manifest("1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kPermission);
    EXPECT_THAT(refused.error().message,
                HasSubstr("incorrect username or password; the login was refused"));
    const auto unknown = client_of(registry).manifest("1");
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message, HasSubstr("docker login"));
}

TEST(RegistryClient, ShowsALoginWhereItIsAskedForWithoutAToken) {
    TestRegistry registry({.wants_basic = true, .login = "ci:secret"});
    registry.put_manifest("1", "{}");
    EXPECT_EQ(client_of(registry).manifest("1").error().code, ErrorCode::kPermission);
    auto options = registry.client_options();
    options.login = Login{"ci", "secret"};
    EXPECT_TRUE(client_of(registry, options).manifest("1"));
}

TEST(RegistryClient, TriesAgainWhatIsBusyAndNotForever) {
    TestRegistry registry({.busy = 2});
    registry.put_manifest("1", "{}");
    EXPECT_TRUE(client_of(registry).manifest("1"));
    EXPECT_EQ(registry.seen().size(), 3U);
    TestRegistry busy({.busy = 100});
    const auto refused = client_of(busy).manifest("1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(refused.error().message, HasSubstr("answers 429: slow down"));
    EXPECT_EQ(busy.seen().size(), 4U);
}

TEST(RegistryClient, BelievesNothingThatIsNotWhatItsDigestSays) {
    const std::string digest = digest_of("bytes");
    TestRegistry registry({.refused = digest});
    registry.put_blob("bytes");
    Client client = client_of(registry);
    EXPECT_THAT(client.blob(digest, 100).error().message, HasSubstr("what came is not " + digest));
    const auto ignore = [](std::string_view) { return true; };
    EXPECT_THAT(client.stream(digest, 5, ignore).error().message,
                HasSubstr("what came is not layer"));
    EXPECT_THAT(client.stream(digest, 4, ignore).error().message,
                HasSubstr("longer than the 4 bytes"));
    EXPECT_THAT(client.blob(digest, 4).error().message, HasSubstr("longer than 4 bytes"));
    // A manifest under a digest that it has not.
    registry.put_manifest("sha256:" + std::string(64, '0'), "{}");
    EXPECT_THAT(client.manifest("sha256:" + std::string(64, '0')).error().message,
                HasSubstr("asked for was"));
}

TEST(RegistryClient, TellsWhatIsMissing) {
    TestRegistry registry;
    const auto missing = client_of(registry).manifest("none");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(missing.error().message, HasSubstr("answers 404: manifest unknown"));
}

TEST(RegistryClient, BelievesNoCertificateButOneOfItsAuthority) {
    TestRegistry registry({.tls = true});
    registry.put_manifest("1", "{}");
    EXPECT_TRUE(client_of(registry).manifest("1"));
    auto options = registry.client_options();
    options.ca_file.clear();
    const auto refused = client_of(registry, options).manifest("1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kPermission);
    EXPECT_THAT(refused.error().message, HasSubstr("--registry-ca"));
}

TEST(RegistryClient, WaitsNoLongerThanItMay) {
    TestRegistry registry({.busy = 100});
    auto options = registry.client_options();
    options.first_wait = std::chrono::seconds(5);
    options.until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_FALSE(client_of(registry, options).manifest("1"));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
}

}  // namespace
}  // namespace aliquot::registry
