// Written by cairn connect opencode; cairn connect opencode --undo removes it.
import { spawn } from "node:child_process"

const hook = (event, input) =>
  new Promise((done) => {
    const p = spawn(CAIRN, ["hook", "opencode", event], { stdio: ["pipe", "pipe", "ignore"], timeout: 10000 })
    p.stdout.setEncoding("utf8") // a character may come in two parts
    let out = ""
    p.stdout.on("data", (part) => (out += part))
    p.stdin.on("error", () => {})
    p.on("error", () => done(""))
    p.on("close", () => done(out))
    p.stdin.end(JSON.stringify(input))
  })

const known = new Map() // by session

export const Cairn = async ({ directory }) => ({
  "experimental.chat.system.transform": async (input, output) => {
    const id = input?.sessionID ?? ""
    if (!known.has(id)) known.set(id, hook("session.created", { session_id: id, cwd: directory }))
    try {
      output.system.push(JSON.parse(await known.get(id)).additionalContext)
    } catch {}
  },
  // captures
  "tool.execute.after": async (input, output) => {
    await hook("tool.execute.after", {
      session_id: input.sessionID, cwd: directory, tool_name: input.tool, tool_input: input.args, tool_response: output.output,
    })
  },
  event: async ({ event }) => {
    if (event.type === "session.idle") await hook("session.idle", { session_id: event.properties?.sessionID, cwd: directory })
  },
})
