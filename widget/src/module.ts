/** Puts the widget on a page from the code of a site: `mount` shows it, `unmount` removes it without a trace. */

import type { Events } from "./conversation";
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

let mounted: Bookbound | null = null;

/** Put the widget on this page, in place of the one that is there. */
export function mount(options: WidgetOptions): Bookbound {
  const complete = completeOptions(options);
  mounted?.unmount();
  const widget = new Widget(complete);
  const bookbound: Bookbound = {
    open: (given) => widget.open(given),
    close: () => widget.close(),
    ask: (question, selection) => widget.ask(question, selection),
    on: (name, handler) => widget.on(name, handler),
    unmount: () => {
      widget.unmount();
      if (mounted === bookbound) mounted = null;
    },
  };
  mounted = bookbound;
  return bookbound;
}
