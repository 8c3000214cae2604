// Compiles where the packages of the frameworks are installed.
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import { InMemoryStore, type BaseStore } from "@langchain/langgraph-checkpoint";
import type { Session, SessionHistoryTransactionAwareSession } from "@openai/agents-core";
import { generateText, wrapLanguageModel, type LanguageModelMiddleware, type ToolSet } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { Client } from "cairn-client";
import { cairnMiddleware, cairnTools } from "cairn-client/ai";
import { CairnMemory } from "cairn-client/anthropic";
import { CairnStore } from "cairn-client/langgraph";
import { CairnSession } from "cairn-client/openai";

const client = new Client();
const stores: BaseStore[] = [new InMemoryStore(), new CairnStore(client, { fields: ["title"] })];
const session: Session & SessionHistoryTransactionAwareSession = new CairnSession(client, { sessionId: "s" });
const [item] = await stores[1].batch([{ namespace: ["a"], key: "k" }]);
const memory = betaMemoryTool(new CairnMemory(client, { namespace: "files" }));
const tools: ToolSet = cairnTools({ client });
const middleware: LanguageModelMiddleware = cairnMiddleware({ client, store: false, onError: console.error });
const model = wrapLanguageModel({ model: new MockLanguageModelV3(), middleware });
const { text } = await generateText({ model, tools: { ...cairnTools({ client }) }, prompt: "hello" });
export { item, memory, session, text, tools };
