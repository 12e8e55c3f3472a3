// A client from another code base: the TypeScript SDK of the protocol. It reads a
// job from standard input, plays the session in it and prints what happened, for
// the Go test to compare.
import { appendFileSync, chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const job = JSON.parse(readFileSync(0, "utf8"));
const out = [];
const say = (text) => out.push(text);

const capabilities = job.roots === undefined ? {} : { roots: { listChanged: true } };
const client = new Client({ name: "transcript", version: "1.0.0" }, { capabilities });
let roots = job.roots ?? [];
if (job.roots !== undefined) {
  client.setRequestHandler(ListRootsRequestSchema, async () => {
    if (roots === "fail") throw new Error("no roots today");
    return { roots: roots.map((r) => ({ uri: r.startsWith("file:") ? r : pathToFileURL(r).href })) };
  });
}
const transport = job.url
  ? new StreamableHTTPClientTransport(new URL(job.url), { requestInit: { headers: { Authorization: `Bearer ${job.token}` } } })
  : new StdioClientTransport({ command: job.command, args: job.args, cwd: job.cwd, stderr: "inherit" });
await client.connect(transport);

function show(content) {
  switch (content.type) {
    case "text":
      return content.text;
    case "image":
      return `<image ${content.mimeType} ${Buffer.from(content.data, "base64").length} bytes>`;
    case "resource":
      return `<resource ${content.resource.uri} ${content.resource.mimeType} ${Buffer.from(content.resource.blob ?? "", "base64").length} bytes>`;
  }
  return `<${content.type}>`;
}

for (const step of job.steps) {
  if (step.host) {
    const name = join(job.dir, step.path);
    if (step.host === "write") writeFileSync(name, step.content);
    if (step.host === "append") appendFileSync(name, step.content);
    if (step.host === "remove") rmSync(name, { recursive: true });
    if (step.host === "chmod") chmodSync(name, step.mode);
    say(`# outside: ${step.host} ${step.path}`);
  } else if (step.roots !== undefined) {
    roots = step.roots;
    await client.sendRootsListChanged();
    say(`# roots changed`);
  } else if (step.list === "tools") {
    const { tools } = await client.listTools();
    tools.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const t of tools) {
      const a = t.annotations ?? {};
      say(`tool ${t.name}: readOnly=${a.readOnlyHint} destructive=${a.destructiveHint} idempotent=${a.idempotentHint} openWorld=${a.openWorldHint}`);
    }
  } else if (step.list === "resources") {
    const { resources } = await client.listResources();
    for (const r of resources) say(`resource ${r.uri} ${r.mimeType ?? "-"} ${r.size ?? 0}`);
  } else if (step.resource) {
    say(`> resource ${step.resource}`);
    try {
      const { contents } = await client.readResource({ uri: step.resource });
      for (const c of contents) say(c.text ?? `<blob ${c.mimeType}>`);
    } catch (e) {
      say(`! protocol error ${e.code}`);
    }
  } else {
    say(`> ${step.tool} ${JSON.stringify(step.args)}`);
    try {
      const res = await client.callTool({ name: step.tool, arguments: step.args });
      for (const c of res.content) for (const line of show(c).trimEnd().split("\n")) say((res.isError ? "! " : "  ") + line);
    } catch (e) {
      say(`! protocol error ${e.code}: ${e.message}`);
    }
  }
}
if (job.url) await transport.terminateSession();
await client.close();
process.stdout.write(out.join("\n") + "\n");
