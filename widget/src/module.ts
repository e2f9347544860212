/** Puts the widget on a page from the code of a site: `mount` shows it, `unmount` removes it without a trace. */

import { EVENT_NAMES, type Events } from "./conversation";
import { completeOptions, type WidgetOptions } from "./options";
import type { Reply } from "./types";
import { Widget } from "./widget";

export type { Events, Reply, WidgetOptions };

/** What the code of a page can do with the widget. */
export interface Bookbound {
  /** Open the panel, with selected text if there is some. */
  open: (options?: { selection?: string }) => void;
  close: () => void;
  /** Ask in the panel; the reply, or null if there is none. */
  ask: (question: string, selection?: string) => Promise<Reply | null>;
  /** Call a function on each event of a name, until the returned function is called. */
  on: <Name extends keyof Events>(name: Name, handler: (data: Events[Name]) => void) => () => void;
  unmount: () => void;
}

declare global {
  interface Window {
    /** The widget that is on this page. */
    Bookbound?: Bookbound | undefined;
  }
}

/** Put the widget on this page, in place of the one that is there. */
export function mount(options: WidgetOptions): Bookbound {
  const complete = completeOptions(options ?? {});
  // Known to the whole page: the tag and a module, or two copies of the module, must not show two widgets.
  window.Bookbound?.unmount();
  const widget = new Widget(complete);
  let isMounted = true;
  const requireMounted = (): void => {
    if (!isMounted) throw new Error("This widget was removed from the page. Call mount again.");
  };
  const bookbound: Bookbound = {
    open: (given = {}) => {
      requireMounted();
      const isGiven = typeof given === "object" && given !== null && isOptionalText(given.selection);
      require(isGiven, 'Pass nothing or { selection: "words of the page" } to open.');
      widget.open(given);
    },
    close: () => widget.close(),
    ask: async (question, selection) => {
      requireMounted();
      require(typeof question === "string", "Pass the question as text to ask.");
      require(isOptionalText(selection), "Pass the selection as text to ask, or leave it out.");
      return widget.ask(question, selection);
    },
    on: (name, handler) => {
      requireMounted();
      require(EVENT_NAMES.includes(name), "Pass the name of an event to on: open, close, ask, reply, error or vote.");
      require(typeof handler === "function", "Pass a function as the second argument to on.");
      return widget.on(name, handler);
    },
    unmount: () => {
      isMounted = false;
      widget.unmount();
      if (window.Bookbound === bookbound) window.Bookbound = undefined;
    },
  };
  window.Bookbound = bookbound;
  return bookbound;
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function require(isRight: boolean, advice: string): void {
  if (!isRight) throw new TypeError(advice);
}
