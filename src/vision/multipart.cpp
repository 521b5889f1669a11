// SPDX-License-Identifier: Apache-2.0
#include "vision/multipart.h"

#include "base/text.h"

namespace aliquot::vision {
namespace {

constexpr std::size_t kMostBoundary = 70;  // RFC 2046

Error wrong(std::string words) { return {ErrorCode::kInvalidInput, "form: " + std::move(words)}; }

/// Takes a part's head apart.
void read_part_head(std::string_view head, FormPart& part) {
    for_each_line(head, [&](std::string_view line, unsigned) {
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) return;
        const std::string_view name = trim(line.substr(0, colon));
        const std::string_view value = trim(line.substr(colon + 1));
        if (equals_folded(name, "content-disposition")) {
            part.name = header_parameter(value, "name");
            part.file_name = header_parameter(value, "filename");
        } else if (equals_folded(name, "content-type")) {
            part.content_type = value;
        }
    });
}

}  // namespace

std::string header_parameter(std::string_view value, std::string_view name) {
    // The first word is the value itself.
    auto at = value.find(';');
    while (at != std::string_view::npos) {
        value.remove_prefix(at + 1);
        const auto equals = value.find_first_of("=;");
        if (equals == std::string_view::npos) return {};
        if (value[equals] == ';') {
            at = equals;
            continue;
        }
        const bool ours = equals_folded(trim(value.substr(0, equals)), name);
        value.remove_prefix(equals + 1);
        while (!value.empty() && is_blank(value.front())) value.remove_prefix(1);
        std::string read;
        if (value.starts_with('"')) {
            value.remove_prefix(1);
            while (!value.empty() && value.front() != '"') {
                if (value.front() == '\\' && value.size() > 1) value.remove_prefix(1);
                read += value.front();
                value.remove_prefix(1);
            }
            at = value.find(';');
        } else {
            at = value.find(';');
            read = trim(value.substr(0, at));
        }
        if (ours) return read;
    }
    return {};
}

Result<std::vector<FormPart>> read_form(std::string_view content_type, std::string_view body,
                                        const FormLimits& limits) {
    if (!starts_with_folded(trim(content_type), "multipart/form-data")) {
        return wrong("Content-Type is '" + std::string(content_type.substr(0, 100)) +
                     "'; expected multipart/form-data");
    }
    const std::string boundary = header_parameter(content_type, "boundary");
    if (boundary.empty() || boundary.size() > kMostBoundary) {
        return wrong("Content-Type names no boundary of 1 to 70 letters");
    }
    const std::string mark = "\r\n--" + boundary;
    std::vector<FormPart> parts;
    // The first mark may stand at the very beginning, where no line ends before it.
    std::size_t at = 0;
    if (!body.starts_with(std::string_view(mark).substr(2))) {
        at = body.find(mark);
        if (at == std::string_view::npos)
            return wrong("the boundary '" + boundary + "' is not in the body");
        at += 2;
    }
    at += mark.size() - 2;
    while (true) {
        std::string_view rest = body.substr(at);
        if (rest.starts_with("--")) return parts;
        const auto line = rest.find("\r\n");
        if (line == std::string_view::npos || !trim(rest.substr(0, line)).empty()) {
            return wrong("part " + std::to_string(parts.size() + 1) +
                         " is cut off behind its boundary");
        }
        if (parts.size() == limits.most_parts) {
            return wrong("more than " + std::to_string(limits.most_parts) + " parts");
        }
        const std::size_t head_at =
            at + line;  // the line end itself, so that an empty head is found too
        const auto head_end = body.substr(head_at, limits.most_head_bytes).find("\r\n\r\n");
        if (head_end == std::string_view::npos) {
            return wrong("part " + std::to_string(parts.size() + 1) +
                         " has no end of its head within " +
                         std::to_string(limits.most_head_bytes) + " bytes");
        }
        FormPart part;
        read_part_head(body.substr(head_at, head_end), part);
        const std::size_t content_at = head_at + head_end + 4;
        // An empty content: the mark's own line end is that of the head.
        const auto end = body.find(mark, content_at - 2);
        if (end == std::string_view::npos) {
            return wrong("part '" + part.name + "' is cut off: no boundary behind it");
        }
        part.content =
            end < content_at ? std::string_view{} : body.substr(content_at, end - content_at);
        parts.push_back(std::move(part));
        at = end + mark.size();
    }
}

}  // namespace aliquot::vision
