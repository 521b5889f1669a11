// SPDX-License-Identifier: Apache-2.0
//
// Evidence in files: packages, images, switches, resource names, code. The scale of the weights is
// that of evidence_table.cpp. A package that exists for CUDA only decides; a framework whose default
// wheel carries CUDA tips the balance; the CPU build of the same framework turns it back.
#include "detect/table.h"

namespace aliquot::detect {
namespace {

constexpr Row kStackRows[] = {
    // Asked for by name.
    {"nvidia com gpu; amd com gpu; gpu intel com i915|xe; nvidia com gpu shared; requests nvidia "
     "com gpu; limits nvidia com gpu; nvidia com mig #n",
     Source::kAsk, 5.0F, Rule::kResource, 0, kGpuWord},
    {"nvidia com gpumem; nvidia com gpucores; nvidia com gpumem percentage; aliyun com gpu mem",
     Source::kAsk, 5.0F, Rule::kResource, 0, kGpuWord},
    {"nvidia com mig 1g|2g|3g|4g|7g #gb; mig 1g|2g|3g|4g|7g #gb", Source::kAsk, 5.0F, Rule::kAlways,
     0, kGpuWord},
    {"gpus all; gres gpu; gpus per node|task; gpus #n; num gpus|gpu; n gpus; n gpu; "
     "ngpus; ngpu; gpu count; number of gpus; gpu num; "
     "nproc per node; tensor parallel size; tensor model parallel size; pipeline parallel size; "
     "use gpu; use cuda; with cuda; enable gpu|cuda; gpu enabled; "
     "gpu layers; n gpu layers; ngl; wsl gpu; gmx gpu; resources gpu; gpu type; guest accelerator; "
     "cuda enabled; num shard; enable cuda; "
     "ggml cuda; ggml cublas; llama cublas; pkg gpu; nb gpu; num gpus per worker|node",
     Source::kAsk, 3.6F, Rule::kValue, 0, kGpuWord},
    {"guestaccelerator; guest accelerators; gke accelerator; gke accelerator nvidia; "
     "runtimeclassname nvidia; runtime nvidia; driver nvidia; capabilities gpu; "
     "nvidia driver capabilities; nvidia require cuda; accelerator nvidia; "
     "accelerator gpu|cuda; accelerators v100|a100|h100|t4|l4|a10g; k8s amazonaws com accelerator; "
     "gpus device; reservations devices; device requests; gpu partition; partition gpu; p gpu; "
     "partition gpus",
     Source::kAsk, 3.4F, Rule::kAlways, 0, kGpuWord},
    {"cuda visible devices; hip visible devices; nvidia visible devices", Source::kAsk, 3.4F,
     Rule::kDevices, 0, kGpuWord},
    {"p3 2xlarge|8xlarge|16xlarge; p3dn 24xlarge; p4d 24xlarge; p4de 24xlarge; p5 48xlarge; p2 "
     "xlarge; g4dn xlarge|2xlarge|4xlarge|8xlarge|12xlarge|16xlarge; "
     "g5 xlarge|2xlarge|4xlarge|8xlarge|12xlarge|48xlarge; g6 xlarge|2xlarge|12xlarge|48xlarge; a2 "
     "highgpu; a3 highgpu; a2 ultragpu; g2 standard; "
     "standard nc#; standard nd#; standard nv#; nc24ads; nd96asr; nvidia tesla "
     "t4|v100|a100|p100|p4|k80; nvidia l4|t4 ; nvidia h100 #gb; nvidia a100 #gb",
     Source::kHardware, 3.4F, Rule::kAlways, 0, kGpuWord},

    {"exec nv; singularity exec|run nv; apptainer exec|run nv", Source::kAsk, 3.4F, Rule::kAlways,
     0, kGpuWord},
    {"kind pytorchjob|mpijob|tfjob|rayservice|inferenceservice", Source::kFramework, 2.3F,
     Rule::kAlways, 0, kMl | kKindWord},

    // Images.
    {"nvidia cuda; nvcr io; nvcr; nvidia pytorch|tensorflow|tritonserver|nemo|rapidsai|hpc; "
     "pytorch pytorch; tensorflow gpu; latest gpu; gpu jupyter; tensorflow tensorflow latest gpu; "
     "rocm pytorch; rocm tensorflow; rocm dev; vllm openai; vllm vllm openai; text generation "
     "inference; text embeddings inference; tritonserver; triton inference server; rapidsai; "
     "runpod; "
     "huggingface transformers pytorch gpu; deepspeed deepspeed; ollama ollama rocm; lmsysorg "
     "sglang; devel ubuntu#; cuda runtime; cudnn# devel|runtime; server cuda; latest cuda; full "
     "cuda; dlami; deep learning ami",
     Source::kStack, 3.4F, Rule::kAlways, 0, kGpuWord | kMl},

    // GPU-only software.
    {"vllm entrypoints openai api; vllm entrypoints openai; nsight compute|systems; gnina; amgx; "
     "vllm; deepspeed; megatron; megatron lm; fsdp; bitsandbytes; flash attn; flashattention; "
     "flashattention#; flashinfer; paged attention; pagedattention; xformers; apex amp; "
     "tensorrt; tensorrt llm; trtllm; trtexec; trt engine; sglang; lmdeploy; exllama; exllama#; "
     "autoawq; auto gptq; autogptq; "
     "text generation webui; unsloth; sfttrainer; dpotrainer; ppotrainer; "
     "grpotrainer; torchtune; llama factory; llamafactory; litgpt; nemo framework; nvidia nemo; "
     "nemo toolkit; accelerate launch; torchrun; torch distributed; "
     "horovodrun; written|kernels in triton; triton kernel|kernels; distributeddataparallel; "
     "fullyshardeddataparallel; init process group; "
     "colossalai; composer train; liger kernel; mosaicml; llm foundry; peft lora; "
     "cupy; cupy cuda#; cudf; cuml; cugraph; cuspatial; dask cuda; numba cuda; "
     "pycuda; pynvml; nvidia dali; dali cuda#; warp lang; triton language; import triton; triton "
     "jit; "
     "onnxruntime gpu; faiss gpu; faiss gpu cu#; tensorflow gpu; jax cuda#; jaxlib cuda#; "
     "tensorflow and cuda; paddlepaddle gpu; mxnet cu#; dgl cu#; catboost gpu; spacy cuda#; torch "
     "cu#; whl cu#; "
     "nvidia cublas; nvidia cudnn; nvidia cuda runtime; nvidia nccl; nvidia cufft; cudatoolkit; "
     "cuda toolkit; pytorch cuda; cuda nvcc; cuda compat; libcudnn#; libnvinfer; libcudnn#; cuda "
     "cudart; pytorch gpu; cuda drivers; cuda driver|drivers; "
     "cudaexecutionprovider; tensorrtexecutionprovider; cuda executionprovider; cudamalloc; "
     "cudamemcpy; cudastreamcreate; global void; blockidx; threadidx; cuda execution provider; "
     "tensorrt execution provider; cuda jit; cuda jit def; hipmalloc; "
     "gpu hist; gpu id; task type gpu; tree method gpu; device gpu; device type gpu; device map "
     "auto; cuda amp; to cuda; to device; device cuda|gpu; cuda is available; cuda available; cuda "
     "kernel|kernels; languages cxx cuda; languages cuda; project cuda; find package cudatoolkit; "
     "enable language cuda; "
     "openmm cuda; amber pmemd; pmemd cuda; namd cuda; namd3; gpu resident; kokkos cuda; sycl; "
     "platform cuda; gmx mdrun nb gpu; nsys profile; ncu; "
     "autocast; gradscaler; torch compile; cuda graph|graphs; load in #bit; load in 4bit|8bit; bnb "
     "#bit; bitsandbytesconfig; load in 4bit true; isaacgym; isaaclab; isaac gym; comfyui; kaolin; "
     "minkowskiengine; spconv; spconv cu#; "
     "torch scatter cu#; gsplat; tinycudann; tiny cuda nn; instant ngp; vit pytorch train; mmcv; "
     "mmcv full; nvtabular; stablediffusionpipeline; stablediffusionxlpipeline; "
     "diffusionpipeline; autopipelinefortext2image; fluxpipeline",
     Source::kStack, 3.3F, Rule::kAlways, 0, kGpuWord | kMl},

    // The same, with a second meaning in everyday language.
    {"ray train; kubeflow pytorchjob; qlora; kokkos; opencl; fastai; flax; zero 3; nvidia "
     "riva|nemo; "
     "colmap dense",
     Source::kFramework, 2.2F, Rule::kPartner,
     kNeedWord | kMl | kGpuWord | kAction | kSight | kSound | kWords, kMl},
    {"rapids; horovod; axolotl; trl; tgi; galore; merlin; kaolin; ncu", Source::kStack, 3.3F,
     Rule::kShy, kMl | kGpuWord, kGpuWord | kMl},

    // Frameworks: the default builds carry CUDA.
    {"lightning; jax; haiku; paddle; flax; chainer; fastai; timm", Source::kFramework, 2.2F,
     Rule::kPartner, kMl | kGpuWord | kSight | kSound | kWords, kMl},
    {"pytorch; torch; pytorch#; torchmetrics; torchtext; torchdata; torchrec; torchserve; torchio; "
     "torchdiffeq; torchvision; torchaudio; libtorch; torch nn; import torch; pytorch "
     "lightning; lightning pytorch; detectron; monai; torchgeo",
     Source::kFramework, 2.3F, Rule::kShy, kMl | kGpuWord, kMl},
    {"tensorflow; keras; tf keras; jaxlib; jax jit; optax; mxnet; paddlepaddle; "
     "pytorch geometric; torch geometric; dgl; stable baselines3; stable "
     "baselines#; rllib",
     Source::kFramework, 2.1F, Rule::kShy, kMl | kGpuWord, kMl},
    {"transformers; huggingface; hugging face; safetensors; accelerate; automodelforcausallm; "
     "automodel; autotokenizer; seq2seqtrainer; trainingarguments; diffusers; peft; kohya; stable "
     "diffusion webui; openai whisper; ultralytics; easyocr; spacy transformers; "
     "ctranslate2; llama cpp; llama cpp python; llamacpp; ollama; local llm; gpt4all; lm studio; "
     "ray train; ray serve; kubeflow training|pytorchjob; pytorchjob; tfjob; mpijob; rayservice; "
     "triton server|inference|model|ensemble; triton; kserve; bentoml; inferenceservice; "
     "segmentation models pytorch; albumentations; open clip torch; whisper cpp",
     Source::kFramework, 1.7F, Rule::kPartner,
     kMl | kGpuWord | kSight | kSound | kWords | kNeedWord, kMl},
    {"automodelforcausallm; seq2seqtrainer; trainingarguments; pytorchjob; ollama run|serve|pull; "
     "openai whisper; openai s whisper|clip; segmentation models pytorch; diffusers; ultralytics; "
     "llama server; llama "
     "cli; whisperx",
     Source::kFramework, 2.3F, Rule::kAlways, 0, kMl},
    {"model fit; fit epochs; optim adam|adamw|sgd; optimizer step; loss backward; backward; cross "
     "entropy; nn crossentropyloss; crossentropyloss; conv2d; nn linear; nn module; nn conv2d; "
     "dataloader; keras layers; keras applications; "
     "trainer fit; trainer train; train py; finetune py; finetune; pretrain py; zero stage; output "
     "attentions; model generate; from pretrained; load dataset",
     Source::kTask, 1.1F, Rule::kAlways, 0, kMl},
    {"model to cuda; model cuda; cuda 0; cuda empty cache; cuda device; torch cuda; torch device "
     "cuda; cuda set device; cuda synchronize; cuda stream; wp kernel; jax devices gpu; tf config "
     "list physical devices gpu; physical devices gpu; distribute mirroredstrategy; "
     "mirroredstrategy; "
     "xla gpu|cuda; jax platforms cuda|gpu; cuda manual seed; cuda memory allocated; memory "
     "allocated; strategy ddp; strategy fsdp; strategy deepspeed; ddp; n gpu; cl gpu; vulkan "
     "compute; opencl gpu; device gpu",
     Source::kHardware, 2.8F, Rule::kAlways, 0, kGpuWord},

    {"tensorflow serving; tf serving", Source::kFramework, 1.2F, Rule::kAlways, 0, kMl},

    // CPU builds and switches.
    {"torch|torchvision|torchaudio|jaxlib #n cpu; the|a cpu torch|pytorch|tensorflow; cpu "
     "torch|pytorch|tensorflow package|wheel|wheels|build|builds|variant|version; whl cpu; cpu "
     "whl; torch cpu; tensorflow cpu; "
     "onnxruntime cpu; faiss cpu; intel tensorflow; jax cpu; jaxlib cpu; pytorch cpu; torchvision "
     "cpu; torchaudio cpu; paddlepaddle cpu; device cpu; use cpu; to cpu|device cpu; torch device "
     "cpu; map location cpu; cpuexecutionprovider; "
     "accelerator cpu; jax platforms|platform cpu; jax platform name cpu; xla flags cpu; force "
     "cpu; nogpu; no cuda true; openvino runtime; intel intel optimized pytorch|tensorflow; intel "
     "optimized pytorch|tensorflow; intel extension for "
     "pytorch|tensorflow; optimum intel|openvino; intel extension; latest "
     "cpu; cpu latest; py3 cpu; slim cpu; inference cpu; cpu runtime; cpu ubuntu#; backend cpu; "
     "ollama cpu; device cpu; "
     "llama cpp cpu; with cuda off; device is cpu; cpu inference; cpu offload only; tensorflow "
     "lite; tflite; tflite runtime; ai edge litert; torch backends mkldnn; cpu img; cpu version; "
     "pytorch cpu only; cpu base; mkl; openblas; whisper cpp tiny; serving cpu; only cpu torch; "
     "set device cpu; set default device cpu; set visible devices gpu",
     Source::kCpu, -4.4F, Rule::kAlways, 0, kNoTopic},
    {"else cpu; cuda else cpu", Source::kHardware, 0.7F, Rule::kAlways, 0, kGpuWord},
    {"cuda if torch cuda is available", Source::kHardware, 1.6F, Rule::kAlways, 0, kGpuWord | kMl},
    {"to cpu; detach cpu; cpu detach; cpu numpy; detach cpu numpy; cpu offload; offload to cpu; "
     "cpu adam; cpu cores; cpu core; cpu ram; cpu request|requests|limit|limits",
     Source::kContext, 0},
};

}  // namespace

std::span<const Row> stack_rows() { return kStackRows; }

}  // namespace aliquot::detect
