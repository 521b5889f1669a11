// SPDX-License-Identifier: Apache-2.0
#include "controller/credentials.h"

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

Renewal renewed(const Credentials& present, http::Instant now,
                const std::vector<std::string>& names = kNames) {
    auto renewal = renew(present, names, now, kLifetimes);
    EXPECT_TRUE(renewal) << renewal.error().message;
    return renewal ? *std::move(renewal) : Renewal{};
}

/// Whether somebody who trusts `bundle` takes what `held` shows. In the bundle are one or two.
bool is_trusted(const std::string& bundle, const Credentials& held) {
    const std::string mark = "-----BEGIN CERTIFICATE-----";
    for (std::size_t at = bundle.find(mark); at != std::string::npos;
         at = bundle.find(mark, at + 1)) {
        if (http::has_signed(bundle.substr(at), held.serving.certificate)) return true;
    }
    return false;
}

TEST(Credentials, OfNothingIsMadeWhole) {
    const Renewal made = renewed({}, kStart);
    EXPECT_THAT(made.reasons, ElementsAre(HasSubstr("a new authority: there was none"),
                                          HasSubstr("a new certificate: there was none")));
    EXPECT_TRUE(is_usable(made.credentials.serving, kStart));
    EXPECT_TRUE(is_trusted(made.credentials.bundle(), made.credentials));
    EXPECT_EQ(made.next, kStart + 60h);
    const auto facts = http::read_certificate(made.credentials.serving.certificate);
    EXPECT_EQ(facts->names, kNames);
    EXPECT_EQ(facts->valid_until, kStart + 90h);
}

TEST(Credentials, IsLeftAloneUntilTwoThirdsHavePassed) {
    const Credentials held = renewed({}, kStart).credentials;
    EXPECT_THAT(renewed(held, kStart + 60h - 1s).reasons, IsEmpty());
    const Renewal later = renewed(held, kStart + 60h);
    EXPECT_THAT(later.reasons, ElementsAre(HasSubstr("two thirds of its life")));
    EXPECT_EQ(later.credentials.authority.certificate, held.authority.certificate);
    EXPECT_EQ(later.credentials.bundle(), held.bundle());
}

TEST(Credentials, ANewAuthorityIsTrustedBeforeItSigns) {
    Credentials held = renewed({}, kStart).credentials;
    const http::Instant turn = kStart + 600h;
    held = renewed(held, turn - 1h).credentials;
    const std::string old_bundle = held.bundle();

    const Renewal staged = renewed(held, turn);
    EXPECT_THAT(staged.reasons, ElementsAre(HasSubstr("a new authority: two thirds")));
    EXPECT_EQ(staged.credentials.serving.certificate, held.serving.certificate);
    EXPECT_TRUE(is_trusted(old_bundle, staged.credentials));
    EXPECT_TRUE(is_trusted(staged.credentials.bundle(), staged.credentials));
    EXPECT_EQ(staged.next, turn + 5min);

    const Renewal signed_anew = renewed(staged.credentials, staged.next);
    EXPECT_THAT(signed_anew.reasons, ElementsAre(HasSubstr("signed by another authority")));
    EXPECT_TRUE(is_trusted(staged.credentials.bundle(), signed_anew.credentials));
    EXPECT_FALSE(is_trusted(old_bundle, signed_anew.credentials));
    EXPECT_EQ(signed_anew.credentials.bundle(), staged.credentials.bundle());
}

TEST(Credentials, LivesThroughYearsWithoutAMomentOfDistrust) {
    Credentials held = renewed({}, kStart).credentials;
    std::string known = held.bundle();  // what an API server has, at worst five minutes old
    http::Instant now = kStart;
    unsigned authorities = 0;
    for (int round = 0; round < 60; ++round) {
        const Renewal renewal = renewed(held, now);
        EXPECT_TRUE(is_trusted(known, renewal.credentials)) << "round " << round;
        EXPECT_TRUE(is_usable(renewal.credentials.serving, now));
        for (const std::string& reason : renewal.reasons) {
            authorities += reason.starts_with("a new authority") ? 1U : 0U;
        }
        held = renewal.credentials;
        known = held.bundle();
        ASSERT_GT(renewal.next, now);
        now = renewal.next;
    }
    EXPECT_GT(authorities, 3U);
}

TEST(Credentials, WhatIsBrokenIsMended) {
    const Credentials whole = renewed({}, kStart).credentials;
    Credentials held = whole;
    held.serving.key = "no key";
    EXPECT_THAT(renewed(held, kStart).reasons, ElementsAre(HasSubstr("broken or has expired")));

    held = whole;
    held.serving = {};
    EXPECT_EQ(renewed(held, kStart).reasons.size(), 1U);

    held = whole;
    held.authority.key = whole.serving.key;
    const Renewal fixed = renewed(held, kStart);
    EXPECT_EQ(fixed.reasons.size(), 2U) << "nobody can sign with the old one any more";
    EXPECT_TRUE(is_trusted(fixed.credentials.bundle(), fixed.credentials));

    held = whole;
    held.previous = {.certificate = "rubbish", .key = "rubbish"};
    EXPECT_TRUE(renewed(held, kStart).credentials.previous.certificate.empty());

    EXPECT_EQ(renewed(whole, kStart + 1000h).reasons.size(), 2U) << "all has expired";
    EXPECT_THAT(renewed(whole, kStart, {"DNS:other"}).reasons,
                ElementsAre(HasSubstr("for other names")));
}

TEST(Credentials, NamesThatAreNoneAreRefused) {
    EXPECT_FALSE(renew({}, {"nonsense"}, kStart, kLifetimes));
}

}  // namespace
}  // namespace aliquot::controller
