// SPDX-License-Identifier: Apache-2.0
#include "page/event_stream.h"

#include <string>

namespace aliquot::page {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookForReader{1'000};
constexpr std::chrono::seconds kBetweenComments{15};

std::string event_text(const Feed::Text& text) {
    const std::string version = "{\"version\":" + std::to_string(text.version) + "}";
    if (!text.json) return "event: snapshot\ndata: " + version + "\n\n";
    if (text.json->size() > kMostPushedBytes) return "event: version\ndata: " + version + "\n\n";
    return "event: changes\ndata: " + *text.json + "\n\n";
}

}  // namespace

void write_events(Live& live, Reader reader, std::chrono::seconds longest, http::Stream& stream) {
    const Steady::time_point begun = Steady::now();
    Steady::time_point said = begun;
    if (!stream.write("retry: 2000\n\n")) return;
    while (stream.alive() && Steady::now() - begun < longest) {
        const auto feed = live.visit(std::chrono::milliseconds(0), reader.only);
        if (!feed) return;
        if (feed->epoch() != reader.epoch) reader.since = 0;
        reader.epoch = feed->epoch();
        if (feed->wait_newer(reader.since, kLookForReader) > reader.since) {
            const Feed::Text text = feed->changes(reader.since);
            if (!stream.write(event_text(text))) return;
            reader.since = text.version;
            said = Steady::now();
        } else if (Steady::now() - said >= kBetweenComments) {
            if (!stream.write(": still here\n\n")) return;
            said = Steady::now();
        }
    }
}

}  // namespace aliquot::page
