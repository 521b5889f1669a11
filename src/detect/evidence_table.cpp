// SPDX-License-Identifier: Apache-2.0
//
// Evidence in words: hardware, models, tasks, sizes, and what speaks for a CPU.
//
// Weights are log-odds, chosen by hand on a scale and then scaled together once (score.cpp):
//   4   alone decides, even against a weaker doubt   2.6  alone tips the balance
//   1.2 helps another                                0.6  a hint
// The bias of kBias stands for "most texts need no GPU". Words with a second meaning are kShy or
// kPartner instead of being given half a weight: half a weight is wrong in both meanings.
#include "detect/table.h"

namespace aliquot::detect {
namespace {

constexpr std::uint32_t kData = kSight | kSound | kWords;

constexpr Row kRows[] = {
    // Hardware.
    {"gpu|gpus; graphics|graphical "
     "processor|processors|accelerator|accelerators|chip|chips|unit|units|board|boards; graphics "
     "processing unit|units; video adapter; gpu card|cards|memory|hours|box|server|machine; "
     "graphics card|cards; video "
     "card|cards",
     Source::kHardware, 2.9F, Rule::kAlways, 0, kGpuWord},
    {"vram; hbm; hbm#; video|graphics memory|ram; gpu ram; openacc; "
     "hopper|ampere|blackwell|volta|turing|ada "
     "card|cards|node|nodes|generation|architecture; grace hopper|blackwell "
     "node|nodes|superchip|server; gpu accelerated|acceleration; on gpu|gpus; gpu enabled; gpu "
     "required|mandatory; "
     "multi gpu; gpu variant|image|build|version; gpu direct; gpudirect; gpgpu; accelerator "
     "card|cards; #gb card|cards|gpu|gpus|accelerator|accelerators; #n gb card|cards|gpu|gpus",
     Source::kHardware, 3.4F, Rule::kAlways, 0, kGpuWord},
    {"cuda; cuda#; cu#; cudnn; cublas; cufft; nvcc; nccl; curand; cusparse; nvrtc; cutlass; thrust "
     "cuda; "
     "rocm; rocm#; miopen; hipcc; gfx#",
     Source::kHardware, 3.0F, Rule::kShy, kMl | kGpuWord, kGpuWord},
    {"a100;a100s;h100;h100s;h200;h200s;v100;v100s;l40s;gh200;gb200;mi300x;mi300;mi250;mi250x;a10g;"
     "p100",
     Source::kHardware, 3.4F, Rule::kShy, kMl | kGpuWord | kPowers, kGpuWord},
    {"a100 #gb; h100 #gb; v100 #gb; a10 #gb; l4 #gb; t4 #gb; a40 #gb; "
     "tesla t4|v100|p100|k80|p4|p40|m60; nvidia "
     "a100|h100|t4|l4|a10|a40|v100|a2|a16|a30|l40|l40s|b200|h200; "
     "b200|b300 card|cards|node|nodes|gpu|gpus",
     Source::kHardware, 3.6F, Rule::kAlways, 0, kGpuWord},
    {"t4;t4s;l4;l4s;a10;a10s;a2;a16;a30;a40;l40;k80;p4;p40;m60;b200;p6000;a6000;a5000;a4000",
     Source::kHardware, 3.0F, Rule::kPartner, kMl | kGpuWord | kPowers | kSight | kSound, kGpuWord},
    {"two|three|four|eight|dual|one|single t4|t4s|l4|l4s|a10|a10s|a30|a40|a16|l40|k80|p40|m60",
     Source::kHardware, 3.0F, Rule::kShy, kMl | kGpuWord, kGpuWord},
    {"rtx #n; rtx a6000|a5000|a4000|6000|2080ti; rtx ada; geforce; gtx #n; geforce rtx|gtx #n; "
     "quadro; "
     "3090|3090s|4090|4090s|5090|5090s|3080ti|4080s; titan rtx|xp|v; radeon instinct; dgx; hgx; "
     "instinct mi#; nvlink; nvswitch; tensor core|cores; cuda core|cores; jetson; jetson "
     "nano|orin|xavier",
     Source::kHardware, 3.2F, Rule::kShy, kMl | kGpuWord | kPowers, kGpuWord},
    {"nvidia card|cards|hardware|accelerator|accelerators|board|boards; compute capability; mig "
     "slice|slices|instance|instances|device|devices|partition; gpu instance|instances",
     Source::kHardware, 3.2F, Rule::kAlways, 0, kGpuWord},
    {"accelerator|accelerators; accelerator node|nodes", Source::kHardware, 2.2F, Rule::kPartner,
     kMl | kGpuWord | kNeedWord, kGpuWord},
    {"nvidia", Source::kHardware, 1.4F, Rule::kAlways, 0, kGpuWord},
    {"nvidia smi; nvidia smi query gpu", Source::kHardware, 0.9F, Rule::kAlways, 0, kGpuWord},
    {"nvidia driver|drivers; nvidia container toolkit|runtime; nvidia docker; nvidia docker2",
     Source::kHardware, 2.2F, Rule::kAlways, 0, kGpuWord},
    {"mixed precision; fp16; bf16; bfloat16; half precision; fp8; amp autocast; gradient "
     "checkpointing|accumulation; flash attention; "
     "kv cache; tensor parallel|parallelism; pipeline parallel|parallelism; model "
     "parallel|parallelism; "
     "data parallel|parallelism; distributed data parallel; zero stage; zero #n; fully sharded",
     Source::kTask, 2.3F, Rule::kAlways, 0, kMl},

    // Models.
    {"llama|llamas; llama#; llama #n; llama #n #n; codellama; code llama; vicuna; alpaca; mixtral; "
     "mistral; "
     "falcon; qwen; qwen#; gemma; gemma#; deepseek; deepseek r1|v3|v2; starcoder; starcoder#; gpt "
     "j|neox; "
     "bloom; bloomz; phi; phi#; yi; zephyr; wizardlm; wizardcoder; command r; olmo; olmo#; mpt; "
     "flan t5; t5; stablelm; internlm; baichuan; chatglm; chatglm#; nllb; madlad; granite",
     Source::kModel, 2.3F, Rule::kPartner, kMl | kGpuWord | kWords | kNeedWord, kModelName},
    {"llama #b; llama #n #b; llama2 #b; llama3 #b; llama# #b; llama#n #b; mistral #b; mixtral #b; "
     "falcon #b; qwen #b; qwen# #b; "
     "qwen #n #b; gemma #b; gemma #n #b; gemma# #b; deepseek #b; code llama #b; codellama #b; "
     "vicuna #b; starcoder #b; gpt neox #b; llama #n #n #b",
     Source::kModel, 3.0F, Rule::kAlways, 0, kMl},
    {"gpt2; gpt#; gpt 2; gpt j #b; nanogpt; gpt from scratch", Source::kModel, 2.0F, Rule::kPartner,
     kMl | kWords | kGpuWord, kMl},
    {"large|small language model|models; vision language model|models; masked language "
     "model|models",
     Source::kModel, 2.1F, Rule::kAlways, 0, kMl},
    {"language model|models; llm|llms; foundation model|models; "
     "vision language model|models; vlm|vlms; multimodal model|models",
     Source::kModel, 2.1F, Rule::kShy, kGpuWord | kSight | kWords, kMl},
    {"stable diffusion; sdxl; diffusion model|models; stable diffusion xl; latent diffusion; "
     "controlnet; "
     "comfyui; automatic1111; dreambooth; textual inversion; flux schnell|dev; diffusers; sd #n; "
     "diffusion sampler; text to image|video; image to image|video|3d; image generation; video "
     "generation; video diffusion; "
     "midjourney style; inpainting; outpainting; kandinsky; invokeai; diffusion transformer",
     Source::kModel, 2.8F, Rule::kShy, kMl | kGpuWord | kSight, kMl | kSight},
    {"diffusion", Source::kModel, 2.2F, Rule::kPartner, kMl | kGpuWord, kMl},
    {"flux", Source::kModel, 1.8F, Rule::kPartner, kGpuWord | kSight, 0},
    {"whisper; large v3|v2; parakeet; canary #b", Source::kModel, 2.5F, Rule::kPartner,
     kMl | kSound | kGpuWord | kNeedWord | kWords, kSound},
    {"faster whisper; whisper large|medium|turbo; whisper large v3|v2; whisperx; wav2vec; "
     "wav2vec2; pyannote; distil whisper",
     Source::kModel, 2.6F, Rule::kAlways, 0, kSound},
    {"kokoro; xtts; bark; tortoise tts; coqui; vits; styletts; styletts2; f5 tts; piper tts; "
     "musicgen; "
     "demucs; voice cloning; speech synthesis; text to speech; tts; audiocraft; rvc",
     Source::kModel, 2.1F, Rule::kPartner, kMl | kSound | kGpuWord | kWords, kSound},
    {"yolo; yolov#; yolo#; yolo nas; yolo v#; yolox; ultralytics; detr; rt detr; faster r cnn; "
     "mask r cnn; maskrcnn; detectron2; "
     "mmdetection; segment anything; sam2; retinanet; efficientdet; grounding dino; dinov2; "
     "deeplab; deeplabv3; u net; unet; nnunet; nnu net; unet++; segformer",
     Source::kModel, 2.7F, Rule::kShy, kMl | kSight | kGpuWord, kMl | kSight},
    {"resnet; resnet#; resnet #n; resnext; resnext#; efficientnet; mobilenet; mobilenet#; vgg#; "
     "vgg #n; densenet; inception v3; convnext; vit; "
     "vision transformer|transformers; swin; swin transformer; imagenet; clip model|embeddings; "
     "openclip; siglip; "
     "blip; blip#; llava; ocr model; trocr; layoutlm; layoutlmv3; donut model; alexnet; siamese "
     "network",
     Source::kModel, 2.3F, Rule::kShy, kMl | kSight | kGpuWord, kMl | kSight},
    {"bert; roberta; distilbert; deberta; modernbert; albert model; electra; longformer; sentence "
     "bert; sbert; xlm roberta; biobert; "
     "e5 large|base; bge; bge large|m3|base; gte large; colbert; sentence "
     "transformer|transformers; "
     "sentence embedding|embeddings; embedding model|models; splade; specter; specter#; cross "
     "encoder; reranker; "
     "instructor xl",
     Source::kModel, 2.1F, Rule::kPartner, kMl | kWords | kGpuWord | kNeedWord, kWords},
    {"transformer encoder|decoder|model|models|network|networks|architecture; transformers "
     "library; huggingface transformers; attention layers; "
     "transformer based; tabular|temporal|swin|causal|sparse|graph transformer|transformers; time "
     "series transformer|transformers; decoder|encoder only transformer|transformers",
     Source::kModel, 2.5F, Rule::kShy, kMl | kGpuWord, kMl},
    {"transformer|transformers", Source::kModel, 2.2F, Rule::kPartner,
     kMl | kGpuWord | kWords | kSight, 0},
    {"alphafold; alphafold#; colabfold; rosettafold; openfold; esmfold; esm#; esm fold; protein "
     "folding|language; "
     "relion; cryosparc; cryo em; nvidia "
     "modulus|riva|nim|nims|clara|morpheus|isaac|maxine|metropolis|holoscan|physicsnemo; "
     "cellpose; stardist; gpu4pyscf; patchtst; nbeats; graphcast; fourcastnet; pangu weather; "
     "deepvariant; parabricks; dorado "
     "basecaller|basecalling; guppy basecaller|basecalling; basecalling",
     Source::kModel, 2.8F, Rule::kAlways, 0, kMl},
    {"*bert; *former; *gan; *sam; *tts; *gpt; *yolo; *nerf; *clip; *llama; *fold; *diffusion; "
     "*whisper; *vit; *lm; *vae; *vlm; *llm",
     Source::kModel, 2.4F, Rule::kPartner, kMl | kData | kGpuWord | kAction, kMl},
    {"*net; *nets; *ocr; *seg; *det", Source::kModel, 1.7F, Rule::kPartner,
     kMl | kData | kGpuWord | kAction, kMl},
    {"gan|gans; stylegan; stylegan#; cyclegan; pix2pix; vae; autoencoder|autoencoders; variational "
     "autoencoder; "
     "lstm; lstms; convlstm; gru network; rnn; rnns; cnn; cnns; convnet; graph neural; gnn|gnns; "
     "graph "
     "neural network|networks; pointnet; pointnet#; "
     "esrgan; real esrgan; esrgan; restoration network; normalizing flow|flows; temporal fusion "
     "transformer; deep q; dqn",
     Source::kTask, 2.3F, Rule::kShy, kMl | kData | kGpuWord, kMl},

    // Tasks.
    {"deep learning; deep neural; deep net|nets; deep network|networks|model|models; deep neural "
     "network|networks; neural "
     "network|networks|net|nets|nn; "
     "convolutional network|networks|neural; convolutional neural network|networks; recurrent "
     "network|networks; "
     "deep reinforcement learning; representation learning; contrastive learning; neural machine "
     "translation; neural rendering|renderer; deep metric learning; deep "
     "hashing|ranking|clustering|forecasting",
     Source::kTask, 2.6F, Rule::kShy, kMl | kGpuWord | kSight | kSound, kMl},
    {"neural radiance field|fields; nerf|nerfs; gaussian splatting|splats; instant ngp; "
     "nerfstudio; super resolution; upscale video|videos|footage; "
     "video upscaling; frame interpolation; optical flow network; style transfer; depth "
     "estimation; monocular depth; "
     "pose estimation; face swap; face swapping; face recognition; facial recognition; object "
     "tracking; instance segmentation; "
     "semantic segmentation; panoptic segmentation; tumour|tumor segmentation; image segmentation; "
     "image captioning; video captioning; "
     "visual question answering; object detection; image classification; image classifier; action "
     "recognition; "
     "lip sync; talking head|heads|avatar|avatars; generative model|models|ai; background "
     "removal|replacement|matting|blur; "
     "image restoration; video understanding; image recognition; defect detection; "
     "licence|license plate recognition; medical imaging; digital pathology",
     Source::kTask, 2.4F, Rule::kShy, kMl | kSight | kGpuWord, kMl | kSight},
    {"computer vision", Source::kTask, 2.3F, Rule::kShy, kMl | kSight | kGpuWord, kMl | kSight},
    {"cv", Source::kTask, 1.6F, Rule::kPartner, kSight | kGpuWord, 0},
    {"nlp; natural language processing; named entity; named entity "
     "recogniser|recognizer|recognition; "
     "question answering; machine translation",
     Source::kTask, 1.5F, Rule::kPartner, kMl | kGpuWord, kWords},
    {"speech recognition; speech to text; stt; asr; diarization; diarisation; speaker diarization; "
     "automatic speech recognition; speech separation; source separation",
     Source::kTask, 1.9F, Rule::kPartner, kMl | kSound | kGpuWord, kSound},
    {"transcribe|transcribing|transcription", Source::kTask, 1.1F, Rule::kPartner, kSound,
     kSound | kAction},
    {"fine tune|tuned|tuning|tunes; finetune|finetuned|finetuning|finetunes; instruction "
     "tuning|tune; qlora; supervised fine tuning; sft; sft trainer; rlhf; dpo trainer|training; "
     "preference optimisation|optimization; continued pretraining; domain adaptation pretraining; "
     "grpo; "
     "distil|distill|distilled|distilling",
     Source::kTask, 2.7F, Rule::kPartner, kMl | kData | kGpuWord, kMl | kAction},
    {"detection|segmentation|recognition|tracking|generation|classification|translation|"
     "forecasting|enhancement|removal|replacement|matting net|nets|network|networks|model|models",
     Source::kTask, 1.6F, Rule::kShy, kMl | kSight | kSound, kMl, kSight | kSound},
    {"knowledge distillation; physics informed; physics informed neural network|networks; "
     "deepfake|deepfakes; deepfake detection; teacher student distillation; diffusion policy; "
     "autonomous driving perception; perception model; world model",
     Source::kTask, 2.6F, Rule::kShy, kMl, kMl},
    {"lora|loras; lora adapter|adapters; dora adapter|adapters; peft", Source::kTask, 2.5F,
     Rule::kPartner, kMl | kGpuWord | kSight, kMl},
    {"pre train|trained|training|trains; pretrain|pretraining|pretrains", Source::kTask, 2.5F,
     Rule::kPartner, kMl | kData | kGpuWord, kMl | kAction},
    {"train|trains|retrain|retraining|retrained|trained", Source::kTask, 1.5F, Rule::kPartner,
     kMl | kData | kGpuWord, kAction, kSight | kSound},
    {"training", Source::kTask, 1.4F, Rule::kPartner, kMl | kGpuWord, kAction, kSight | kSound},
    {"model training; training run|runs; training job|jobs; training loop; training set; train "
     "loop; distributed training; multi node training; training cluster",
     Source::kTask, 1.9F, Rule::kShy, kMl | kGpuWord, kMl | kAction, kSight | kSound | kMl},
    {"reinforcement learning; deep rl; ppo; sac agent; self play; alphazero; alpha zero; policy "
     "network; isaac gym|lab|sim; omniverse; mujoco mjx; mjx; brax; atari agents",
     Source::kTask, 2.2F, Rule::kShy, kMl | kGpuWord, kMl},
    {"inference", Source::kTask, 1.6F, Rule::kPartner, kMl | kGpuWord | kSight, 0},
    {"llm inference|serving; model serving; inference server|endpoint|service|cluster; batch "
     "inference; real time inference; token generation; tokens per second; "
     "model server; inference latency; embedding generation|job|jobs; generate|generating "
     "embeddings",
     Source::kTask, 2.0F, Rule::kShy, kMl | kGpuWord, kMl},
    {"machine learning", Source::kTask, 1.2F, Rule::kShy, kGpuWord | kMl, 0, kSight | kSound},
    {"embed|embeds|embedding|embeddings", Source::kTask, 1.2F, Rule::kPartner,
     kMl | kWords | kGpuWord, kWords},
    {"segment|segments|segmenting; classify|classifies; caption|captions|captioning; "
     "denoise|denoising; upscale|upscales|upscaling; "
     "colorize|colourise|colorise; recognise|recognize; detect|detects; generate|generates; "
     "synthesise|synthesize; diarize|diarise",
     Source::kTask, 0.6F, Rule::kPartner, kSight | kSound, kAction},
    {"quantise|quantize|quantised|quantized|quantizing|quantization|quantisation", Source::kTask,
     1.2F, Rule::kPartner, kMl | kGpuWord, kMl | kAction},
    {"gptq; awq; gguf; exl2; 4bit; 8bit; int4; nf4; load in #n bit; #n bit base; #n bit "
     "quantisation|quantization; 4 bit base",
     Source::kTask, 1.3F, Rule::kAlways, 0, kMl},
    {"hashcat; optix; blender cycles; cycles render|rendering|renderer; octane render; redshift "
     "render; path tracing; ray traced; "
     "h264 nvenc; hevc nvenc; nvenc; nvdec; hwaccel cuda; cuvid; video transcoding on nvenc; "
     "deepstream; unreal pixel streaming; pixel streaming",
     Source::kTask, 2.6F, Rule::kAlways, 0, kGpuWord},
    {"render farm; lattice qcd; lattice boltzmann; quantum circuit simulation; camera streams; "
     "video streams; video analytics",
     Source::kTask, 1.3F, Rule::kShy, kMl | kGpuWord | kSight, kSight},

    // Sizes.
    {"billion parameter|parameters|params|weights; billion param", Source::kScale, 2.4F,
     Rule::kAlways, 0, kMl},
    {"#b teacher|student|draft|reward|policy; #b "
     "parameter|parameters|params|model|models|base|instruct|chat|checkpoint|weights; #b "
     "parameter model; #b language model; #b llm",
     Source::kScale, 2.6F, Rule::kAlways, 0, kMl},
    {"#b", Source::kScale, 1.7F, Rule::kPartner, kMl | kModelName, kMl},
    {"million parameter|parameters|params", Source::kScale, 1.0F, Rule::kAlways, 0, kMl},
    {"epoch|epochs", Source::kScale, 1.2F, Rule::kPartner, kMl | kSight | kSound, kMl},
    {"batch size; learning rate; checkpoint|checkpoints; mini batch; per device train batch size; "
     "validation loss",
     Source::kScale, 0.7F, Rule::kPartner, kMl | kGpuWord, kMl},
    {"million images|documents|sentences|photos|passages|frames|pages|pictures|abstracts|records; "
     "million hours; #m "
     "images|documents|sentences|photos|passages|frames|pages|pictures|abstracts|records|"
     "items|tokens|tweets|articles",
     Source::kScale, 0.9F, Rule::kPartner, kMl | kData, kData},

    // For a CPU.
    {"cpu only; cpuonly; only cpu|cpus; only on cpu|cpus; on cpu only; on the cpu only; cpu bound; "
     "gpu free; gpuless; gpu less; cpu is enough|sufficient|fine; "
     "cpu is fast enough; plain cpu|cpus; pure cpu; cpu nodes only; only cpu nodes; cpu "
     "wheel|wheels|build|variant|version; without acceleration; "
     "no|without accelerator|accelerators; no acceleration",
     Source::kCpu, -4.2F},
    {"on cpu|cpus; on the cpu|cpus; on a cpu|cpus; run|runs|running|train|training on cpu|cpus; "
     "run|runs|running on the|a cpu|cpus; cpu "
     "node|nodes|pool|inference|machine|machines|box|server|servers; cpu cores only; "
     "cpu executionprovider; on xeon; on arm cores; on a laptop; on my laptop; on vcpus",
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
     "rule based; regular expression|expressions; regex; xgbclassifier; randomforestclassifier; "
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
     "claude; bedrock; amazon bedrock; aws bedrock; gemini; gemini api; vertex ai; vertex; cohere; "
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
     "gpu if there is one; "
     "gpu when available|present; if a gpu is available|present; when a gpu is available|present; "
     "falls back to cpu; fall back to cpu; falls back to the cpu; fall back to the cpu; "
     "fallback to cpu; cpu fallback; cpu or gpu; gpu or cpu; cpu and gpu; nice to have; either cpu "
     "or gpu; "
     "gpu would help; would be nice; with or without a gpu|gpus; with or without gpu|gpus|cuda; "
     "works without gpu|cuda too; gpu not required but; prefers a gpu; preferably gpu; gpu "
     "recommended but; "
     "gpu helps but; speeds up with a gpu; cpu path; faster with a gpu; faster on a gpu; not "
     "strictly needed|required|necessary; not strictly; gpu preferred; gpu nice; cpu "
     "works|ok|okay; works fine on cpu; works on cpu too; also "
     "works|runs on cpu; gpu when|where|if there is one; prefer|prefers a gpu; cpu also works",
     Source::kOptional, 3.0F, Rule::kAlways, 0, kGpuWord},
    {"optional; if available; when available; if present; if possible; a few cuda tests; may use; "
     "can use; could use",
     Source::kOptional, 1.6F, Rule::kPartner, kGpuWord, 0},
    {"tiny; occasional; occasionally; one user; single user; home assistant; hobby; a handful; "
     "handful of; now and then; now and again; a dozen; rarely; a couple of; "
     "for one person; my own notes; my notes; once a month; once in a while; nano",
     Source::kSmall, 1.0F},
    {"a day; per day; per week; a week; once a day|week; a few; minilm; small", Source::kSmall,
     0.6F},
    {"tiny model; small model; small onnx model; whisper tiny|base|small; tiny whisper; kokoro #n; "
     "all minilm; small bert; bert tiny",
     Source::kSmall, 1.5F, Rule::kAlways, 0, kMl},
};

}  // namespace

std::span<const Row> evidence_rows() { return kRows; }

}  // namespace aliquot::detect
