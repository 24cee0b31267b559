import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo } from "node:net";

/** One tool use that the model asks for. */
export interface Call {
  tool: string;
  input: object;
}

/** A scripted endpoint of the Messages API on loopback. */
export interface Model {
  url: string;
  /** What came back for each tool use, in the order in which it came. */
  results: string[];
  close(): void;
}

interface Block {
  type: string;
  text?: string;
  tool_use_id?: string;
  content?: string | Block[];
}

/**
 * Starts a model. A conversation whose first message holds [[key]] is given the
 * turns of that key, one after the other; then the model says "ok".
 */
export async function startModel(script: Record<string, Call[][]>): Promise<Model> {
  const results = new Map<string, string>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      if (!/\/messages(\?|$)/.test(request.url ?? "")) return void response.writeHead(404).end("{}");
      const body = JSON.parse(Buffer.concat(parts).toString());
      let key = "";
      let step = 0;
      for (const message of body.messages) {
        if (message.role === "assistant") step++;
        else
          for (const block of blocks(message.content)) {
            if (block.type === "tool_result" && block.tool_use_id) results.set(block.tool_use_id, text(block.content));
            const found = /\[\[([a-z]+)\]\]/.exec(block.text ?? "");
            if (found && key === "") [key, step] = [found[1]!, 0];
          }
      }
      const calls = script[key]?.[step] ?? [];
      stream(response, body.model, calls.map((call, i) => ({ type: "tool_use", id: `toolu_${key}_${step}_${i}`, name: call.tool, input: call.input })));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get results() {
      return [...results.values()];
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function blocks(content: string | Block[] | undefined): Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
}

function text(content: string | Block[] | undefined): string {
  return blocks(content).map((block) => block.text ?? "").join("");
}

function stream(response: ServerResponse, model: string, uses: { type: string; id: string; name: string; input: object }[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type: string, fields: object) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  const usage = { input_tokens: 10, output_tokens: 5 };
  send("message_start", { message: { id: `msg_${Date.now()}`, type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage } });
  const content = uses.length > 0 ? uses : [{ type: "text", text: "ok" }];
  content.forEach((block, index) => {
    const [start, delta] =
      "input" in block
        ? [{ ...block, input: {} }, { type: "input_json_delta", partial_json: JSON.stringify(block.input) }]
        : [{ type: "text", text: "" }, { type: "text_delta", text: "ok" }];
    send("content_block_start", { index, content_block: start });
    send("content_block_delta", { index, delta });
    send("content_block_stop", { index });
  });
  send("message_delta", { delta: { stop_reason: uses.length > 0 ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } });
  send("message_stop", {});
  response.end();
}
