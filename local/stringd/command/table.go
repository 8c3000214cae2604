package command

import (
	"github.com/cairndb/cairn/local/stringd/command/lang"
)

// generalCommands returns the commands of all topics, in the order of /help.
func generalCommands() []commandDef {
	return []commandDef{
		{name: "open", usage: "/open <path|uri|path#block|@id|dir|mem:...>", about: "open a document", run: (*call).open},
		{name: "back", usage: "/back", about: "return to the document before", run: (*call).back},
		{name: "refresh", usage: "/refresh", about: "read the document again", run: (*call).refresh},
		{name: "close", usage: "/close", about: "close the document, or the shell", shell: true, run: (*call).close},
		{name: "source", usage: "/source", about: "the document as it is written", run: (*call).source},
		{name: "ls", usage: "/ls [dir]", about: "list files", run: (*call).ls},
		{name: "info", usage: "/info [@id]", about: "what this topic holds", shell: true, run: (*call).info},
		{name: "help", usage: "/help", about: "this list", shell: true, run: (*call).help},
		{name: "nav", usage: "/nav [menu|page|scaffold]", about: "menus and shortcuts", run: (*call).nav},
		{name: "act", sub: true, usage: "/act.<id> [args]", about: "do what the document offers; /act lists it", run: (*call).act},
		{name: "tool", sub: true, usage: "/tool:<name>[.act] [args]", about: "do what a file in tools/ offers", run: (*call).tool},
		{name: "set", usage: "/set {name} = \"value\"", about: "set a variable of the topic, or $NAME for good; without arguments, list them", run: (*call).setVars},

		{name: "edit", usage: "/edit path[#block] [text]", about: "view a file with line numbers, or replace it", run: (*call).edit},
		{name: "write", usage: "/write [--force] path [text]", about: "write a file", run: (*call).write},
		{name: "append", usage: "/append path [text]", about: "add to a file", run: (*call).appendTo},
		{name: "replace", usage: "/replace path[:L1-L2|#block] [--all]", about: "replace text: old, ---, new on the lines below", run: (*call).replace},
		{name: "undo", usage: "/undo", about: "take the last change back", run: (*call).undoLast},
		{name: "verify", usage: "/verify path#block", about: "look at a block's size and beginning", run: (*call).verify},

		{name: "exec", usage: "/exec <line>", about: "run a line in a shell", shell: true, run: (*call).exec},
		{name: "events", sub: true, usage: "/events", about: "the inbox: list --all, .read <id>, .ack <id>, .clear [--all]", shell: true, run: (*call).events},
		{name: "topics", usage: "/topics [type]", about: "this agent's topics", shell: true, run: (*call).topics},
		{name: "sessions", run: (*call).topics, shell: true},
		{name: "session", usage: "/session list|close <topic>", about: "list topics, close one", shell: true, run: (*call).session},

		{name: "remember", usage: "/remember <text>", about: "keep a memory: --type --tier --importance --tags --source --at --meta k=v --key --event --ns", shell: true,
			run: ownNamespace((*call).remember, lang.Flag{Name: "--type"}, tierFlag, lang.Flag{Name: "--importance", Check: number(0, 1)}, lang.Flag{Name: "--tags"},
				lang.Flag{Name: "--source"}, lang.Flag{Name: "--at", Check: checkTime}, lang.Flag{Name: "--meta", Check: checkKeyValue}, lang.Flag{Name: "--key"},
				lang.Flag{Name: "--event"})},
		{name: "recall", usage: "/recall <query>", about: "find memories of all agents and protocols: -k --tier --type --tags --since --until --min-score --after --budget --full --explain --consistency --skip-reinforce --ns", shell: true,
			run: allNamespaces((*call).recall, lang.Flag{Name: "-k", Check: wholeNumber(1, maxK)}, tierFlag, lang.Flag{Name: "--type"}, lang.Flag{Name: "--tags"},
				lang.Flag{Name: "--since", Check: checkTime}, lang.Flag{Name: "--until", Check: checkTime}, lang.Flag{Name: "--min-score", Check: number(0, 1e9)}, afterFlag,
				lang.Flag{Name: "--budget", Check: wholeNumber(1, 1<<20)}, lang.Flag{Name: "--full", NoValue: true}, lang.Flag{Name: "--explain", NoValue: true},
				lang.Flag{Name: "--skip-reinforce", NoValue: true}, consistencyFlag)},
		{name: "memory", usage: "/memory <id|@mN>...", about: "show memories whole", shell: true, run: ownNamespace((*call).showMemory)},
		{name: "forget", usage: "/forget <id|@mN>...", about: "forget memories: --reason, or --query q --yes", shell: true,
			run: ownNamespace((*call).forget, lang.Flag{Name: "--reason"}, lang.Flag{Name: "--query"}, lang.Flag{Name: "--yes", NoValue: true})},
		{name: "recent", usage: "/recent", about: "the newest memories: -n --tier", shell: true, run: allNamespaces((*call).recent, lang.Flag{Name: "-n", Check: wholeNumber(1, maxK)}, tierFlag)},
		{name: "timeline", usage: "/timeline <id|@mN>", about: "what was remembered around one: --window", shell: true,
			run: ownNamespace((*call).timeline, lang.Flag{Name: "--window", Check: wholeNumber(1, maxK)})},
		{name: "stats", usage: "/stats", about: "how much is remembered", shell: true, run: ownNamespace((*call).stats)},
		{name: "cluster", usage: "/cluster [status|nodes]", about: "the nodes, their roles and lag", shell: true, run: ownNamespace((*call).cluster)},
		{name: "capture", usage: "/capture <tool>", about: "keep a tool's JSON: --session --source", shell: true,
			run: ownNamespace((*call).capture, lang.Flag{Name: "--session"}, lang.Flag{Name: "--source"})},
		{name: "purge", usage: "/purge --before <time> --yes", about: "forget what is older: --tier", shell: true,
			run: ownNamespace((*call).purge, lang.Flag{Name: "--before", Check: checkTime}, tierFlag, lang.Flag{Name: "--yes", NoValue: true})},
		{name: "episode", usage: "/episode start|end|list", about: "group memories", shell: true, run: ownNamespace((*call).episode)},
		{name: "relate", usage: "/relate <src> <rel> <dst>", about: "say that two things are related: --weight", shell: true, run: ownNamespace((*call).relate, lang.Flag{Name: "--weight", Check: number(0, 1e9)})},
		{name: "edges", usage: "/edges <entity>", about: "what a thing is related to", shell: true, run: ownNamespace((*call).edges)},
		{name: "think", usage: "/think", about: "merge duplicates, find contradictions, say what deserves attention", shell: true, run: ownNamespace((*call).think)},

		{name: "install", sub: true, run: unsupported}, {name: "uninstall", sub: true, run: unsupported},
		{name: "capability", sub: true, run: unsupported}, {name: "fs", sub: true, run: unsupported},
	}
}

// hubPageCommands returns the commands of every hub that show its page.
func hubPageCommands() []commandDef {
	return []commandDef{
		{name: "open", run: (*call).hubPage},
		{name: "list", run: (*call).hubPage},
		{name: "info", run: (*call).hubPage},
		{name: "help", run: (*call).hubHelp},
	}
}

// hubCommands returns the commands of single hubs.
func hubCommands() map[string][]commandDef {
	return map[string][]commandDef{
		"event": {
			{name: "list", usage: "/list [--all]", run: (*call).hubEvent},
			{name: "read", usage: "/read <id>", run: (*call).hubEvent},
			{name: "ack", usage: "/ack <id>", run: (*call).hubEvent},
			{name: "clear", usage: "/clear [--all]", run: (*call).hubEvent},
			{name: "webhook", usage: "/webhook show|rotate", run: (*call).hubWebhook},
		},
		"system": {
			{name: "status", usage: "/status", run: func(c *call) (string, error) { return c.Settings.Host.Status(), nil }},
			{name: "stop", usage: "/stop", run: func(c *call) (string, error) {
				if err := c.Settings.Host.Shutdown(); err != nil {
					return "", lang.Errorf(lang.Unsupported, "%v", err)
				}
				return "stringd shutting down", nil
			}},
		},
		"agent": {
			{name: "current", usage: "/current", run: func(c *call) (string, error) { return c.Agent.ID + "\t" + c.Agent.Home, nil }},
			{name: "add", usage: "/add <id> [--home p] [--allow a,b]", run: (*call).hubAdd},
			{name: "set-home", usage: "/set-home <id> <path>", run: (*call).hubSetHome},
			{name: "rm", usage: "/rm <id>", run: (*call).hubRemove},
			{name: "use", usage: "/use", run: func(c *call) (string, error) {
				return "", lang.Errorf(lang.Unsupported, "The agent is chosen by each request's X-Agent-Id.")
			}},
		},
	}
}
