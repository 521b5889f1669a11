// SPDX-License-Identifier: Apache-2.0
#include "controller/credentials.h"

#include <algorithm>
#include <utility>

namespace aliquot::controller {
namespace {

using http::Instant;
using std::chrono::seconds;

constexpr char kName[] = "aliquot-webhook";
constexpr seconds kEarlier{300};  // http::make_authority() lets it begin so much before
constexpr seconds kLeastLife{1};

seconds until_renewal(seconds life) { return life * 2 / 3; }

/// When two thirds of its life have passed.
Instant renewal_of(const http::CertificateFacts& facts) {
    const Instant made = facts.valid_from + kEarlier;
    return made + until_renewal(std::chrono::duration_cast<seconds>(facts.valid_until - made));
}

bool is_usable_authority(const http::Certificate& certificate, Instant now) {
    if (!is_usable(certificate, now)) return false;
    const auto facts = http::read_certificate(certificate.certificate);
    return facts && facts->is_authority;
}

class Work {
public:
    Work(const Credentials& present, std::vector<std::string> names, Instant now,
         const Lifetimes& lifetimes)
        : names_(std::move(names)), now_(now), lifetimes_(lifetimes) {
        made_.credentials = present;
        std::ranges::sort(names_);
    }

    Result<Renewal> carry_out() {
        if (auto done = tend_authority(); !done) return std::move(done).error();
        drop_previous();
        if (auto done = tend_serving(); !done) return std::move(done).error();
        plan_next();
        return std::move(made_);
    }

private:
    Credentials& held() { return made_.credentials; }
    void note(std::string reason) { made_.reasons.push_back(std::move(reason)); }

    [[nodiscard]] Instant made_at(const http::Certificate& certificate) const {
        const auto facts = http::read_certificate(certificate.certificate);
        return facts ? facts->valid_from + kEarlier : now_;
    }

    Result<Done> tend_authority() {
        const bool usable = is_usable_authority(held().authority, now_);
        if (usable) {
            const auto facts = http::read_certificate(held().authority.certificate);
            if (now_ < renewal_of(*facts)) return Done{};
        }
        auto next = http::make_authority(kName, lifetimes_.authority, now_);
        if (!next) return std::move(next).error();
        if (usable) {
            held().previous = std::move(held().authority);
            note("a new authority: two thirds of the old one's life have passed");
        } else {
            note(held().authority.certificate.empty()
                     ? "a new authority: there was none"
                     : "a new authority: the old one was broken or has expired");
        }
        held().authority = *std::move(next);
        return Done{};
    }

    void drop_previous() {
        if (held().previous.certificate.empty() && held().previous.key.empty()) return;
        if (is_usable_authority(held().previous, now_)) return;
        held().previous = {};
        note("the authority before has expired");
    }

    /// Who signs: the newest, as soon as it is known everywhere.
    [[nodiscard]] const http::Certificate& signer() const {
        const Credentials& held = made_.credentials;
        const bool is_known = now_ >= made_at(held.authority) + lifetimes_.trust_delay;
        return is_known || held.previous.certificate.empty() ? held.authority : held.previous;
    }

    /// Why the serving certificate will not do; empty: it will.
    [[nodiscard]] std::string fault(const http::Certificate& signer) const {
        const http::Certificate& serving = made_.credentials.serving;
        if (serving.certificate.empty()) return "there was none";
        if (!is_usable(serving, now_)) return "the old one was broken or has expired";
        const auto facts = http::read_certificate(serving.certificate);
        if (facts->names != names_) return "it was for other names";
        if (now_ >= renewal_of(*facts)) return "two thirds of its life have passed";
        if (!http::has_signed(signer.certificate, serving.certificate)) {
            return "it was signed by another authority";
        }
        return {};
    }

    Result<Done> tend_serving() {
        const http::Certificate& by = signer();
        const std::string reason = fault(by);
        if (reason.empty()) return Done{};
        const auto of_signer = http::read_certificate(by.certificate);
        const auto left = std::chrono::duration_cast<seconds>(of_signer->valid_until - now_);
        const seconds life = std::clamp(left, kLeastLife, lifetimes_.certificate);
        auto serving =
            http::issue(by, names_.empty() ? kName : host_of(names_[0]), names_, life, now_);
        if (!serving) return std::move(serving).error();
        held().serving = *std::move(serving);
        note("a new certificate: " + reason);
        return Done{};
    }

    /// "DNS:aliquot-webhook.aliquot-system.svc" without its kind, as short as a common name must be.
    static std::string host_of(const std::string& name) {
        constexpr std::size_t kLongest = 64;
        const std::string host = name.substr(name.find(':') + 1);
        return host.size() > kLongest ? std::string(kName) : host;
    }

    void plan_next() {
        const auto authority = http::read_certificate(held().authority.certificate);
        const auto serving = http::read_certificate(held().serving.certificate);
        made_.next = std::min(renewal_of(*authority), renewal_of(*serving));
        if (held().previous.certificate.empty()) return;
        const Instant known = made_at(held().authority) + lifetimes_.trust_delay;
        if (known > now_) made_.next = std::min(made_.next, known);
        const auto previous = http::read_certificate(held().previous.certificate);
        made_.next = std::min(made_.next, previous->valid_until);
    }

    std::vector<std::string> names_;
    const Instant now_;
    const Lifetimes& lifetimes_;
    Renewal made_;
};

}  // namespace

std::string Credentials::bundle() const { return authority.certificate + previous.certificate; }

bool is_usable(const http::Certificate& certificate, Instant now) {
    const auto facts = http::read_certificate(certificate.certificate);
    return facts && now >= facts->valid_from && now < facts->valid_until &&
           http::is_pair(certificate);
}

Result<Renewal> renew(const Credentials& present, const std::vector<std::string>& names,
                      Instant now, const Lifetimes& lifetimes) {
    return Work(present, names, now, lifetimes).carry_out();
}

}  // namespace aliquot::controller
