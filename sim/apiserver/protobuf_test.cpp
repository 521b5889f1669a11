// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/protobuf.h"

#include <gtest/gtest.h>

#include "sim/apiserver/api_server.h"

namespace aliquot::sim::apiserver {
namespace {

std::string varint(std::uint64_t value) {
    std::string out;
    for (; value > 127; value >>= 7U) out += static_cast<char>(value | 128U);
    return out += static_cast<char>(value);
}
std::string bytes(unsigned number, const std::string& content) {
    return varint(number * 8 + 2) + varint(content.size()) + content;
}
std::string number(unsigned field, std::uint64_t value) {
    return varint(field * 8) + varint(value);
}

std::string sent(const std::string& version, const std::string& kind, const std::string& object) {
    return std::string("k8s\0", 4) + bytes(1, bytes(1, version) + bytes(2, kind)) +
           bytes(2, object) + bytes(3, "") + bytes(4, "");
}

std::string json_of(const std::string& message) {
    const auto read = read_protobuf(message);
    return read ? to_json(*read) : "error: " + read.error().message;
}

TEST(Protobuf, ReadsAPodAsItsJson) {
    const std::string resources =
        bytes(1, bytes(1, "nvidia.com/gpu") + bytes(2, bytes(1, "1")));  // limits
    const std::string probe =
        bytes(1, bytes(2, bytes(1, "/x") + bytes(2, number(1, 0) + number(2, 80))));
    const std::string container = bytes(1, "c") + bytes(2, "i") + bytes(3, "run") + bytes(5, "") +
                                  bytes(8, resources) + bytes(10, probe) +
                                  bytes(7, bytes(1, "N") + bytes(2, ""));
    const std::string spec = bytes(1, bytes(1, "v") + bytes(2, bytes(1, bytes(1, "/dev")))) +
                             bytes(2, container) + number(11, 0) + number(21, 0) +
                             bytes(7, bytes(1, "gpu") + bytes(2, "true"));
    const std::string metadata = bytes(1, "p") + bytes(2, "") + bytes(8, "") +
                                 bytes(9, number(1, 1'700'000'000) + number(2, 5)) +
                                 bytes(11, bytes(1, "app") + bytes(2, "x")) + bytes(14, "f");
    EXPECT_EQ(
        json_of(sent("v1", "Pod", bytes(1, metadata) + bytes(2, spec) + bytes(3, ""))),
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"deletionTimestamp":"2023-11-14T22:13:20Z","finalizers":["f"],"labels":{"app":"x"},"name":"p"},)"
        R"("spec":{"automountServiceAccountToken":false,"containers":[{"command":["run"],"env":[{"name":"N"}],"image":"i","livenessProbe":{"httpGet":{"path":"/x","port":80}},"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}],)"
        R"("nodeSelector":{"gpu":"true"},"volumes":[{"hostPath":{"path":"/dev"},"name":"v"}]},"status":{}})");
}

TEST(Protobuf, ReadsWhatHasAFormOfItsOwn) {
    EXPECT_EQ(json_of(sent("v1", "Secret", bytes(2, bytes(1, "k") + bytes(2, "\xff")))),
              R"({"apiVersion":"v1","data":{"k":"/w=="},"kind":"Secret"})");
    EXPECT_EQ(
        json_of(sent(
            "authorization.k8s.io/v1", "SubjectAccessReview",
            bytes(2, bytes(3, "dora") +
                         bytes(5, bytes(1, "scope") + bytes(2, bytes(1, "a") + bytes(1, "b")))))),
        R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"extra":{"scope":["a","b"]},"user":"dora"}})");
    EXPECT_EQ(
        json_of(sent(
            "apps/v1", "DaemonSet",
            bytes(2, bytes(3, bytes(2, bytes(1, number(1, 1) + bytes(3, "10%")))) + number(6, 0)))),
        R"({"apiVersion":"apps/v1","kind":"DaemonSet","spec":{"revisionHistoryLimit":0,"updateStrategy":{"rollingUpdate":{"maxUnavailable":"10%"}}}})");
    EXPECT_EQ(
        json_of(
            sent("apps/v1", "ControllerRevision", bytes(2, bytes(1, R"({"a":1})")) + number(3, 7))),
        R"({"apiVersion":"apps/v1","data":{"a":1},"kind":"ControllerRevision","revision":7})");
    EXPECT_EQ(
        json_of(sent("coordination.k8s.io/v1", "Lease",
                     bytes(2, bytes(4, number(1, 1'700'000'000) + number(2, 1000))))),
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":{"renewTime":"2023-11-14T22:13:20.000001Z"}})");
}

TEST(Protobuf, RefusesWhatItCannotRead) {
    const std::string whole = sent("v1", "Pod", bytes(1, bytes(1, "p")));
    const std::size_t envelope = sent("v1", "Pod", "").size() - 6;  // a pod of nothing is one
    for (std::size_t size = 0; size < whole.size() - 4; ++size) {
        if (size == envelope) continue;
        EXPECT_FALSE(read_protobuf(std::string_view(whole).substr(0, size))) << size;
    }
    const auto deep = [](unsigned levels) {
        std::string text;
        for (unsigned i = 0; i < levels; ++i) text = bytes(1, text);
        return text;
    };
    EXPECT_TRUE(json_of(sent("v1", "Pod", number(1, 5))).starts_with("error: a field has another"));
    EXPECT_FALSE(read_protobuf(deep(200)));
    const auto unknown =
        read_protobuf(sent("apiextensions.k8s.io/v1", "CustomResourceDefinition", ""));
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
}

TEST(Protobuf, IsTakenWhereJsonIs) {
    const auto server = ApiServer::start({.http_address = "", .https_address = ""});
    ASSERT_TRUE(server) << server.error().message;
    const auto made = (*server)->request(
        "POST", "/api/v1/namespaces",
        sent("v1", "Namespace",
             bytes(1, bytes(1, "x") + bytes(8, "")) + bytes(2, "") + bytes(3, "")),
        kProtobuf);
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ((*server)->request("GET", "/api/v1/namespaces/x").status, 200);
    EXPECT_EQ((*server)->request("POST", "/api/v1/namespaces", "nonsense", kProtobuf).status, 400);
}

}  // namespace
}  // namespace aliquot::sim::apiserver
