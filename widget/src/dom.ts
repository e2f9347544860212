/** Builds elements from text only: nothing in the widget parses HTML. */

export type Child = Node | string | null | undefined | false;
type Properties = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/** An element; a function is a listener, `true` an attribute without a value, and `null` or `false` no attribute. */
export function el<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(key, value as EventListener);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return element;
}

const ICONS = {
  ask: "M21 12a8 8 0 0 1-8 8H4l2-3.2A8 8 0 1 1 21 12zM10 10a2.5 2.5 0 1 1 3.4 2.3c-.6.3-.9.7-.9 1.4M12.5 16.4v.1",
  book: "M4 5.5A2.5 2.5 0 0 1 6.5 3H20v15H6.5A2.5 2.5 0 0 0 4 20.5zM4 20.5A2.5 2.5 0 0 0 6.5 21H20v-3M9 7.5h7",
  close: "M6 6l12 12M18 6L6 18",
  clear: "M4 7h16M10 11v6M14 11v6M6 7l1 13h10l1-13M9 7V4h6v3",
  send: "M12 20V5M5.5 11.5L12 5l6.5 6.5",
  stop: "M7 7h10v10H7z",
  retry: "M20 11a8 8 0 1 0-2.3 6.2M20 4v7h-7",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  done: "M5 12.5l4.5 4.5L19 7.5",
  up: "M7 11v9H4v-9zM7 11l4-8c1.5 0 2.5 1 2.5 2.5V9H19a2 2 0 0 1 2 2.3l-1 6.7a2 2 0 0 1-2 2H7",
  down: "M17 13V4h3v9zM17 13l-4 8c-1.5 0-2.5-1-2.5-2.5V15H5a2 2 0 0 1-2-2.3L4 6a2 2 0 0 1 2-2h11",
  unsure: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.7 9.5a2.4 2.4 0 1 1 3.3 2.2c-.6.3-1 .8-1 1.5v.3M12 16.7v.1",
  refused: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM8 12h8",
  problem: "M12 4l9 16H3zM12 10v4.5M12 17.2v.1",
  quote: "M5 17c2.5-1 4-3 4-6H5V6h5v5c0 4-2 6.5-5 7.5M14 17c2.5-1 4-3 4-6h-4V6h5v5c0 4-2 6.5-5 7.5",
} as const;
export type IconName = keyof typeof ICONS;

const SVG = "http://www.w3.org/2000/svg";

export function icon(name: IconName): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  return svg;
}

/** A button that shows only an icon; its name is read aloud and shown on hover. */
export function iconButton(name: IconName, label: string, onClick: () => void, className = "icon"): HTMLButtonElement {
  return el("button", { type: "button", class: className, "aria-label": label, title: label, click: onClick }, icon(name));
}

export function setIcon(button: HTMLButtonElement, name: IconName, label: string): void {
  button.replaceChildren(icon(name));
  button.setAttribute("aria-label", label);
  button.title = label;
}
