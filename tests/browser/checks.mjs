// What is asked of a page inside the browser. Each function runs there, so it may use nothing from here, and returns what
// is wrong as texts.

/// What reaches beyond the right edge, but for what scrolls by itself.
export function overflow() {
  const width = document.documentElement.clientWidth;
  const wrong = [];
  if (document.documentElement.scrollWidth > width) wrong.push(`the page scrolls to ${document.documentElement.scrollWidth} px`);
  for (const element of document.querySelectorAll("body *")) {
    const { right, width: wide } = element.getBoundingClientRect();
    if (wide > 0 && right > width + 0.5 && !element.closest(".scroll *")) wrong.push(`<${element.tagName}> reaches ${right} px`);
  }
  return wrong;
}

/// Texts with less than 4.5 : 1 between them and what is behind.
export function contrast() {
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const linear = (channel) => (channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, alpha = 1] = parts(getComputedStyle(at).backgroundColor);
      if (alpha > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const wrong = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.getClientRects().length === 0) continue;
    const style = getComputedStyle(element);
    const colour = parts(element.tagName === "text" ? style.fill : style.color);
    const [light, dark] = [luminance(colour), luminance(ground(element))].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < 4.5) wrong.add(`${ratio.toFixed(2)} of ${element.tagName}.${element.className.baseVal ?? element.className}`);
  }
  return [...wrong];
}

/// Whether something from outside became more than text.
export function injected(hostile) {
  const wrong = [];
  if (document.title.includes("broken")) wrong.push("a script ran");
  if (document.querySelector("script, img, iframe, [onerror]")) wrong.push("there is an element that no template has");
  if (hostile && !document.body.textContent.includes(hostile)) wrong.push("a text from outside is not there");
  return wrong;
}

/// How many of the folded parts show what is inside.
export function shown() {
  document.body.getBoundingClientRect(); // Brings the layout up to date.
  return [...document.querySelectorAll("details > .inside")].filter((inside) => inside.checkVisibility()).length;
}
