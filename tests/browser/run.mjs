// Opens the HTML reports of the plugin in a real browser and asks of each what a reader would notice: at the widths of a
// phone, a tablet and a screen, light and dark, by keyboard and on paper.
//
//   node run.mjs PLUGIN BROWSER [FOLDER]
//
// With FOLDER a picture of each is kept there, to be looked at.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { Browser } from "./browser.mjs";
import { contrast, injected, overflow, shown } from "./checks.mjs";
import { HOSTILE, REPORTS, admin, log } from "./statistics.mjs";

const WIDTHS = [360, 800, 1400];
const SCHEMES = ["light", "dark"];

const [plugin, program, pictures] = process.argv.slice(2);
if (!program) {
  console.error("usage: node run.mjs PLUGIN BROWSER [FOLDER]");
  process.exit(2);
}

let failures = 0;
function check(what, wrong) {
  if (wrong.length === 0) return;
  failures += 1;
  console.error(`FAILED ${what}:\n  ${wrong.join("\n  ")}`);
}

/// Writes the page of each report into `folder`.
async function write(folder) {
  const examples = join(folder, "envoy.log");
  await writeFile(examples, log());
  for (const [name, counters] of Object.entries(REPORTS)) {
    const envoy = await admin(counters());
    const parameters = ["report", "--admin", envoy.url, "--examples", examples, "-o", "html"];
    const { stdout } = await promisify(execFile)(plugin, parameters, { timeout: 20_000 });
    await writeFile(join(folder, `${name}.html`), stdout);
    envoy.stop();
  }
}

async function look(browser, url, name, width, scheme) {
  const what = `${name}, ${width} px, ${scheme}`;
  const page = await browser.page();
  await page.open(url, width, scheme);
  check(`${what}: nothing overflows`, await page.run(overflow));
  check(`${what}: contrast`, await page.run(contrast));
  check(`${what}: texts stay texts`, await page.run(injected, name === "nothing" ? "" : HOSTILE));

  await page.run(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
  check(`${what}: nothing overflows when all is open`, await page.run(overflow));
  check(`${what}: contrast when all is open`, await page.run(contrast));
  if (pictures) await writeFile(join(pictures, `${name}-${width}-${scheme}.png`), await page.picture());

  check(`${what}: no requests`, page.requests.filter((request) => request !== url && !request.startsWith("data:")));
  check(`${what}: no complaints`, page.complaints);
  return page.run(() => getComputedStyle(document.body).backgroundColor);
}

/// Opens everything with Tab and Enter alone.
async function byKeyboard(browser, url, name) {
  const page = await browser.page();
  await page.open(url, 800, "light");
  const all = await page.run(() => document.querySelectorAll("details").length);
  for (let presses = 0; presses < 100 && (await page.run(() => document.querySelectorAll("details:not([open])").length)) > 0; presses += 1) {
    await page.press("Tab");
    const isSummary = await page.run(() => document.activeElement.matches("details:not([open]) > summary"));
    if (isSummary) await page.press("Enter", "Enter", "\r");
  }
  const open = await page.run(shown);
  check(`${name}: all opens by keyboard`, open === all ? [] : [`${open} of ${all} are open`]);
}

async function onPaper(browser, url, name) {
  const page = await browser.page();
  await page.open(url, 800, "dark");
  const all = await page.run(() => document.querySelectorAll("details").length);
  await page.send("Emulation.setEmulatedMedia", { media: "print" });
  const open = await page.run(shown);
  check(`${name}: all is open on paper`, open === all ? [] : [`${open} of ${all} are open`]);
  check(`${name}: contrast on paper`, await page.run(contrast));
}

const folder = await mkdtemp(join(tmpdir(), "reports-"));
if (pictures) await mkdir(pictures, { recursive: true });
await write(folder);
const browser = await Browser.start(program);
try {
  for (const name of Object.keys(REPORTS)) {
    const url = pathToFileURL(join(folder, `${name}.html`)).href;
    for (const width of WIDTHS) {
      const grounds = [];
      for (const scheme of SCHEMES) grounds.push(await look(browser, url, name, width, scheme));
      check(`${name}, ${width} px: two schemes`, grounds[0] === grounds[1] ? [`both have ${grounds[0]}`] : []);
    }
    await byKeyboard(browser, url, name);
    await onPaper(browser, url, name);
  }
} finally {
  await browser.stop();
  await rm(folder, { recursive: true });
}
console.log(failures === 0 ? "the HTML reports are as they should be" : `${failures} checks failed`);
process.exitCode = failures === 0 ? 0 : 1;
