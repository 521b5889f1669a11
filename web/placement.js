// SPDX-License-Identifier: Apache-2.0
// What would still fit: whole nodes, whole GPUs, shares of GPUs that are begun.
import { html } from "./view.js";
import { DataTable } from "./table.js";
import { gpusByNode } from "./gpus.js";
import { gpuHref, gpuName } from "./bars.js";
import { Tiles } from "./tiles.js";
import { memory, percent, plain, count } from "./format.js";

export function placementRows(store) {
  const gpus = store.table("gpus");
  return gpusByNode(gpus).map(([node, keys]) => {
    const row = { key: node, node, gpus: keys.length, squares: [], free: 0, begun: 0, shares: 0, slots: 0, stranded: 0, memoryFree: 0 };
    for (const key of keys) {
      const gpu = gpus.object(gpus.rows.get(key));
      const usable = gpu.health === "Healthy" || gpu.health === "Degraded";
      row.squares.push([key, !usable ? "out" : gpu.slots === 0 ? "none" : gpu.allocated === 0 ? "whole" : gpu.allocated < gpu.slots ? "begun" : "full", gpu]);
      if (!usable) continue;
      row.slots += gpu.slots;
      if (gpu.slots > 0 && gpu.allocated === 0) row.free += 1;
      if (gpu.allocated > 0 && gpu.allocated < gpu.slots) {
        row.begun += 1;
        row.stranded += gpu.slots - gpu.allocated;
      }
      row.shares += Math.max(0, gpu.slots - gpu.allocated);
      row.memoryFree += Math.max(0, (gpu.memoryTotal ?? 0) - (gpu.memoryUsed ?? 0));
    }
    return row;
  });
}

const kWords = { whole: "wholly free", begun: "begun", full: "full", out: "not usable", none: "not offered" };
const kColumns = [
  { id: "node", title: "node", value: (r) => r.node },
  { id: "map", title: "map", value: (r) => r.free, show: (r) => html`<span class="squares">${r.squares.map(([key, kind, gpu]) => html`<a key=${key} class="square ${kind}" href=${gpuHref(key)} aria-label=${`${gpuName(key)}: ${kWords[kind]}`} title=${`${gpuName(key)}: ${kWords[kind]}, ${gpu.allocated} of ${gpu.slots} held`}><span style=${{ height: gpu.slots ? `${(100 * gpu.allocated) / gpu.slots}%` : 0 }}></span></a>`)}</span>` },
  { id: "gpus", title: "GPUs", value: (r) => r.gpus, right: true },
  { id: "free", title: "wholly free", value: (r) => r.free, right: true },
  { id: "begun", title: "begun", value: (r) => r.begun, right: true },
  { id: "shares", title: "free shares", value: (r) => r.shares, show: (r) => `${r.shares} of ${r.slots}`, right: true },
  { id: "memory", title: "memory unused", value: (r) => r.memoryFree, show: (r) => memory(r.memoryFree), right: true },
];

export function PlacementView({ store, filter }) {
  const rows = placementRows(store);
  const sum = (name) => rows.reduce((all, row) => all + row[name], 0);
  const whole = rows.filter((row) => row.gpus > 0 && row.free === row.gpus).length;
  const most = Math.max(0, ...rows.map((row) => row.free));
  const shares = sum("shares");
  const facts = [
    ["wholly free nodes", `${whole} of ${rows.length}`], ["wholly free GPUs", `${sum("free")} of ${sum("gpus")}`],
    ["most whole GPUs on one node", most], ["free shares", `${shares} of ${sum("slots")}`],
    ["of these on GPUs that are begun", shares ? `${sum("stranded")} (${percent(Math.round((100 * sum("stranded")) / shares))})` : "0"],
  ];
  return html`<section aria-labelledby="placement-title"><h2 id="placement-title">What would still fit</h2>
    <${Tiles} of=${facts} />
    <p class="legends">${Object.entries(kWords).map(([kind, words]) => html`<span key=${kind}><span class="square ${kind}" aria-hidden="true"><span style=${{ height: kind === "begun" ? "50%" : kind === "full" ? "100%" : 0 }}></span></span> ${words}</span>`)}</p>
    <p class="soft">A request for whole GPUs finds ${count(most, "GPU")} on one node at most. Free shares of GPUs that are begun are of no use to it.</p>
    <${DataTable} label="Free GPUs and shares by node" columns=${kColumns} rows=${rows.map((r) => ({ ...r, node: plain(r.node) }))} filter=${filter} empty="No node has told of a GPU yet." /></section>`;
}
