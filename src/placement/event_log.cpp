// SPDX-License-Identifier: Apache-2.0
#include "placement/event_log.h"

#include <utility>

namespace aliquot::placement {
namespace {

constexpr std::string_view kVersion = "aliquot-placement-log 1";
constexpr std::string_view kArrow = " ->";
constexpr std::size_t kCheck = 18;  // " #" and 16 digits

std::string came_out(const Result<Done>& done) { return done ? "ok" : outcome_of(done.error()); }
std::string came_out(const Result<std::uint32_t>& node) {
    return node ? "node=" + std::to_string(*node) : outcome_of(node.error());
}
std::string came_out(const Result<PlacementId>& id) {
    return id ? "id=" + std::to_string(*id) : outcome_of(id.error());
}
std::string came_out(const Result<Placement>& placed) {
    return placed ? outcome_of(*placed) : outcome_of(placed.error());
}
std::string came_out(const Result<std::vector<Placement>>& gang) {
    if (!gang) return outcome_of(gang.error());
    std::string all = "gang=" + std::to_string(gang->size());
    for (const Placement& one : *gang) all += " " + outcome_of(one);
    return all;
}
std::string came_out(Mark mark) { return "at=" + std::to_string(mark.position); }

std::string id_field(PlacementId id) { return " id=" + std::to_string(id); }

/// One line at a time on one engine.
class Player {
public:
    explicit Player(ScorerOf published) : published_(published) {}

    /// The outcome of the line now. errors: kInvalidInput, without the line's number.
    Result<std::string> play(std::string_view payload);
    [[nodiscard]] Engine take() { return std::move(*engine_); }

private:
    std::optional<std::string> play_cluster(std::string_view verb, FieldReader& fields);
    std::optional<std::string> play_change(std::string_view verb, FieldReader& fields);

    std::optional<Engine> engine_;
    ScorerOf published_;
};

/// Does it only when every field of the line was right: a line is never half played.
template <class Do>
std::string done_if_good(FieldReader& fields, Do act) {
    fields.end();
    return fields.error().empty() ? act() : std::string();
}

std::optional<std::string> Player::play_cluster(std::string_view verb, FieldReader& fields) {
    if (verb == "geometry") {
        auto geometry = fields.geometry();
        return done_if_good(fields,
                            [&] { return came_out(engine_->add_geometry(std::move(geometry))); });
    }
    if (verb == "node") {
        auto spec = fields.node();
        return done_if_good(fields, [&] { return came_out(engine_->add_node(std::move(spec))); });
    }
    if (verb == "workload") {
        auto types = fields.types();
        return done_if_good(fields, [&] {
            engine_->set_workload(std::move(types));
            return std::string("ok");
        });
    }
    return std::nullopt;
}

std::optional<std::string> Player::play_change(std::string_view verb, FieldReader& fields) {
    if (verb == "place" || verb == "what_if") {
        const Request request = fields.request();
        return done_if_good(fields, [&] {
            return came_out(verb == "place" ? engine_->place(request) : engine_->what_if(request));
        });
    }
    if (verb == "gang") {
        const auto count = static_cast<unsigned>(fields.number("count", 0, 0xFFFF'FFFF));
        const Request request = fields.request();
        return done_if_good(fields, [&] { return came_out(engine_->place_gang(request, count)); });
    }
    if (verb == "restore") {
        const Request request = fields.request();
        const Placement where = fields.where();
        return done_if_good(fields, [&] { return came_out(engine_->restore(request, where)); });
    }
    if (verb == "release") {
        const PlacementId id = fields.big_number("id");
        return done_if_good(fields, [&] { return came_out(engine_->release(id)); });
    }
    if (verb == "move") {
        const PlacementId id = fields.big_number("id");
        const Placement where = fields.where();
        return done_if_good(fields, [&] { return came_out(engine_->move(id, where)); });
    }
    if (verb == "rearrange") {
        const auto count = fields.number("moves", 0, std::int64_t{kMostTogether});
        std::vector<Move> moves;
        for (std::int64_t i = 0; i < count && fields.error().empty(); ++i) {
            Move move;
            move.id = fields.big_number("id");
            move.to = fields.where();
            moves.push_back(std::move(move));
        }
        return done_if_good(fields, [&] { return came_out(engine_->rearrange(moves)); });
    }
    if (verb == "mark") return done_if_good(fields, [&] { return came_out(engine_->mark()); });
    if (verb == "undo") {
        const Mark mark{static_cast<std::size_t>(fields.big_number("to"))};
        return done_if_good(fields, [&] {
            engine_->undo_to(mark);
            return std::string("ok");
        });
    }
    if (verb == "commit")
        return done_if_good(fields, [&] {
            engine_->commit();
            return std::string("ok");
        });
    return std::nullopt;
}

Result<std::string> Player::play(std::string_view payload) {
    FieldReader fields(payload);
    const std::string_view verb = fields.word();
    std::optional<std::string> outcome;
    if (!engine_) {
        if (verb != "options")
            return Error{ErrorCode::kInvalidInput,
                         "found '" + std::string(verb.substr(0, 40)) + "', expected options"};
        Options options = fields.options();
        options.published = published_;
        if (published_ == nullptr && options.policy != Policy::kAliquot) {
            return Error{ErrorCode::kInvalidInput,
                         "has policy=" + std::string(to_text(options.policy)) +
                             ", expected aliquot: this program has no other"};
        }
        outcome = done_if_good(fields, [&] {
            engine_.emplace(options);
            return std::string("ok");
        });
    } else {
        outcome = play_cluster(verb, fields);
        if (!outcome) outcome = play_change(verb, fields);
    }
    if (!outcome)
        return Error{ErrorCode::kInvalidInput, "found '" + std::string(verb.substr(0, 40)) +
                                                   "', expected node, place, release, ..."};
    if (!fields.error().empty()) return Error{ErrorCode::kInvalidInput, fields.error()};
    return *std::move(outcome);
}

Error wrong(std::size_t line, const std::string& what) {
    return {ErrorCode::kInvalidInput, "line " + std::to_string(line) + ": " + what};
}

}  // namespace

Recorder::Recorder(const Options& options, std::function<void(std::string_view)> sink)
    : engine_(options), sink_(std::move(sink)) {
    sink_(chain_.sealed(kVersion));
    write("options" + fields_of(options), "ok");
}

void Recorder::write(const std::string& what, const std::string& outcome) {
    sink_(chain_.sealed(what + std::string(kArrow) + " " + outcome));
}

Result<Done> Recorder::add_geometry(MigGeometry geometry) {
    const std::string what = "geometry" + fields_of(geometry);
    auto done = engine_.add_geometry(std::move(geometry));
    write(what, came_out(done));
    return done;
}

Result<NodeId> Recorder::add_node(NodeSpec spec) {
    const std::string what = "node" + fields_of(spec);
    auto id = engine_.add_node(std::move(spec));
    write(what, came_out(id));
    return id;
}

void Recorder::set_workload(std::vector<TaskType> types) {
    write("workload" + fields_of(types), "ok");
    engine_.set_workload(std::move(types));
}

Result<Placement> Recorder::place(const Request& request) {
    auto placed = engine_.place(request);
    write("place" + fields_of(request), came_out(placed));
    return placed;
}

Result<std::vector<Placement>> Recorder::place_gang(const Request& request, unsigned count) {
    auto gang = engine_.place_gang(request, count);
    write("gang count=" + std::to_string(count) + fields_of(request), came_out(gang));
    return gang;
}

Result<PlacementId> Recorder::restore(const Request& request, const Placement& where) {
    auto id = engine_.restore(request, where);
    write("restore" + fields_of(request) + fields_of(where), came_out(id));
    return id;
}

Result<Done> Recorder::release(PlacementId id) {
    auto done = engine_.release(id);
    write("release" + id_field(id), came_out(done));
    return done;
}

Result<Done> Recorder::move(PlacementId id, const Placement& where) {
    auto done = engine_.move(id, where);
    write("move" + id_field(id) + fields_of(where), came_out(done));
    return done;
}

Result<Done> Recorder::rearrange(std::span<const Move> moves) {
    if (moves.size() > kMostTogether)
        return Error{ErrorCode::kInvalidInput, std::to_string(moves.size()) +
                                                   " moves together: expected at most " +
                                                   std::to_string(kMostTogether)};
    auto done = engine_.rearrange(moves);
    std::string what = "rearrange moves=" + std::to_string(moves.size());
    for (const Move& move : moves) what += id_field(move.id) + fields_of(move.to);
    write(what, came_out(done));
    return done;
}

Result<Placement> Recorder::what_if(const Request& request) {
    auto found = engine_.what_if(request);
    write("what_if" + fields_of(request), came_out(found));
    return found;
}

Mark Recorder::mark() {
    const Mark mark = engine_.mark();
    write("mark", came_out(mark));
    return mark;
}

void Recorder::undo_to(Mark mark) {
    engine_.undo_to(mark);
    write("undo to=" + std::to_string(mark.position), "ok");
}

void Recorder::commit() {
    engine_.commit();
    write("commit", "ok");
}

Result<Replay> replay(std::string_view text, ScorerOf published) {
    if (text.size() > kMostLogBytes)
        return Error{ErrorCode::kInvalidInput, "log has " + std::to_string(text.size()) +
                                                   " bytes, expected at most " +
                                                   std::to_string(kMostLogBytes)};
    Chain chain;
    Player player(published);
    Replay report;
    while (!text.empty()) {
        const std::size_t line = ++report.lines;
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) return wrong(line, "is cut: expected a line feed");
        if (end > kMostLogLine)
            return wrong(line, "has " + std::to_string(end) + " bytes, expected at most " +
                                   std::to_string(kMostLogLine));
        const std::string_view whole = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (whole.size() < kCheck || whole.substr(whole.size() - kCheck, 2) != " #")
            return wrong(line, "ends without its check");
        const std::string_view payload = whole.substr(0, whole.size() - kCheck);
        if (chain.next_check(payload) != whole.substr(whole.size() - kCheck + 2))
            return wrong(line,
                         "does not agree with its check: it, or a line before it, was changed");
        if (line == 1) {
            if (payload != kVersion)
                return wrong(line, "is '" + std::string(payload.substr(0, 40)) + "', expected '" +
                                       std::string(kVersion) + "'");
            continue;
        }
        const std::size_t arrow = payload.find(kArrow);
        if (arrow == std::string_view::npos) return wrong(line, "has no outcome (->)");
        const std::string_view logged = payload.substr(arrow + kArrow.size());
        auto now = player.play(payload.substr(0, arrow));
        if (!now) return wrong(line, now.error().message);
        if (logged != " " + *now) {
            report.first_difference = {line, std::string(logged), *now};
            break;
        }
        ++report.decisions;
    }
    if (report.lines < 2)
        return wrong(report.lines + 1, "is missing: expected a version and options");
    report.engine = player.take();
    return report;
}

}  // namespace aliquot::placement
