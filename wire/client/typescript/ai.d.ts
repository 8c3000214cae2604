import type { LanguageModelMiddleware, Tool } from "ai";
import type { Client } from "./index.js";

/** Tools for a model of the AI SDK. With a namespace they see and change that alone. */
export function cairnTools(options: { client: Client; namespace?: string }): {
  recall: Tool<{ query: string; limit?: number }, { id: string; text: string; score: number; at: string }[]>;
  context: Tool<{ query?: string; max_tokens?: number }, string>;
  remember: Tool<{ text: string; importance?: number }, { id: string }>;
  forget: Tool<{ id: string; reason?: string }, { forgotten: boolean }>;
};

/**
 * Gives a model what is known about the user's newest message, before that message, and stores that message and the
 * model's answer to it.
 */
export function cairnMiddleware(options: {
  client: Client;
  namespace?: string;
  /** Most tokens of what is known. Default: 1000. */
  maxTokens?: number;
  /** Whether to store the user's message and the answer. Default: true. */
  store?: boolean;
  /** Receives what failed in the memory; the model is called without it. Default: the call fails. */
  onError?: (error: unknown) => void;
}): LanguageModelMiddleware;
