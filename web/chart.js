// SPDX-License-Identifier: Apache-2.0
// Use and memory over the last hours, drawn by uPlot; the same as words and as a table for who does not see it.
import { html, Component } from "./view.js";
import { clock } from "./format.js";

const kHeight = 130;
const kTicks = [1, 5, 10, 15, 30, 60, 120].map((minutes) => minutes * 60); // as their words tell apart
// A canvas knows no variables: the browser resolves them on an element.
function colour(box, name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  box.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function seriesOf(history) {
  const times = history.busy.map((_, i) => history.end / 1000 - (history.busy.length - 1 - i) * history.step);
  return [times, history.busy, history.memory];
}

function words(values) {
  const known = values.filter((v) => v !== null);
  if (!known.length) return "not known yet";
  const mean = Math.round(known.reduce((a, b) => a + b, 0) / known.length);
  return `${known.at(-1)} % now, ${mean} % on average, ${Math.max(...known)} % at most`;
}

export class HistoryChart extends Component {
  state = { history: null, problem: "" };

  componentDidMount() {
    this.load();
    this.timer = setInterval(() => this.load(), 15000);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => this.draw();
    this.scheme.addEventListener("change", this.redraw);
    document.addEventListener("themechange", this.redraw);
    this.observer = new ResizeObserver(() => this.plot?.setSize({ width: this.box.clientWidth, height: kHeight }));
    this.observer.observe(this.box);
  }
  componentDidUpdate(before) {
    if (before.gpu !== this.props.gpu) this.load();
  }
  componentWillUnmount() {
    clearInterval(this.timer);
    this.observer.disconnect();
    this.scheme.removeEventListener("change", this.redraw);
    document.removeEventListener("themechange", this.redraw);
    this.plot?.destroy();
  }

  async load() {
    if (document.hidden || this.props.store.paused) return;
    try {
      const history = await this.props.store.json(`history.json?gpu=${encodeURIComponent(this.props.gpu)}`);
      this.setState({ history, problem: "" }, () => this.draw());
    } catch (why) {
      this.setState({ problem: String(why.message) });
    }
  }

  draw() {
    const { history } = this.state;
    this.plot?.destroy();
    this.plot = null;
    if (!history || history.busy.length < 2 || !globalThis.uPlot) return;
    const soft = colour(this.box, "--text-soft");
    const faint = colour(this.box, "--line");
    const axis = { stroke: soft, grid: { stroke: faint, width: 1 }, ticks: { stroke: faint } };
    const line = (label, name, dash) => ({ label, stroke: colour(this.box, name), width: 2, dash, spanGaps: false, points: { show: false } });
    this.plot = new uPlot(
      {
        width: this.box.clientWidth, height: kHeight, legend: { show: false }, cursor: { show: false },
        scales: { y: { range: [0, 100] } },
        axes: [{ ...axis, incrs: kTicks, values: (_, ticks) => ticks.map((t) => clock(t * 1000).slice(0, 5)) }, { ...axis, size: 56, values: (_, ticks) => ticks.map((v) => `${v} %`) }],
        series: [{}, line("use", "--hue4"), line("memory", "--hue5", [6, 4])],
      },
      seriesOf(history),
      this.box,
    );
  }

  render({ title }, { history, problem }) {
    const said = history ? `${title}: use ${words(history.busy)}; memory ${words(history.memory)}` : title;
    return html`<figure class="chart">
      <figcaption>${title} <span class="key use">use</span> <span class="key mem">memory</span></figcaption>
      <div role="img" aria-label=${said} class="plot" ref=${(box) => (this.box = box ?? this.box)}></div>
      ${problem && html`<p class="soft">No history: ${problem}</p>`}
      ${history && history.busy.length < 2 && html`<p class="soft">The history begins now: a point every ${history.step} seconds.</p>`}
      ${history?.busy.length > 1 && html`<details><summary>as a table</summary>${this.table(history)}</details>`}
    </figure>`;
  }

  table(history) {
    const [times, busy, memory] = seriesOf(history);
    const every = Math.max(1, Math.ceil(times.length / 40));
    const rows = times.map((_, i) => times.length - 1 - i).filter((_, i) => i % every === 0);
    const shown = (value) => (value === null ? "–" : `${value} %`);
    return html`<div class="scroll" tabindex="0" role="region" aria-label="History"><table><thead><tr><th scope="col">time</th><th scope="col">use</th><th scope="col">memory</th></tr></thead>
      <tbody>${rows.map((i) => html`<tr key=${times[i]}><td>${clock(times[i] * 1000)}</td><td>${shown(busy[i])}</td><td>${shown(memory[i])}</td></tr>`)}</tbody></table></div>`;
  }
}
