// SPDX-License-Identifier: Apache-2.0
// A native table: sorted by its heads, filtered by words, and of thousands of rows only those in sight are in the document.
import { html, Component } from "./view.js";
import { byName, plain } from "./format.js";

const kRowHeight = 33; // as style.css has it
const kMostAtOnce = 200; // more rows than that are drawn in a window
const kOverscan = 12;

const unknown = (value) => value === null || value === undefined || value === "";
const compare = (a, b, sign) => {
  if (unknown(a) || unknown(b)) return unknown(a) - unknown(b); // last, either way
  return sign * (typeof a === "number" && typeof b === "number" ? a - b : byName(String(a), String(b)));
};

// Words that must all be found somewhere in a row; "!word" must not.
export function matches(text, filter) {
  const lower = text.toLowerCase();
  return filter.toLowerCase().split(/\s+/).filter(Boolean).every((word) => (word.startsWith("!") && word.length > 1 ? !lower.includes(word.slice(1)) : lower.includes(word)));
}

// columns: [{id, title, value(row), show?(row), right?}]; rows: objects with a `key`.
export class DataTable extends Component {
  state = { by: null, down: false, top: 0, height: 600 };

  sortBy(id) {
    const { by, down } = this.state;
    this.setState(by === id ? (down ? { by: null, down: false } : { down: true }) : { by: id, down: false });
  }

  ordered() {
    const { columns, rows, filter } = this.props;
    let kept = rows;
    if (filter) kept = rows.filter((row) => matches(columns.map((c) => c.value(row) ?? "").join(" "), filter));
    const column = columns.find((c) => c.id === this.state.by);
    if (!column) return kept;
    const sign = this.state.down ? -1 : 1;
    return [...kept].sort((a, b) => compare(column.value(a), column.value(b), sign) || byName(a.key, b.key));
  }

  render({ columns, label, empty, total }, { by, down, top, height }) {
    const rows = this.ordered();
    const windowed = rows.length > kMostAtOnce;
    const first = windowed ? Math.max(0, Math.floor(top / kRowHeight) - kOverscan) : 0;
    const last = windowed ? Math.min(rows.length, Math.ceil((top + height) / kRowHeight) + kOverscan) : rows.length;
    const scrolled = (event) => windowed && this.setState({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight });
    const spacer = (count) => count > 0 && html`<tr aria-hidden="true" class="spacer" style=${{ height: `${count * kRowHeight}px` }}><td colspan=${columns.length}></td></tr>`;
    const head = (c) => html`<th scope="col" key=${c.id} class=${c.right ? "right" : ""} aria-sort=${by === c.id ? (down ? "descending" : "ascending") : "none"}>
      <button class="head" onClick=${() => this.sortBy(c.id)}>${c.title}<span aria-hidden="true">${by === c.id ? (down ? " ▼" : " ▲") : ""}</span></button></th>`;
    return html`<div class="scroll ${windowed ? "window" : ""}" tabindex="0" role="region" aria-label=${label} onScroll=${scrolled}>
      <table aria-rowcount=${windowed ? rows.length + 1 : undefined}>
        <caption class="hidden">${label}</caption>
        <thead><tr>${columns.map(head)}</tr></thead>
        <tbody>
          ${spacer(first)}
          ${rows.slice(first, last).map((row, i) => html`<tr key=${row.key} aria-rowindex=${windowed ? first + i + 2 : undefined}>
            ${columns.map((c) => html`<td key=${c.id} class=${c.right ? "right" : ""}>${c.show ? c.show(row) : plain(c.value(row) ?? "–")}</td>`)}</tr>`)}
          ${spacer(rows.length - last)}
        </tbody>
      </table>
      ${rows.length === 0 && html`<p class="soft">${this.props.filter && this.props.rows.length ? "Nothing here has these words." : (empty ?? "There is nothing.")}</p>`}
      ${total && html`<p class="soft">${total}</p>`}
    </div>`;
  }
}
