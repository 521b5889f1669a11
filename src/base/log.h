// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

/// Structured logs: an event name, then fields. `log::info("plugin.registered", {{"resource",
/// name}})`. One line per event on stderr, text for people or JSON for the cluster. Thread-safe. Where
/// nobody reads stderr, lines are dropped instead of keeping their writer (base/line_output.h), and a
/// line log.dropped says how many.
/// Never give a field a secret.
namespace aliquot::log {

enum class Level : std::uint8_t { kDebug, kInfo, kWarning, kError, kOff };
enum class Format : std::uint8_t { kText, kJson };

/// A named value of an event. Numbers and booleans stay such in JSON.
struct Field {
    std::string_view name;
    std::string value;
    bool quoted = true;  // false: the value is a JSON number or boolean already

    Field(std::string_view field, std::string_view text) : name(field), value(text) {}
    Field(std::string_view field, const char* text) : name(field), value(text) {}
    Field(std::string_view field, const std::string& text) : name(field), value(text) {}
    Field(std::string_view field, bool flag)
        : name(field), value(flag ? "true" : "false"), quoted(false) {}
    template <class N>
    requires std::is_arithmetic_v<N> Field(std::string_view field, N number)
        : name(field), value(std::to_string(number)), quoted(false) {}
};
using Fields = std::initializer_list<Field>;

/// Before the first thread starts. Default: info, text.
void configure(Level level, Format format);

/// Receives every line that passes the level, without line end, instead of stderr; for tests.
/// An empty function restores stderr.
void set_sink(std::function<void(std::string_view line)> sink);

void debug(std::string_view event, Fields fields = {});
void info(std::string_view event, Fields fields = {});
void warning(std::string_view event, Fields fields = {});
void error(std::string_view event, Fields fields = {});

}  // namespace aliquot::log
