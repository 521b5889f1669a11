// SPDX-License-Identifier: Apache-2.0
//
// Evidence in words that speaks for a CPU, or leaves the choice. The scale of the weights is that of
// evidence_table.cpp.
#include "detect/table.h"

namespace aliquot::detect {
namespace {

constexpr Row kChoiceRows[] = {
    {"save|leave|keep|spare the gpu|gpus|cards|accelerators for|to|free; cpu only; cpuonly; only "
     "cpu|cpus; only on cpu|cpus; on cpu only; on the cpu only; cpu bound; "
     "gpu free; gpuless; gpu less; cpu is enough|sufficient|fine; "
     "cpu is fast enough; plain cpu|cpus; pure cpu; cpu nodes only; only cpu nodes; cpu "
     "wheel|wheels|build|variant|version; without acceleration; "
     "no|without accelerator|accelerators; no acceleration",
     Source::kCpu, -4.2F},
    {"on cpu|cpus; on the cpu|cpus; on a cpu|cpus; run|runs|running|train|training on cpu|cpus; "
     "run|runs|running on the|a cpu|cpus; cpu "
     "node|nodes|pool|inference|machine|machines|box|server|servers|workload|workloads|job|jobs|"
     "task; "
     "cpu cores only; cpu work; cpu alone; cpus alone; cpu image|images; "
     "cpu executionprovider; on xeon; on arm cores; on a laptop; on my laptop; on vcpus",
     Source::kCpu, -2.8F},
    {"to plain c|python|numpy|go|java|rust; to pure c|python|numpy|go|java|rust; to openmp; to "
     "numpy",
     Source::kCpu, -2.8F},
    {"on #n vcpu|vcpus|cpus|cores; on eight|four|two|sixteen cores|cpus|vcpus", Source::kCpu,
     -2.2F},
    {"scikit; sklearn; scikit learn; statsmodels; logistic regression; linear regression; random "
     "forest|forests; "
     "naive bayes; k means; kmeans; k nearest; knn; svm; svms; support vector; decision "
     "tree|trees; gradient boosted; gradient boosting; arima; sarima; sarimax; "
     "exponential smoothing; holt winters; prophet; tf idf; tfidf; bag of words; principal "
     "component|components; pca; "
     "ridge regression; lasso; isolation forest; hidden markov; kalman; kalman filter; bayesian; "
     "association rules; apriori algorithm; dbscan; "
     "collaborative filtering; matrix factorisation|factorization; topic modelling with lda; lda; "
     "nltk; gensim; word2vec; fuzzy matching; "
     "linear model; elastic net; glm; genetic algorithm|algorithms; haar cascade|cascades; "
     "tesseract; hierarchical clustering; monte carlo in numpy; "
     "with|using grep|awk|sed|perl|excel|sql; rule based; regular expression|expressions; regex; "
     "xgbclassifier; randomforestclassifier; "
     "logisticregression; train test split; r script; pivot table; spam filter",
     Source::kClassic, -2.2F},
    {"onnx; onnxruntime; numpy; pandas; scipy; spacy; opencv; pandas dataframe", Source::kClassic,
     -0.3F},
    {"xgboost; lightgbm; catboost; lgbm; en core web sm; openvino; small table; a small table; mb "
     "table|csv",
     Source::kClassic, -0.8F},
    {"raspberry pi; raspberry; raspberry pi #n; arduino; esp32; esp#; cortex m; "
     "microcontroller|microcontrollers; tflite micro; in the browser; browser extension; client "
     "side; "
     "webassembly; wasm; webgl; webgpu; coreml; core ml; on the phone; on device; android app; ios "
     "app; in a lambda; aws lambda; cloudflare worker|workers; tensorflow js; tfjs; "
     "old laptop; thin client; css animation|animations; coral; tpu|tpus; tpu pod|pods; t4g; "
     "neural engine; gameboy; desktop client; game client; edge router",
     Source::kEdge, -4.0F, Rule::kAlways, 0, kLink},

    // The model runs at someone else's.
    {"openai api; openai; openai endpoint; the openai sdk; azure openai; azure openai service; "
     "anthropic; anthropic api; claude api; chatgpt; chatgpt api; gpt #n api; "
     "claude; bedrock; amazon bedrock; aws bedrock; api "
     "mistral|openai|anthropic|cohere|deepseek|groq|together|stability|elevenlabs|replicate; calls "
     "go to; go|goes|sent to "
     "azure|openai|anthropic|google|the; "
     "azure; voyage ai; gemini; gemini api; vertex ai; vertex; cohere; "
     "cohere api; groq; openrouter; together ai; mistral api; replicate; "
     "replicate api; hugging face inference; huggingface inference api|endpoints; hugging face "
     "inference api|endpoints; inference api|endpoints; elevenlabs; deepgram; assemblyai; deepl; "
     "google vision; cloud vision; vision api; rekognition; textract; amazon transcribe; aws "
     "transcribe; google translate; translate api; speech api; google speech; "
     "perplexity api; deepseek api; fal ai; stability api; stability ai api; watson; copilot; "
     "langchain openai; chatopenai; openai key; api key; deepl api; azure cognitive; "
     "cognitive services; hosted gpt; gpt #n; gpt 4o; gpt4; gpt 4; remote api; external api; "
     "vendor api; third party api; api calls; pay per token; saas",
     Source::kRemote, -2.4F},
    {"hosted; managed; proxy; proxies; proxied; gateway; forwards; forward; relays; relay; rate "
     "limiter; third party; external; vendor|vendors; model provider|providers; cloud api; hosted "
     "endpoint; "
     "hosted model; hosted by; webhook; front end; frontend; remote endpoint; remote service; "
     "someone else",
     Source::kRemote, -1.3F, Rule::kPartner, kMl | kWords | kGpuWord, 0},

    // Optional and small.
    {"gpu is optional; gpu optional; optionally on gpu|gpus; optionally use|uses|using "
     "gpu|gpus|cuda; optional gpu|cuda; gpu|gpus if available|present|possible; cuda if available; "
     "gpu if there is one; if there is a|any spare|free|idle|unused gpu|card; if there is a "
     "gpu|card; "
     "if a device is there|available|present|found; cpu by default; by default cpu; on "
     "what|whatever is there|available|free|idle; cpu is ok|okay|acceptable|alright; "
     "gpu|slice|card is|would welcome; gpu|slice|card would be welcome; else|otherwise the|a cpu; "
     "otherwise cpu; cpu will|would do; "
     "gpu when available|present; if a gpu is available|present; when a gpu is available|present; "
     "cpu or gpu; gpu or cpu; cpu and gpu; gpu and cpu; cpu|cuda or|and cuda|cpu; nice to have; "
     "either cpu "
     "or gpu; "
     "gpu would help; would be nice; with or without a gpu|gpus; with or without gpu|gpus|cuda; "
     "works without gpu|cuda too; gpu not required but; prefers a gpu; preferably gpu; gpu "
     "recommended but; "
     "gpu helps but; speeds up with a gpu; cpu path; faster with|on gpu|gpus|cuda; faster with a "
     "gpu; faster on a gpu; not "
     "strictly needed|required|necessary; not strictly; gpu preferred; gpu nice; cpu "
     "works|ok|okay; works fine on cpu; works on cpu too; also "
     "works|runs on cpu; gpu when|where|if there is one; prefer|prefers a gpu; cpu also works; "
     "on|both cpu and|or gpu|gpus; on|both cpus and|or gpus; run|runs|running|works on cpu and|or "
     "gpu|gpus; run|runs|works on gpu|gpus and|or "
     "cpu|cpus; a cpu or a gpu; cpu or a gpu; cpu or gpu; either a cpu or a gpu|gpu; if a gpu "
     "happens; if a gpu is "
     "free|idle|around; only|just|but|albeit|though slower; cpu possible; cpu is "
     "possible|supported; without a gpu only|but|just slower; without gpu|cuda only|but|just "
     "slower; is|are not "
     "a must; is not mandatory|essential|strictly; on|both gpu|gpus and|or cpu|cpus; on "
     "a cpu or "
     "a gpu|gpu; on|either a gpu or a cpu; either gpu or cpu; run|runs|running on either; works on "
     "either; "
     "either is fine; either device; either one is|works; would not hurt; wouldn t hurt; won t "
     "hurt; will not hurt; not mandatory; not "
     "a must; "
     "not essential; whatever|whichever node|machine|host|box|worker is|comes|happens; not a "
     "hard|strict|firm requirement; "
     "recommended|preferred|advised|helpful|useful "
     "but not; recommended|preferred not required|mandatory; device cpu cuda|gpu; device cuda|gpu "
     "cpu; device auto; device auto cpu|cuda; "
     "cpu cuda "
     "auto|mps; "
     "auto cpu|cuda cuda|cpu; gpu a plus; a gpu is a plus; gpu welcome; benefits from a gpu; can "
     "make use of "
     "a gpu; take|takes|grab|use a gpu if",
     Source::kOptional, 3.0F, Rule::kAlways, 0, kGpuWord},
    {"falls|fall|falling back to cpu; falls|fall|falling back to the cpu; fallback to cpu; "
     "fallback to the "
     "cpu; cpu fallback; a cpu fallback",
     Source::kOptional, 3.0F, Rule::kAlways, 0, kGpuWord | kFallback},
    {"device cuda if torch cuda is available else cpu; torch device cuda if torch cuda is "
     "available else "
     "cpu; device torch device cuda if torch cuda is available else cpu; cuda if torch cuda is "
     "available "
     "else cpu; cuda if is available else cpu; cuda 0 if torch cuda is available else cpu; torch "
     "device cuda "
     "0 if torch cuda is available else cpu; device cuda 0 if torch cuda is available else cpu; "
     "gpu if "
     "available else cpu; 0 if torch cuda is available else cpu",
     Source::kOptional, 2.2F, Rule::kAlways, 0, kGpuWord | kMl},
    {"optional; optionally; skipped if|when|without no|there|cuda|gpu|the; skip if|when no; "
     "if|when|where available|present|possible|detected|found; if|when there "
     "is one|any; "
     "if|when "
     "one is available|present|free|around|there|found; if you|we|they have one|it; if it "
     "sees|finds|gets|has one|a|any; if you|we have a card|gpu|good; if a card is "
     "available|present|found; speeds|speed it|things|this|everything up; a few cuda tests",
     Source::kOptional, 1.6F, Rule::kPartner, kGpuWord, 0},
    {"can|could|may use gpu|gpus|cuda; can|could|may use a|an|the|any|your|one "
     "gpu|gpus|cuda|nvidia|card|accelerator|graphics; can|could|may also use",
     Source::kOptional, 1.6F, Rule::kPartner, kGpuWord, kGpuWord},
    {"tiny; toy; occasional; occasionally; one user; single user; home assistant; hobby; a "
     "handful; "
     "handful of; now and then; now and again; a dozen; rarely; a couple of; "
     "for one person; for one|single developer|analyst|designer|student|user; one off; just one; "
     "two users; three users; at home; my own "
     "notes|voice|photos|recordings|documents|memos|emails|music|pictures|videos; my notes; "
     "unit tests of|for; test suite of|for; "
     " "
     "once a month; once in a while; nano",
     Source::kSmall, 1.0F},
    {"#n|two|three|four|five|ten|twenty sample|example|test "
     "images|pictures|photos|sentences|files; "
     "two|three|four|five|ten images|pictures|photos|portraits; per hour; a|one "
     "photo|picture|image|note|letter|clip; an evening; a month; per month; a day; "
     "per day; per week; a week; once a day|week; an hour; school class; every now and then",
     Source::kSmall, 0.6F},
    {"a few; demo; demos", Source::kSmall, 0.6F},
    {"small", Source::kSmall, 0.6F},
    {"tiny model; small model; small onnx model; whisper tiny|base|small; tiny whisper; kokoro #n; "
     "minilm; all minilm; small bert; bert tiny",
     Source::kSmall, 1.5F, Rule::kAlways, 0, kMl},
};

}  // namespace

std::span<const Row> choice_rows() { return kChoiceRows; }

}  // namespace aliquot::detect
