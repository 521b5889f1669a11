// SPDX-License-Identifier: Apache-2.0
// Preact and htm, bound to each other.
import { h, render, Component } from "./vendor/preact.module.js";
import htm from "./vendor/htm.module.js";

export const html = htm.bind(h);
export { Component, render };
