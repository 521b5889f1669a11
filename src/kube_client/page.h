// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kube_client/api.h"
#include "kube_client/body_sink.h"

namespace aliquot::kube_client {

/// Reads a list ("PodList") as the API server answers it, from pieces of any size: of the text only
/// the object that is being read is kept, and of each object what `projection` leaves.
class ListReader final : public BodySink {
public:
    struct Options {
        std::string what;  // for messages
        bool keep_managed_fields = true;
        std::function<std::string(std::string_view json)> projection;  // empty: all of it is kept
        Limits limits;
    };
    explicit ListReader(Options options) : options_(std::move(options)) {}

    /// errors   kMalformed; kTooLarge: an object, or what is kept, is more than the limits allow
    Outcome<Done> take(std::string_view bytes) override;
    /// The list, once all of it was taken. errors   kMalformed
    Outcome<Page> finish();

private:
    enum class Place : std::uint8_t { kOutside, kBetween, kObject };
    [[nodiscard]] Failure malformed(std::string_view why) const;
    [[nodiscard]] Failure too_large(std::string_view which, std::size_t most) const;
    bool note_string(char c);
    Outcome<Done> outside(char c);
    Outcome<Done> between(char c);
    Outcome<Done> end_object();
    void read_kind();

    const Options options_;
    Place place_ = Place::kOutside;
    std::string rest_;    // the list without its items
    std::string object_;  // that is being read
    std::size_t depth_ = 0;
    bool in_string_ = false;
    bool escaped_ = false;
    std::size_t string_begin_ = 0;  // in rest_, of the last string
    std::string key_;               // of the list, whose value comes
    std::string front_;             // what an item begins with that has no kind of its own
    bool kind_is_read_ = false;
    std::vector<std::size_t> bare_;  // items whose kind was not known when they came
    std::size_t kept_bytes_ = 0;
    Page page_;
};

/// The same of a text that is all there.
/// errors   kMalformed
Outcome<Page> read_page(std::string_view body, std::string_view what, bool keep_managed_fields);

}  // namespace aliquot::kube_client
