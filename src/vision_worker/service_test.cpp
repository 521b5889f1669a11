// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/service.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/base64.h"
#include "http/server.h"
#include "http/test_client.h"
#include "onnx/test_model.h"
#include "os/temporary_directory.h"
#include "vision/test_pictures.h"

namespace aliquot::vision_worker {
namespace {

using testing::HasSubstr;

const std::string kSimulated = ALIQUOT_SIM_DIR "/onnxruntime/libonnxruntime.so.1";

onnx::TestModel detector() {
    return {.input = {-1, 3, 64, 64},
            .output = {-1, 2, 6},
            .answer = {16, 16, 48, 48, 0.9F, 1, 0, 0, 10, 10, 0.1F, 0},
            .metadata = {{"names", "{0: 'cat', 1: 'dog'}"}}};
}

/// A worker as the program makes it, on the CPU of the simulated runtime.
class Worker {
public:
    explicit Worker(const onnx::TestModel& model, Settings settings = {})
        : settings_(std::move(settings)) {
        settings_.providers = {onnx::Provider::kCpu};
        settings_.listen = "127.0.0.1:0";
        auto runtime = onnx::Runtime::load({kSimulated});
        EXPECT_TRUE(runtime.ok()) << runtime.error().message;
        auto engine = Engine::make(*runtime, onnx::write_model(model), settings_, metrics_, clock_);
        EXPECT_TRUE(engine.ok()) << engine.error().message;
        engine_ = *std::move(engine);
        pipeline_ =
            std::make_unique<Pipeline>(*engine_, metrics_, clock_,
                                       PipelineOptions{.threads = 2,
                                                       .most_waiting = settings_.most_waiting,
                                                       .batch_wait = settings_.batch_wait,
                                                       .timeout = settings_.timeout,
                                                       .run_limit = settings_.run_limit});
        service_ = std::make_unique<Service>(*engine_, *pipeline_, metrics_, settings_);
        metrics_.ready = true;
        auto server = http::Server::listen(
            Service::server_options(settings_),
            [this](const http::Request& request) { return (*service_)(request); });
        EXPECT_TRUE(server.ok()) << server.error().message;
        server_ = *std::move(server);
    }

    [[nodiscard]] unsigned port() const { return server_->port(); }
    [[nodiscard]] Metrics& metrics() { return metrics_; }

    /// One request on a connection of its own.
    http::TestResponse post(const std::string& type, const std::string& body) {
        http::TestClient client(port());
        EXPECT_TRUE(client.send("POST /v1/infer HTTP/1.1\r\nHost: a\r\nContent-Type: " + type +
                                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                                body));
        return client.receive().value_or(http::TestResponse{});
    }

private:
    Settings settings_;
    os::SystemClock clock_;
    Metrics metrics_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Pipeline> pipeline_;
    std::unique_ptr<Service> service_;
    std::unique_ptr<http::Server> server_;
};

TEST(Service, APictureGivesBoxesInItsOwnPixels) {
    Worker worker(detector());
    // 128 by 64 pixels: half the size with 16 of grey above and below.
    const auto response = worker.post("image/png", vision::as_png(vision::gradient(128, 64)));
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_THAT(response.body, HasSubstr(R"("width":128,"height":64)"));
    EXPECT_THAT(
        response.body,
        HasSubstr(
            R"({"class":1,"label":"dog","score":0.9,"box":{"left":32,"top":0,"right":96,"bottom":64}})"));
    EXPECT_THAT(response.body, HasSubstr(R"("batch":1)"));
}

TEST(Service, AFormAndJsonAreTakenWithSeveralPictures) {
    Worker worker(detector());
    const std::string jpeg = vision::as_jpeg(vision::gradient(64, 64));
    const auto form = worker.post(
        "multipart/form-data; boundary=b",
        "--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"one.jpg\"\r\n\r\n" +
            jpeg +
            "\r\n--b\r\nContent-Disposition: form-data; name=\"image\"; "
            "filename=\"two.webp\"\r\n\r\n" +
            vision::as_webp(vision::gradient(64, 64)) +
            "\r\n--b\r\nContent-Disposition: form-data; "
            "name=\"confidence\"\r\n\r\n0.05\r\n--b--\r\n");
    EXPECT_EQ(form.status, 200) << form.body;
    EXPECT_THAT(form.body, HasSubstr(R"("name":"one.jpg")"));
    EXPECT_THAT(form.body, HasSubstr(R"("name":"two.webp")"));
    EXPECT_THAT(form.body, HasSubstr(R"("label":"cat")")) << "the confidence of the request counts";
    const auto json =
        worker.post("application/json", R"({"image": ")" + encode_base64(jpeg) + R"("})");
    EXPECT_EQ(json.status, 200) << json.body;
}

TEST(Service, ABadPictureIsAClearErrorAndTheWorkerGoesOn) {
    Worker worker(detector());
    const std::string png = vision::as_png(vision::gradient(64, 64));
    const struct {
        std::string body;
        int status;
        std::string words;
    } cases[] = {{"", 400, "no bytes"},
                 {"hello", 415, "expected a JPEG, a PNG or a WebP"},
                 {"GIF89a", 415, "a GIF"},
                 {png.substr(0, png.size() / 2), 400, "PNG image is broken"},
                 {vision::png_bomb(60'000, 60'000), 400, "60000x60000 pixels; expected at most"}};
    for (const auto& one : cases) {
        const auto response = worker.post("image/png", one.body);
        EXPECT_EQ(response.status, one.status) << response.body;
        EXPECT_THAT(response.body, HasSubstr(one.words));
    }
    EXPECT_EQ(worker.post("application/json", "{").status, 400);
    EXPECT_EQ(worker.post("image/png", png).status, 200);
}

TEST(Service, OfSeveralPicturesTheGoodOnesAreAnswered) {
    Worker worker(detector());
    const std::string png = encode_base64(vision::as_png(vision::gradient(64, 64)));
    const auto response =
        worker.post("application/json", R"({"images": [")" + png + R"(", "AAAA"]})");
    EXPECT_EQ(response.status, 200);
    EXPECT_THAT(response.body, HasSubstr("\"detections\""));
    EXPECT_THAT(response.body, HasSubstr("\"status\":415"));
}

TEST(Service, ABodyOverTheLimitIs413AndNotRead) {
    Settings settings;
    settings.most_body_bytes = 1024;
    Worker worker(detector(), settings);
    EXPECT_EQ(worker.post("image/png", std::string(2000, 'x')).status, 413);
}

TEST(Service, PicturesThatComeTogetherLeaveTogether) {
    Settings settings;
    settings.most_batch = 8;
    settings.batch_wait = std::chrono::seconds(5);
    Worker worker(detector(), settings);
    const std::string png = encode_base64(vision::as_png(vision::gradient(64, 64)));
    std::string body = R"({"images": [")" + png + '"';
    for (int i = 1; i < 8; ++i) body += ", \"" + png + '"';
    const auto response = worker.post("application/json", body + "]}");
    EXPECT_EQ(response.status, 200);
    EXPECT_THAT(response.body, HasSubstr("\"batch\":8"));
}

TEST(Service, MoreThanMayWaitIs503AndTheRestIsAnswered) {
    Settings settings;
    settings.most_waiting = 3;
    Worker worker(detector(), settings);
    const std::string png = encode_base64(vision::as_png(vision::gradient(64, 64)));
    const std::string four =
        R"({"images": [")" + png + R"(", ")" + png + R"(", ")" + png + R"(", ")" + png + R"("]})";
    const auto response = worker.post("application/json", four);
    EXPECT_EQ(response.status, 503);
    EXPECT_THAT(response.body, HasSubstr("3 pictures wait already"));
    EXPECT_EQ(response.headers.at("retry-after"), "1");
    EXPECT_EQ(worker.post("application/json", R"({"image": ")" + png + R"("})").status, 200);
}

TEST(Service, AClassifierGivesTheLikeliest) {
    Worker worker(
        {.input = {-1, 3, 32, 32},
         .output = {-1, 4},
         .answer = {0.1F, 0.6F, 0.1F, 0.2F},
         .metadata = {{"names", "{0: 'a', 1: 'b', 2: 'c', 3: 'd'}"}, {"task", "classify"}}});
    const auto response = worker.post("image/png", vision::as_png(vision::gradient(40, 60)));
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_THAT(response.body,
                HasSubstr(R"("classes":[{"class":1,"label":"b","score":0.6},{"class":3)"));
}

TEST(Service, PagesTellWhatRuns) {
    Worker worker(detector());
    http::TestClient client(worker.port());
    EXPECT_EQ(client.get("/healthz")->status, 200);
    EXPECT_EQ(client.get("/readyz")->status, 200);
    worker.metrics().ready = false;
    EXPECT_EQ(client.get("/readyz")->status, 503);
    EXPECT_THAT(client.get("/metrics")->body, HasSubstr("vision_requests_waiting 0"));
    const auto model = client.get("/v1/model");
    EXPECT_THAT(model->body, HasSubstr(R"("provider":"cpu")"));
    EXPECT_THAT(model->body, HasSubstr(R"("layout":"final")"));
    EXPECT_EQ(client.get("/v1/infer")->status, 405);
    EXPECT_EQ(client.get("/nothing")->status, 404);
}

/// Asks until the page has this status, for ten seconds at most.
bool comes_to(Worker& worker, const char* page, int status) {
    for (int i = 0; i < 1000; ++i) {
        http::TestClient client(worker.port());
        const auto response = client.get(page);
        if (response && response->status == status) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

TEST(Service, ADeviceThatDoesNotAnswerIsToldAndWhoWaitsIsAnswered) {
    const os::TemporaryDirectory place;
    const std::string hangs = place.path() / "hangs";
    onnx::TestModel model = detector();
    model.metadata["simulated.hangs_while"] = hangs;
    Settings settings;
    settings.most_batch = 1;
    settings.run_limit = std::chrono::milliseconds(100);
    Worker worker(model, settings);
    const std::string png = vision::as_png(vision::gradient(64, 64));
    EXPECT_EQ(worker.post("image/png", png).status, 200);
    std::ofstream(hangs) << "hang";
    std::vector<std::future<http::TestResponse>> asked;
    for (int i = 0; i < 3; ++i) {  // one runs, the others wait
        asked.push_back(
            std::async(std::launch::async, [&] { return worker.post("image/png", png); }));
    }
    for (auto& one : asked) {
        const auto response = one.get();
        EXPECT_EQ(response.status, 503) << response.body;
        EXPECT_THAT(response.body, HasSubstr("the device has not answered for 100ms"));
    }
    EXPECT_TRUE(comes_to(worker, "/readyz", 503));
    EXPECT_THAT(worker.metrics().text(), HasSubstr("vision_ready 0\n"));
    EXPECT_TRUE(comes_to(worker, "/healthz", 503));
    EXPECT_EQ(worker.post("image/png", png).status, 503) << "nobody waits for it any more";
    std::filesystem::remove(hangs);
    EXPECT_TRUE(comes_to(worker, "/readyz", 200));
    EXPECT_TRUE(comes_to(worker, "/healthz", 200));
    EXPECT_EQ(worker.post("image/png", png).status, 200);
}

TEST(Service, AModelThatIsNoDetectorIsRefusedAtTheStart) {
    Metrics metrics;
    const os::SystemClock clock;
    Settings settings;
    settings.providers = {onnx::Provider::kCpu};
    const auto runtime = onnx::Runtime::load({kSimulated});
    ASSERT_TRUE(runtime.ok());
    const auto make = [&](const onnx::TestModel& model) {
        Metrics own;
        const auto engine = Engine::make(*runtime, onnx::write_model(model), settings, own, clock);
        return engine.ok() ? "none" : engine.error().message;
    };
    EXPECT_THAT(
        make({.input = {-1, 4, 64, 64}, .output = {-1, 1, 6}, .answer = {0, 0, 0, 0, 0, 0}}),
        HasSubstr("'images' is [free, 4, 64, 64], expected [batch, 3, height, width]"));
    EXPECT_THAT(
        make({.input = {-1, 3, 64, 64}, .output = {-1, 2, 2, 2}, .answer = std::vector<float>(8)}),
        HasSubstr("expected a detector's"));
    const auto none = Engine::make(*runtime, "no model", settings, metrics, clock);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace aliquot::vision_worker
