/** Shows words that a site has folded away: in closed details, or in a tab behind another one. */

/** Open everything around an element, from the outside, as a reader does. */
export function unfold(element: Element): void {
  const around: Element[] = [];
  for (let each: Element | null = element; each; each = each.parentElement) around.unshift(each);
  for (const each of around) {
    if (each instanceof HTMLDetailsElement) openDetails(each);
    else if (!isVisible(each)) findTab(each)?.click();
  }
}

/** Whether an element is shown; older browsers cannot tell, and there it counts as shown. */
export function isVisible(element: Element): boolean {
  return (element.checkVisibility as Element["checkVisibility"] | undefined)?.call(element) ?? true;
}

function openDetails(details: HTMLDetailsElement): void {
  if (details.open) return;
  const summary = details.querySelector<HTMLElement>(":scope > summary");
  // Docusaurus folds the content by itself and listens to the click.
  if (summary) summary.click();
  else details.open = true;
}

/** The tab of a panel: by its role, or as Material for MkDocs and Sphinx Design write it. */
function findTab(panel: Element): HTMLElement | null {
  if (panel.matches(".sd-tab-content")) return asControl(panel.previousElementSibling);
  if (!panel.matches("[role=tabpanel], .tabbed-block")) return null;
  const labelled = panel.getAttribute("aria-labelledby");
  if (labelled) return document.getElementById(labelled);
  const panels = [...(panel.parentElement?.children ?? [])].filter((each) => each.matches("[role=tabpanel], .tabbed-block"));
  for (let set = panel.parentElement; set; set = set.parentElement) {
    const list = set.querySelector(":scope > [role=tablist], :scope > .tabbed-labels");
    if (list) return asControl(list.querySelectorAll("[role=tab], label")[panels.indexOf(panel)]);
  }
  return null;
}

function asControl(element: Element | null | undefined): HTMLElement | null {
  return element instanceof HTMLElement ? element : null;
}
