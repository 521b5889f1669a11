// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <utility>

#include "base/json_text.h"
#include "base/line_output.h"

namespace aliquot::log {
namespace {

bool needs_quotes(std::string_view text) {
    if (text.empty()) return true;
    for (const char c : text) {
        if (c == ' ' || c == '"' || c == '=' || static_cast<unsigned char>(c) < 0x20) return true;
    }
    return false;
}

/// Hands each line to a function; spdlog 1.10 has no such sink.
class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit FunctionSink(std::function<void(std::string_view)> function)
        : function_(std::move(function)) {}

protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        function_(std::string_view(message.payload.data(), message.payload.size()));
    }
    void flush_() override {}

private:
    std::function<void(std::string_view)> function_;
};

std::string line_of(spdlog::level::level_enum level, Format format, std::string_view event,
                    Fields fields);

/// stderr that nobody may read: the agent's pods must start all the same.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit StderrSink(Format format) : format_(format) {}

protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        if (output_.may_tell_of_dropped()) {
            const std::string line = line_of(spdlog::level::warn, format_, "log.dropped",
                                             {{"lines", output_.take_dropped()}});
            spdlog::details::log_msg note(message);
            note.level = spdlog::level::warn;
            note.payload = {line.data(), line.size()};
            put(note);
        }
        put(message);
    }
    void flush_() override {}

private:
    void put(const spdlog::details::log_msg& message) {
        spdlog::memory_buf_t text;
        formatter_->format(message, text);
        (void)output_.write({text.data(), text.size()});
    }

    Format format_;
    LineOutput output_{STDERR_FILENO};
};

spdlog::sink_ptr stderr_sink(Format format) {
    if (::isatty(STDERR_FILENO) != 0) {
        return std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>();
    }
    return std::make_shared<StderrSink>(format);
}

std::shared_ptr<spdlog::logger> make_logger(spdlog::sink_ptr sink, Format format,
                                            spdlog::level::level_enum level) {
    // The line itself is built here, so that text and JSON carry the same fields.
    sink->set_pattern(format == Format::kJson ? "%v" : "%Y-%m-%dT%H:%M:%S.%eZ %^%-7l%$ %v");
    if (format == Format::kText) {
        sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(
            "%Y-%m-%dT%H:%M:%S.%eZ %^%-7l%$ %v", spdlog::pattern_time_type::utc));
    }
    auto logger = std::make_shared<spdlog::logger>("aliquot", std::move(sink));
    logger->set_level(level);
    logger->flush_on(spdlog::level::trace);
    return logger;
}

struct State {
    std::mutex mutex;  // guards what follows
    Format format = Format::kText;
    std::shared_ptr<spdlog::logger> logger =
        make_logger(stderr_sink(Format::kText), Format::kText, spdlog::level::info);
};

State& state() {
    static State instance;  // whole before anybody sees it: several threads may be the first
    return instance;
}

std::string timestamp() {
    // spdlog formats time only inside a pattern; JSON wants it as a field.
    spdlog::memory_buf_t buffer;
    spdlog::pattern_formatter formatter("%Y-%m-%dT%H:%M:%S.%eZ", spdlog::pattern_time_type::utc,
                                        "");
    formatter.format(spdlog::details::log_msg("", spdlog::level::info, ""), buffer);
    return {buffer.data(), buffer.size()};
}

std::string line_of(spdlog::level::level_enum level, Format format, std::string_view event,
                    Fields fields) {
    std::string line;
    if (format == Format::kJson) {
        const auto name = spdlog::level::to_string_view(level);
        line = "{\"time\":\"" + timestamp() + "\",\"level\":\"" +
               std::string(name.data(), name.size()) + "\",\"event\":" + json_quoted(event);
        for (const Field& field : fields) {
            line += ',' + json_quoted(field.name) + ':';
            line += field.quoted ? json_quoted(field.value) : field.value;
        }
        line += '}';
    } else {
        line = event;
        for (const Field& field : fields) {
            line += ' ';
            line += field.name;
            line += '=';
            line += needs_quotes(field.value) ? json_quoted(field.value) : field.value;
        }
    }
    return line;
}

void write(spdlog::level::level_enum level, std::string_view event, Fields fields) {
    std::shared_ptr<spdlog::logger> logger;
    Format format{};
    {
        State& shared = state();
        const std::scoped_lock lock(shared.mutex);
        logger = shared.logger;
        format = shared.format;
    }
    if (!logger->should_log(level)) return;
    const std::string line = line_of(level, format, event, fields);
    logger->log(level, spdlog::string_view_t(line.data(), line.size()));
}

spdlog::level::level_enum to_spdlog(Level level) {
    switch (level) {
        case Level::kDebug:
            return spdlog::level::debug;
        case Level::kInfo:
            return spdlog::level::info;
        case Level::kWarning:
            return spdlog::level::warn;
        case Level::kError:
            return spdlog::level::err;
        case Level::kOff:
            return spdlog::level::off;
    }
    return spdlog::level::info;
}

}  // namespace

void configure(Level level, Format format) {
    State& shared = state();
    const std::scoped_lock lock(shared.mutex);
    shared.format = format;
    shared.logger = make_logger(stderr_sink(format), format, to_spdlog(level));
}

void set_sink(std::function<void(std::string_view line)> sink) {
    State& shared = state();
    const std::scoped_lock lock(shared.mutex);
    const auto level = shared.logger->level();
    if (!sink) {
        shared.logger = make_logger(stderr_sink(shared.format), shared.format, level);
        return;
    }
    shared.logger =
        make_logger(std::make_shared<FunctionSink>(std::move(sink)), shared.format, level);
}

void debug(std::string_view event, Fields fields) { write(spdlog::level::debug, event, fields); }
void info(std::string_view event, Fields fields) { write(spdlog::level::info, event, fields); }
void warning(std::string_view event, Fields fields) { write(spdlog::level::warn, event, fields); }
void error(std::string_view event, Fields fields) { write(spdlog::level::err, event, fields); }

}  // namespace aliquot::log
