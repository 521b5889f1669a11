// SPDX-License-Identifier: Apache-2.0
// The frame of the page: which view, the filter, keys, the state of the connection.
import { html, render, Component } from "./view.js";
import { Store } from "./store.js";
import { GpusView, GpuView } from "./gpus.js";
import { clock, plain } from "./format.js";

// The first view comes with the page, each other one when it is asked for.
const kViews = [
  { id: "gpus", title: "GPUs", view: GpusView, needs: "gpus" },
  { id: "pods", title: "Pods", load: () => import("./pods.js").then((all) => all.PodsView), needs: "pods" },
  { id: "jobs", title: "Jobs", load: () => import("./jobs.js").then((all) => all.JobsView), needs: "jobs" },
  { id: "cost", title: "Cost", load: () => import("./cost.js").then((all) => all.CostView), needs: hasCosts },
  { id: "placement", title: "Placement", load: () => import("./placement.js").then((all) => all.PlacementView), needs: "gpus" },
  { id: "findings", title: "Findings", load: () => import("./findings.js").then((all) => all.FindingsView), needs: "findings", badge: findingCount },
];

function hasCosts(store) {
  if (store.has("costs")) return true;
  const nodes = store.table("nodes");
  return !store.about.partial && nodes.place.has("gpuHourMicros") && [...nodes.rows.values()].some((row) => nodes.get(row, "gpuHourMicros") > 0);
}

function findingCount(store) {
  const table = store.table("findings");
  let bad = 0;
  for (const row of table.rows.values()) if (table.get(row, "severity") !== "note") ++bad;
  return bad;
}

const kKeys = [["/", "to the filter"], ["Esc", "leave the filter, or empty it"], ["1 … 9", "the views"], ["p", "pause"], ["?", "this help"]];
const kStates = { connecting: "connecting", live: "live", paused: "paused", hidden: "resting: the tab is hidden", lost: "no connection" };

const remembered = (name, fallback) => {
  try { return localStorage.getItem(name) ?? fallback; } catch { return fallback; }
};
const remember = (name, value) => {
  try { localStorage.setItem(name, value); } catch { /* a browser that keeps nothing */ }
};

const decoded = (text) => {
  try { return decodeURIComponent(text); } catch { return text; }
};
function place() {
  const [view, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return { view: view || "", item: decoded(rest.join("/")) };
}

function showTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new Event("themechange"));
}

class App extends Component {
  state = { at: place(), filter: "", help: false, theme: remembered("aliquot.theme", "auto"), keys: remembered("aliquot.keys", "on") === "on", said: "" };

  componentDidMount() {
    const { store } = this.props;
    showTheme(this.state.theme);
    store.listeners.add(() => this.forceUpdate());
    addEventListener("hashchange", () => {
      this.setState({ at: place(), filter: "" });
      this.main?.focus({ preventScroll: true });
      scrollTo(0, 0);
    });
    addEventListener("keydown", (event) => this.key(event));
    // One polite line, and not at every change.
    this.timer = setInterval(() => {
      const said = kStates[store.state];
      if (said !== this.state.said) this.setState({ said });
    }, 3000);
    store.start();
  }

  views() {
    const { store } = this.props;
    const offered = store.about.views ?? [];
    return kViews.filter((one) => (typeof one.needs === "function" ? one.needs(store) : store.has(one.needs)) && (!offered.length || offered.includes(one.id)));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches?.("input, select, textarea");
    if (event.key === "Escape") {
      if (this.state.help) return this.setState({ help: false });
      if (typing && event.target === this.search) {
        if (this.state.filter) this.setState({ filter: "" });
        else this.main.focus();
      }
      return;
    }
    if (typing || !this.state.keys) return;
    if (event.key === "/") {
      event.preventDefault();
      this.search?.focus();
    } else if (event.key === "?") this.setState({ help: true });
    else if (event.key === "p") this.props.store.setPaused(!this.props.store.paused);
    else if (/^[1-9]$/.test(event.key) && this.views()[event.key - 1]) location.hash = `#/${this.views()[event.key - 1].id}`;
  }

  render({ store }, { at, filter, help, theme, keys, said }) {
    const views = this.views();
    const current = views.find((one) => one.id === at.view) ?? views[0];
    document.title = `${current ? `${current.title} – ` : ""}${plain(store.about.title || "Aliquot")}`;
    return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); this.main.focus(); }}>To the content</a>
      <header>
        <h1>${plain(store.about.title || "Aliquot")}${store.about.only && html` <span class="soft">namespace ${plain(store.about.only)}</span>`}</h1>
        <nav aria-label="Views">${views.map((one) => html`<a key=${one.id} href=${`#/${one.id}`} aria-current=${one === current ? "page" : undefined}>${one.title}${one.badge?.(store) ? html` <span class="badge">${one.badge(store)}</span>` : ""}</a>`)}</nav>
        <div class="tools">
          <label class="hidden" for="filter">Filter</label>
          <input id="filter" type="search" placeholder="filter" autocomplete="off" value=${filter} ref=${(box) => (this.search = box)} onInput=${(e) => this.setState({ filter: e.currentTarget.value })} />
          <button onClick=${() => store.setPaused(!store.paused)} aria-pressed=${store.paused}>${store.paused ? "Resume" : "Pause"}</button>
          <button onClick=${() => this.setState({ help: !help })} aria-expanded=${help}>Help</button>
          <span class="live ${store.state}">${kStates[store.state]}${store.at ? ` · ${clock(store.at)}` : ""}</span>
        </div>
      </header>
      <div class="hidden" role="status">${said}</div>
      ${store.state === "lost" && store.problem && !store.needsToken && html`<p class="notice">No connection to the server: ${store.problem}. What is shown is of ${store.at ? clock(store.at) : "never"}; trying again.</p>`}
      ${help && this.help(theme, keys)}
      <main id="main" tabindex="-1" ref=${(box) => (this.main = box ?? this.main)}>
        ${store.needsToken ? html`<${SignIn} store=${store} />` : !store.version ? html`<p class="waiting">${store.problem ? "" : "Loading."}</p>` : this.content(current, at, filter)}
      </main>`;
  }

  content(current, at, filter) {
    const { store } = this.props;
    if (!current) return html`<p class="soft">There is nothing to show yet.</p>`;
    if (current.id === "gpus" && at.item) return html`<${GpuView} store=${store} gpu=${at.item} />`;
    if (!current.view) return this.load(current);
    return html`<${current.view} key=${current.id} store=${store} filter=${filter} item=${at.item} />`;
  }

  load(view) {
    view.coming ??= view.load().then((loaded) => (view.view = loaded), (why) => (view.problem = String(why.message ?? why))).finally(() => this.forceUpdate());
    return view.problem ? html`<p class="notice">This view did not load: ${view.problem}. Load the page again.</p>` : html`<p class="waiting">Loading.</p>`;
  }

  help(theme, keys) {
    const setTheme = (value) => {
      remember("aliquot.theme", value);
      this.setState({ theme: value });
      showTheme(value);
    };
    const setKeys = (on) => {
      remember("aliquot.keys", on ? "on" : "off");
      this.setState({ keys: on });
    };
    return html`<section class="help" aria-label="Help">
      <p>A bar is a GPU. Each piece of it is a pod: as high as the memory that it holds, filled as far as it uses its share. What is not known is “–”, never 0.</p>
      <dl class="facts">${kKeys.map(([name, what]) => html`<dt key=${name}><kbd>${name}</kbd></dt><dd>${what}</dd>`)}</dl>
      <p><label><input type="checkbox" checked=${keys} onChange=${(e) => setKeys(e.currentTarget.checked)} /> these keys work</label></p>
      <p><label>colours <select value=${theme} onChange=${(e) => setTheme(e.currentTarget.value)}><option value="auto">as the system</option><option value="light">light</option><option value="dark">dark</option></select></label></p>
    </section>`;
  }
}

function SignIn({ store }) {
  const enter = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    store.signIn(form.get("token").trim(), form.get("namespace").trim());
  };
  return html`<form class="sign-in" onSubmit=${enter}>
    <h2>Sign in</h2>
    <p>${store.problem}</p>
    <p><label for="token">Token</label> <input id="token" name="token" type="password" autocomplete="off" required /></p>
    <p><label for="namespace">Namespace</label> <input id="namespace" name="namespace" autocomplete="off" maxlength="63" aria-describedby="namespace-help" />
      <br /><span id="namespace-help" class="soft">empty: all; or the one whose pods you may see</span></p>
    <button>Sign in</button>
    <p class="soft">It is kept in this tab only, until it is closed or loaded again.</p>
  </form>`;
}

const store = new Store();
globalThis.aliquotPage = store; // for tests and for who is curious
const root = document.getElementById("page");
root.textContent = "";
render(html`<${App} store=${store} />`, root);
