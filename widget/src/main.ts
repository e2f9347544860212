/** Starts the widget of the script tag and gives the page its interface, `window.Bookbound`. */

import { type Bookbound, mount } from "./module";
import { readScriptOptions } from "./options";

declare global {
  interface Window {
    Bookbound?: Bookbound;
  }
}

const script = document.currentScript;

function start(): void {
  if (window.Bookbound || !(script instanceof HTMLScriptElement)) return;
  window.Bookbound = mount(readScriptOptions(script));
  document.dispatchEvent(new CustomEvent("bookbound:ready"));
}

if (document.body) start();
else document.addEventListener("DOMContentLoaded", start);
