import { BaseStore, type Operation, type OperationResults } from "@langchain/langgraph-checkpoint";
import type { Client } from "./index.js";

/**
 * Keeps the long-term memory of LangGraph agents in a cluster. An item is a memory under the key /label/…/:key; a batch is
 * one atomic step; a search with a query is a recall, and items that it does not find follow those that it does.
 */
export class CairnStore extends BaseStore {
  constructor(
    client: Client,
    options?: {
      /** Cairn's namespace of all items. Default: langgraph. */
      namespace?: string;
      /** Paths of the value that a search finds, where put names none. Default: all of it. */
      fields?: string[];
    },
  );
  batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>>;
}
