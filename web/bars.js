// SPDX-License-Identifier: Apache-2.0
// One bar for each GPU, cut by pod: height is memory that is held, fill is use. Under MIG it is cut into slices first.
import { html } from "./view.js";
import { memory, percent, plain, look, count } from "./format.js";

const part = (value, whole) => (whole > 0 ? Math.max(0, Math.min(100, (100 * value) / whole)) : 0);

export const gpuHref = (key) => `#/gpus/${encodeURIComponent(key)}`;
export const gpuName = (key) => `GPU ${key.slice(key.lastIndexOf("/") + 1)}`;
export const nodeOf = (key) => key.slice(0, key.lastIndexOf("/"));
export const shareName = (share) => `${plain(share.namespace)}/${plain(share.pod)}`;

const kNamed = 14; // percent of a bar that a name needs
function segment(share, whole, bottom) {
  const height = part(share.memoryHeld ?? 0, whole);
  const use = share.ofShare ?? share.busy;
  const name = shareName(share);
  const title = `${name}${share.container ? ` (${plain(share.container)})` : ""}: ${memory(share.memoryHeld)} held, ${memory(share.memoryUsed)} used, ${percent(share.busy)} busy`;
  return {
    height,
    node: html`<span key=${share.share} class="segment ${look(name)}" title=${title} style=${{ bottom: `${bottom}%`, height: `${height}%` }}>
      <span class="fill" style=${{ width: `${Math.min(100, use ?? 0)}%` }}></span>${height >= kNamed && html`<span class="name">${plain(share.pod)}</span>`}</span>`,
  };
}

function stack(shares, whole) {
  let bottom = 0;
  return shares.map((share) => {
    const one = segment(share, whole, bottom);
    bottom = Math.min(100, bottom + one.height);
    return one.node;
  });
}

function slices(gpu, parts, shares) {
  const unplaced = parts.some((p) => p.start === null);
  return parts.map((p, i) => {
    const size = unplaced ? 100 / parts.length : part(p.size, gpu.slices);
    const bottom = unplaced ? i * size : part(p.start, gpu.slices);
    const inside = shares.filter((s) => s.part === p.part);
    return html`<span key=${p.id} class="slice" title=${`${plain(p.profile)}: ${percent(p.busy)} busy`} style=${{ bottom: `${bottom}%`, height: `${size}%` }}>
      ${stack(inside, p.memoryTotal)}<span class="profile">${plain(p.profile)}</span></span>`;
  });
}

const kMarks = { Healthy: "", Degraded: "!", Unhealthy: "✕", Silent: "?" };

export function describe(gpu, shares) {
  const whose = shares.slice(0, 6).map((s) => `${shareName(s)} ${memory(s.memoryHeld)}, ${percent(s.busy)} busy`).join("; ");
  const more = shares.length > 6 ? ` and ${shares.length - 6} more` : "";
  const health = gpu.health === "Healthy" ? "" : `${plain(gpu.health)}: ${plain(gpu.reason)}. `;
  return `${gpuName(gpu.gpu)}, ${plain(gpu.model)}. ${health}${percent(gpu.busy)} busy, ${memory(gpu.memoryUsed)} of ${memory(gpu.memoryTotal)} used. ${whose || "Nobody holds it"}${more}`;
}

// gpu: an object of the table of GPUs; shares, parts: of it; null: not known yet
export function GpuBar({ gpu, shares, parts }) {
  const known = shares ?? [];
  const cut = gpu.slices > 0 && parts?.length > 0;
  const free = gpu.slots > gpu.allocated ? `${gpu.slots - gpu.allocated} of ${gpu.slots} free` : gpu.slots ? "full" : "not offered";
  return html`<a class="gpu ${gpu.health.toLowerCase()}" href=${gpuHref(gpu.gpu)} aria-label=${describe(gpu, known)}>
    <span class="gpu-head"><b>${gpuName(gpu.gpu)}</b> <span class="mark">${kMarks[gpu.health] ?? ""}</span><span class="use">${percent(gpu.busy)}</span></span>
    <span class="bar" aria-hidden="true">
      ${!known.length && !cut && gpu.memoryUsed > 0 && html`<span class="segment rest" style=${{ bottom: 0, height: `${part(gpu.memoryUsed ?? 0, gpu.memoryTotal)}%` }}><span class="fill" style=${{ width: `${gpu.busy ?? 0}%` }}></span></span>`}
      ${cut ? slices(gpu, parts, known) : stack(known, gpu.memoryTotal)}
    </span>
    <span class="gpu-foot"><span>${memory(gpu.memoryUsed)} / ${memory(gpu.memoryTotal)}</span><span>${free}</span></span>
  </a>`;
}

export const summary = (gpus, what = "GPU") => count(gpus, what);
