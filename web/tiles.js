// SPDX-License-Identifier: Apache-2.0
// The few figures that a view begins with.
import { html } from "./view.js";

// of: [[what, figure, more, href, kind]]; the last three may be missing
export function Tiles({ of }) {
  return html`<ul class="tiles">${of.map(([what, figure, more, href, kind]) => {
    const inside = html`<span class="what">${what}</span><span class="figure">${figure}</span>${more && html`<span class="soft">${more}</span>`}`;
    return html`<li key=${what} class=${kind ?? ""}>${href ? html`<a href=${href}>${inside}</a>` : inside}</li>`;
  })}</ul>`;
}
