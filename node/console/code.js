// A request as a program sends it. The token comes from the environment, so that what is copied can be shown to others.

/** languages are the ways to write a request down: {method, url, body, media}, where body is text and media says of what kind. */
export const languages = { curl, TypeScript, Python, Go };

/** query writes the values of a form as the query of a URL: each value of a list, and objects as JSON. */
export const query = (values) => new URLSearchParams(Object.entries(values).flatMap(([name, v]) => [v].flat().map((one) => [name, typeof one === "object" ? JSON.stringify(one) : one]))).toString();

const json = (r) => r.media === "application/json";
const shell = (s) => `'${s.replaceAll("'", `'\\''`)}'`;
const quoted = (s) => JSON.stringify(s); // a string of JavaScript, Python and Go alike
const raw = (s) => (s.includes("`") ? quoted(s) : `\`${s}\``);

function curl(r) {
  const lines = [`curl -sS -X ${r.method} ${shell(r.url)}`, `-H "Authorization: Bearer $CAIRN_TOKEN"`];
  if (r.body !== undefined) lines.push(`-H ${shell(`Content-Type: ${r.media}`)}`, `--data-binary ${shell(r.body)}`);
  return lines.join(" \\\n  ");
}

function TypeScript(r) {
  const body = r.body === undefined ? "" : `\n  body: ${json(r) ? `JSON.stringify(${JSON.stringify(JSON.parse(r.body), null, 2).replaceAll("\n", "\n  ")})` : quoted(r.body)},`;
  const type = r.body === undefined ? "" : `, "Content-Type": ${quoted(r.media)}`;
  return `const response = await fetch(${quoted(r.url)}, {
  method: ${quoted(r.method)},
  headers: { Authorization: \`Bearer \${process.env.CAIRN_TOKEN}\`${type} },${body}
});
if (!response.ok) throw new Error(\`\${response.status}: \${await response.text()}\`);
console.log(await response.text());`;
}

/** literal is a value of JSON as Python writes it. */
function literal(v) {
  if (v === null) return "None";
  if (typeof v === "boolean") return v ? "True" : "False";
  if (Array.isArray(v)) return `[${v.map(literal).join(", ")}]`;
  if (typeof v === "object") return `{${Object.entries(v).map(([k, x]) => `${quoted(k)}: ${literal(x)}`).join(", ")}}`;
  return quoted(v);
}

function Python(r) {
  const body = r.body === undefined ? "" : `\n    data=${json(r) ? `json.dumps(${literal(JSON.parse(r.body))})` : quoted(r.body)}.encode(),`;
  const type = r.body === undefined ? "" : `, "Content-Type": ${quoted(r.media)}`;
  return `import json, os, urllib.request

request = urllib.request.Request(
    ${quoted(r.url)},
    method=${quoted(r.method)},
    headers={"Authorization": "Bearer " + os.environ["CAIRN_TOKEN"]${type}},${body}
)
with urllib.request.urlopen(request) as response:
    print(response.read().decode())`;
}

function Go(r) {
  const body = r.body === undefined ? "nil" : `strings.NewReader(${raw(r.body)})`;
  return `package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"${r.body === undefined ? "" : `\n	"strings"`}
)

func main() {
	req, err := http.NewRequest(${quoted(r.method)}, ${quoted(r.url)}, ${body})
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("CAIRN_TOKEN"))${r.body === undefined ? "" : `\n	req.Header.Set("Content-Type", ${quoted(r.media)})`}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	if resp.StatusCode >= 300 {
		log.Fatal(resp.Status, ": ", string(answer))
	}
	fmt.Println(string(answer))
}`;
}
