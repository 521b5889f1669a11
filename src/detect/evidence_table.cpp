// SPDX-License-Identifier: Apache-2.0
//
// Evidence in words: hardware, tasks, sizes. Models: model_table.cpp; what speaks against a GPU or
// leaves the choice: choice_table.cpp.
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

constexpr Row kEvidenceRows[] = {
    // Hardware.
    {"gpu; "
     "#n|#x|one|two|three|four|five|six|seven|eight|ten|twelve|sixteen|dual|quad|both|several|"
     "multiple|many|more|our|additional|extra|enough|dozen|rubin|blackwell|hopper|nvidia|amd gpus; "
     "with|using|via gpus; a dozen gpus; half a dozen gpus; "
     "graphics|graphical "
     "processor|processors|accelerator|accelerators|chip|chips|unit|units|board|boards; graphics "
     "processing unit|units; video adapter; gpu card|cards|memory|hours|box; on|to|onto the|our "
     "gpu node|nodes|pool|partition|queue|cluster|machine|machines|server|"
     "servers; "
     "#n|#x|a|an|another|one|two|three|four|eight gpu "
     "node|nodes|server|servers|machine|machines|host|hosts|pod|pods|instance|instances|worker|"
     "workers; "
     "graphics card|cards; video "
     "card|cards",
     Source::kHardware, 2.9F, Rule::kAlways, 0, kGpuWord},
    {"big|bigger|huge|large|expensive|fancy|powerful|strong|fast|dedicated|special|high|whole "
     "gpu|gpus|card|cards; high end gpu|gpus|card|cards",
     Source::kHardware, 2.9F, Rule::kAlways, 0, kGpuWord | kQualified},
    // "GPUs" of no number may be what the text is about: only beside a need, or what runs on them.
    {"gpus", Source::kHardware, 1.6F, Rule::kAlways, 0, kGpuWord,
     kNeedWord | kMl | kAction | kPowers | kSight | kSound | kSlow | kEllipsis},
    // The machines may be what the text is about: only beside a need, or what runs on them.
    {"gpu|gpus "
     "node|nodes|pod|pods|cluster|clusters|host|hosts|fleet|farm|rack|racks|machine|machines|"
     "server|servers|instances|"
     "instance|pool|pools|worker|workers|queue|partition",
     Source::kHardware, 1.6F, Rule::kAlways, 0, kGpuWord,
     kNeedWord | kMl | kAction | kPowers | kSight | kSound | kSlow},
    {"vram; hbm; hbm#; video|graphics memory|ram; gpu ram; openacc; "
     "hopper|ampere|blackwell|volta|turing|ada "
     "card|cards|node|nodes|generation|architecture; grace hopper|blackwell "
     "node|nodes|superchip|server; gpu accelerated|acceleration; on gpu|gpus; gpu enabled; gpu "
     "required|mandatory; "
     "multi gpu; accelerator node|nodes; gpu variant|image|build|version; gpu direct; gpudirect; "
     "gpgpu; accelerator "
     "card|cards; #gb card|cards|gpu|gpus|accelerator|accelerators; #n gb card|cards|gpu|gpus",
     Source::kHardware, 3.4F, Rule::kAlways, 0, kGpuWord},
    {"cuda; cuda#; cu#; cudnn; cublas; cufft; nvcc; nccl; curand; cusparse; nvrtc; cutlass; thrust "
     "cuda; "
     "rocm; rocm#; miopen; hipcc; gfx#",
     Source::kHardware, 3.0F, Rule::kShy, kMl | kGpuWord, kGpuWord},
    {"a100;a100s;h100;h100s;h200;h200s;v100;v100s;l40s;gh200;gb200;gb300;mi300x;mi300;mi250;mi250x;"
     "mi210;mi325x;mi350x;mi355x;a10g;p100;p100s;rtx#;gtx#",
     Source::kHardware, 3.4F, Rule::kShy, kMl | kGpuWord | kPowers, kGpuWord},
    {"one|two|three|four|five|six|seven|eight|ten|twelve|sixteen|dual|quad|another|single|#x|#n "
     "a100|a100s|h100|h100s|h200|h200s|v100|v100s|l40s|gh200|gb200|b200|b200s|mi300x|mi250x|a10g|"
     "p100",
     Source::kHardware, 3.4F, Rule::kAlways, 0, kGpuWord},
    {"card|cards with #gb; card|cards with #n gb; card|cards with at least|over #gb; card|cards of "
     "#gb; card|cards with at "
     "least|over #n gb; onto|on|to the card; two|three|four|eight cards; "
     "bigger|larger|newer|stronger|faster card; whole card; "
     "one card",
     Source::kHardware, 2.9F, Rule::kPartner, kMl | kGpuWord | kPowers | kSight, kGpuWord},
    {"cpu path|version|build|mode|code|variant is broken|buggy|gone|removed|deprecated|unusable; "
     "cpu|cpus does|do not suffice|scale|cut|keep; cpu|cpus is|are no longer "
     "enough|sufficient|viable|fast; "
     "cpu|cpus alone will|won|is|are|can not|t|cannot; cpu alone won t; "
     "no cpu implementation|version|path|build|support|backend|kernel|variant|mode; no cpu only",
     Source::kHardware, 2.6F, Rule::kAlways, 0, kGpuWord},
    {"t4|l4|a10|a2|a16|a30|a40|l40|k80|p4|p40|m60 or "
     "better|newer|bigger|larger|higher|similar|above|"
     "equivalent",
     Source::kHardware, 3.2F, Rule::kAlways, 0, kGpuWord},
    {"detect and track|count|read|segment|classify|recognise|recognize; track and count",
     Source::kTask, 2.2F, Rule::kAlways, 0, kMl, kSight},
    {"no cuda capable device; no cuda gpus|devices are|available|found|detected; no cuda runtime; "
     "found no nvidia driver; cuda capable device is",
     Source::kHardware, 2.6F, Rule::kAlways, 0, kGpuWord},
    {"a6000|a5000|a4000|p6000|t4|l4|a10|a40|a30|l40 workstation|workstations|box|boxes; "
     "two|three|four|five|six|seven|eight|ten|#n|#x cards with #gb; "
     "two|three|four|five|six|seven|eight|ten|#n|#x cards with #n gb; "
     "gaudi 2|3 card|cards|accelerator|accelerators|node|nodes; gaudi2|gaudi3",
     Source::kHardware, 3.2F, Rule::kAlways, 0, kGpuWord},
    {"how many gpus|gpu are|is needed|required|necessary; how many gpus|gpu do|does "
     "i|we|it|you|they|one need; how much vram; how much gpu memory|ram; folding home",
     Source::kHardware, 3.2F, Rule::kAlways, 0, kGpuWord},
    {"gpu|gpus please|pls|plz|asap; please gpu|gpus; give me gpu|gpus", Source::kHardware, 3.6F,
     Rule::kAlways, 0, kGpuWord},
    {"a100 #gb; h100 #gb; v100 #gb; a10 #gb; l4 #gb; t4 #gb; a40 #gb; "
     "tesla t4|v100|p100|k80|p4|p40|m60; nvidia "
     "a100|h100|t4|l4|a10|a40|v100|a2|a16|a30|l40|l40s|b200|h200; "
     "b200|b300 card|cards|node|nodes|gpu|gpus",
     Source::kHardware, 3.6F, Rule::kAlways, 0, kGpuWord},
    {"t4;t4s;l4;l4s;a10;a10s;a2;a16;a30;a30s;a40;a40s;l40;k80;k80s;p4;p40;p40s;m60;b200;p6000;"
     "a6000;a5000;a4000",
     Source::kHardware, 3.0F, Rule::kPartner, kMl | kGpuWord | kPowers | kSight | kSound, kGpuWord},
    {"#n|#x t4|t4s|l4|l4s|a10|a10s|a40|a40s|a30|a30s|l40", Source::kHardware, 3.0F, Rule::kShy,
     kMl | kGpuWord, kGpuWord},
    {"a|an|one|any|some t4|l4|a10|a40|a30|k80 is|are|would|will|please|suffices|should; "
     "move|moved|moves to "
     "accelerators|accelerator|gpu|gpus; two|three|four|eight|dual|quad|one|single "
     "t4|t4s|l4|l4s|a10|a10s|a30|a40|a16|l40|k80|p40|m60",
     Source::kHardware, 3.0F, Rule::kShy, kMl | kGpuWord, kGpuWord},
    {"rtx #n; rtx pro|quadro|titan; rtx pro #n; rtx a6000|a5000|a4000|6000|2080ti; rtx ada; radeon "
     "pro|rx #n; radeon rx; arc a#|b#; arc pro; geforce; gtx #n; geforce rtx|gtx #n; "
     "quadro; "
     "3090|3090s|4090|4090s|5090|5090s|3080ti|4080s; titan rtx|xp|v; radeon instinct; dgx; hgx; "
     "instinct mi#; nvlink; nvswitch; tensor core|cores; cuda core|cores; jetson; jetson "
     "nano|orin|xavier",
     Source::kHardware, 3.2F, Rule::kShy, kMl | kGpuWord | kPowers, kGpuWord},
    {"nvidia card|cards|hardware|accelerator|accelerators|board|boards; compute capability; mig "
     "slice|slices|instance|instances|device|devices|partition; gpu instance|instances",
     Source::kHardware, 3.2F, Rule::kAlways, 0, kGpuWord},
    {"rtx", Source::kHardware, 3.0F, Rule::kPartner, kMl | kGpuWord | kNeedWord | kSight, kGpuWord},
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

    // Tasks.
    {"deep learning; deep neural; deep net|nets; deep network|networks|model|models; deep neural "
     "network|networks; neural "
     "network|networks|net|nets|nn; "
     "generative adversarial; adversarial network|networks; contrastive loss; triplet loss; "
     "convolutional network|networks|neural; convolutional neural network|networks; recurrent "
     "network|networks; "
     "deep reinforcement learning; representation learning; contrastive learning; neural machine "
     "translation; neural rendering|renderer; deep metric learning; deep "
     "hashing|ranking|clustering|forecasting|recommenders; deep "
     "click|ctr|ranking|recommendation|speech|vision|language|"
     "generative|segmentation model|models|network|networks",
     Source::kTask, 2.6F, Rule::kShy, kMl | kGpuWord | kSight | kSound, kMl},
    // Compounds that mean nothing else, whatever stands beside them.
    {"handwriting recognition; handwritten text recognition; sign language "
     "recognition|translation|detection; person|vehicle re identification|id; re identification; "
     "body|hand|human|animal pose|poses; 3d reconstruction; speech|audio "
     "enhancement|denoising|separation; voice conversion|cloning; "
     "emotion|gesture|activity|action|speaker|scene|gait recognition; speaker "
     "identification|verification|diarisation|diarization; crowd|people|cell|vehicle counting; lip "
     "reading|sync; gaze|depth|age estimation; view synthesis; image|video "
     "denoising|restoration|matting|inpainting|retrieval|captioning|deblurring; nmt model|models; "
     "neural mt; deep features|embeddings|interactions|hashing|matching; depth|graph|siamese "
     "network|networks; binding affinity; message passing network|networks; "
     "protein ligand binding|docking|complexes; visual search; "
     "keyword spotting; audio|video|sound|scene classification|tagging; sound event; music "
     "separation|generation|tagging; traffic sign|light recognition|detection; lane|fall "
     "detection; ocr of handwritten|handwriting|historical; serve|serving|compute|computing "
     "embeddings; render node|nodes; blender and|with cycles",
     Source::kTask, 2.6F, Rule::kAlways, 0, kMl},
    {"neural radiance field|fields; nerf|nerfs; gaussian splatting|splats; instant ngp; "
     "nerfstudio; super resolution; upscale video|videos|footage; "
     "video upscaling; frame interpolation; optical flow network; style transfer; depth "
     "estimation; monocular depth; "
     "pose estimation; face swap; face swapping; face recognition; facial recognition; object "
     "tracking; instance segmentation; "
     "semantic segmentation; face|faces detection|blurring|anonymisation|anonymization; panoptic "
     "segmentation; tumour|tumor segmentation; image segmentation; "
     "image captioning; video captioning; "
     "visual question answering; object detection; image classification; image classifier; action "
     "recognition; "
     "lip sync; talking head|heads|avatar|avatars; generative model|models|ai; background "
     "removal|replacement|matting|blur; "
     "image restoration; video understanding; image recognition; defect detection; "
     "licence|license plate recognition|reader|detection; number plate recognition; anpr; alpr; "
     "medical imaging; digital pathology",
     Source::kTask, 2.4F, Rule::kShy, kMl | kSight | kGpuWord, kMl | kSight},
    {"computer vision", Source::kTask, 2.3F, Rule::kShy, kMl | kSight | kGpuWord, kMl | kSight},
    {"cv", Source::kTask, 1.6F, Rule::kPartner, kSight | kGpuWord, 0},
    {"nlp; natural language processing; named entity; named entity "
     "recogniser|recognizer|recognition; "
     "question answering; machine translation",
     Source::kTask, 1.5F, Rule::kPartner, kMl | kGpuWord, kWords},
    {"speech recognition; automatic speech recognition; live captions|captioning|subtitles; "
     "live transcription|transcripts; machine vision; vision system|systems; streaming asr; depth "
     "map|maps; disparity map|maps; stereo matching|depth; raft stereo",
     Source::kTask, 1.95F, Rule::kShy, kMl | kSight | kSound | kGpuWord, kMl, kMl},
    {"speech to text; stt; asr; diarization; diarisation; speaker diarization; "
     "speech separation; source separation",
     Source::kTask, 1.9F, Rule::kPartner, kMl | kSound | kGpuWord, kSound},
    {"produce|produces|create|creates|make|makes transcripts; transcripts with speaker; speaker "
     "labels|turns; who said what; turn|turns|turning speech|recordings|calls into text",
     Source::kTask, 2.2F, Rule::kPartner, kSound, kSound},
    {"anomaly|anomalies|fire|fall|crowd|queue|lane|mask|defect|fault|intrusion|shoplifting|"
     "wildlife|"
     "bird|drone|leak|spill|ppe|drowsiness|sign|smile|product detection|counting|recognition; "
     "octane",
     Source::kTask, 2.1F, Rule::kPartner, kSight, kMl},
    {"dub|dubs|dubbing", Source::kTask, 2.1F, Rule::kPartner, kSound | kSight | kWords,
     kSound | kAction},
    {"transcribe|transcribing|transcription", Source::kTask, 1.1F, Rule::kPartner, kSound,
     kSound | kAction},
    {"fine tune|tuned|tuning|tunes; finetune|finetuned|finetuning|finetunes; instruction tune; "
     " qlora; supervised fine tuning; sft; sft trainer; rlhf; dpo trainer|training; "
     "preference optimisation|optimization; continued pretraining; domain adaptation pretraining; "
     "grpo; "
     "distil|distill|distilled|distilling",
     Source::kTask, 2.7F, Rule::kPartner, kMl | kData | kGpuWord, kMl | kAction},
    {"detection|segmentation|recognition|tracking|generation|classification|translation|"
     "forecasting|enhancement|removal|replacement|matting net|nets|network|networks|model|models",
     Source::kTask, 1.6F, Rule::kShy, kMl | kSight | kSound, kMl, kSight | kSound},
    {"convolution|convolutions; parallel|vectorised|vectorized|simulated environments; parallel "
     "simulated|simulation environments; ray tracing; deep "
     "filter|residual|unrolled|cross|feature|recurrent network|networks",
     Source::kTask, 2.2F, Rule::kPartner, kMl | kSight | kSound | kGpuWord, kMl},
    {"knowledge distillation; physics informed; physics informed neural network|networks; "
     "deepfake|deepfakes; deepfake detection; teacher student distillation; diffusion policy; "
     "autonomous driving perception; perception model; world model",
     Source::kTask, 2.6F, Rule::kShy, kMl, kMl},
    {"lora|loras; lora adapter|adapters; dora adapter|adapters; peft", Source::kTask, 2.5F,
     Rule::kPartner, kMl | kGpuWord | kSight | kAction, kMl},
    {"pre train|trained|training|trains; pretrain|pretraining|pretrains", Source::kTask, 2.5F,
     Rule::kPartner, kMl | kData | kGpuWord, kMl | kAction},
    {"train|trains|retrain|retraining|retrained|trained; teach|teaches|teaching a|the|our "
     "network|model|classifier|detector",
     Source::kTask, 1.9F, Rule::kPartner, kMl | kData | kGpuWord, kAction, kSight | kSound},
    {"train|trains on", Source::kTask, 1.9F, Rule::kPartner, kMl | kData | kGpuWord,
     kAction | kNeedWord, kSight | kSound},
    {"training", Source::kTask, 1.4F, Rule::kPartner, kMl | kGpuWord, kAction, kSight | kSound},
    {"model training; training run|runs; training job|jobs; training loop; training set; train "
     "loop; distributed training; multi node training; training cluster",
     Source::kTask, 1.9F, Rule::kShy, kMl | kGpuWord, kMl | kAction, kSight | kSound | kMl},
    {"reinforcement learning; deep rl; ppo; sac agent; self play; alphazero; alpha zero; alphago; "
     "alphago zero; muzero; policy "
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
    {"segmentation; "
     "tumour|lesion|crack|pothole|helmet|weapon|smoke|people|person|vehicle|player|animal|plant|"
     "weed|cell|ship|"
     "damage|litter detection|counting|tracking; pose|hand|eye|player|vehicle|people|object|ball "
     "tracking|tracker; "
     "voice|gesture|emotion|handwriting|plate|scene recognition; count|counts|counting "
     "people|persons|cars|vehicles|cells|animals; "
     "estimate|estimates|estimating pose|poses|depth|age; speech|voice "
     "translation|conversion|enhancement; speech to speech; learned image|video compression; "
     "speech to speech translation; wake word; slide|tissue|cell classification; video "
     "captioning|"
     "summarisation|summarization",
     Source::kTask, 2.1F, Rule::kPartner, kMl | kSight | kSound | kGpuWord, kMl, kMl},
    {"segment|segments|segmenting; detect|detects; recognise|recognises|recognize|recognizes; "
     "caption|captions|captioning; "
     "upscale|upscales|upscaling; colorize|colourise|colorise|colorises; transcribe speech",
     Source::kTask, 1.95F, Rule::kPartner, kSight, kAction},
    {"recognise|recognize|read|reads handwriting|handwritten|plates|faces|gestures; optical flow; "
     "zero|few shot; zero shot classification|classifier|text; few shot classification|prompting",
     Source::kTask, 2.1F, Rule::kShy, kMl | kWords, kMl},
    {"does|do|did not fit on|in|into #gb|#n; doesn|don t fit on|in|into #gb|#n; no kernel image; "
     "offloaded to the "
     "card|gpu; offload all|#n layers; layers offloaded; out of memory on the card",
     Source::kHardware, 2.9F, Rule::kPartner, kMl | kGpuWord | kPowers, kGpuWord},
    {"classify|classifies|classifying; denoise|denoises|denoising; detection|recognition|tracking|"
     "reconstruction|identification|counting of; colourise|colorize|deblur|inpaint|stylise|stylize",
     Source::kTask, 2.1F, Rule::kPartner, kSight, kAction},
    {"generate|generates; synthesise|synthesize; "
     "diarize|diarise",
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
    {"render farm; lattice boltzmann; quantum circuit simulation; camera streams; "
     "video streams; video analytics",
     Source::kTask, 1.3F, Rule::kShy, kMl | kGpuWord | kSight, kSight},

    // Sizes.
    {"billion parameter|parameters|params|weights; billion param", Source::kScale, 2.4F,
     Rule::kAlways, 0, kMl},
    {"#b "
     "rows|edges|records|vectors|events|lines|nodes|points|pairs|samples|users|requests|messages|"
     "paths|impressions|"
     "clicks|transactions|triples|particles|atoms|cells|reads|keys|hashes|passwords|devices|views|"
     "people",
     Source::kContext, 0, Rule::kAlways, 0, kLarge},
    {"#b teacher|student|draft|reward|policy; #b "
     "code|coding|chat|reasoning|vision|multilingual|moe|dense model|models; #b "
     "parameter|parameters|params|model|models|base|instruct|chat|checkpoint|weights; #b "
     "parameter model; #b language model; #b llm",
     Source::kScale, 2.6F, Rule::kAlways, 0, kMl},
    {"#b", Source::kScale, 1.9F, Rule::kPartner, kMl | kModelName, kMl},
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
};

}  // namespace

std::span<const Row> evidence_rows() { return kEvidenceRows; }

}  // namespace aliquot::detect
