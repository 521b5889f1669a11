// SPDX-License-Identifier: Apache-2.0
// Nodes with their GPUs as bars, and one GPU with all that is known of it.
import { html, Component } from "./view.js";
import { GpuBar, gpuHref, gpuName, nodeOf, shareName } from "./bars.js";
import { HistoryChart } from "./chart.js";
import { DataTable, matches } from "./table.js";
import { Tiles } from "./tiles.js";
import { memory, percent, watts, celsius, plain, byName, look } from "./format.js";

const kBarWidth = 150; // with its gap; as style.css has them
const kBarHeight = 216;
const kNodeHead = 40;
const kBeyond = 200; // of what is in sight, drawn as well
const kDrawAll = 24; // nodes; of more only those in sight are drawn

// node -> keys of its GPUs in order; made anew only when GPUs come or go.
let grouped = { table: null, version: 0, nodes: [] };
export function gpusByNode(table) {
  if (grouped.table === table && grouped.version === table.keysVersion) return grouped.nodes;
  const nodes = new Map();
  for (const key of table.rows.keys()) {
    const node = nodeOf(key);
    if (!nodes.has(node)) nodes.set(node, []);
    nodes.get(node).push(key);
  }
  const index = (key) => Number(key.slice(key.lastIndexOf("/") + 1));
  for (const keys of nodes.values()) keys.sort((a, b) => index(a) - index(b));
  const sorted = [...nodes].sort((a, b) => byName(a[0], b[0]));
  grouped = { table, version: table.keysVersion, nodes: sorted };
  return sorted;
}

export function groupBy(table, column, wanted) {
  const groups = new Map();
  const place = table.place.get(column);
  for (const row of table.rows.values()) {
    if (wanted && !wanted.has(row[place])) continue;
    if (!groups.has(row[place])) groups.set(row[place], []);
    groups.get(row[place]).push(table.object(row));
  }
  return groups;
}

// What stands at the top: how much there is and is free, and what is not well.
function sums(store) {
  const nodes = store.table("nodes");
  const gpus = store.table("gpus");
  const all = { gpus: 0, free: 0, used: 0, total: 0, watts: null, slots: 0, held: 0, busy: 0, measured: 0, bad: [] };
  for (const row of nodes.rows.values()) all.watts = nodes.get(row, "watts") === null ? all.watts : (all.watts ?? 0) + nodes.get(row, "watts");
  const [busy, used, total, slots, held, health] = ["busy", "memoryUsed", "memoryTotal", "slots", "allocated", "health"].map((name) => gpus.place.get(name));
  for (const [key, row] of gpus.rows) {
    all.gpus += 1;
    if (row[health] === "Healthy" || row[health] === "Degraded") {
      all.slots += row[slots];
      all.held += Math.min(row[held], row[slots]);
      if (row[slots] > 0 && row[held] === 0) all.free += 1;
    }
    all.used += row[used] ?? 0;
    all.total += row[total] ?? 0;
    if (row[busy] !== null) {
      all.busy += row[busy];
      all.measured += 1;
    }
    if (row[health] !== "Healthy") all.bad.push(key);
  }
  return all;
}

const kMostBad = 6;
function NotWell({ gpus, keys }) {
  if (!keys.length) return null;
  return html`<ul class="not-well" aria-label="GPUs that are not well">${keys.slice(0, kMostBad).map((key) => {
    const gpu = gpus.object(gpus.rows.get(key));
    return html`<li key=${key} class=${gpu.health.toLowerCase()}><a href=${gpuHref(key)}>${plain(nodeOf(key))} ${gpuName(key)}</a> <b>${plain(gpu.health)}</b> ${plain(gpu.reason)}${gpu.advice && html` <span class="soft">→ ${plain(gpu.advice)}</span>`}</li>`;
  })}${keys.length > kMostBad && html`<li key="more"><a href="#/findings">and ${keys.length - kMostBad} more</a></li>`}</ul>`;
}

function waitingPods(store) {
  const pods = store.table("pods");
  let waiting = 0;
  for (const row of pods.rows.values()) if (pods.get(row, "phase") === "Pending") waiting += 1;
  return waiting;
}

function tilesOf(store, all) {
  const waiting = waitingPods(store);
  return [
    ["GPUs", all.gpus, all.bad.length ? `${all.bad.length} not well` : "all well", "", all.bad.length ? "bad-tile" : ""],
    ["wholly free", all.free, `${all.slots - all.held} of ${all.slots} shares free`, "#/placement"],
    ["busy", all.measured ? percent(Math.round(all.busy / all.measured)) : "–", `${memory(all.used)} of ${memory(all.total)}`],
    ...(all.watts === null ? [] : [["power", watts(all.watts), ""]]),
    ...(store.has("pods") ? [["pods that wait", waiting, waiting ? "see why" : "none", "#/pods", waiting ? "warn-tile" : ""]] : []),
  ];
}

function nodeLine(node) {
  if (node.problem && !node.gpus) return ""; // it has told nothing
  const words = [`${percent(node.busy)} busy`, `${memory(node.memoryUsed)} of ${memory(node.memoryTotal)}`, watts(node.watts), `${node.allocated} of ${node.slots} shares held`];
  if (node.idlePods) words.push(`${node.idlePods} idle`);
  return words.join(" · ");
}

export class GpusView extends Component {
  state = { top: 0, height: 900, width: 1000 };

  componentDidMount() {
    this.measure = () => {
      const box = this.box.getBoundingClientRect();
      const next = { top: Math.max(0, -box.top), height: innerHeight, width: box.width };
      if (Math.abs(next.top - this.state.top) > 100 || next.height !== this.state.height || next.width !== this.state.width) this.setState(next);
    };
    this.measure();
    addEventListener("scroll", this.measure, { passive: true });
    addEventListener("resize", this.measure);
  }
  componentWillUnmount() {
    removeEventListener("scroll", this.measure);
    removeEventListener("resize", this.measure);
  }

  // The nodes that match, where each begins, and those in sight.
  layout() {
    const { store, filter } = this.props;
    const gpus = store.table("gpus");
    const nodes = store.table("nodes");
    const held = store.shareTable("shares");
    let all = gpusByNode(gpus);
    for (const name of nodes.rows.keys()) if (nodes.get(nodes.rows.get(name), "gpus") === 0) all = [...all, [name, []]];
    if (filter) {
      const pods = new Map();
      for (const row of held.rows.values()) {
        const node = nodeOf(held.get(row, "gpu"));
        pods.set(node, `${pods.get(node) ?? ""} ${held.get(row, "namespace")}/${held.get(row, "pod")}`);
      }
      all = all.filter(([name, keys]) => matches(`${name} ${keys.map((k) => gpus.rows.get(k)?.slice(1, 2)).join(" ")} ${keys.map((k) => gpus.get(gpus.rows.get(k), "health")).join(" ")} ${pods.get(name) ?? ""}`, filter));
    }
    const { top, height, width } = this.state;
    const across = Math.max(1, Math.floor((width + 10) / kBarWidth));
    let offset = 0;
    const placed = all.map(([name, keys]) => {
      const one = { name, keys, offset, height: kNodeHead + Math.ceil(keys.length / across) * kBarHeight };
      offset += one.height;
      return one;
    });
    const drawAll = all.length <= kDrawAll;
    const seen = drawAll ? placed : placed.filter((one) => one.offset + one.height > top - kBeyond && one.offset < top + height + kBeyond);
    return { placed, seen, total: offset, drawAll };
  }

  render({ store }) {
    const gpus = store.table("gpus");
    const nodes = store.table("nodes");
    const { placed, seen, total, drawAll } = this.layout();
    const all = sums(store);
    if (store.about.partial) this.fetchShares(seen.map((one) => one.name));
    const wanted = new Set(seen.flatMap((one) => one.keys));
    const shares = groupBy(store.shareTable("shares"), "gpu", wanted);
    const parts = groupBy(store.shareTable("parts"), "gpu", wanted);
    const before = drawAll || !seen.length ? 0 : seen[0].offset;
    const after = drawAll || !seen.length ? 0 : total - seen.at(-1).offset - seen.at(-1).height;
    const known = (key) => (store.shareTable("shares").columns.length ? (shares.get(key) ?? []) : null);
    return html`<section aria-labelledby="gpus-title"><h2 id="gpus-title" class="hidden">GPUs</h2>
      <${Tiles} of=${tilesOf(store, all)} />
      <${NotWell} gpus=${gpus} keys=${all.bad} />
      ${store.has("gpus") && !store.about.only && html`<${HistoryChart} store=${store} gpu="" title="All GPUs, last hours" />`}
      <div ref=${(box) => (this.box = box ?? this.box)}>
      ${placed.length === 0 && html`<p class="soft">${this.props.filter ? "No GPU here has these words." : "No node has told of a GPU yet."}</p>`}
      <div style=${{ height: `${before}px` }}></div>
      ${seen.map((one) => this.node(one, nodes, gpus, known, parts))}
      <div style=${{ height: `${after}px` }}></div></div></section>`;
  }

  node(one, nodes, gpus, known, parts) {
    const row = nodes.rows.get(one.name);
    const node = row ? nodes.object(row) : null;
    return html`<section class="node" key=${one.name} aria-label=${`Node ${plain(one.name)}`}>
      <h3>${plain(one.name)} <span class="soft">${node ? nodeLine(node) : ""}</span> ${node?.problem && html`<span class="bad">✕ ${plain(node.problem)}</span>`}</h3>
      <div class="bars">${one.keys.map((key) => html`<${GpuBar} key=${key} gpu=${gpus.object(gpus.rows.get(key))} shares=${known(key)} parts=${parts.get(key)} />`)}</div>
    </section>`;
  }

  // Asks again when other nodes are in sight or the state is a newer one; one question at a time.
  fetchShares(names) {
    const { store } = this.props;
    const nodes = names.slice(0, 64);
    const question = store.sharesQuestion(nodes);
    if (this.asking || !nodes.length || question === store.askedOf || question === this.answered) return;
    this.asking = true;
    this.answered = question;
    store.askShares(nodes).catch(() => {}).finally(() => (this.asking = false));
  }
}

const kSources = { __proto__: null, whole: "whole part", guard: "guard", driver: "driver", none: "nobody" };
const kShareColumns = [
  { id: "pod", title: "pod", value: (s) => shareName(s), show: (s) => html`<span class="swatch ${look(shareName(s))}" aria-hidden="true"></span>${shareName(s)}` },
  { id: "container", title: "container", value: (s) => s.container },
  { id: "part", title: "MIG", value: (s) => s.part },
  { id: "resource", title: "resource", value: (s) => s.resource || "holds nothing" },
  { id: "held", title: "memory held", value: (s) => s.memoryHeld, show: (s) => memory(s.memoryHeld), right: true },
  { id: "used", title: "used", value: (s) => s.memoryUsed, show: (s) => memory(s.memoryUsed), right: true },
  { id: "busy", title: "busy", value: (s) => s.busy, show: (s) => percent(s.busy), right: true },
  { id: "of", title: "of its share", value: (s) => s.ofShare, show: (s) => percent(s.ofShare), right: true },
  { id: "source", title: "measured by", value: (s) => kSources[s.source] ?? s.source },
];

export class GpuView extends Component {
  componentDidMount() {
    this.fetch();
  }
  componentDidUpdate() {
    this.fetch();
  }
  fetch() {
    const { store, gpu } = this.props;
    const nodes = [nodeOf(gpu)];
    const question = store.sharesQuestion(nodes);
    if (!store.about.partial || question === store.askedOf || question === this.asked) return;
    this.asked = question;
    store.askShares(nodes).catch(() => {});
  }

  render({ store, gpu: key }) {
    const gpus = store.table("gpus");
    const row = gpus.rows.get(key);
    if (!row) return html`<section><p><a href="#/gpus">All GPUs</a></p><p class="soft">There is no GPU ${plain(key)} here.</p></section>`;
    const gpu = gpus.object(row);
    const only = new Set([key]);
    const shares = groupBy(store.shareTable("shares"), "gpu", only).get(key) ?? [];
    const parts = groupBy(store.shareTable("parts"), "gpu", only).get(key) ?? [];
    const details = store.shareTable("details");
    const detail = details.object(details.rows.get(key) ?? []);
    const facts = [
      ["model", plain(gpu.model)], ["node", plain(nodeOf(key))], ["UUID", plain(detail.uuid ?? "–")], ["sharing", plain(gpu.sharing || "none")],
      ["shares held", `${gpu.allocated} of ${gpu.slots}`], ["use", percent(gpu.busy)], ["memory", `${memory(gpu.memoryUsed)} of ${memory(gpu.memoryTotal)}`],
      ["power", watts(detail.watts)], ["temperature", celsius(detail.celsius)],
    ];
    return html`<section aria-labelledby="gpu-title">
      <p><a href="#/gpus">All GPUs</a></p>
      <h2 id="gpu-title">${gpuName(key)} of ${plain(nodeOf(key))}</h2>
      ${gpu.health !== "Healthy" && html`<p class="notice" role="status"><b>${plain(gpu.health)}</b>: ${plain(gpu.reason)}${gpu.advice && html`<br/>${plain(gpu.advice)}`}</p>`}
      <div class="detail"><${GpuBar} gpu=${gpu} shares=${shares} parts=${parts} />
        <dl>${facts.map(([name, value]) => html`<dt key=${name}>${name}</dt><dd>${value}</dd>`)}</dl></div>
      <${HistoryChart} store=${store} gpu=${key} title="Last hours" />
      <h3>Who is on it</h3>
      <${DataTable} label="Shares of this GPU" columns=${kShareColumns.filter((c) => c.id !== "part" || parts.length)} rows=${shares.map((s) => ({ ...s, key: s.share }))} empty="Nobody holds a share of this GPU." />
    </section>`;
  }
}
