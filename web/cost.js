// SPDX-License-Identifier: Apache-2.0
// What the GPUs cost: whose, how much of it idle, what nobody had, how it goes, and what runs up now.
import { html } from "./view.js";
import { nodeOf } from "./bars.js";
import { DataTable } from "./table.js";
import { Tiles } from "./tiles.js";
import { plain, look, percent, money, duration, day } from "./format.js";

const kParts = { used: "held and used", idle: "held, not used", nobody: "nobody's" };
const sum = (rows, name) => rows.reduce((all, row) => all + (row[name] ?? 0), 0);
const share = (part, whole) => (whole > 0 ? Math.round((100 * part) / whole) : 0);

export function costRows(store) {
  const table = store.table("costs");
  return [...table.rows.values()].map((row) => ({ ...table.object(row), key: row[0] })).sort((a, b) => (a.kind === "nobody") - (b.kind === "nobody") || b.total - a.total);
}

// What an hour costs as it is now, by namespace: of shares whose GPU has a price.
export function ratesNow(store) {
  const nodes = store.table("nodes");
  if (!nodes.place.has("gpuHourMicros") || store.about.partial) return null;
  const priceOf = (gpu) => {
    const node = nodes.rows.get(nodeOf(gpu));
    return node ? nodes.get(node, "gpuHourMicros") : null;
  };
  const gpus = store.table("gpus");
  let bill = 0;
  for (const key of gpus.rows.keys()) bill += priceOf(key) ?? 0;
  if (!bill) return null;
  const rates = new Map();
  const shares = store.shareTable("shares");
  for (const row of shares.rows.values()) {
    const one = shares.object(row);
    const price = priceOf(one.gpu);
    if (!price || !one.entitled) continue;
    const held = (price * one.entitled) / 100;
    const used = one.busy === null ? held : Math.min(held, (price * one.busy) / 100);
    const rate = rates.get(one.namespace) ?? { key: one.namespace, owner: one.namespace, total: 0, idle: 0 };
    rate.total += held;
    rate.idle += held - used;
    rates.set(one.namespace, rate);
  }
  const rows = [...rates.values()].sort((a, b) => b.total - a.total);
  const free = bill - sum(rows, "total");
  if (free > 0) rows.push({ key: "", owner: "free", kind: "nobody", total: free });
  return { bill, rows };
}

function bar(row, most) {
  const used = row.kind === "nobody" ? 0 : row.total - (row.idle ?? 0);
  const width = (value) => `${most > 0 ? (100 * value) / most : 0}%`;
  return html`<span class="money-bar" aria-hidden="true">
    ${row.kind === "nobody" ? html`<span class="nobody" style=${{ width: width(row.total) }}></span>` : html`<span class="used ${look(row.owner)}" style=${{ width: width(used) }}></span><span class="idle ${look(row.owner)}" style=${{ width: width(row.idle ?? 0) }}></span>`}</span>`;
}

const columnsOf = (most, bill, unit) => [
  { id: "owner", title: "whose", value: (r) => r.owner, show: (r) => (r.kind === "nobody" ? html`<span class="soft">nobody's: ${plain(r.owner)}</span>` : html`<span class="swatch ${look(r.owner)}" aria-hidden="true"></span>${plain(r.owner || "not known")}`) },
  { id: "bar", title: "cost", value: (r) => r.total, show: (r) => bar(r, most) },
  { id: "total", title: unit, value: (r) => r.total, show: (r) => money(r.total), right: true },
  { id: "part", title: "of the bill", value: (r) => r.total, show: (r) => percent(share(r.total, bill)), right: true },
  { id: "idle", title: "of it not used", value: (r) => (r.kind === "nobody" ? null : r.idle), show: (r) => (r.kind === "nobody" ? "–" : `${money(r.idle)} (${percent(share(r.idle, r.total))})`), right: true },
];

function stepsOf(store) {
  const table = store.table("costSteps");
  const steps = [...table.rows.values()].map((row) => ({ begin: Number(row[0]), used: table.get(row, "owners") - table.get(row, "idle"), idle: table.get(row, "idle"), nobody: table.get(row, "nobody") }));
  return steps.sort((a, b) => a.begin - b.begin);
}

const kNamedSteps = 14; // of more the words would lie on each other
function Trend({ steps }) {
  if (steps.length < 2) return null;
  const shown = steps.slice(-62);
  const most = Math.max(...shown.map((s) => s.used + s.idle + s.nobody));
  const high = (value) => ({ height: `${most > 0 ? (100 * value) / most : 0}%` });
  const said = `Cost by day: ${shown.slice(-7).map((s) => `${day(s.begin)} ${money(s.used + s.idle + s.nobody)}, of it ${money(s.idle)} not used and ${money(s.nobody)} nobody's`).join("; ")}`;
  return html`<h2>Trend</h2>
    <p class="legends">${Object.entries(kParts).map(([id, words]) => html`<span key=${id} class="legend-of ${id}">${words}</span>`)}</p>
    <div class="trend" role="img" aria-label=${said}>${shown.map((s) => html`<span key=${s.begin} class="step" title=${`${day(s.begin)}: ${money(s.used + s.idle + s.nobody)}`}>
      <span class="nobody" style=${high(s.nobody)}></span><span class="idle" style=${high(s.idle)}></span><span class="used" style=${high(s.used)}></span>
      ${shown.length <= kNamedSteps && html`<span class="amount">${money(s.used + s.idle + s.nobody)}</span><span class="day soft">${day(s.begin)}</span>`}</span>`)}</div>
    <details><summary>as a table</summary><div class="scroll" tabindex="0" role="region" aria-label="Cost by day"><table><thead><tr><th scope="col">day</th>${Object.values(kParts).map((words) => html`<th key=${words} scope="col" class="right">${words}</th>`)}</tr></thead>
      <tbody>${[...shown].reverse().map((s) => html`<tr key=${s.begin}><td>${day(s.begin)}</td>${Object.keys(kParts).map((id) => html`<td key=${id} class="right">${money(s[id])}</td>`)}</tr>`)}</tbody></table></div></details>`;
}

export function CostView({ store, filter }) {
  const rows = costRows(store);
  const owners = rows.filter((r) => r.kind !== "nobody");
  const bill = sum(rows, "total");
  const idle = sum(owners, "idle");
  const nobody = bill - sum(owners, "total");
  const currency = plain(rows[0]?.currency ?? "");
  const now = ratesNow(store);
  const steps = stepsOf(store);
  const tiles = rows.length ? [
    ["the bill", `${money(bill)} ${currency}`, ""], ["held and used", money(bill - idle - nobody), percent(share(bill - idle - nobody, bill))],
    ["held, not used", money(idle), percent(share(idle, bill))], ["nobody's", money(nobody), percent(share(nobody, bill))],
    ["GPU time", duration(sum(rows, "gpuSeconds")), ""],
  ] : [];
  if (now) tiles.push(["an hour of it now", money(now.bill), ""]);
  return html`<section aria-labelledby="cost-title"><h2 id="cost-title">What the GPUs cost ${steps.length > 0 && html`<span class="soft">${[...new Set([steps[0], steps.at(-1)].map((one) => day(one.begin)))].join(" to ")}</span>`}</h2>
    <${Tiles} of=${tiles} />
    ${rows.length ? html`<${DataTable} label="Cost by owner" columns=${columnsOf(Math.max(...rows.map((r) => r.total)), bill, currency || "cost")} rows=${rows} filter=${filter} />
      <${Trend} steps=${steps} />` : html`<p class="soft">No costs are kept here yet.</p>`}
    ${now && html`<h2>Now, by the hour</h2><${DataTable} label="Cost of an hour as it is now" columns=${columnsOf(Math.max(1, ...now.rows.map((r) => r.total)), now.bill, "an hour")} rows=${now.rows} filter=${filter} empty="Nobody holds a GPU that has a price." />`}
  </section>`;
}
