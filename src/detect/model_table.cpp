// SPDX-License-Identifier: Apache-2.0
//
// Evidence in words: names of models and networks. Most are words of everyday language too, so nearly
// all of them need a partner. The scale of the weights is that of evidence_table.cpp.
#include "detect/table.h"

namespace aliquot::detect {
namespace {

constexpr std::uint32_t kMedia = kSight | kSound | kWords;

constexpr Row kModelRows[] = {
    {"code|coding|programming|writing assistant|assistants|completion|copilot", Source::kModel,
     2.2F, Rule::kPartner, kLocal, kMl},
    // Names that are nothing else, of models and of what runs them.
    {"openllama; gpt neo; janus pro; sovits; gpt sovits; fish speech; fastpitch; framepack; "
     "skyreels; auraflow; hidream; wuerstchen; würstchen; basicvsr; nafnet; hrnet; retinaface; "
     "efficientnetv2; efficientnet#; maxvit; inception v4|resnet; nasnet; regnet; simclr; byol; "
     "mlp mixer; u2net; u 2 net; kilosort; kilosort#; deeplabcut; suite2p; koboldcpp; localai; "
     "xinference; fastchat; openllm; blazingsql; hugectr; physicsnemo; deepmd; deepmd kit; ani 2x; "
     "deepfilternet; tensorrt llm; exllamav2; exllamav3; mt5; mbart; umt5; wan 2|#n; qwen image; "
     "animatediff; lora fine tune|tuning|training; blip2; minigpt; videollama; open sora; "
     "text generation server; gemma 2|3|#n; llama 2|3|4|#n scout|maverick; "
     "phi 2|3|4|#n mini|medium|small; hermes #n llama|mistral; comfy ui; swarmui; forge webui; "
     "lightgcn; protbert; proteinbert; saprot; alphamissense; metagraph; timesformer; "
     "nvidia cosmos|earth|clara|riva|modulus|omniverse|isaac; earth #n studio",
     Source::kModel, 2.5F, Rule::kShy, kMl | kMedia | kGpuWord | kNeedWord, kMl},
    {"aya #n|expanse; orca #n; hermes #n; canary; moonshine; dia; sana; mochi; playground "
     "v#; rife; film interpolation; dain; midas; beit; moco; moco v#; i3d; c3d; donut; "
     "informer; chronos; saint; pinn|pinns; fno; allegro; mamba; dreamer; sac; a2c; trpo; mace; "
     "fcn; clip; sam #n; sam; gru|grus; prithvi; clay foundation; sleap; guppy; dorado; "
     "higgs audio; sesame csm; rnn t; fast neural; snn|snns",
     Source::kModel, 2.2F, Rule::kPartner, kSight | kSound | kAction, kMl},
    {"voice changer|changers|changing; generate|generating|create|creating 3d; from a single "
     "image|photo; "
     "deep ensemble|ensembles; sequence to sequence; encoder decoder model|models|network; image "
     "registration|matching|editing|synthesis|harmonisation|generation; deformable registration; "
     "voxelmorph; imagebind; multimodal embedding|embeddings|model|models; cross modal; compute "
     "shader|shaders; blur|blurs|blurring|anonymise|anonymize|anonymising faces|plates; ai "
     "dubbing|upscaling|upscaler|colorization|colourisation; ai video|voice|image|audio "
     "dubbing|editing|enhancement|upscaling|translation|restoration|synthesis|cloning; "
     "tomographic|ct|mri|image reconstruction; actor critic; policy optimisation|optimization; "
     "offline rl; inverse reinforcement; multi agent reinforcement; text to "
     "audio|music|motion|video; "
     "motion generation; face generation|reenactment|morphing; dense retrieval|passage; "
     "abstractive "
     "summarisation|summarization; paraphrase generation; natural language inference; neural "
     "retrieval|retriever|recommender|forecasting; dialogue|dialog model|models; speculative "
     "decoding; "
     "continuous batching; prefix caching; long context model|models|training; preference "
     "tuning|optimisation|optimization; moe model|models|training; reasoning|chat|code|reward "
     "model|models; click through model|models; ctr model|models; knowledge graph "
     "embedding|embeddings; noise suppression model|network; anomaly transformer; embedding "
     "service; "
     "own speech|translation|language|vision models|model",
     Source::kTask, 2.6F, Rule::kAlways, 0, kMl},
    {"track|tracks|follow|follows "
     "cells|players|vehicles|animals|mice|objects|people|pedestrians|eyes|"
     "hands|faces|balls|ships|particles; vulkan|opengl|directx|webgpu",
     Source::kTask, 2.1F, Rule::kPartner, kSight | kGpuWord, kMl},
    {"decision transformer|transformers; mixture of experts; kolmogorov arnold; reward "
     "model|models; hypernetwork|hypernetworks; energy based model|models; triplet "
     "network|networks|loss; siamese network|networks; spiking neural; residual network|networks; "
     "attention network|networks; capsule network|networks; adversarial network|networks; "
     "hourglass network|networks; recurrent model|models; graph network|networks; "
     "transformer on; vision language; latent space; self supervised; semi supervised learning; "
     "few shot learning; transfer learning; multi task learning; federated learning; metric "
     "learning; imitation learning; neural architecture search; generate|generates|generating "
     "speech|voices|video|videos|faces|portraits|music|melodies; image|video|voice|speech|music "
     "synthesis",
     Source::kTask, 2.2F, Rule::kPartner, kMl | kAction | kSight | kSound | kGpuWord, kMl},
    // Names that mean nothing else.
    {"mixtral; qwen; qwen#; deepseek; starcoder; starcoder#; wizardlm; wizardcoder; internlm; "
     "baichuan; nllb; "
     "stablelm; codellama; gemma#; llama#; olmo#; bloomz; chatglm#; smollm; smollm#; tinyllama; "
     "codestral; "
     "internvl; internvl#; paligemma; cogvlm; openhermes; gpt neox; flan t5",
     Source::kModel, 2.3F, Rule::kShy, kMl | kGpuWord | kWords, kModelName},
    {"roberta; distilbert; deberta; modernbert; sbert; xlm roberta|r; biobert; splade; cross "
     "encoder|encoders; "
     "colbert; bi encoder|encoders; bge m3; e5 mistral",
     Source::kModel, 2.2F, Rule::kShy, kMl | kGpuWord | kWords, kWords},
    {"self hosted|host model|models|llm|llms|chatbot|assistant|whisper|inference|copilot; chatgpt "
     "like|alternative|clone|replacement; open "
     "weights|weight; open weights|weight model|models|llm|llms; own llm|llms; local llm|llms; ai "
     "image|images|video|"
     "voice|art|avatar|avatars|upscaler generator|generation; image|video|art|avatar "
     "generator|generators; generative "
     "ai|fill; lm eval; lm eval harness; lm evaluation harness; mmlu; hellaswag; humaneval; gsm8k",
     Source::kModel, 2.2F, Rule::kShy, kMl | kGpuWord | kWords, kMl | kLocal},

    {"paddleocr; audiocraft; audiogen; musicgen; nvidia riva; riva asr|tts; nemo "
     "training|toolkit|asr|conformer; conformer ctc; "
     "esm #n; openmm; gromacs gpu; opencl kernel|kernels|raymarcher|renderer; amd|radeon instinct; "
     "stable "
     "diffusion webui|turbo|api; "
     "sdxl turbo; carla simulator|simulation|perception; in carla; gaussian splat|splats; "
     "speech|acoustic model|models; "
     "embedding model|models; text embedding|embeddings model; image to text; search by image; "
     "reverse image search; "
     "semantic search with|over; facenet; insightface; deepface; realesrgan; gfpgan; whisperx; "
     "speechbrain; espnet; "
     "tacotron#; hifigan; wavlm; totalsegmentator; mask2former; oneformer; depth anything; v ray "
     "gpu; umap gpu; "
     "video matting; image matting; hand writing recognition; text|image to 3d; 3d "
     "generation",
     Source::kModel, 2.2F, Rule::kShy, kMl | kGpuWord | kSight | kSound, kMl},
    {"neural "
     "texture|compression|codec|codecs|vocoder|operator|operators|surrogate|emulator|upscaling|"
     "denoising|denoiser|"
     "ranker|translation|topic|style|ode|odes|field|fields|avatar|avatars|speech|tts|search|"
     "architecture",
     Source::kTask, 2.3F, Rule::kShy, kMl | kGpuWord, kMl},

    {"lstm; lstms; convlstm; bilstm; gru network|networks; cyclegan; stylegan#; stylegan; convnet; "
     "gnn|gnns; dcgan; wgan",
     Source::kTask, 2.3F, Rule::kAlways, 0, kMl},

    {"ocr; raft", Source::kModel, 1.2F, Rule::kPartner, kMl | kSight | kWords | kGpuWord, 0},

    // Names that everyday language has too.
    {"llama|llamas; llama #n; llama #n #n; code llama; vicuna; alpaca; "
     "mistral; "
     "falcon; gemma; deepseek r1|v3|v2; gpt "
     "j|neox; "
     "bloom; phi; phi#; yi; zephyr; command r; olmo; mpt; "
     "flan t5; t5; chatglm; madlad; granite",
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
    {"diffusion", Source::kModel, 2.2F, Rule::kPartner, kMl | kGpuWord | kSight, kMl},
    {"flux", Source::kModel, 1.8F, Rule::kPartner, kGpuWord | kSight, 0},
    {"whisper; large v3|v2; parakeet; canary #b", Source::kModel, 2.5F, Rule::kPartner,
     kMl | kSound | kGpuWord | kNeedWord | kWords, kSound},
    {"faster whisper; whisper large|medium|turbo; whisper large v3|v2; whisperx; wav2vec; "
     "wav2vec2; pyannote; distil whisper",
     Source::kModel, 2.6F, Rule::kAlways, 0, kSound},
    {"xtts; styletts2; f5 tts; chattts; cosyvoice; melotts; fastspeech; fastspeech2; hifigan; "
     "clone|cloning|clones voice|voices; clone the|a voice; voice clone|clones",
     Source::kModel, 2.4F, Rule::kAlways, 0, kSound},
    {"kokoro; bark; tortoise tts; coqui; vits; styletts; styletts2; f5 tts; piper tts; "
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
     "blip; blip#; clip service|server|features|embedding|scores; mnist; unets; llava; ocr model; "
     "trocr; layoutlm; layoutlmv3; donut model; alexnet; siamese "
     "network",
     Source::kModel, 2.3F, Rule::kShy, kMl | kSight | kGpuWord, kMl | kSight},
    {"bert; albert model; electra; longformer; sentence "
     "bert; "
     "e5 large|base; bge; bge large|m3|base; gte large; sentence "
     "transformer|transformers; "
     "sentence embedding|embeddings; embedding model|models; specter; specter#; cross "
     "encoder; reranker; "
     "instructor xl",
     Source::kModel, 2.1F, Rule::kPartner, kMl | kWords | kGpuWord | kNeedWord, kWords},
    {"transformer encoder|decoder|model|models|network|networks|architecture; transformers "
     "library; huggingface transformers; attention layers; "
     "vision encoder|encoders|tower|backbone|backbones; transformer based; "
     "tabular|temporal|swin|causal|sparse|graph transformer|transformers; time "
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
     "basecaller|basecalling; guppy basecaller|basecalling; basecalling; "
     "basecall|basecalls|basecalled",
     Source::kModel, 2.8F, Rule::kAlways, 0, kMl},
    {"*bert; *former; *gan; *sam; *tts; *gpt; *yolo; *nerf; *clip; *llama; *fold; *diffusion; "
     "*whisper; *vit; *lm; *vae; *vlm; *llm",
     Source::kModel, 2.4F, Rule::kPartner, kMl | kMedia | kGpuWord | kAction, kMl},
    {"*net; *nets", Source::kModel, 1.7F, Rule::kPartner, kMl | kMedia | kGpuWord | kAction, kMl},
    {"*ocr; *seg; *det; *pose", Source::kModel, 1.7F, Rule::kPartner,
     kMl | kMedia | kGpuWord | kAction, kMl, kSight},
    {"mistral small|medium|large|nemo; rtmdet; rtmpose; d fine; rf detr; sam3; sam 3; "
     "groundingdino; pspnet; segnet; alphapose; bot "
     "sort; botsort; fairmot; mobilenetv#; deit; dust3r; mast3r; 3dgs; nerfacto; edsr; flux #n; "
     "wan2; pointpillars; doctr; got ocr; kosmos #n; audioldm; audioldm#; stable audio; xlnet; "
     "marianmt; opus mt; jina embeddings; nomic embed; internlm#; baichuan#; grok #n; openrlhf; "
     "nemo aligner; colossal ai; aphrodite engine; mindspore; octanerender; lammps kokkos; hoomd; "
     "schnet; chgnet; m3gnet; deeponet; torchmd; jax md; fourier neural; yolo11; yolo12; rtmo; "
     "dinov3; codetr; co detr; mobilesam; fastsam; efficientsam; vggt; vggsfm; trellis 3d; "
     "triposr; instantmesh; hunyuan#; infinitetalk; sadtalker; wav2lip; liveportrait; echomimic; "
     "ltx #n; chroma hd; nemoguard; voxtral; voxcpm; whisperkit; funasr; firered asr; "
     "parakeet tdt; omnilmm; minicpm v; deepseek ocr; dots ocr; olmocr; mineru; colpali; colqwen",
     Source::kModel, 2.5F, Rule::kShy, kMl | kMedia | kGpuWord | kNeedWord, kMl},
    {"conformer; moshi; sensevoice", Source::kModel, 2.2F, Rule::kPartner, kSound, kMl},
    {"colmap; easyocr; taichi; verl; marigold depth", Source::kModel, 2.2F, Rule::kPartner,
     kSight | kGpuWord | kAction, kMl},
    {"gan|gans; stylegan; stylegan#; cyclegan; pix2pix; vae; autoencoder|autoencoders; variational "
     "autoencoder; "
     "lstm; lstms; convlstm; gru network; rnn; rnns; cnn; cnns; convnet; graph neural; gnn|gnns; "
     "graph "
     "neural network|networks; pointnet; pointnet#; "
     "esrgan; real esrgan; esrgan; restoration network; normalizing flow|flows; temporal fusion "
     "transformer; deep q; dqn",
     Source::kTask, 2.3F, Rule::kShy, kMl | kMedia | kGpuWord, kMl},
    // Younger ones, and those of trades that have their own.
    {"bart; pegasus; nemotron; qwq; kimi k2; gpt oss; glm #n; chatglm; command r "
     "plus; "
     "dbrx; jamba; rwkv; pythia #b; opt #b; yi #b; phi #n; pixtral; devstral; "
     "magistral; "
     "ministral; minicpm; moondream; moondream#; idefics; idefics#; "
     ""
     "florence #n; molmo; qwen vl; nous hermes; llama guard; dolly v2; "
     "cerebras "
     "gpt; aya #b; exaone; mamba #b",
     Source::kModel, 2.3F, Rule::kPartner, kMl | kGpuWord | kWords | kSight | kNeedWord,
     kModelName},
    {"pixart; sd3; sd1; sd15; sd webui; fooocus; hunyuan video; hunyuanvideo; cogvideo; cogvideox; "
     "mochi #n; ltx video; wan #n; animatediff; ip adapter; instantid; deepfloyd; stable cascade; "
     "stable video diffusion; stable audio; svd xt; rembg; birefnet; u2net; gfpgan; codeformer; "
     "realesrgan; swinir; deoldify; topaz video; cut|cutting out background|backgrounds|the; "
     "remove|removing background|backgrounds|the background; virtual try; txt2img; img2img; "
     "text2image",
     Source::kModel, 2.4F, Rule::kPartner, kMl | kSight | kGpuWord | kNeedWord | kAction,
     kMl | kSight},
    {"seamless m4t; seamlessm4t; seamlessm4t v2; ecapa; ecapa tdnn; titanet; x vectors; speaker "
     "verification|embedding|embeddings; fairseq; tacotron; tacotron#; fastspeech; fastspeech#; "
     "hifigan; openvoice; "
     "cosyvoice; chattts; melotts; speechbrain; espnet; hubert; wavlm; conformer ctc; insanely "
     "fast "
     "whisper; whisper large v#; parler tts; zonos; orpheus tts; audiogen; encodec; valle; "
     "spleeter",
     Source::kModel, 2.3F, Rule::kPartner, kMl | kSound | kGpuWord | kWords | kNeedWord, kSound},
    {"mask2former; oneformer; depth anything; midas depth; zoedepth; openpose; vitpose; mmpose; "
     "insightface; arcface; facenet; paddleocr; nougat ocr; surya ocr; timesformer; videomae; "
     "slowfast; deepsort; strongsort; bytetrack; gmflow; crnn; sam vit|model|masks; medsam; "
     "totalsegmentator; hovernet; uni encoder; deepface; yolo world; florence2; dinov#; clip "
     "score; "
     "masked autoencoder|autoencoders; mae pretraining; point transformer; bevfusion; centerpoint",
     Source::kModel, 2.5F, Rule::kPartner, kMl | kSight | kGpuWord | kNeedWord | kAction,
     kMl | kSight},
    {"boltz; boltz #n; boltz1|boltz2; chai #n; rfdiffusion; proteinmpnn; ligandmpnn; diffdock; "
     "bonito basecaller; scgpt; geneformer; dnabert; esm if; acemd; desmond md; namd; namd #n; hip "
     "kernel|kernels; enformer; borzoi; hyenadna; nucleotide transformer; scvi; evo #n; muzero; "
     "dreamerv#; impala agent|agents;  kernels in hip; equiformer; mace "
     "mp; allegro nequip; nequip; "
     "chemprop; gprmax; carla simulator; isaac ros; cosmos predict; cuquantum; custatevec; qiskit "
     "aer gpu; lightning gpu; cuopt; cuvs; heavydb; spark rapids; rapids accelerator; holoscan; "
     "meshroom; realitycapture; 3d gaussian",
     Source::kModel, 2.7F, Rule::kShy, kMl | kGpuWord, kMl},
    {"n beats; nhits; n hits; tft; deepar; timesnet; autoformer; fedformer; timesfm; moirai; lag "
     "llama; tabnet; ft transformer; two tower; dlrm; deepfm; sasrec; bert4rec; graphsage; gcn; "
     "graph attention; diffwave; seq2seq",
     Source::kModel, 2.2F, Rule::kPartner, kMl | kGpuWord | kAction, kMl},
};

}  // namespace

std::span<const Row> model_rows() { return kModelRows; }

}  // namespace aliquot::detect
