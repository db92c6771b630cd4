// Chromium without a window, spoken to over two pipes in the DevTools protocol: messages of JSON, each ended by a zero.
// Nothing but Node is needed.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

const ANSWER_WITHIN_MS = 20_000;

export class Browser {
  #process;
  #profile;
  #next = 1;
  #waiting = new Map();
  #listeners = [];
  #stderr = "";

  static async start(program) {
    const browser = new Browser();
    browser.#profile = await mkdtemp(join(tmpdir(), "browser-"));
    const options = [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
      "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
      `--user-data-dir=${browser.#profile}`,
    ];
    // Libraries that came with the browser, for machines that do not have them.
    const libraries = [join(dirname(program), "lib"), process.env.LD_LIBRARY_PATH].filter(Boolean).join(delimiter);
    const env = { ...process.env, LD_LIBRARY_PATH: libraries };
    browser.#process = spawn(program, options, { env, stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"] });
    browser.#process.stderr.on("data", (data) => (browser.#stderr = (browser.#stderr + data).slice(-4000)));
    browser.#process.on("error", (error) => browser.#fail(error));
    browser.#process.on("exit", (code) => browser.#fail(new Error(`the browser ended (${code}): ${browser.#stderr}`)));
    let rest = "";
    browser.#process.stdio[4].setEncoding("utf8").on("data", (data) => {
      const messages = (rest + data).split("\0");
      rest = messages.pop();
      for (const message of messages) browser.#receive(JSON.parse(message));
    });
    return browser;
  }

  /// Opens an empty page.
  async page() {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    return new Page(this, sessionId);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${method}: ${this.#stderr}`)), ANSWER_WITHIN_MS);
      const done = (settle) => (value) => (clearTimeout(timer), settle(value));
      this.#waiting.set(id, { resolve: done(resolve), reject: done(reject), method });
      this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /// Calls `listener(method, params)` for each event of a session.
  listen(sessionId, listener) {
    this.#listeners.push((message) => message.sessionId === sessionId && listener(message.method, message.params));
  }

  async stop() {
    this.#process.removeAllListeners("exit");
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill();
    await ended;
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #receive(message) {
    if (message.id === undefined) return this.#listeners.forEach((listener) => listener(message));
    const { resolve, reject, method } = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error) reject(new Error(`${method}: ${message.error.message}`));
    else resolve(message.result);
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/// One page. What it asked the network for and what its console said is collected.
class Page {
  requests = [];
  complaints = [];
  #browser;
  #session;
  #loaded;

  constructor(browser, session) {
    this.#browser = browser;
    this.#session = session;
    browser.listen(session, (method, params) => {
      if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
      if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.text);
      if (method === "Runtime.consoleAPICalled") this.complaints.push(`console.${params.type}`);
      if (method === "Log.entryAdded") this.complaints.push(params.entry.text);
      if (method === "Page.loadEventFired") this.#loaded?.();
    });
  }

  send(method, params) {
    return this.#browser.send(method, params, this.#session);
  }

  /// Opens an address at a width of so many pixels, in the scheme `light` or `dark`.
  async open(url, width, scheme) {
    for (const domain of ["Page", "Network", "Runtime", "Log"]) await this.send(`${domain}.enable`);
    const mobile = width < 500;
    await this.send("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile });
    await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    const loaded = new Promise((resolve) => (this.#loaded = resolve));
    const { errorText } = await this.send("Page.navigate", { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await loaded;
  }

  /// What a function of the page returns.
  async run(code, ...parameters) {
    const expression = `(${code})(...${JSON.stringify(parameters)})`;
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /// Presses a key.
  async press(key, code = key, text = undefined) {
    const virtual = { Tab: 9, Enter: 13, " ": 32 }[key];
    const event = { key, code, text, windowsVirtualKeyCode: virtual };
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", ...event });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  /// The whole page as a PNG.
  async picture() {
    const { cssContentSize } = await this.send("Page.getLayoutMetrics");
    const clip = { x: 0, y: 0, width: cssContentSize.width, height: cssContentSize.height, scale: 1 };
    const { data } = await this.send("Page.captureScreenshot", { format: "png", clip, captureBeyondViewport: true });
    return Buffer.from(data, "base64");
  }
}
