/** Follows the colours of the site: light or dark, its background and its accent, with enough contrast. */

type Rgb = [number, number, number];

const DEFAULT_ACCENT = "#3457d5";
/** The colours of Docusaurus, Material, Furo, PyData with Jupyter Book, and mdBook. */
const ACCENTS = ["--ifm-color-primary", "--md-primary-fg-color", "--color-brand-primary", "--pst-color-primary", "--links"];
const BACKGROUNDS = [
  "--ifm-background-surface-color", "--ifm-background-color", "--md-default-bg-color",
  "--color-background-primary", "--pst-color-background", "--bg",
];
const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [0, 0, 0];
const PAPER: Record<"light" | "dark", Rgb> = { light: WHITE, dark: [27, 28, 32] };
const TEXT_CONTRAST = 4.5;
const LARGE_TEXT_CONTRAST = 3;
/** Names that generators give their dark themes: Docusaurus and Furo, Material, Bootstrap and PyData, mdBook. */
const THEME_ATTRIBUTES = ["data-theme", "data-md-color-scheme", "data-bs-theme", "data-color-mode", "class"];
const DARK_NAMES = /(^|\s)(dark|slate|navy|coal|ayu|theme-dark|dark-mode)(\s|$)/;
const LIGHT_NAMES = /(^|\s)(light|default|rust|theme-light|light-mode)(\s|$)/;

/** Colours a widget now and whenever the site changes its theme; the returned function follows a new body. */
export function followTheme(host: HTMLElement, probe: HTMLElement, color: string, signal: AbortSignal): () => void {
  const apply = (): void => applyTheme(host, probe, color);
  const observer = new MutationObserver(apply);
  const follow = (): void => {
    for (const element of [document.documentElement, document.body]) {
      observer.observe(element, { attributes: true, attributeFilter: [...THEME_ATTRIBUTES, "style"] });
    }
    apply();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply, { signal });
  signal.addEventListener("abort", () => observer.disconnect());
  follow();
  return follow;
}

function applyTheme(host: HTMLElement, probe: HTMLElement, color: string): void {
  const scheme = isDark() ? "dark" : "light";
  const readColor = (value: string): Rgb | null => resolveColor(probe, value);
  const site = BACKGROUNDS.map((name) => readColor(`var(${name})`)).find((each) => each && isDarkColor(each) === (scheme === "dark"));
  const paper = site ?? PAPER[scheme];
  const accents = [color, ...ACCENTS.map((name) => `var(${name})`), DEFAULT_ACCENT];
  const given = accents.map((each) => (each ? readColor(each) : null)).find((each) => each) ?? BLACK;
  host.dataset.scheme = scheme;
  // Sites write in white on their accent even if it is a little too light for that: make it a little darker.
  const onAccent = contrast(given, WHITE) >= LARGE_TEXT_CONTRAST ? WHITE : BLACK;
  const accent = onAccent === WHITE ? mix(given, BLACK, (each) => contrast(each, WHITE) >= TEXT_CONTRAST) : given;
  const values = { paper, accent, "on-accent": onAccent, "accent-text": readable(given, paper) };
  for (const [name, value] of Object.entries(values)) host.style.setProperty(`--bb-${name}`, `rgb(${value.join(" ")})`);
}

function isDark(): boolean {
  for (const element of [document.documentElement, document.body]) {
    for (const attribute of THEME_ATTRIBUTES) {
      const value = element.getAttribute(attribute) ?? "";
      if (DARK_NAMES.test(value)) return true;
      if (LIGHT_NAMES.test(value)) return false;
    }
  }
  for (const element of [document.body, document.documentElement]) {
    const background = parseColor(getComputedStyle(element).backgroundColor);
    if (background) return isDarkColor(background);
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The colour that a CSS value stands for, or null if it is no opaque colour. */
function resolveColor(probe: HTMLElement, value: string): Rgb | null {
  probe.style.backgroundColor = "";
  probe.style.backgroundColor = value;
  return probe.style.backgroundColor ? parseColor(getComputedStyle(probe).backgroundColor) : null;
}

function parseColor(computed: string): Rgb | null {
  const parts = /^rgba?\(([^)]+)\)$/.exec(computed)?.[1]?.split(/[\s,/]+/).map(Number);
  if (parts) return (parts[3] ?? 1) < 1 ? null : [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0];
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  if (!canvas) return null;
  canvas.fillStyle = computed;
  canvas.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0, alpha = 0] = canvas.getImageData(0, 0, 1, 1).data;
  return alpha < 255 ? null : [red, green, blue];
}

/** The colour, mixed with black or white until text in it is readable on a background. */
function readable(color: Rgb, background: Rgb): Rgb {
  // Tinted surfaces are a little closer to the text than the background itself.
  return mix(color, isDarkColor(background) ? WHITE : BLACK, (each) => contrast(each, background) >= TEXT_CONTRAST * 1.25);
}

/** The colour with as much of another as it takes. */
function mix(color: Rgb, other: Rgb, isEnough: (mixed: Rgb) => boolean): Rgb {
  for (let share = 0; share < 1; share += 0.05) {
    const mixed = color.map((part, n) => Math.round(part + ((other[n] ?? 0) - part) * share)) as Rgb;
    if (isEnough(mixed)) return mixed;
  }
  return other;
}

function isDarkColor(color: Rgb): boolean {
  return luminance(color) < 0.2;
}

function contrast(one: Rgb, other: Rgb): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: Rgb): number {
  const [red, green, blue] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
