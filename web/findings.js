// SPDX-License-Identifier: Apache-2.0
// What is wrong, worst first, with what to do.
import { html } from "./view.js";
import { DataTable } from "./table.js";
import { plain } from "./format.js";

const kRank = { error: 0, warning: 1, note: 2 };
const kMark = { error: "✕ error", warning: "! warning", note: "· note" };

const kColumns = [
  { id: "severity", title: "how bad", value: (f) => f.severity, show: (f) => html`<span class=${f.severity}>${kMark[f.severity] ?? plain(f.severity)}</span>` },
  { id: "where", title: "where", value: (f) => f.where },
  { id: "what", title: "what", value: (f) => f.what, show: (f) => html`<span class="long">${plain(f.what)}</span>` },
  { id: "fix", title: "what to do", value: (f) => f.fix, show: (f) => html`<span class="long">${plain(f.fix || "–")}</span>` },
  { id: "count", title: "count", value: (f) => f.count, right: true },
];

export function FindingsView({ store, filter }) {
  const table = store.table("findings");
  const rows = [...table.rows.values()].map((row) => ({ ...table.object(row), key: row[0] }));
  rows.sort((a, b) => (kRank[a.severity] ?? 3) - (kRank[b.severity] ?? 3));
  return html`<section aria-labelledby="findings-title"><h2 id="findings-title">Findings</h2>
    <${DataTable} label="Findings" columns=${kColumns} rows=${rows} filter=${filter} empty="Nothing is wrong, and nothing has been." /></section>`;
}
