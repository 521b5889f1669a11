// SPDX-License-Identifier: Apache-2.0
#include "controller/keyring.h"

#include <gmock/gmock.h>

namespace aliquot::controller {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const http::Instant kStart = http::Instant(1'900'000'000s);
const std::vector<std::string> kNames{"DNS:hook.ns.svc", "DNS:hook.ns.svc.cluster.local"};
const Lifetimes kLifetimes{.authority = 900h, .certificate = 90h, .trust_delay = 5min};

Renewal renewed(const Keyring& present, http::Instant now,
                const std::vector<std::string>& names = kNames) {
    auto renewal = renew(present, names, now, kLifetimes);
    EXPECT_TRUE(renewal) << renewal.error().message;
    return renewal ? *std::move(renewal) : Renewal{};
}

/// Whether somebody who trusts `bundle` takes what `ring` shows. In the bundle are one or two.
bool is_trusted(const std::string& bundle, const Keyring& ring) {
    const std::string mark = "-----BEGIN CERTIFICATE-----";
    for (std::size_t at = bundle.find(mark); at != std::string::npos;
         at = bundle.find(mark, at + 1)) {
        if (http::has_signed(bundle.substr(at), ring.serving.certificate)) return true;
    }
    return false;
}

TEST(Keyring, OfNothingIsMadeWhole) {
    const Renewal made = renewed({}, kStart);
    EXPECT_THAT(made.reasons, ElementsAre(HasSubstr("a new authority: there was none"),
                                          HasSubstr("a new certificate: there was none")));
    EXPECT_TRUE(is_usable(made.keyring.serving, kStart));
    EXPECT_TRUE(is_trusted(made.keyring.bundle(), made.keyring));
    EXPECT_EQ(made.next, kStart + 60h);
    const auto facts = http::read_certificate(made.keyring.serving.certificate);
    EXPECT_EQ(facts->names, kNames);
    EXPECT_EQ(facts->valid_until, kStart + 90h);
}

TEST(Keyring, IsLeftAloneUntilTwoThirdsHavePassed) {
    const Keyring ring = renewed({}, kStart).keyring;
    EXPECT_THAT(renewed(ring, kStart + 60h - 1s).reasons, IsEmpty());
    const Renewal later = renewed(ring, kStart + 60h);
    EXPECT_THAT(later.reasons, ElementsAre(HasSubstr("two thirds of its life")));
    EXPECT_EQ(later.keyring.authority.certificate, ring.authority.certificate);
    EXPECT_EQ(later.keyring.bundle(), ring.bundle());
}

TEST(Keyring, ANewAuthorityIsTrustedBeforeItSigns) {
    Keyring ring = renewed({}, kStart).keyring;
    const http::Instant turn = kStart + 600h;
    ring = renewed(ring, turn - 1h).keyring;
    const std::string old_bundle = ring.bundle();

    const Renewal staged = renewed(ring, turn);
    EXPECT_THAT(staged.reasons, ElementsAre(HasSubstr("a new authority: two thirds")));
    EXPECT_EQ(staged.keyring.serving.certificate, ring.serving.certificate);
    EXPECT_TRUE(is_trusted(old_bundle, staged.keyring));
    EXPECT_TRUE(is_trusted(staged.keyring.bundle(), staged.keyring));
    EXPECT_EQ(staged.next, turn + 5min);

    const Renewal signed_anew = renewed(staged.keyring, staged.next);
    EXPECT_THAT(signed_anew.reasons, ElementsAre(HasSubstr("signed by another authority")));
    EXPECT_TRUE(is_trusted(staged.keyring.bundle(), signed_anew.keyring));
    EXPECT_FALSE(is_trusted(old_bundle, signed_anew.keyring));
    EXPECT_EQ(signed_anew.keyring.bundle(), staged.keyring.bundle());
}

TEST(Keyring, LivesThroughYearsWithoutAMomentOfDistrust) {
    Keyring ring = renewed({}, kStart).keyring;
    std::string known = ring.bundle();  // what an API server has, at worst five minutes old
    http::Instant now = kStart;
    unsigned authorities = 0;
    for (int round = 0; round < 60; ++round) {
        const Renewal renewal = renewed(ring, now);
        EXPECT_TRUE(is_trusted(known, renewal.keyring)) << "round " << round;
        EXPECT_TRUE(is_usable(renewal.keyring.serving, now));
        for (const std::string& reason : renewal.reasons) {
            authorities += reason.starts_with("a new authority") ? 1U : 0U;
        }
        ring = renewal.keyring;
        known = ring.bundle();
        ASSERT_GT(renewal.next, now);
        now = renewal.next;
    }
    EXPECT_GT(authorities, 3U);
}

TEST(Keyring, WhatIsBrokenIsMended) {
    const Keyring whole = renewed({}, kStart).keyring;
    Keyring ring = whole;
    ring.serving.key = "no key";
    EXPECT_THAT(renewed(ring, kStart).reasons, ElementsAre(HasSubstr("broken or has expired")));

    ring = whole;
    ring.serving = {};
    EXPECT_EQ(renewed(ring, kStart).reasons.size(), 1U);

    ring = whole;
    ring.authority.key = whole.serving.key;
    const Renewal mended = renewed(ring, kStart);
    EXPECT_EQ(mended.reasons.size(), 2U) << "nobody can sign with the old one any more";
    EXPECT_TRUE(is_trusted(mended.keyring.bundle(), mended.keyring));

    ring = whole;
    ring.previous = {.certificate = "rubbish", .key = "rubbish"};
    EXPECT_TRUE(renewed(ring, kStart).keyring.previous.certificate.empty());

    EXPECT_EQ(renewed(whole, kStart + 1000h).reasons.size(), 2U) << "all has expired";
    EXPECT_THAT(renewed(whole, kStart, {"DNS:other"}).reasons,
                ElementsAre(HasSubstr("for other names")));
}

TEST(Keyring, NamesThatAreNoneAreRefused) {
    EXPECT_FALSE(renew({}, {"nonsense"}, kStart, kLifetimes));
}

}  // namespace
}  // namespace aliquot::controller
