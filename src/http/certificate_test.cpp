// SPDX-License-Identifier: Apache-2.0
#include "http/certificate.h"

#include <gmock/gmock.h>

namespace aliquot::http {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

const Instant kThen = Instant(1'900'000'000s);  // in 2030

TEST(Certificate, SaysWhatItWasMadeWith) {
    const auto authority = make_authority("ours", 100h, kThen);
    ASSERT_TRUE(authority);
    const auto facts = read_certificate(authority->certificate);
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->valid_from, kThen - 5min);
    EXPECT_EQ(facts->valid_until, kThen + 100h);
    EXPECT_TRUE(facts->is_authority);
    EXPECT_TRUE(facts->names.empty());
    const auto own = issue(*authority, "web", {"IP:127.0.0.1", "DNS:web.ns.svc"}, 90s, kThen);
    ASSERT_TRUE(own) << own.error().message;
    const auto own_facts = read_certificate(own->certificate);
    ASSERT_TRUE(own_facts);
    EXPECT_EQ(own_facts->valid_until, kThen + 90s);
    EXPECT_FALSE(own_facts->is_authority);
    EXPECT_THAT(own_facts->names, ElementsAre("DNS:web.ns.svc", "IP:127.0.0.1"));
}

TEST(Certificate, KnowsItsKeyAndItsAuthority) {
    const auto one = make_authority("one", 1h);
    const auto other = make_authority("one", 1h);
    ASSERT_TRUE(one && other);
    const auto own = issue(*one, "web", {"DNS:web"}, 1h);
    ASSERT_TRUE(own);
    EXPECT_TRUE(has_signed(one->certificate, own->certificate));
    EXPECT_FALSE(has_signed(other->certificate, own->certificate)) << "of the same name";
    EXPECT_FALSE(has_signed("no certificate", own->certificate));
    EXPECT_TRUE(is_pair(*own));
    EXPECT_FALSE(is_pair({.certificate = own->certificate, .key = one->key}));
    EXPECT_FALSE(is_pair({.certificate = own->certificate, .key = "no key"}));
    EXPECT_FALSE(read_certificate("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"));
}

}  // namespace
}  // namespace aliquot::http
