// SPDX-License-Identifier: Apache-2.0
// Jobs on a time line: what ran, what runs, and the band in which each waiting job is likely to start.
import { html } from "./view.js";
import { DataTable, matches } from "./table.js";
import { plain, look, duration, count, clock } from "./format.js";

const kMostRows = 60;
const kFinal = new Set(["Succeeded", "Failed", "Cancelled", "Expired"]);
const kBack = 2 * 3600e3; // of what has ended so much is drawn
const kLeast = 10 * 60e3; // the axis reaches at least so far to both sides
const kMostAhead = 24 * 3600e3;

const name = (job) => `${plain(job.job)} ${plain(job.name)}`;
const state = (job) => plain(job.state).toLowerCase();
export const waits = (job) => job.position !== null || (!job.started && !kFinal.has(job.state));

// The rows of the time line and the times between which it is drawn.
export function timeline(jobs, now) {
  const drawn = jobs.filter((j) => !kFinal.has(j.state) || (j.started && j.ended > now - kBack));
  const rank = (j) => (kFinal.has(j.state) ? 2 : waits(j) ? 1 : 0);
  drawn.sort((a, b) => rank(a) - rank(b) || (rank(a) === 2 ? b.ended - a.ended : (a.position ?? 1e9) - (b.position ?? 1e9) || a.job - b.job));
  const rows = drawn.slice(0, kMostRows);
  const from = Math.max(now - kBack, Math.min(now - kLeast, ...rows.filter((j) => j.started).map((j) => j.started)));
  const to = Math.min(now + kMostAhead, Math.max(now + kLeast, ...rows.flatMap((j) => [j.p50 ?? 0, j.p90 ?? 0]))) + (now - from) * 0.02;
  return { rows, from, to, left: drawn.length - rows.length };
}

// The same in few words, where others stand beside it.
function fewWords(job, now) {
  if (kFinal.has(job.state) || !waits(job) || !job.p50) return words(job, now);
  return `#${job.position} · in ${duration((job.p50 - now) / 1000)}${job.p90 > job.p50 ? `, at most ${duration((job.p90 - now) / 1000)}` : ""}`;
}

export function words(job, now) {
  if (kFinal.has(job.state)) return `${state(job)} ${duration((now - job.ended) / 1000)} ago${job.started ? ` after ${duration((job.ended - job.started) / 1000)}` : ""}`;
  if (!waits(job)) return `${state(job)} for ${duration((now - job.started) / 1000)}`;
  if (!job.p50) return `${state(job)}, start not known`;
  return `number ${job.position}: likely to start in ${duration((job.p50 - now) / 1000)}, nearly surely in ${duration(((job.p90 || job.p50) - now) / 1000)}`;
}

function row(job, line, now) {
  const at = (time) => (100 * (Math.min(Math.max(time, line.from), line.to) - line.from)) / (line.to - line.from);
  const piece = (from, to, kind) => html`<span class="piece ${kind}" style=${{ left: `${at(from)}%`, width: `${Math.max(0.4, at(to) - at(from))}%` }}></span>`;
  const colour = look(job.user);
  return html`<li key=${job.job} class="job-row"><span class="job-name">${name(job)} <span class="soft">${plain(job.user)}</span></span>
    <span class="lane" role="img" aria-label=${`${name(job)}: ${words(job, now)}`}>
      ${job.started && !waits(job) ? piece(job.started, job.ended || now, `ran ${colour} ${job.state === "Failed" ? "failed" : ""}`) : ""}
      ${waits(job) && job.p50 ? [piece(job.p50, job.p90 || job.p50, "band"), piece(job.p50, job.p50, "likely")] : ""}
      <span class="now" style=${{ left: `${at(now)}%` }}></span></span>
    <span class="job-words" title=${words(job, now)}>${fewWords(job, now)}</span></li>`;
}

const time = (ms) => (ms ? clock(ms) : "–");
const kColumns = [
  { id: "job", title: "job", value: (j) => Number(j.job), right: true },
  { id: "name", title: "name", value: (j) => j.name },
  { id: "user", title: "user", value: (j) => j.user, show: (j) => html`<span class="swatch ${look(j.user)}" aria-hidden="true"></span>${plain(j.user)}` },
  { id: "queue", title: "queue", value: (j) => j.queue },
  { id: "state", title: "state", value: (j) => j.state },
  { id: "gpus", title: "GPUs", value: (j) => j.gpus, show: (j) => plain(j.share || j.gpus), right: true },
  { id: "devices", title: "on", value: (j) => j.devices },
  { id: "position", title: "place", value: (j) => j.position, right: true },
  { id: "submitted", title: "submitted", value: (j) => j.submitted, show: (j) => time(j.submitted), right: true },
  { id: "start", title: "start (likely)", value: (j) => j.started || j.p50, show: (j) => (j.started ? time(j.started) : j.p50 ? `(${time(j.p50)})` : "–"), right: true },
  { id: "ended", title: "end", value: (j) => j.ended, show: (j) => time(j.ended), right: true },
];

export function JobsView({ store, filter }) {
  const table = store.table("jobs");
  const all = [...table.rows.values()].map((r) => ({ ...table.object(r), key: r[0] }));
  const jobs = filter ? all.filter((j) => matches(kColumns.map((c) => c.value(j) ?? "").join(" "), filter)) : all;
  const now = store.at || Date.now();
  const line = timeline(jobs, now);
  const running = all.filter((j) => !kFinal.has(j.state) && !waits(j)).length;
  const waiting = all.filter((j) => !kFinal.has(j.state) && waits(j)).length;
  return html`<section aria-labelledby="jobs-title"><h2 id="jobs-title">${count(running, "job")} on GPUs, ${waiting} waiting</h2>
    ${line.rows.length ? html`<div class="axis-row axis soft" aria-hidden="true"><span></span><span class="ticks"><span class="from">${clock(line.from)}</span><span class="at" style=${{ left: `${(100 * (now - line.from)) / (line.to - line.from)}%` }}>now</span><span class="to">${clock(line.to)}</span></span><span></span></div>
      <ol class="jobs">${line.rows.map((job) => row(job, line, now))}</ol>` : html`<p class="soft">No job runs or waits.</p>`}
    ${line.left > 0 && html`<p class="soft">and ${line.left} more in the table</p>`}
    <p class="soft"><span class="legend band"></span> from the likely start to the latest: kept nine times of ten</p>
    <h2>All of them</h2>
    <${DataTable} label="Jobs" columns=${kColumns} rows=${jobs} empty="No job was handed in yet." /></section>`;
}
