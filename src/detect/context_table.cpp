// SPDX-License-Identifier: Apache-2.0
//
// Words that are no evidence but give it its meaning: negations, the things texts are about, the
// everyday fields in which words of machine learning are something else.
#include "detect/table.h"

namespace aliquot::detect {
namespace {

constexpr Source kNone = Source::kContext;

constexpr Row kRows[] = {
    // Negation. The weight is the reach in tokens.
    {"nothing; old version used|uses; previously used; formerly used; used to use; once used; "
     "decided against; decide against; old version|one|release|image|code|service "
     "needed|required|ran; previously|formerly|originally needed|required|ran; no to; no need; has "
     "no; have no; "
     "no|not|without|never|neither|nor|non|none|cannot|nobody; don t; doesn t; isn t; aren t; won "
     "t; can t; didn t; needn t; shouldn t; mustn t; wouldn t; hasn t; haven t; "
     "dont|doesnt|isnt|wont|cant; no longer; not a; not the; not any; instead of; rather than; "
     "lacks|lacking|lack; free of; nothing to do with; in place of; in lieu of; not on; no more; "
     "zero; absence of; unrelated to; independent of; unlike; "
     "not use|using|need|require|schedule; do not; does not; did not; must not; should not; need "
     "not; is not; are not; will not; can not; never needed|used|required|wanted|had "
     "a|an|any|the|our|to; no need for; stopped using; stop using; moved off; "
     "migrated off; free from; no dependency on; nothing needs; before we had; ",
     kNone, 6, Rule::kNot},
    {"turn off; turned off; turns off; turning off; switch off; switched off; opt out of; stay "
     "away from; moved away from; migrate away from; drop|drops|dropped|dropping; "
     "remove|removes|removed|removing; uninstall|uninstalled|uninstalling; "
     "disable|disables|disabled|disabling; avoid|avoids|avoiding; strip|stripped; "
     "exclude|excludes|excluding|excluded; skip|skips|skipping; "
     "stopped|stop|quit|ceased|cease calling|paying|sending|buying|renting; off the; except; used "
     "to need|require|run|have; needed until; replaces|replaced|replacing|replace; "
     "abandon|abandoned; away from; get rid of; got rid of; "
     "eliminate|eliminates; forbid|forbids|forbidden; refuse|refuses; "
     "decommission|decommissioned; retire|retired|retiring; rip out; ban|bans; "
     "deleted|delete|deletes|deleting; purge; prohibit|prohibits; ditch|ditched; block|blocks; "
     "unset; except for; other than; excluding; minus; gets rid of; getting rid of; apt remove; "
     "pip uninstall; conda remove; no such thing as",
     kNone, 4, Rule::kRemove},
    {"is|are not supported|allowed|permitted|wanted|present|there; is|are|was|were left out; "
     "deliberately left out; can|may go; can|may be "
     "returned|released|freed|dropped|removed; are|is a mistake; delete|remove|drop them|it; "
     "was|were considered|evaluated|tried|discussed|tested|rejected but; only a "
     "test|dev|development dependency; a test|dev dependency; is never "
     "imported|called|loaded|installed; decided against it|them|that|this; must not be "
     "used|touched|requested|scheduled|allocated; "
     "should not be used|requested; may "
     "not be used; cannot be used; can t be used; is never used; are never used; "
     "not "
     "needed|required|necessary|used|wanted|allowed|available|installed|supported|involved|present|"
     "permitted|worth; unnecessary; unneeded; is overkill; overkill; is forbidden; are forbidden; "
     "are prohibited; is prohibited; is disabled; are disabled; is out of scope; out of scope; "
     "rejected; was rejected; were rejected; and rejected; ruled out; turned down; was removed; "
     "were removed; is gone; are gone; has been removed; have been removed; was dropped; are off "
     "limits; off limits; be avoided; isn t needed|required|necessary; aren t needed|required; not "
     "be needed|used|required|scheduled|necessary; are not needed|required|used|available; is not "
     "needed|required|used|available|necessary|involved|installed; "
     "do not apply; would be wasted; would be a waste; is a waste; wasted; not in use; no longer "
     "needed|used|required|necessary; never used|needed; off; free",
     kNone, 6, Rule::kNotBehind},
    // With the word for it behind, past a "but" as well.
    {"does|do|did|will|would not|never need|want|use|require|touch one|it|them; doesn|don|didn|won "
     "t need|want|use|require|touch one|it|them; is|are for others|another|someone; is|are for the "
     "other",
     kNone, 8, Rule::kNotBehind},
    {"fail|fails|crash|crashes; abort|aborts; panic|panics; useless", kNone, 0, Rule::kAlways, 0,
     kSlow},
    {"use|take|request|allocate|need more; more than; "
     "only;just;less;fewer;enough;forget;hesitate;exceed;share;kill;interrupt;starve;waste;idle;"
     "merely;fit;fits;overload;oom;sure;worry;later;longer;yet;matter;problem;idling;mix;let;leave;"
     "exceeding;viable;feasible;practical;converge;start;finish;batch",
     kNone, 0, Rule::kHollow},
    {"but;however;although;though;yet;whereas;while;instead;otherwise;because;then;still;merely",
     kNone, 0, Rule::kCut},
    {"is not possible|feasible|viable|enough|sufficient|fast; are not enough|sufficient|fast; is "
     "insufficient; "
     "impossible;useless;unusable;fails;fail;crashes;crash;hopeless;takes;weeks;stuck;unbearable;"
     "infeasible;painfully;unbearably; misses; missed; lags; times out; timed out; too long; too "
     "late; too slow; far too slow; not enough; not sufficient; not "
     "fast enough; not possible; not feasible; not work; not viable; insufficient; will not "
     "run|start|work; "
     "cannot run|start|work|train|serve|fit|finish; can t run|start|work|keep; won t "
     "run|start|work|fit; does not work|run|start; doesn t work|run|start; refuses to start|run; "
     "errors out; aborts; not an option; never finish; would take",
     kNone, 0, Rule::kAlways, 0, kSlow},
    {"too slow on cpu|cpus; too slow on the cpu; slow on cpu|cpus; cpu is too slow; cpus are too "
     "slow; cpu is not enough; cpu is not fast enough; cpu cannot keep up; cpu can t keep up; cpus "
     "cannot keep up; never on cpu; never on the cpu; not on cpu; not on the cpu; outgrown the "
     "cpu; instead of cpu|cpus; rather than cpu|cpus; "
     "instead of the cpu; rather than on cpu; cpu takes; no cpu fallback; without cpu fallback; "
     "cpu only is not|too; off the cpu; from cpu to gpu; cpu is hopeless; move from cpu",
     Source::kHardware, 2.4F, Rule::kAlways, 0, kGpuWord},
    {"need;needs;needing;needed;require;requires;required;requiring;requesting;wants;want;must "
     "run;use;uses;using;on our;on an;on one;on two;on four;on eight;runs;train on;trains "
     "on;running on; runs on; run on; hosts|hosting|host; served by|with; "
     "serve|serves|serving|served; deploy|deploys|deployed|deploying",
     kNone, 0, Rule::kAlways, 0, kNeedWord},

    // Texts about GPUs and machine learning.
    {"weekly|monthly|daily|quarterly mail|report|summary|digest|statistics; tender; rfp; rfq; "
     "quotation|quotations; requisition; buy|buying|bought|resale; pulumi; "
     "cloudformation; crossplane; bicep; puppet; packer; autoscaling group|groups; auto scaling "
     "group|groups; autoscaler; karpenter; interview questions; that|which "
     "lists|labels|cordons|drains|tags|reports|exports|prints|displays|compares|announces|plots|"
     "logs; mirror;mirrors;mirroring;registry;artifactory; pypi packages; bot;bots; booking "
     "system|tool|form|page; request form; approval workflow|form; web form; "
     "announces|announce; notify|notifies|notification|notifications; reminder|reminders; "
     "remind|reminds; "
     "rack|racks; badge; badges; label printer; floor plan; onboarding guide; handbook; "
     "dashboard;dashboards;documentation;docs;article;articles;newsletter;wiki;spreadsheet;"
     "inventory;pricing;price;prices;invoice;invoices;billing;terraform;ansible;recruiting;"
     "recruitment;recruiter;hiring;conference;conferences;"
     "webinar;podcast;podcasts;workshop;workshops;tutorial;tutorials;lecture;lectures;slides;slide;"
     "textbook;bookshop;glossary;faq;quiz;survey;survey;procurement;purchase;purchasing;warranty;"
     "warranties;forum;meetup;changelog;brochure;"
     "exam;homepage;alerts;alert;alerting;exporter;grafana;prometheus;monitoring;monitor;monitors;"
     "quota;quotas;chargeback;syllabus;curriculum;magazine;encyclopedia;bibliography;citation;"
     "citations;vacancy;vacancies;keynote;talk;talks;whitepaper;essay;"
     "infographic;reseller; from the|our supplier|vendor|reseller; post mortem|mortems; "
     "postmortem|postmortems; "
     "incident report|reports; purchase "
     "order|orders;retailer;webshop;bookkeeping;depreciation;reservations;podcast;cheat;"
     "cheatsheet;explainer;primer;linter;admission;certification;stocks;earnings;investor;"
     "investors;rss;calendar;catalogue;catalog;lease;auditing;audit;audits; "
     "blog post|posts; blog; job advert|adverts|ad|ads|posting|postings|board|description; press "
     "release; release notes; landing page; price list|tracker|comparison|watch; cost "
     "report|calculator; web shop; online shop; online course|courses; bill of; node group|groups; "
     "node pool|pools; "
     "news site|feed|aggregator; mailing list; asset management|register|list; config map; help "
     "page; review site; comparison site|table|page; waiting list; signup; sign up; status page; "
     "usage report|reports; utilisation|utilization report|reports|charts|graphs; book club; "
     "reading list|group; study group; "
     "capacity planning; seating plan; name tags; for sale; second hand; device plugin|plugins; "
     "gpu operator; driver versions; asset database; cmdb; site for; static site; explains how; "
     "explain how; explains what; explaining; cost|costs of; price of; share of; spend on; "
     "spending; mocked; mock; mocks; web page; website; landing; list of papers; call for papers; "
     "papers; arxiv; patent|patents; syndicated; thesis|theses; literature; reads nvidia smi; "
     "hardware list; list of gpus; stock levels; "
     "course; courses; bootcamp; meet up; ethics;  regulation;  legislation;  market research;  ad "
     "campaign;  portfolio page; resume; resumes; cover letter; cover letters; competition page; "
     "leaderboard; scoreboard; ticket sales; tickets; e mail digest; digest; chapter; magazine; "
     "translate the course|slides|docs|documentation|page|pages|website|handbook|manual|article; "
     "draft a|an|the; rename|renames|renaming; typo|typos; readme; poster|posters; flyer|flyers; "
     "pull request|requests; merge request|requests; confluence; proofread; spell check; "
     "spellcheck; glossaries;  power consumption; "
     "temperature|temperatures; temperatures; fan speed;   cabling; shipping",
     kNone, 0, Rule::kMeta},
    // Only behind the evidence: "CUDA experience", "GPU metrics".
    {"engineer|engineers; developer|developers; researcher|researchers; scientist|scientists; "
     "specialist|specialists; experience; skills; expert|experts; team; consumed; metrics; "
     "capacity; library|libraries; start up; company; companies; consultant|consultants; fans; "
     "news; community; class names|labels; page|pages; column|columns; field|fields; "
     "filter|filters; outage|outages; "
     "department|departments; supplier|suppliers; per project|team|user|tenant|department|customer",
     kNone, 1, Rule::kMeta},
    {"list all|every|of; lists all|every; show all; how many; count how; name of; named after; who "
     "uses; chart|charts; bar chart; statistics on|of|about; overview of; history of",
     kNone, 0, Rule::kMeta},
    {"kind resourcequota; kind node; kind prometheusrule; kind customresourcedefinition; kind "
     "clusterrole; kind nodepool; kind clusterqueue; kind resourceflavor; kind networkpolicy; kind "
     "servicemonitor; kind priorityclass; kind limitrange; kind namespace; kind clusterpolicy; "
     "kind ingress; "
     "kubectl describe|get|label|taint|top|cordon|drain|uncordon|annotate; sort by; kubectl patch "
     "node; helm install gpu; helm repo; helm upgrade; aws ec2 describe; gcloud compute; eksctl "
     "create; eksctl; gcloud container; grep r; git grep; git log; grep; mkdocs; aws pricing",
     kNone, 0, Rule::kMetaAll},
    {"over;across;against;about;of;on;how;listing;comparing;explaining;covering;describing;showing;"
     "that;which;for;"
     "called;titled;named;where;why;whether;who",
     kNone, 0, Rule::kAlways, 0, kLink},
    {"host|hosts|hosting a|an|our|own|the; private copilot|chatbot|llm|gpt|chatgpt|assistant; open "
     "weights; open weight",
     kNone, 0, Rule::kAlways, 0, kLocal | kNeedWord},
    {"self hosted; self host; self hosting; on prem; on premise; on premises; locally; local; in "
     "house; our own; own hardware; own weights; openai compatible; compatible api; offline; air "
     "gapped; without sending; local model; on our hardware; on our servers",
     kNone, 0, Rule::kAlways, 0, kLocal},

    // Topics.
    {"model;models;network;networks;weights;dataset;datasets;batch;batches;tokens;token;parameters;"
     "params;adapters;adapter;backbone;encoder;decoder;tensor;tensors;neural;layers;hyperparameter;"
     "hyperparameters;learning;finetuned;classifier;detector;"
     "recogniser;recognizer;generator;discriminator;latent;logits;embeddings;ml;ai;chatbot;"
     "assistant;rag;onnx;serving;prompt;prompts;latency;throughput;denoiser;policy;agents;agent;"
     "segmentation;instruct;optimizer;loss;gradient;gradients;perplexity;ablation;benchmark;"
     "checkpointing;sampler;pipeline;quantised; "
     "hugging face; huggingface; model weights; machine translation; our domain; chat; base; "
     "backbones; corpus; corpora; sweep; forecaster; predictor; representation; attention",
     kNone, 0, Rule::kAlways, 0, kMl},
    {"image;images;photo;photos;picture;pictures;camera;cameras;video;videos;frame;frames;footage;"
     "visual;vision;scan;scans;mri;ct;xray;radiology;radiographs;satellite;drone;pixel;pixels;"
     "faces;face;lidar;mammograms;x rays; x ray; x rays; point cloud|clouds; aerial; slides "
     "scanned; "
     "histology;pathology;microscopy;retinal;retina;endoscopy;opencv;cctv;thermal;webcam;jpeg;"
     "jpegs;png;movies;cartoons;portraits;avatars;plates;lesions;lesion;tumour;tumours;tumor; "
     "cinema; volumes",
     kNone, 0, Rule::kAlways, 0, kSight | kDataWord},
    {"audio;voice;voices;speech;recordings;recording;calls;call;podcast;transcripts;transcript;"
     "speaker;speakers;microphone;music;songs;spoken;dictation;dictations;interviews;narration;"
     "subtitles;radio;meetings;lectures recorded;hours of audio;audiobooks;audiobook",
     kNone, 0, Rule::kAlways, 0, kSound | kDataWord},
    {"descriptions;text;texts;sentence;sentences;document;documents;language;languages;translation;"
     "summarise;"
     "summarize;summarisation;summarization;question;passages;paragraphs;reviews;protein;sequences;"
     "dna;contracts;abstracts;corpus;emails;articles indexed",
     kNone, 0, Rule::kAlways, 0, kWords},
    {"#gb; #x; card|cards; tflops; gib; gigabytes", kNone, 0, Rule::kAlways, 0, kPowers},

    // Foreign fields.
    {"employee;employees;staff;trainee;trainees;personnel;compliance;onboarding;gym;fitness;"
     "marathon;dog;dogs;horse;puppy;puppies;personal "
     "trainer;trainer;coach;coaching;teacher;teachers;school;nurse;nurses;pilot;pilots;apprentice;"
     "apprentices;volunteers;volunteer;leadership;seminar;classroom;"
     "timetable;timetables;metro;railway;railways;station;stations;platform "
     "tickets;locomotive;carriage;tram;trams;commuter;passengers;passenger;rail;wedding;bridal;"
     "substation;substations;voltage;kv;kva;mva;winding;windings;electrical;electricity;autobots;"
     "toys;toy;"
     "cafe;restaurant;menu;hotel;hotels;bakery;bar;recipe;recipes;kitchen;coffee;beer;wine;"
     "zoo;essential;oils;shop;cat;cats;pet;pets;farm;farmers;petting;animals;birds;bird;wind;"
     "sailing;boat;boats;yacht;weather "
     "vane;garden;gardening;olympic;olympics;relay;flashlight;welding;welder;welders;"
     "lorawan;gateway;sensor node;antenna;radio gateway;soil;meter "
     "readings;motorway;autobahn;highway;road;roads;traffic "
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
     "race;kayak;kayaking;rafting;canoe;jacksonville;jaguars;greek;poem;poetry;novel; "
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
     "train people; train staff; train the staff; trained staff; trained volunteers; trained "
     "nurses; fine tune the wording; fine tuning the query; stable diffusion of; query planner; "
     "jvm; garbage collector; postgres; postgresql; mysql; nginx; kernel parameters; guitar; "
     "piano; engine carburettor; carburettor; thermostat; radio station; database "
     "parameters; sql",
     kNone, 0, Rule::kAlways, 0, kForeign},
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

std::span<const Row> context_rows() { return kRows; }

}  // namespace aliquot::detect
