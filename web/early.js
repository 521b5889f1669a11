// SPDX-License-Identifier: Apache-2.0
// Asks for what is shown while the page's other files are on their way. Whoever needs a token is asked for one later.
globalThis.aliquotEarly = fetch("snapshot.json", { credentials: "same-origin", cache: "no-store" }).catch(() => null);
