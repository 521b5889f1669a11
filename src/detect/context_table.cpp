// SPDX-License-Identifier: Apache-2.0
//
// Words that are no evidence but give it its meaning: negations, and the things texts are about.
#include "detect/table.h"

namespace aliquot::detect {
namespace {

constexpr Source kNone = Source::kContext;

constexpr Row kContextRows[] = {
    {"do not put|place|schedule|send|move|deploy|run; don t "
     "put|place|schedule|send|move|deploy|run; "
     "never put|place|schedule|send|move|deploy",
     kNone, 10, Rule::kNot},
    {"do not; does not; did not; is not; are not; will not; don t; doesn t; didn t; isn t; aren t; "
     "won t; do without",
     kNone, 6, Rule::kNot, 0, kEllipsis},
    // Negation. The weight is the reach in tokens.
    {"no reason to|for; no point in; hardly|barely|rarely|seldom needs|need|uses|use|requires; let "
     "alone; much less; anything|everything but; nothing; old version used|uses; previously used; "
     "formerly used; used to use|take; once used; "
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
     "a|an|any|the|our|to; "
     "kein|keine|keinen|keiner|ohne|nicht|sans|sin|senza|zonder|geen|ningun|ninguna|"
     "aucun|aucune; pas de|besoin|d; no need for; stopped using; stop using; moved off; "
     "migrated off; free from; no dependency on; nothing needs; before we had; ",
     kNone, 6, Rule::kNot},
    {"gave|give|gives|giving up on; ignore|ignores|ignoring|ignored; leave the|those|these|our; "
     "turn off; turned off; turns off; "
     "turning off; switch off; switched off; opt out of; stay "
     "away from; moved away from; migrate away from; drop|drops|dropped|dropping; "
     "remove|removes|removed|removing; uninstall|uninstalled|uninstalling; "
     "disable|disables|disabled|disabling; avoid|avoids|avoiding; strip|stripped; "
     "exclude|excludes|excluding|excluded; skip|skips|skipping; "
     "stopped|stop|quit|ceased|cease calling|paying|sending|buying|renting; off the; except; used "
     "to be|need|require|run|have|use; needed until; replaces|replaced|replacing|replace; "
     "abandon|abandoned; away from; free|release|vacate the|my|our|up; give back; get rid of; got "
     "rid of; "
     "eliminate|eliminates; forbid|forbids|forbidden; refuse|refuses; "
     "decommission|decommissioned; retire|retired|retiring; rip out; ban|bans; "
     "deleted|delete|deletes|deleting; purge; prohibit|prohibits; ditch|ditched; block|blocks; "
     "unset; except for; other than; excluding; minus; gets rid of; getting rid of; apt remove; "
     "pip uninstall; conda remove; no such thing as",
     kNone, 4, Rule::kRemove},
    {"is|are banned|blocked|taboo; is|are not for this|that|these|such|us; not part of; split off; "
     "handed over; outsourced; moved out|elsewhere|away; in another|other "
     "repository|"
     "project; done by another|others|other; a copy and paste error|mistake|leftover; "
     "is|are pointless|wasteful|superfluous|redundant|irrelevant; would be "
     "pointless|wasteful|superfluous|redundant; makes no difference; "
     "stays|stay|remains|remain|belongs|belong with|to|for; the answer is no|never; no thanks; no "
     "thank you; was|were "
     "lifted|waived|abolished|relaxed; has|have been lifted|waived|abolished|relaxed; went away; "
     "is|are not a|an|our dependency|requirement|prerequisite; is|are no dependency|requirement; "
     "is|are not supported|allowed|permitted|wanted|present|there; is|are|was|were left out; "
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
     "was|were deleted|dropped|retired|scrapped; has|have been deleted|dropped|retired|scrapped; a "
     "copy paste error|mistake|leftover; "
     "was|is a mistake|leftover|typo; transitive dependency; "
     "only a|an transitive "
     "dependency; is|are only a transitive dependency; is|are never imported; "
     "were removed; is gone; are gone; has been removed; have been removed; was dropped; are off "
     "limits; off limits; be avoided; isn|aren|wasn|weren t "
     "used|needed|required|necessary|supported|involved|installed|available; was|were|is|are|been "
     "replaced; aren t needed|required; not "
     "be needed|used|required|scheduled|necessary; are not needed|required|used|available; is not "
     "needed|required|used|available|necessary|involved|installed; "
     "do not apply; would be wasted; would be a waste; is a waste; wasted; not in use; "
     "ist|sind|wird|werden nicht; n est pas; est pas; no es; niet nodig; is not offered|provided; "
     "not offered|provided; was|were removed in|with|from; has|have been removed in|with|from; no "
     "longer "
     "needed|used|required|necessary; never used|needed; is|are a|an|the|our|my|their "
     "brand|company|surname|nickname|codename|band|town|village|street|boat|dog|cat|horse|song; "
     "by another|different team|department|group|squad|project; by a different "
     "team|department|group|squad; off; free",
     kNone, 6, Rule::kNotBehind},
    // With the word for it behind, past a "but" as well.
    {"does|do|did|will|would not|never need|want|use|require|touch one|it|them; doesn|don|didn|won "
     "t need|want|use|require|touch one|it|them; is|are for others|another|someone; is|are beside "
     "the point; beside the point; is|are used by "
     "another|others|other|someone; is|are for the "
     "other",
     kNone, 8, Rule::kNotBehind},
    {"gave up; took|takes days|weeks|hours|ages|forever; for days|weeks; no use; "
     "fail|fails|crash|crashes; stutter|stutters; hang|hangs; freeze|freezes; stall|stalls; "
     "choke|chokes; is the|a|our problem|bottleneck; lag|lags behind; falls|fall behind; drops "
     "frames; abort|aborts; panic|panics; useless",
     kNone, 0, Rule::kAlways, 0, kSlow},
    {"use|take|request|allocate|need more; more than; "
     "only;just;less;fewer;enough;forget;hesitate;exceed;share;kill;interrupt;evict;preempt;"
     "restart;starve;waste;idle;"
     "merely;care;mind;bother;fit;fits;overload;oom;sure;worry;later;longer;yet;matter;problem;"
     "idling;mix;let;leave;"
     "exceeding;viable;feasible;practical;converge;start;finish;batch",
     kNone, 0, Rule::kHollow},
    {"now;nowadays;today;since;unless;until;but;however;although;though;yet;whereas;while;instead;"
     "otherwise;"
     "because;"
     "then;still;merely",
     kNone, 0, Rule::kCut},
    {"is not|never acceptable|negotiable; unacceptable; a showstopper|dealbreaker; has|have to "
     "wait; must|should|will wait; deal breaker; "
     "won "
     "t do|cut|import|load|compile|launch|open; will not do|cut|import|load|compile|launch|open; "
     "not "
     "even; does|do|did|will|would not even; cannot even; doesn t even; won t even; is not "
     "possible|feasible|viable|enough|sufficient|fast; are not enough|sufficient|fast; is "
     "insufficient; "
     "impossible;useless;unusable;fails;fail;crashes;crash;hopeless;takes;weeks;stuck;stutters;"
     "outgrown;outgrew;jerky;chokes;stalls;hangs;unbearable;"
     "infeasible;painfully;unbearably; misses; missed; lags; times out; timed out; too long; too "
     "late; too slow; far too slow; not enough; not sufficient; not "
     "fast enough; not possible; not feasible; not work; not viable; insufficient; will not "
     "run|start|work; "
     "cannot run|start|work|train|serve|fit|finish|restart|resume; can t run|start|work|keep; won "
     "t "
     "run|start|work|fit; does not work|run|start; doesn t work|run|start; refuses to start|run; "
     "errors out; aborts; not an option; never finish; would take; nobody|noone waits|wait; one "
     "waits|wait for",
     kNone, 0, Rule::kAlways, 0, kSlow},
    {"too slow on cpu|cpus; too slow on the cpu; slow on cpu|cpus; cpu is too slow; cpus are too "
     "slow; cpu is not enough; cpu is not fast enough; cpu cannot keep up; cpu can t keep up; cpus "
     "cannot keep up; never on cpu; never on the cpu; not on cpu; not on the cpu; tried "
     "it|this|that|them on cpu|cpus; tried it|this on the cpu; tried cpu|cpus; outgrown the "
     "cpu; instead of cpu|cpus; rather than cpu|cpus; "
     "instead of the cpu; rather than on cpu; cpu takes; no cpu fallback; without cpu fallback; "
     "crawl|crawls|crawling|grind|grinds|drag|drags|creep|creeps on cpu|cpus; "
     "crawl|crawls|crawling|grind|grinds|drag|drags|creep|creeps on the|a|our cpu|cpus; "
     "cpu only is not|too; off the cpu; from cpu to gpu; cpu is hopeless; move from cpu",
     Source::kHardware, 2.4F, Rule::kAlways, 0, kGpuWord},
    {"needed;required;took", kNone, 0, Rule::kAlways, 0, kNeedWord | kPastVerb},
    {"used;ran;relied;depended", kNone, 0, Rule::kAlways, 0, kPastVerb},
    {"old;older;previous;former;formerly;previously;earlier;legacy;predecessor;original;originally;"
     "initially;historically;back then;in the past;first version;last year|month|week",
     kNone, 0, Rule::kAlways, 0, kOldWord},
    {"need;needs;needing;require;requires;requiring;requesting;wants;want;must "
     "run;use;uses;using;benefit|benefits from;touches;on our;on an;on one;on two;on four;on "
     "eight;runs;"
     "running on; runs on; run on; hosts|hosting|host; served by|with; "
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
     "dashboard;dashboards;documentation;docs;article;articles;newsletter;wiki;spreadsheet;awesome "
     "list|llm|llms|ml|machine|deep|gpu|cuda|pytorch|diffusion|nlp|ai; curated list; curated; "
     "budgets; write|draft|drafts|prepare|writing a|an|the|up "
     "comparison|report|summary|overview|paper|blog|memo|"
     "article|text|proposal; "
     "bounding boxes; label studio; annotation tool|guide|guidelines; annotators; "
     "inventory;pricing;price;prices;invoice;invoices;billing;terraform;ansible;recruiting;"
     "recruitment;recruiter;hiring;  "
     "procure;procures;procured; "
     " retreat;retreats;       "
     "   "
     "textbook;bookshop;glossary;faq;quiz;survey;survey;procurement;purchase;purchasing;warranty;"
     "warranties;forum;meetup;changelog;brochure;"
     " homepage;alerts;alert;alerting;exporter;grafana;prometheus;monitoring;monitor;monitors;"
     "quota;quotas;chargeback;firmware; static analysis; clang tidy; "
     "backup|backups|copy|copies of; scheduler plug|plugin; admission webhook; "
     "per zone|rack|region|cluster; configs; "
     "syllabus;curriculum;magazine;encyclopedia;bibliography;citation;"
     "citations;vacancy;vacancies;   whitepaper;essay;"
     "infographic;reseller; from the|our supplier|vendor|reseller; post mortem|mortems; "
     "postmortem|postmortems; "
     "incident report|reports; purchase "
     "order|orders;retailer;webshop;bookkeeping;depreciation;reservations; cheat;"
     "cheatsheet;explainer;primer;linter;admission;certification;stocks;earnings;investor;"
     "investors;rss;calendar;catalogue;catalog;lease;auditing;audit;audits; "
     "blog post|posts; blog; job advert|adverts|ad|ads|posting|postings|board|description; press "
     "release; release notes; landing page; price list|tracker|comparison|watch; cost "
     "report|calculator; web shop; online shop; online course|courses; bill of; node group|groups; "
     "node pool|pools; "
     "news site|feed|aggregator; mailing list; asset management|register|list; config map; help "
     "page; the title|name|headline|advert|ad|slogan|description|readme|label "
     "says|mentions|promises|"
     "suggests|contains; fact sheet|sheets; meeting notes; minutes of; agenda; strategy; "
     "stock|availability|price|prices of; check|watch|track stock|prices|availability; "
     "for|to booking|reserving|renting|ordering|requesting|monitoring|tracking|comparing|listing|"
     "pricing|selling|trading; "
     "the term|word|phrase|abbreviation|keyword|string; page|pages describing|about|explaining; "
     "how to "
     "use|request|book|install|order; that|which "
     "watches|scores|rejects|counts|evicts|schedules|monitors|tracks|audits|shows; mentions; "
     "mentioned; make|makes a list; who "
     "is|are|has; review site; comparison site|table|page; waiting list; signup; sign up; status "
     "page; "
     "usage report|reports; utilisation|utilization report|reports|charts|graphs; book club; "
     "reading list|group; study group; "
     "capacity planning; seating plan; name tags; for sale; second hand; device plugin|plugins; "
     "gpu operator; driver versions; asset database; cmdb; site for; static site; explains how; "
     "explain how; explains what; explaining; cost|costs of; comparison; share price|prices; price "
     "of; share of; spend on; "
     "spending; mocked; mock; mocks; web page; website; landing; list of papers; call for papers; "
     "papers; arxiv; syndicated; thesis|theses; literature; reads nvidia smi; "
     "hardware list; list of gpus; stock levels; "
     "    bootcamp; meet up; ethics;  regulation;  legislation;  market research;  ad "
     "campaign;  portfolio page; resume; resumes; cover letter; cover letters; competition page; "
     "send|sends a mail|email|message|reminder|notification; label|tag|count|list|cordon|drain "
     "nodes|hosts|machines|servers; "
     "leaderboard; scoreboard; ticket sales; tickets; e mail digest; digest; chapter; magazine; "
     "translate the course|slides|docs|documentation|page|pages|website|handbook|manual|article; "
     "draft a|an|the; rename|renames|renaming; typo|typos; readme; poster|posters; flyer|flyers; "
     "pull request|requests; merge request|requests; confluence; proofread; spell check; "
     "spellcheck; glossaries;  power consumption; "
     "temperature|temperatures; temperatures; fan speed;   cabling; shipping",
     kNone, 0, Rule::kMeta},
    // Where something is done with them they are data: "translation of lectures".
    {"conference;conferences;webinar;webinars;podcast;podcasts;workshop;workshops;lecture;lectures;"
     "patent;patents; "
     "slides;slide;keynote;keynotes;talk;talks;course;courses;tutorial;tutorials;exam;exams",
     kNone, 2, Rule::kMeta},
    // Only behind the evidence: "CUDA experience", "GPU metrics".
    {"engineer|engineers; developer|developers; researcher|researchers; scientist|scientists; "
     "specialist|specialists; experience; skills; expert|experts; team; consumed; metrics; "
     "capacity; library|libraries; start up; company; companies; consultant|consultants; fans; "
     "news; community; reservation|reservations; booking|bookings; waitlist; contract|contracts; "
     "order|orders; "
     "licences|licenses; budget|budgets; stock; shares; shortage; class names|labels; page|pages; "
     "column|columns; field|fields; panel|panels; widget|widgets; profile|profiles; "
     "cve|cves|vulnerability|vulnerabilities|advisory|advisories|bulletin|bulletins; "
     "filter|filters; outage|outages; "
     "in the ui|gui|dashboard|report|docs|documentation|readme|menu|admin|header|footer; "
     "department|departments; supplier|suppliers; per project|team|user|tenant|department|customer",
     kNone, 1, Rule::kMeta},
    {"scope|scoping a|an|the|out; design doc|docs|document|documents; project plan; effort of|for; "
     "decision record|records; "
     "which|what "
     "pods|nodes|users|jobs|teams|namespaces|machines|hosts|containers|processes|services; "
     "which|what of our|the|my|these "
     "pods|nodes|users|jobs|teams|namespaces|machines|hosts|containers|processes|services; "
     "ram|memory|disk|storage|psu|bios upgrade|upgrades; purchase request|requests; "
     "team|department|group|lab|squad owns|maintains|handles; team|department is responsible|in "
     "for|charge; estimate what|how|whether; would cost; simulate|simulates|simulating the "
     "queue|queues|scheduler|cluster|fleet|autoscaler; simpy; scheduling policy|policies; "
     "script|scripts|tool|tools|operator|controller|daemon|bot|job that|which|to "
     "delete|deletes|evict|evicts|kill|kills|list|lists|check|checks|restart|restarts|cordon|"
     "cordons|"
     "drain|drains|find|finds|count|counts|warn|warns|remove|removes|scale|scales|taint|taints|"
     "label|"
     "labels; document|documents|describe|describes|explain how|why|what|which; research "
     "what|which|how|on|into; what do|does|would|will; replay|replays|replaying a|the; "
     "trace|traces "
     "of; scheduler|scheduling|cluster|queue simulator; "
     "list|lists|print|show|count|tabulate the|our|all gpu|gpus|cards|accelerators; "
     "show|shows|display|displays|print|prints the|a number|count|amount|share|status; "
     "budget plan|planning|request|proposal; "
     "screenshot|screenshots of; screenshot; screenshots; how much does|do|is|are; "
     "auth|authentication "
     "header|headers; reverse proxy; proxy that|which|in; "
     "in front of vllm|triton|ollama|tgi|sglang|torchserve; in front of the|our|all|every|an|a "
     "vllm|triton|ollama|tgi|sglang|torchserve|llm|llms|model|gpu|gpus|inference; "
     "web site; who forgot|left|owns|broke|started|stopped; mail|email|ask|remind|inform the; "
     "add|adds|show|shows|print|prints a|an|the warning|note|hint|tooltip|link|message|notice; "
     "add|show|print warning|note|hint|tooltip|link|message|notice; excel; "
     "scraper|scrapers|crawler|crawlers for|of; front end|ui|gui|gateway|docs of|for; frontend "
     "of|for; contract for|with; "
     "cancel|cancelling|withdraw|extend my|our|the|all|a reservation|reservations|booking|bookings|"
     "request|requests|order|orders; "
     "manifests|pods|deployments|users|teams|tenants|namespaces that|which|who "
     "request|requests|use|ask|have; "
     "add|adds|rename|drop|delete|hide a|an|the column|field|label|tag|row|button|filter|tab|menu; "
     "show|shows|display|displays|print|prints number|count|list|status|usage|name|names; "
     "ping|pings|alert|alerts|mail|mails|tell|tells|warn|warns me|us|users|people|them|everybody; "
     "logs|metrics|results|outputs|records|figures of|from; "
     "list all|every|of; lists all|every; show all; how many; count how; name of; named after; who "
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
    {"what do|does|would|will we|i|you|it|this need|require|take", kNone, 0, Rule::kAlways, 0,
     kNeedWord},
    {"host|hosts|hosting a|an|our|own|the; private copilot|chatbot|llm|gpt|chatgpt|assistant; open "
     "weights; open weight",
     kNone, 0, Rule::kAlways, 0, kLocal | kNeedWord},
    {"self hosted; self host; self hosting; on prem; on premise; on premises; locally; local; in "
     "house; our own; own hardware; own weights; openai compatible; compatible api; offline; air "
     "gapped; without sending; local model; on our hardware; on our servers",
     kNone, 0, Rule::kAlways, 0, kLocal},

    {"download|downloading; clean|tidy up; copy|copying; sync|syncing; upload|uploading; rsync; "
     "archive; back up; "
     "annotate|annotating; label|labelling|labeling; convert; collect; unpack|unzip|untar; draw; "
     "move; "
     "push|pushing the|a|our|its; publish|publishing the|a|our|its; "
     "refactor|refactoring; reformat; type check; typecheck; "
     "mirror; lint; store; prune; bump|bumps; rename; list; count; tag; fetch; backup",
     kNone, 0, Rule::kCarry},
    {"formerly|once a|an; used to be a|an; had hoped|planned|wanted|intended to|for; "
     "hoped|meant|planned to; wanted to|a; "
     "if we ever; if they ever; should we ever; if ever; would be cool|nice|great|fun to; some "
     "day; someday; "
     "might|may one day; in the future; in future; not implemented yet; not yet "
     "implemented|supported; planned but; "
     "is|are planned; on the roadmap; nowhere near; in a later phase|step|project; in phase "
     "two|#n; maybe one day; until last year|month|week|quarter|spring|summer|autumn|winter; until "
     "recently; until some time ago; "
     "is|are decided; will be decided; to be decided; not decided; undecided; next year; "
     "hypothetically; thought experiment; not planned",
     kNone, 0, Rule::kUnreal},
    // What would be taken for something else.
    {"gpu|gpus scheduler|schedulers|operator|exporter|exporters|manager|plugin|broker|controller|"
     "webhook|quota|quotas|inventory|statistics|usage|utilisation|utilization|prices|market|"
     "vendors; "
     "gpu|gpus lab|labs|portal|club|store|shop|supplier; "
     "pin|bump|update|upgrade|raise|lower|document|check the "
     "cuda|pytorch|torch|driver|nvidia|tensorflow version|versions; not supported on; train and|or "
     "test|validation|val|dev|eval; train test|val|dev; "
     "hi|hello|hey|dear|please bot; hey bot can; for|in my|our|his|her|their "
     "thesis; nvidia driver "
     "version|versions; pretraining|training|finetuning corpus|corpora|shards; free "
     "energy|text|form|software|slots|tier|space; keynote speech; "
     "nvlink|infiniband|mig|spot if "
     "possible|available; download and|then",
     kNone, 0},

    {"why was|were|did|do|does|am|is|are", kNone, 0, Rule::kAlways, 0, kSlow | kLink},
    {"can|could|would|will someone|anyone|somebody|anybody|you|we free|release|vacate|give up; "
     "can|could|would|will someone|anyone|somebody|anybody|you free|release|vacate|give; "
     "give|gives me|us|my|our|this|the; can|could i|we get|have|borrow; assign; "
     "allocate|allocates; put it|me|us on; send it "
     "to; move it|this to",
     kNone, 0, Rule::kAlways, 0, kNeedWord},
    {"whole slide; tissue|pathology|histopathology|histology|pathology slide|slides; lidar|point "
     "cloud|clouds; "
     "mammogram|mammograms; ultrasound; ecg; dashcam|dashcams; livestream|livestreams; meshes; "
     "sports broadcast",
     kNone, 0, Rule::kAlways, 0, kSight | kDataWord},

};

}  // namespace

std::span<const Row> context_rows() { return kContextRows; }

}  // namespace aliquot::detect
