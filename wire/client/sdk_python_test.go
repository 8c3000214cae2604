package client_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/wire/field"
)

// reserved lists the names of operations and fields that are reserved words of Python.
var reserved = []string{"and", "as", "class", "from", "global", "import", "in", "is", "lambda", "not", "or", "pass", "with"}

// pythonName returns a name for Python, with a _ after a reserved word.
func pythonName(name string) string {
	if slices.Contains(reserved, name) {
		return name + "_"
	}
	return name
}

// pythonType returns the type of a field in Python.
func pythonType(k field.Kind, answer bool) string {
	of := ""
	switch {
	case k.Item != nil:
		list := "Sequence"
		if answer {
			list = "List"
		}
		return list + "[" + pythonType(*k.Item, answer) + "]"
	case k.Shape != "":
		return k.Shape
	case k.Name == "date":
		return "Date"
	case k.Name == "window":
		return "Tuple[Optional[Date], Optional[Date]]"
	case k.Name == "token" && answer:
		return "str"
	case k.Name == "token":
		return "Union[str, int]"
	case k.Enum != nil:
		return `Literal["` + strings.Join(k.Enum, `", "`) + `"]`
	default:
		of = map[string]string{"": "Any", "string": "str", "number": "float", "integer": "int", "boolean": "bool",
			"object": "Dict[str, Any]", "array": "List[Any]"}[k.Type]
	}
	if list, _ := k.Schema()["type"].([]any); len(list) == 2 && list[1] == "null" {
		of = "Optional[" + of + "]"
	}
	return of
}

func pythonTypes(t table) string {
	var b strings.Builder
	fmt.Fprintf(&b, `"""The shapes of requests and answers.

%s
"""
from __future__ import annotations

import datetime
from typing import Any, Dict, List, Literal, Optional, Sequence, Tuple, TypedDict, Union

Date = Union[str, float, datetime.date]
"""RFC 3339, Unix seconds, a datetime or a date."""
`, rewritten)
	for _, name := range names(t.shapes) {
		if t.request[name] {
			continue
		}
		answer := !slices.Contains(t.asked, name)
		must, may, base := "", "", "TypedDict"
		for _, f := range t.shapes[name] {
			if f.Idle {
				continue
			}
			is := pythonType(f.Kind, answer)
			if f.Nullable {
				is = "Optional[" + is + "]"
			}
			if slices.Contains(reserved, f.Name) { // a class has no such name, so a dict says it
				fmt.Fprintf(&b, "\n\n_%s_%s = TypedDict(%q, {%q: %q}, total=%s)\n", name, f.Name, "_"+name+"_"+f.Name,
					f.Name, is, map[bool]string{true: "True", false: "False"}[f.Must])
				base = strings.TrimPrefix(base+", _"+name+"_"+f.Name, "TypedDict, ")
				continue
			}
			line := fmt.Sprintf("    %s: %s  # %s\n", f.Name, is, fieldDoc(f))
			if f.Must {
				must += line
			} else {
				may += line
			}
		}
		total := ""
		if must != "" && may != "" {
			fmt.Fprintf(&b, "\n\nclass _%s(%s):\n%s", name, base, must)
			base, must = "_"+name, ""
		}
		if may != "" {
			total = ", total=False"
		}
		fmt.Fprintf(&b, "\n\nclass %s(%s%s):\n%s", name, base, total, must+may)
		if must+may == "" {
			b.WriteString("    pass\n")
		}
	}
	return b.String()
}

// docString returns a text for a string in triple quotes.
func docString(s string) string {
	s = strings.ReplaceAll(s, `\`, `\\`)
	if strings.HasSuffix(s, `"`) {
		s += " "
	}
	return s
}

func pythonOperations(t table) string {
	var b strings.Builder
	fmt.Fprintf(&b, `"""How each operation is sent, and one method for each.

%s
"""
from __future__ import annotations

from typing import Any, AsyncIterator, Dict, Iterator, List, Literal, Optional, Sequence, Tuple, Union

from ._http import Stream
from ._stream import AsyncFeed, AsyncStream, Feed, Line, Lines
from .types import *

OPERATIONS: Dict[str, Dict[str, Any]] = {
`, rewritten)
	for _, o := range t.ops {
		var words []string
		for _, v := range o.values("True") {
			words = append(words, `"`+v[0]+`": `+v[1])
		}
		fmt.Fprintf(&b, "    %q: {%s},\n", o.Name, strings.Join(words, ", "))
	}
	b.WriteString("}\n")
	for _, class := range []string{"Operations", "AsyncOperations"} {
		fmt.Fprintf(&b, "\n\nclass %s:\n", class)
		fmt.Fprintf(&b, "    def _call(self, name: str, fields: Dict[str, Any]) -> Any:\n        raise NotImplementedError\n")
		for _, o := range t.ops {
			pythonMethod(&b, o, class == "AsyncOperations")
		}
	}
	return b.String()
}

func pythonMethod(b *strings.Builder, o operation, async bool) {
	params, docs := []string{"self"}, ""
	param := func(f field.Field, optional bool) {
		is, name := pythonType(f.Kind, false), pythonName(f.Name)
		if optional {
			is = "Optional[" + is + "] = None"
		}
		params = append(params, name+": "+is)
		docs += "\n        :param " + name + ": " + docString(fieldDoc(f))
	}
	if o.Body != "" {
		params = append(params, "lines: Lines")
		docs += "\n        :param lines: The lines: texts, or objects that become JSON."
	}
	for _, f := range o.must {
		param(f, false)
	}
	if len(o.may) > 0 {
		params = append(params, "*")
	}
	for _, f := range o.may {
		param(f, true)
	}
	result, def, call := o.result(), "def", "self._call"
	if async {
		def, call = "async def", "await self._call"
	}
	switch {
	case o.answer == "lines" && async:
		result = "AsyncIterator[Line]"
	case o.answer == "lines":
		result = "Iterator[Line]"
	case o.answer == "events" && async:
		result = "AsyncFeed"
	case o.answer == "events":
		result = "Feed"
	case o.answer == "bytes" && async:
		result = "AsyncStream"
	case o.answer == "bytes":
		result = "Stream"
	}
	if o.answer != "" && o.answer != "bytes" {
		def, call = "def", "self._call" // it is asked when it is read
	}
	does := docString(o.Does)
	if docs != "" && !async {
		does += "\n" + docs + "\n        "
	}
	fmt.Fprintf(b, "\n    %s %s(%s) -> %s:\n        \"\"\"%s\"\"\"\n        return %s(%q, locals())\n", def,
		pythonName(o.Name), strings.Join(params, ", "),
		result, does, call, o.Name)
}
