// SPDX-License-Identifier: Apache-2.0
// Numbers as a person reads them. null is what nobody knows: never 0.

export const percent = (value) => (value === null || value === undefined ? "–" : `${value} %`);

export function memory(mib) {
  if (mib === null || mib === undefined) return "–";
  if (mib < 1024) return `${mib} MiB`;
  const gib = mib / 1024;
  return `${gib < 10 ? gib.toFixed(1) : Math.round(gib)} GiB`;
}

export const watts = (value) => (value === null || value === undefined ? "–" : value >= 10000 ? `${(value / 1000).toFixed(1)} kW` : `${value} W`);

export const celsius = (value) => (value === null || value === undefined ? "–" : `${value} °C`);

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

// Millionths of a currency.
export function money(micros) {
  if (micros === null || micros === undefined) return "–";
  const value = micros / 1e6;
  return value.toLocaleString("en", value >= 1000 ? { maximumFractionDigits: 0 } : { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

export const day = (ms) => new Date(ms).toISOString().slice(5, 10);

export const clock = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

// Letters that turn the direction of text around would let a name pose as another.
export const plain = (text) => String(text ?? "").replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, "�");

// The colour and the pattern of a pod: the same wherever it is drawn. Eight colours, four patterns.
export function look(name) {
  let hash = 2166136261;
  for (let i = 0; i < name.length; ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  hash >>>= 0;
  return `hue${hash % 7} pattern${Math.floor(hash / 7) % 4}`;
}

export const byName = new Intl.Collator("en", { numeric: true }).compare;
