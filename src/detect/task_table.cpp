// SPDX-License-Identifier: Apache-2.0
//
// Evidence in words: tasks of perception, speech and science as people put them who name no software.
// The scale of the weights is that of evidence_table.cpp.
#include "detect/table.h"

namespace aliquot::detect {
namespace {

constexpr Row kTaskRows[] = {
    // What is done with pictures and sound, whatever the thing is called that is looked for.
    {"detection;recognition;counting;tracking;segmentation;classification;grading;anonymisation;"
     "anonymization;restoration;colouring;colourisation;colorization; defects",
     Source::kTask, 1.95F, Rule::kPartner, kSight, 0, kMl},
    {"detector;detectors; classifier", Source::kTask, 1.95F, Rule::kPartner, kSight, kMl, kMl},
    {"detection;recognition;separation;classification;tagging;anonymisation;anonymization;"
     "restoration",
     Source::kTask, 1.95F, Rule::kPartner, kSound, 0, kMl},
    // The same words where no network is meant.
    {"edge|corner|motion|barcode|qr|blob|duplicate|drift|vulnerability|malware|secret|virus "
     "detection; "
     "file|mime|type|language|format|charset|encoding|bot|fraud|plagiarism|leak detection; "
     "time|issue|bug|order|parcel|shipment|inventory|asset|session|click|error|expense|habit|goal|"
     "version|change|package|"
     "conversion tracking; "
     "employee|tax|goods|product|security|data|traffic|address classification; page|line|word|"
     "row|vote|ballot counting; separation of concerns|duties; smoke|metal|movement|motion|"
     "co detector|detectors; backup|database|disk|data restoration; award|brand|name|revenue "
     "recognition; satellite|sun|star tracking; tracking "
     "who|which|what|how|whether|if|that|orders|hours|progress; segmentation fault|faults; "
     "recognition award|awards|programme|program; tracking "
     "number|numbers|code|codes|link|links|pixel|pixels|id|ids; grading form|exam|papers; counting "
     "votes|ballots",
     Source::kContext, 0},
    {"container|docker|oci|base|boot|vm|iso|firmware|golden|disk|system|machine|runner image|"
     "images; image registry|registries|tag|tags|pull|size|scan|scanner|layer|layers|builder|build",
     Source::kContext, 0},

    {"count|counts|counting "
     "pedestrians|cyclists|trees|ships|boats|bees|birds|fish|boxes|pallets|sheep|"
     "cows|seals|plants|bottles|crowds|passengers|vehicles|lorries|trucks|bikes|penguins|nests|"
     "fruits; "
     "building footprints; land cover|use classification|map|maps; tree species|crowns; bone age; "
     "reading gauges|meters; eye|body|finger|gaze tracking; surface defects; "
     "anomaly|defect|face|object|fault|person|vehicle detector|detectors",
     Source::kTask, 2.1F, Rule::kPartner, kMl | kSight, kMl},
    {"live|simultaneous|speech translation; "
     "translation "
     "of speech; real time subtitles|captions|captioning|transcription",
     Source::kTask, 2.1F, Rule::kPartner, kSound | kSight | kWords, kMl},
    {"speaker|vocal|voice|stem|singer separation; virtual try on; gesture control; similar "
     "image|photo search|retrieval; image similarity; "
     "visual similarity; visual odometry|slam; learned features|descriptors; synthetic "
     "faces|images|videos|voices; vision model|models|network|networks; adversarial training; "
     "document|invoice|receipt understanding; image|video|audio model|models; "
     "climate|weather|precipitation|rainfall downscaling; "
     "sequential|session based "
     "recommendation|recommender|recommenders; session based; embedding table|tables; cloud "
     "gaming; virtual workstation|workstations; hate speech|toxicity classifier|model; lattice "
     "qcd; "
     "continued training|pretraining; instruction tuning; hand tracking; skin lesion|lesions; "
     "parameter gpt|transformer|llm|lm; active learning loop; phasenet; eqtransformer; bertopic; "
     "diffusion policy|prior; neural operator|operators",
     Source::kTask, 2.2F, Rule::kShy, kMl | kSight | kSound | kGpuWord, kMl, kMl},
    {"#m parameter|parameters|params; #m "
     "posts|mails|comments|reviews|messages|samples|cutouts|crops|clips|utterances",
     Source::kScale, 0.9F, Rule::kPartner, kMl | kSight | kSound | kWords, kMl},
    {"dpo; orpo; kto; rlaif; preference pairs|data; reward modelling|modeling", Source::kTask, 2.2F,
     Rule::kPartner, kMl, kMl},
    {"an rtx; ray tracing cores; rt cores; rtx workstation|workstations|box|card|cards|gpu|gpus",
     Source::kHardware, 3.0F, Rule::kAlways, 0, kGpuWord},
    // Words that would be taken for something else.
    {"zero knowledge|day|copy|trust|downtime|touch|config|padding|based|indexed; patient zero; "
     "data "
     "augmentation",
     Source::kContext, 0, Rule::kAlways, 0, kMl},
    {"cutouts;fundus;colonoscopy;endoscopic;mammography;dermoscopy;tomography;sonography;"
     "ultrasound;"
     "sentinel #n; "
     "radiograph;radiographs;orthophotos;imagery;dashcam;bodycam;photographs;snapshots of",
     Source::kContext, 0, Rule::kAlways, 0, kSight},
};

}  // namespace

std::span<const Row> task_rows() { return kTaskRows; }

}  // namespace aliquot::detect
