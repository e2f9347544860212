/** Starts the widget of the script tag and gives the page its interface, `window.Bookbound`. */

import { mount } from "./module";
import { readScriptOptions } from "./options";

const script = document.currentScript;

function start(): void {
  if (!(script instanceof HTMLScriptElement)) return;
  if (window.Bookbound) return console.warn("Bookbound is already on this page. Remove one of its script tags.");
  mount(readScriptOptions(script));
  document.dispatchEvent(new CustomEvent("bookbound:ready"));
}

if (document.body) start();
else document.addEventListener("DOMContentLoaded", start);
