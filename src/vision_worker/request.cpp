// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/request.h"

#include "base/base64.h"
#include "base/number.h"
#include "base/text.h"
#include "document/json.h"
#include "vision/multipart.h"

namespace aliquot::vision_worker {
namespace {

Error wrong(std::string words) { return {ErrorCode::kInvalidInput, std::move(words)}; }

/// One of the fields beside the pictures.
Result<Done> read_field(std::string_view name, std::string_view text, ReadRequest& read) {
    const auto number = parse_decimal(trim(text));
    const std::string told =
        "'" + std::string(name) + "' is '" + std::string(text.substr(0, 40)) + "'; expected ";
    if (name == "confidence" || name == "overlap") {
        if (!number || *number < 0 || *number > 1) return wrong(told + "0 to 1");
        (name == "confidence" ? read.limits.confidence : read.limits.overlap) =
            static_cast<float>(*number);
        return Done{};
    }
    if (name == "top") {
        if (!number || *number < 1 || *number > 1000) return wrong(told + "1 to 1000");
        read.top = static_cast<std::size_t>(*number);
        return Done{};
    }
    return wrong("field '" + std::string(name.substr(0, 40)) +
                 "' is not known; expected image, confidence, overlap or top");
}

Result<ReadRequest> read_form_request(std::string_view content_type,
                                      std::shared_ptr<const std::string> body, ReadRequest read) {
    const auto parts = vision::read_form(content_type, *body);
    if (!parts) return parts.error();
    for (const vision::FormPart& part : *parts) {
        if (!part.file_name.empty() || part.name == "image") {
            read.pictures.push_back({.name = part.file_name, .owner = body, .bytes = part.content});
        } else if (const auto field = read_field(part.name, part.content, read); !field) {
            return field.error();
        }
    }
    return read;
}

Result<Done> add_base64(const document::Value& value, ReadRequest& read) {
    if (!value.is_string())
        return wrong("a picture is " + document::describe(value) + "; expected a text in base64");
    std::string_view text = value.scalar;
    if (text.starts_with("data:"))
        text = text.substr(std::min(text.find(','), text.size() - 1) + 1);
    auto bytes = decode_base64(text);
    if (!bytes) return wrong("a picture is not base64");
    const auto owner = std::make_shared<const std::string>(*std::move(bytes));
    read.pictures.push_back({.name = {}, .owner = owner, .bytes = *owner});
    return Done{};
}

Result<ReadRequest> read_json_request(std::string_view body, ReadRequest read) {
    auto value = document::parse_json(body, {.depth = 4, .several = false});
    if (!value) return std::move(value).error().during("JSON");
    if (!value->is_mapping()) {
        return wrong("JSON: " + document::describe(*value) +
                     " found; expected {\"image\": BASE64}");
    }
    for (const document::Value::Entry& entry : value->entries) {
        const std::string& key = entry.first.scalar;
        Result<Done> done = Done{};
        if (key == "image") {
            done = add_base64(entry.second, read);
        } else if (key == "images" && entry.second.is_sequence()) {
            if (entry.second.items.size() > kMostPictures) {
                return wrong("more than " + std::to_string(kMostPictures) + " pictures");
            }
            for (const document::Value& item : entry.second.items) {
                if (done.ok()) done = add_base64(item, read);
            }
        } else {
            done = read_field(key, entry.second.scalar, read);
        }
        if (!done) return std::move(done).error().during("JSON");
    }
    return read;
}

}  // namespace

Result<ReadRequest> read_request(std::string_view content_type, std::string body,
                                 const ReadRequest& base) {
    const std::string_view type = trim(content_type.substr(0, content_type.find(';')));
    Result<ReadRequest> read = base;
    if (equals_folded(type, "application/json")) {
        read = read_json_request(body, base);
    } else {
        const auto owner = std::make_shared<const std::string>(std::move(body));
        if (equals_folded(type, "multipart/form-data")) {
            read = read_form_request(content_type, owner, base);
        } else {
            read->pictures.push_back({.name = {}, .owner = owner, .bytes = *owner});
        }
    }
    if (!read) return read;
    if (read->pictures.empty())
        return wrong("no picture; expected a file in the form, or {\"image\": BASE64}");
    if (read->pictures.size() > kMostPictures) {
        return wrong(std::to_string(read->pictures.size()) + " pictures; expected at most " +
                     std::to_string(kMostPictures));
    }
    return read;
}

}  // namespace aliquot::vision_worker
