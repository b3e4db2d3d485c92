// Serves a directory on loopback: node serve.mjs ../target/playground 8080

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join, normalize } from "node:path";

const TYPES = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  json: "application/json",
  txt: "text/plain",
};

/**
 * Starts a server; `replaced` are contents that replace files of the directory.
 *
 * @param {string} directory
 * @param {number} port
 * @param {Record<string, Uint8Array>} replaced
 */
export async function serve(directory, port, replaced = {}) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname));
    const name = path.endsWith("/") ? "index.html" : path.slice(1);
    try {
      const content = replaced[name] ?? (await readFile(join(directory, name)));
      const type = TYPES[name.split(".").at(-1)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": `${type}; charset=utf-8`, "cache-control": "no-store" });
      response.end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

// Tests import this file without starting a server.
if (process.argv[1]?.endsWith("serve.mjs")) {
  const [directory = "../target/playground", port = "8080"] = process.argv.slice(2);
  const { address } = await serve(directory, Number(port));
  console.log(`${address} (Ctrl-C ends it)`);
}
