/** Starts the widget of the script tag and gives the page its interface, `window.Bookbound`. */

import { readOptions } from "./options";
import { Widget } from "./widget";

interface BookboundInterface {
  open: (options?: { selection?: string }) => void;
  close: () => void;
  ask: Widget["ask"];
  on: Widget["on"];
}

declare global {
  interface Window {
    Bookbound?: BookboundInterface;
  }
}

const script = document.currentScript;

function start(): void {
  if (window.Bookbound || !(script instanceof HTMLScriptElement)) return;
  const widget = new Widget(readOptions(script));
  window.Bookbound = {
    open: (options) => widget.open(options),
    close: () => widget.close(),
    ask: (question, selection) => widget.ask(question, selection),
    on: (name, handler) => widget.on(name, handler),
  };
  document.dispatchEvent(new CustomEvent("bookbound:ready"));
}

if (document.body) start();
else document.addEventListener("DOMContentLoaded", start);
