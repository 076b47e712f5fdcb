/** A site with an app that reports, a proxy before the collector that loses what it is told to, and browsers. */

import { existsSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { launch, type Browser, type Page } from "puppeteer-core";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
const PAGE = '<!doctype html><html lang="en"><title>app</title><script type="module" src="/app.js"></script>';

/** How long a browser may take for anything. */
export const PATIENCE_MS = 600_000;

/** Browsers of Debian, as they are called and where they are. */
export const BROWSERS = (
  [
    ["chrome", "/usr/bin/chromium"],
    ["firefox", "/usr/bin/firefox-esr"],
  ] as const
).filter(([, path]) => existsSync(path));

export async function browserOf([browser, executablePath]: (typeof BROWSERS)[number], profile: string): Promise<Browser> {
  const args = browser === "chrome" ? ["--no-sandbox", "--disable-gpu"] : [];
  // Machines of CI are slow: nothing here measures time.
  return launch({ browser, executablePath, args, headless: true, userDataDir: profile, timeout: PATIENCE_MS, protocolTimeout: PATIENCE_MS });
}

/** Crash a tab's process, or kill Firefox as a whole, which cannot be told to; return the browser that goes on. */
export async function killed(page: Page, which: (typeof BROWSERS)[number], profile: string): Promise<Browser> {
  const browser = page.browser();
  if (which[0] === "firefox") {
    const process = browser.process()!;
    process.kill("SIGKILL");
    await once(process, "exit");
    // puppeteer then puts back the settings that it had found.
    while (["prefs.js", "user.js"].some((name) => existsSync(join(profile, `${name}.puppeteer`)))) await setTimeout(20);
    return browserOf(which, profile);
  }
  const session = await page.createCDPSession();
  void session.send("Page.crash").catch(() => undefined);
  await new Promise((resolve) => page.once("error", resolve));
  await page.close();
  return browser;
}

/** Bundle a module of an app with the SDK of this checkout. */
export async function bundled(contents: string, folder = PACKAGE): Promise<string> {
  const result = await build({
    stdin: { contents, resolveDir: folder },
    bundle: true,
    format: "esm",
    write: false,
    alias: {
      "hearsay-ldp": `${PACKAGE}dist/src/index.js`,
      "hearsay-ldp/consent": `${PACKAGE}dist/src/consent.js`,
      "hearsay-ldp/spec": `${PACKAGE}dist/src/spec.js`,
      "hearsay-ldp/trial": `${PACKAGE}dist/src/trial.js`,
    },
  });
  return result.outputFiles[0]!.text;
}

async function listening(server: Server, port = 0): Promise<number> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  server.close();
  await once(server, "close");
  return port;
}

/** The pages, on an origin of their own. */
export class Site {
  readonly #server = createServer((request, response) => this.#answer(request, response));
  /** What is served at a path but a plain page: scripts and other pages. */
  readonly files = new Map<string, string>();
  port = 0;

  async start(): Promise<void> {
    this.port = await listening(this.#server);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Bundle the app: what tests call is in `window.app`. Its clock stands still, so that no test meets midnight. */
  async bundle(registry: string, collector: string): Promise<void> {
    const script = `
      import { Telemetry, historyElement } from "hearsay-ldp";
      import * as consent from "hearsay-ldp/consent";
      import registry from ${JSON.stringify(registry)};
      const open = (days = 0, options = {}) => new Telemetry(registry, {
        collector: ${JSON.stringify(collector)}, consent: true, sends: false,
        clock: () => ${Math.floor(Date.now() / 1000)} + days * 86400, ...options,
      });
      window.app = { open, consent, historyElement, registry, telemetry: open() };
    `;
    this.files.set("/app.js", await bundled(script));
    this.files.set("/framing", `${PAGE}<iframe src="http://localhost:${this.port}/"></iframe>`);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url!, this.origin).pathname;
    response.setHeader("Content-Type", path.endsWith(".js") ? "text/javascript" : "text/html");
    response.end(this.files.get(path) ?? PAGE);
  }

  end(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Stands before the collector. It may hold the next request, or the next answer, for good. */
export class Proxy {
  readonly #server = createServer((request, response) => void this.#forward(request, response));
  port = 0;
  target = "";
  /** What the next upload loses. */
  loses: "nothing" | "request" | "answer" = "nothing";
  /** Whether nothing gets through, as without a network. */
  isOffline = false;
  #held: (() => void) | undefined;

  async start(): Promise<void> {
    this.port = await listening(this.#server);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Wait until something is held. */
  holding(): Promise<void> {
    return new Promise((resolve) => (this.#held = resolve));
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const isUpload = request.method === "POST";
    if (this.isOffline) return void response.destroy();
    const loses = isUpload ? this.loses : "nothing";
    if (loses !== "nothing") this.loses = "nothing";
    if (loses === "request") return this.#held?.();
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => !["host", "connection", "content-length"].includes(name)),
    ) as Record<string, string>;
    try {
      const answer = await fetch(`${this.target}${request.url}`, {
        method: request.method!,
        headers,
        ...(isUpload ? { body: new Uint8Array(body) } : {}),
      });
      const text = await answer.text();
      if (loses === "answer") return this.#held?.();
      answer.headers.forEach((value, name) => {
        if (!["connection", "transfer-encoding", "content-length", "content-encoding"].includes(name)) response.setHeader(name, value);
      });
      response.writeHead(answer.status).end(text);
    } catch {
      response.destroy();
    }
  }

  end(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
