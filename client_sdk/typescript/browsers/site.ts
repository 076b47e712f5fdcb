/** A site with an app that reports, a proxy before the collector that loses what it is told to, and browsers. */

import { existsSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { launch, type Browser } from "puppeteer-core";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
const PAGE = '<!doctype html><html lang="en"><title>app</title><script type="module" src="/app.js"></script>';

/** Browsers of Debian, as they are called and where they are. */
export const BROWSERS = (
  [
    ["chrome", "/usr/bin/chromium"],
    ["firefox", "/usr/bin/firefox-esr"],
  ] as const
).filter(([, path]) => existsSync(path));

export async function browserOf([browser, executablePath]: (typeof BROWSERS)[number], profile: string): Promise<Browser> {
  const args = browser === "chrome" ? ["--no-sandbox", "--disable-gpu"] : [];
  return launch({ browser, executablePath, args, headless: true, userDataDir: profile });
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
  #script = "";
  port = 0;

  async start(): Promise<void> {
    this.port = await listening(this.#server);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Bundle the app: what tests call is in `window.app`. */
  async bundle(registry: string, collector: string): Promise<void> {
    const contents = `
      import { Telemetry, historyElement } from "hearsay-ldp";
      import registry from ${JSON.stringify(registry)};
      const open = (days = 0, options = {}) => new Telemetry(registry, {
        collector: ${JSON.stringify(collector)}, consent: true, sends: false,
        clock: () => Date.now() / 1000 + days * 86400, ...options,
      });
      window.app = { open, historyElement, telemetry: open() };
    `;
    const alias = { "hearsay-ldp": `${PACKAGE}dist/src/index.js`, "hearsay-ldp/spec": `${PACKAGE}dist/src/spec.js` };
    const bundled = await build({
      stdin: { contents, resolveDir: PACKAGE },
      bundle: true,
      format: "esm",
      write: false,
      alias,
      nodePaths: [`${PACKAGE}node_modules`],
    });
    this.#script = bundled.outputFiles[0]!.text;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.url === "/app.js") response.setHeader("Content-Type", "text/javascript");
    else response.setHeader("Content-Type", "text/html");
    const frame = `${PAGE}<iframe src="http://localhost:${this.port}/"></iframe>`;
    response.end(request.url === "/app.js" ? this.#script : request.url === "/framing" ? frame : PAGE);
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
  readonly bodies: string[] = [];
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
    if (isUpload) this.bodies.push(body.toString());
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
