// SPDX-License-Identifier: Apache-2.0
// What the server knows: a snapshot, then changes. One connection for the events; none while the tab is hidden.

const kFirstPause = 500;
const kLongestPause = 15000;
const kSharesPatience = 1000;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Server-sent events out of a stream of bytes (WHATWG HTML, section 9.2.6).
export class EventReader {
  #rest = "";
  feed(text) {
    this.#rest += text;
    const events = [];
    for (;;) {
      const end = this.#rest.search(/\r?\n\r?\n/);
      if (end < 0) return events;
      const block = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end).replace(/^\r?\n\r?\n/, "");
      const event = { type: "message", data: "" };
      for (const line of block.split(/\r?\n/)) {
        const colon = line.indexOf(":");
        if (colon <= 0) continue;
        const value = line.slice(colon + 1).replace(/^ /, "");
        if (line.startsWith("event:")) event.type = value;
        if (line.startsWith("data:")) event.data += value;
      }
      if (event.data) events.push(event);
    }
  }
}

// Cells come by column.
const rowsOf = (cells) => (cells[0] ?? []).map((_, i) => cells.map((column) => column[i]));

export class Table {
  constructor(columns, cells) {
    this.columns = columns;
    this.place = new Map(columns.map((name, i) => [name, i]));
    this.rows = new Map(rowsOf(cells).map((row) => [row[0], row]));
    this.keysVersion = 1; // grows when a row comes or goes
  }
  get(row, column) {
    return row[this.place.get(column)];
  }
  object(row) {
    return Object.fromEntries(this.columns.map((name, i) => [name, row[i]]));
  }
  apply(step) {
    for (const row of rowsOf(step.set)) {
      if (!this.rows.has(row[0])) ++this.keysVersion;
      this.rows.set(row[0], row);
    }
    for (const key of step.gone) if (this.rows.delete(key)) ++this.keysVersion;
  }
}

export class Store {
  constructor() {
    this.tables = new Map();
    this.about = { title: "", partial: false, views: [] };
    this.version = 0;
    this.epoch = "";
    this.at = 0;
    this.state = "connecting"; // live, paused, hidden, lost
    this.problem = "";
    this.token = "";
    this.only = ""; // the namespace that was asked for; empty: all
    this.needsToken = false;
    this.paused = false;
    this.updateMs = 0; // what the last change cost this tab
    this.listeners = new Set();
    this.asked = new Map(); // node -> Tables that came on demand
    this.askedOf = ""; // server, version and nodes that they are of
    this.watched = []; // nodes that were asked about last
    this.#frame = 0;
  }
  #frame;
  #abort = null;
  #wake = null;

  table(name) {
    return this.tables.get(name) ?? new Table([], []);
  }
  has(name) {
    return this.tables.has(name);
  }

  // At most one call of the listeners a frame.
  changed() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const begun = performance.now();
      for (const listener of this.listeners) listener();
      this.updateMs = Math.max(performance.now() - begun, 0);
    });
  }

  setPaused(paused) {
    this.paused = paused;
    this.#interrupt();
    this.changed();
  }
  signIn(token, only) {
    if (only !== this.only) this.#forget();
    this.token = token;
    this.only = only;
    this.needsToken = false;
    this.problem = "";
    this.#interrupt();
    this.changed();
  }
  // What one may see need not be what another may.
  #forget() {
    this.tables.clear();
    this.asked.clear();
    this.askedOf = "";
    this.version = 0;
    this.epoch = "";
  }
  #interrupt() {
    this.#abort?.abort();
    this.#wake?.();
  }

  start() {
    document.addEventListener("visibilitychange", () => this.#interrupt());
    addEventListener("pagehide", () => this.#abort?.abort());
    this.#run();
  }

  async #run() {
    let pause = kFirstPause;
    for (;;) {
      if (this.paused || document.hidden || this.needsToken) {
        this.state = this.paused ? "paused" : this.needsToken ? "lost" : "hidden";
        this.changed();
        await new Promise((done) => (this.#wake = done));
        continue;
      }
      try {
        if (!this.version) await this.#takeSnapshot();
        this.state = "live";
        this.problem = "";
        this.changed();
        await this.#follow();
        pause = kFirstPause;
      } catch (why) {
        if (why.name === "AbortError") continue;
        this.state = "lost";
        this.problem = String(why.message ?? why);
        this.changed();
        await Promise.race([sleep(pause), new Promise((done) => (this.#wake = done))]);
        pause = Math.min(pause * 2, kLongestPause);
      }
    }
  }

  // What early.js has asked for already: the first time, and for who needs no token.
  async #asked(path) {
    const early = globalThis.aliquotEarly;
    globalThis.aliquotEarly = null;
    return path === "snapshot.json" && !this.token ? early : null;
  }

  async ask(path, signal) {
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    if (this.only) path += `${path.includes("?") ? "&" : "?"}namespace=${encodeURIComponent(this.only)}`;
    const answer = (await this.#asked(path)) ?? (await fetch(path, { headers, signal, credentials: "same-origin", cache: "no-store" }));
    if (this.only && answer.status === 400 && path.startsWith("snapshot.json")) {
      this.needsToken = true; // no such name
      throw new Error(await answer.text());
    }
    if (answer.status === 401 || answer.status === 403) {
      this.needsToken = answer.headers.get("WWW-Authenticate")?.startsWith("Bearer") ?? false;
      if (this.needsToken) this.#forget(); // a right that was taken away takes along what it showed
      throw new Error(answer.status === 401 ? "the server asks who you are" : await answer.text());
    }
    return answer;
  }

  async json(path) {
    const answer = await this.ask(path);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  async #takeSnapshot() {
    const all = await this.json("snapshot.json");
    this.tables = new Map(Object.entries(all.tables).map(([name, one]) => [name, new Table(one.columns, one.cells)]));
    Object.assign(this, { about: all.about, version: all.version, epoch: all.epoch, at: all.at });
    this.asked.clear();
    this.askedOf = "";
    this.changed();
  }

  take(changes) {
    for (const step of changes.steps) {
      this.about = step.about;
      for (const [name, one] of Object.entries(step.tables)) this.tables.get(name)?.apply(one);
    }
    this.version = changes.version;
    this.at = changes.at;
    if (!this.about.partial || !this.watched.length) return this.changed();
    // Drawn once, with who is on the GPUs in sight.
    Promise.race([this.askShares(this.watched).catch(() => {}), sleep(kSharesPatience)]).then(() => this.changed());
  }

  async #takeChanges() {
    const answer = await this.ask(`changes.json?since=${this.version}&epoch=${encodeURIComponent(this.epoch)}`);
    if (answer.status === 410) return this.#takeSnapshot();
    if (!answer.ok) throw new Error(`changes: ${answer.status}`);
    this.take(await answer.json());
  }

  async #follow() {
    this.#abort = new AbortController();
    const answer = await this.ask(`events?since=${this.version}&epoch=${encodeURIComponent(this.epoch)}`, this.#abort.signal);
    if (!answer.ok) throw new Error(`events: ${answer.status} ${(await answer.text()).trim()}`);
    const bytes = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const reader = new EventReader();
    for (;;) {
      const { value, done } = await bytes.read();
      if (done) return;
      for (const event of reader.feed(value)) {
        if (event.type === "changes") this.take(JSON.parse(event.data));
        if (event.type === "version") await this.#takeChanges();
        if (event.type === "snapshot") await this.#takeSnapshot();
      }
    }
  }

  // Of a large cluster: who is on the GPUs of these nodes.
  sharesQuestion(nodes) {
    return `${this.epoch} ${this.version} ${nodes.join(" ")}`;
  }
  async askShares(nodes) {
    const question = this.sharesQuestion(nodes);
    this.watched = nodes;
    const all = await this.json(`shares.json?${nodes.map((name) => `node=${encodeURIComponent(name)}`).join("&")}`);
    this.asked = new Map(Object.entries(all).map(([name, one]) => [name, new Table(one.columns, one.cells)]));
    this.askedOf = question;
    this.changed();
  }
  // The tables of shares, whole or as asked for.
  shareTable(name) {
    return this.tables.get(name) ?? this.asked.get(name) ?? new Table([], []);
  }
}
