import type { Client } from "./index.js";

/**
 * Keeps the history of an agent of OpenAI's Agents SDK in a cluster: a Session with atomic history transactions. Two
 * processes that change one session lose nothing of each other's.
 */
export class CairnSession {
  constructor(
    client: Client,
    options?: {
      /** Default: a new one. */
      sessionId?: string;
      /** Cairn's namespace of all sessions. Default: openai. */
      namespace?: string;
      /** Whether recalls find the items. Default: false. */
      searchable?: boolean;
    },
  );
  getSessionId(): Promise<string>;
  getItems(limit?: number): Promise<any[]>;
  addItems(items: any[]): Promise<void>;
  popItem(): Promise<any | undefined>;
  clearSession(): Promise<void>;
  applyHistoryTransaction(args: { operationId: string; transaction: Transaction }): Promise<void>;
}

type Transaction =
  { type: "append_items"; items: any[] } | { type: "replace_suffix"; expectedSuffix: any[]; replacement: any[] };
