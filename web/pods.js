// SPDX-License-Identifier: Apache-2.0
// Pods that have GPUs, and those that wait, grouped by why.
import { html } from "./view.js";
import { shareName, gpuHref, gpuName, nodeOf } from "./bars.js";
import { DataTable, matches } from "./table.js";
import { memory, percent, plain, look, count } from "./format.js";

// What pods are called by whoever starts them, joined with what is measured of their shares.
export function podRows(store) {
  const rows = new Map();
  const pods = store.table("pods");
  for (const row of pods.rows.values()) {
    const pod = pods.object(row);
    rows.set(pod.pod, { key: pod.pod, phase: pod.phase, node: pod.node, gpus: [], gpuText: pod.gpu, share: pod.share, reason: pod.reason, held: null, used: null, busy: null, idle: null });
  }
  const shares = store.shareTable("shares");
  const sum = (a, b) => (b === null || b === undefined ? a : (a ?? 0) + b);
  for (const row of shares.rows.values()) {
    const share = shares.object(row);
    const key = `${share.namespace}/${share.pod}`;
    if (!rows.has(key)) rows.set(key, { key, phase: "Running", node: nodeOf(share.gpu), gpus: [], gpuText: "", share: share.resource, reason: "", held: null, used: null, busy: null, idle: null });
    const pod = rows.get(key);
    if (!pod.gpus.includes(share.gpu)) pod.gpus.push(share.gpu);
    pod.node ||= nodeOf(share.gpu);
    pod.held = sum(pod.held, share.memoryHeld);
    pod.used = sum(pod.used, share.memoryUsed);
    pod.busy = sum(pod.busy, share.busy);
    pod.idle = share.idleMinutes === null ? pod.idle : Math.min(pod.idle ?? Infinity, share.idleMinutes);
  }
  return [...rows.values()];
}

const kColumns = [
  { id: "pod", title: "pod", value: (p) => p.key, show: (p) => html`<span class="swatch ${look(p.key)}" aria-hidden="true"></span>${plain(p.key)}` },
  { id: "phase", title: "state", value: (p) => p.phase },
  { id: "node", title: "node", value: (p) => p.node },
  { id: "gpu", title: "GPU", value: (p) => p.gpus.join(" ") || p.gpuText, show: (p) => (p.gpus.length ? p.gpus.map((g) => html`<a key=${g} href=${gpuHref(g)}>${gpuName(g)}</a> `) : plain(p.gpuText || "–")) },
  { id: "share", title: "share", value: (p) => p.share },
  { id: "held", title: "memory held", value: (p) => p.held, show: (p) => memory(p.held), right: true },
  { id: "used", title: "used", value: (p) => p.used, show: (p) => memory(p.used), right: true },
  { id: "busy", title: "busy", value: (p) => p.busy, show: (p) => percent(p.busy), right: true },
  { id: "idle", title: "idle for", value: (p) => p.idle, show: (p) => (p.idle ? `${p.idle} min` : "–"), right: true },
];

const waits = (pod) => pod.phase === "Pending" || (pod.reason && pod.phase !== "Running" && pod.phase !== "Succeeded");

export function groupsOf(pods) {
  const groups = new Map();
  for (const pod of pods) {
    const why = pod.reason || "nothing is said of it yet";
    if (!groups.has(why)) groups.set(why, []);
    groups.get(why).push(pod);
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length);
}

// "nvidia.com/gpu: 8, nvidia.com/mig-1g.5gb: 1" -> names of resources
const resourcesOf = (share) => [...String(share ?? "").matchAll(/([\w.-]+\/[\w.-]+): \S+/g)].map((m) => m[1]);

// Who holds the resources that a group of pods waits for, who has been idle longest first.
export function holdersOf(group, store) {
  const wanted = new Set(group.flatMap((pod) => resourcesOf(pod.share)));
  if (!wanted.size || store.about.partial) return [];
  const shares = store.shareTable("shares");
  const holders = new Map();
  for (const row of shares.rows.values()) {
    if (!wanted.has(shares.get(row, "resource"))) continue;
    const share = shares.object(row);
    const key = shareName(share);
    const one = holders.get(key) ?? { key, gpus: new Set(), idle: null };
    one.gpus.add(share.gpu);
    one.idle = share.idleMinutes === null ? one.idle : Math.min(one.idle ?? Infinity, share.idleMinutes);
    holders.set(key, one);
  }
  return [...holders.values()].sort((a, b) => (b.idle ?? 0) - (a.idle ?? 0) || b.gpus.size - a.gpus.size);
}

// Other reasons (taints, gates, volumes) do not go away when somebody gives back a GPU.
const kWantsRoom = /insufficient|in use|free|quota/i;
const kMostHolders = 8;
function Holders({ group, store }) {
  const holders = holdersOf(group, store);
  if (!holders.length) return null;
  const first = holders.slice(0, kMostHolders);
  return html`<p class="holders"><span class="soft">${count(holders.length, "pod")} ${holders.length === 1 ? "has" : "have"} what they wait for:</span>${first.map((h) => html` <span key=${h.key} class="holder"><span class="swatch ${look(h.key)}" aria-hidden="true"></span>${plain(h.key)}${h.idle ? html` <b class="warning">idle ${h.idle} min</b>` : ""}</span>`)}
    ${holders.length > first.length && html` <span class="soft">and ${holders.length - first.length} more</span>`}</p>`;
}

export function PodsView({ store, filter }) {
  const pods = podRows(store);
  const waiting = pods.filter(waits).filter((p) => !filter || matches(`${p.key} ${p.reason}`, filter));
  const others = pods.filter((p) => !waits(p));
  return html`<section aria-labelledby="waits-title">
    <h2 id="waits-title">Who waits, and for what</h2>
    ${waiting.length === 0 && html`<p class="soft">${store.has("pods") && store.table("pods").rows.size ? "No pod waits." : "Nobody here knows of waiting pods: a node sees only those that run."}</p>`}
    ${groupsOf(waiting).map(([why, group]) => html`<details key=${why} class="group" open=${waiting.length <= 20}>
      <summary><b>${count(group.length, "pod")}</b> ${plain(why)}</summary>
      <ul>${group.slice(0, 200).map((p) => html`<li key=${p.key}>${plain(p.key)} <span class="soft">${plain([p.phase, p.share].filter(Boolean).join(", "))}</span></li>`)}</ul>
      ${kWantsRoom.test(why) && html`<${Holders} group=${group} store=${store} />`}
      ${group.length > 200 && html`<p class="soft">and ${group.length - 200} more</p>`}</details>`)}
    <h2>Pods with GPUs</h2>
    ${store.about.partial && html`<p class="soft">Of this many pods those are listed whose nodes were last in sight under GPUs.</p>`}
    <${DataTable} label="Pods with GPUs" columns=${kColumns} rows=${others} filter=${filter} empty="No pod has a GPU." />
  </section>`;
}
