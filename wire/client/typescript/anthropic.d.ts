import type { MemoryToolHandlers } from "@anthropic-ai/sdk/helpers/beta/memory";
import type { Client } from "./index.js";

/**
 * Keeps the files of Anthropic's memory tool in a cluster: betaMemoryTool(new CairnMemory(client)). A file is a memory
 * whose key is its path, so that recalls find it. Agents that change one file at the same time lose nothing of each
 * other's.
 */
export class CairnMemory implements MemoryToolHandlers {
  constructor(
    client: Client,
    options?: {
      /** Cairn's namespace of all files. Default: memories. */
      namespace?: string;
    },
  );
  view: MemoryToolHandlers["view"];
  create: MemoryToolHandlers["create"];
  str_replace: MemoryToolHandlers["str_replace"];
  insert: MemoryToolHandlers["insert"];
  delete: MemoryToolHandlers["delete"];
  rename: MemoryToolHandlers["rename"];
}
