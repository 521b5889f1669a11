// SPDX-License-Identifier: Apache-2.0
//
// Words that are no evidence but tell what a text is about: machine learning, images, sound, and the
// everyday fields in which words of machine learning are something else.
#include "detect/table.h"

namespace aliquot::detect {
namespace {

constexpr Source kNone = Source::kContext;

constexpr Row kTopicRows[] = {
    // Topics.
    {"model;models;network;networks;weights;dataset;datasets;batch;batches;tokens;token;parameters;"
     "params;adapters;adapter;backbone;encoder;decoder;tensor;tensors;neural;layers;hyperparameter;"
     "hyperparameters;learning;finetuned;"
     "recogniser;recognizer;generator;discriminator;latent;logits;embeddings;ml;ai;chatbot;"
     "assistant;rag;onnx;serving;prompt;prompts;latency;throughput;denoiser;policy;agents;agent;"
     "segmentation;instruct;optimizer;loss;gradient;gradients;perplexity;ablation;benchmark;"
     "checkpointing;sampler;pipeline;quantised; "
     "hugging face; huggingface; data set|sets; froc; dice|bleu|wer|froc|map score; model weights; "
     "machine translation; our domain; chat; base; "
     "backbones; corpus; corpora; sweep; forecaster; predictor; representation; attention",
     kNone, 0, Rule::kAlways, 0, kMl},
    {"image;images;photo;photos;satellite|image|aerial "
     "tiles;handwriting;handwritten;picture;pictures;camera;cameras;"
     "video;videos;frame;frames;footage;"
     "visual;vision;scan;scans;mri;ct;xray;radiology;radiographs;satellite;drone;pixel;pixels;"
     "faces;face;lidar;mammograms;x rays; x ray; x rays; point cloud|clouds; aerial; slides "
     "scanned; "
     "histology;pathology;microscopy;retinal;retina;endoscopy;opencv;cctv;thermal;webcam;jpeg;"
     "jpegs;png;movies;cartoons;portraits;avatars;plates;lesions;lesion;tumour;tumours;tumor; "
     "nodule|nodules; chest ct; ct scan|scans; cinema; volumes; broadcast; broadcasts; rtsp; fps; "
     "onvif; webcams; photographs",
     kNone, 0, Rule::kAlways, 0, kSight | kDataWord},
    {"audio;acoustic;acoustics;voice;voices;speech;recordings;recording;calls;call;podcast;"
     "transcripts;transcript;"
     "speaker;speakers;microphone;music;songs;spoken;dictation;dictations;interviews;narration;"
     "subtitles; voice|speech|phone bot|bots; voicebot; voicebots; radio;meetings;lectures "
     "recorded;hours of audio;audiobooks;audiobook",
     kNone, 0, Rule::kAlways, 0, kSound | kDataWord},
    {"titles;headlines;tweets;descriptions;text;texts;sentence;sentences;document;documents;"
     "language;languages;translation;"
     "summarise;"
     "summarize;summarisation;summarization;question;passages;paragraphs;reviews;protein;sequences;"
     "dna;contracts;abstracts;corpus;emails;articles indexed",
     kNone, 0, Rule::kAlways, 0, kWords},
    {"#gb; #n gb|gib|gigs|mib; #x; card|cards; tflops; gib; gigabytes", kNone, 0, Rule::kAlways, 0,
     kPowers},

    // Foreign fields.
    {"employee;employees;staff;trainee;trainees;personnel;compliance;onboarding;gym;fitness;"
     "marathon;dog;dogs;horse;puppy;puppies;personal "
     "trainer;trainer;coach;coaching;teacher;teachers;school;nurse;nurses;pilot;pilots;apprentice;"
     "apprentices;volunteers;volunteer;leadership;seminar;classroom;"
     "timetable;timetables;metro;railway;railways;station;stations;platform "
     "tickets;locomotive;carriage;tram;trams;commuter;passengers;passenger;rail;wedding;bridal;"
     "substation;substations;voltage;kv;kva;mva;winding;windings;village;tourism;xml;xslt;"
     "electrical;electricity;load flow; "
     "power|grid|electric grid|model; grid operator; "
     "accounting;accountant;paywall;newsroom;whisper network|campaign|mode|quiet; solar "
     "panel|panels; insulation; lumens; "
     "lantern;batteries;playlist;playlists;song;dive;dives;salesforce;postcss;css;autobots;"
     "toys;toy;"
     "cafe;restaurant;menu;hotel;hotels;bakery;bar;recipe;recipes;kitchen;coffee;beer;wine;"
     "zoo;essential;oils;shop;cat;cats;pet;pets;farm;farmers;petting;animals;birds;bird;wind;"
     "sailing;boat;boats;yacht;weather "
     "vane;garden;gardening;olympic;olympics;relay;flashlight;welding;welder;welders;"
     "lorawan;gateway;sensor node;antenna;radio gateway;soil;meter "
     "readings;motorway;autobahn;highway;traffic "
     "jam;motor;car;cars;dealer;dealership;plymouth;chevrolet;aircraft;jet;"
     "tax;taxes;slip;slips;payroll;payslip;thyroid;blood;load "
     "balancer;balancer;envoy;haproxy;tcp;firewall;paper;printer;envelope;steel;chemical;ink;heat;"
     "innovation;rumour;campaign;"
     "sesame;muppet;ernie;surname;surnames;nickname;singer;album;band;concert;lyrics;festival;"
     "theatre;theater;film club;bookings;club;clubs;church;parish;choir;"
     "applicant;applicants;candidate;candidates;curriculum;vitae;hr;jobs portal;vision "
     "statement;mission;ceo;optician;opticians;glasses;eyewear;eye test;dental;dentist;physics "
     "lesson;exercise;exercises;"
     "type;schema;statistical;causal;typescript;rust;haskell;compiler;generics;prolog;datalog;"
     "ontology;hypothesis;"
     "unix;era;geological;archaeology;ghost;barn;scuba;diving;fish;barracuda;seafood;orchestra;"
     "fashion;dress;clothing;runway;catwalk;agency;airport;airports;mail;subscription;subscribers;"
     "furniture;plumbing;perfume;estate;estates;parking;football;soccer;cricket;rugby;hockey;yoga;"
     "swimming;tennis;olympiad;"
     "soldiers;army;navy;military drill;drill;driving "
     "school;lesson;lessons;grammar;toilet;potty;sap;erp;invoice "
     "template;mba;attendance;attendees;seats;"
     "mythology;god;goddess;moon;planet;statue;rivers;river;rapids "
     "race;kayak;kayaking;kayaker;kayakers;rafting;racing;races; "
     "vacuum cleaner|cleaners; course project|projects|assignment|assignments; deep learning "
     "curve; computer vision syndrome; network "
     "segmentation; lightning "
     "detection|strike|strikes|rod|storm|storms|protection; "
     "canoe;jacksonville;jaguars;greek;poem;poetry;novel; "
     "model railway; model train|trains; model railroad; model agency|agencies; type inference; "
     "schema inference; statistical inference; causal inference; bayesian inference; inference "
     "rules; inference engine for rules; x ray appointment|appointments; training "
     "ground;camp;plan;shoes;centre;center;calendar;room;days;courses;course;budget;records;"
     "certificates;reminders;portal; "
     "data model|models|modelling; business model|models; domain model; object model; pricing "
     "model; model number|numbers; view model|models; 3d printed; auth token|tokens; access "
     "token|tokens; scale model|models; role model|models; operating model; social "
     "network|networks; ad network; network switch|switches; blood vessel; "
     "power transformer|transformers; data transformer|transformers; xslt transformer; transformer "
     "oil|station|maintenance|replacement; neural pathway; heat diffusion; diffusion equation; "
     "wind speed|forecast; torch relay; gallium nitride; language school|course|courses; language "
     "pack|packs; programming language; voice mail; image optimisation; image resize|thumbnails; "
     "phone call|calls; call centre|center; train ticket|tickets; train "
     "station|stations|timetable|timetables|delays|schedule|schedules|driver|drivers; "
     "train wreck|wrecks|robbery|ride|rides|journey|tracks|conductor|set|sets|fares; folk; dance; "
     "dances; train people; train staff; train the staff; trained staff; trained volunteers; "
     "trained "
     "nurses; fine tune the wording; fine tuning the query; stable diffusion of; query planner; "
     "jvm; garbage collector; postgres; postgresql; mysql; nginx; kernel parameters; guitar; "
     "piano; engine carburettor; carburettor; thermostat; radio station; database "
     "parameters; sql",
     kNone, 0, Rule::kAlways, 0, kForeign},
    {"cvpr|iccv|eccv|neurips|nips|iclr|icml|acl|emnlp|aaai|interspeech|icassp paper|papers; cvpr; "
     "neurips; our paper; official implementation",
     kNone, 0, Rule::kAlways, 0, kMl},
    {"kind "
     "pod|job|deployment|statefulset|daemonset|cronjob|service|configmap|replicaset|rayjob|"
     "rayservice|raycluster|pytorchjob|inferenceservice|persistentvolumeclaim",
     kNone, 0, Rule::kAlways, 0, kKindWord},
    {"million;millions;billion;billions;thousand;thousands;hundreds;hundred;large;huge;all", kNone,
     0, Rule::kAlways, 0, kLarge},
    // Taken for something above otherwise.
    {"option pricing; video conference|conferences|conferencing; dark mode", kNone, 0},
    {"with|using|via|by|from|through|into|onto", kNone, 0, Rule::kAlways, 0, kPrep},
};

}  // namespace

std::span<const Row> topic_rows() { return kTopicRows; }

}  // namespace aliquot::detect
