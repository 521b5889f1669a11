// SPDX-License-Identifier: Apache-2.0
#include "http/reply.h"

#include "http/message.h"

namespace aliquot::http {

Reply render(Response answer, const ResponseForm& form, const Access& access,
             CompressedBodies& bodies) {
    if (answer.status == 0) return {.close = true};
    const bool streams = answer.stream != nullptr;
    const bool shared = answer.shared_body != nullptr;
    auto body = shared ? std::move(answer.shared_body)
                       : std::make_shared<const std::string>(std::move(answer.body));
    bool set_encoding = false;
    for (const auto& [name, value] : answer.headers) {
        set_encoding = set_encoding || name == "Content-Encoding";
    }
    const bool varies = !set_encoding && !streams && body->size() >= form.compress_from &&
                        is_compressible(answer.content_type, body->size());
    std::shared_ptr<const std::string> compressed;
    if (varies && takes_gzip(form.accept_encoding)) {
        if (shared) {
            compressed = bodies.of(body);
        } else if (std::string bytes = gzip(*body); !bytes.empty()) {
            compressed = std::make_shared<const std::string>(std::move(bytes));
        }
    }
    for (const auto& header : access.response_headers) answer.headers.push_back(header);
    Reply reply{.body = compressed != nullptr ? compressed : body, .close = !form.keep_alive};
    using Length = ResponseHead::Length;
    Length length = Length::kKnown;
    if (streams) {
        length = form.takes_chunks ? Length::kChunks : Length::kUntilClose;
        reply.close = reply.close || !form.takes_chunks;
    }
    reply.head = write_head({.status = answer.status,
                             .content_type = answer.content_type,
                             .length = length,
                             .body_bytes = reply.body->size(),
                             .gzip = compressed != nullptr,
                             .varies = varies,
                             .close = reply.close},
                            answer.headers);
    if (form.without_body || streams || answer.status == 204 || answer.status == 304)
        reply.body.reset();
    return reply;
}

Response unauthorized() {
    return {.status = 401,
            .body = "a name and a password are needed\n",
            .headers = {{"WWW-Authenticate", "Basic realm=\"aliquot\", charset=\"UTF-8\""}}};
}

Reply refusal(int status, std::string_view reason) {
    CompressedBodies none;
    return render({.status = status, .body = std::string(reason) + "\n"}, {}, {}, none);
}

}  // namespace aliquot::http
