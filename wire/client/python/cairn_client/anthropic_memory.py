"""The files of Anthropic's memory tool, in a cluster.

    from cairn_client.anthropic_memory import CairnMemoryTool
    runner = client.beta.messages.tool_runner(tools=[CairnMemoryTool(cairn)], ...)

A file is a memory whose key is its path, as it is of the TypeScript client. Each command that changes a file reads it
and writes it only if no other agent has changed it meanwhile; otherwise it begins again. What a model reads is what it
reads of the SDK's own tool on local files, except that a folder lasts as long as there is a file in it.
"""
from __future__ import annotations

import unicodedata
from typing import Any, Callable, Dict, List, Tuple

from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

from ._client import Client
from ._errors import CairnError
from ._keys import Keys, overtaken

ROOT = "/memories"
FOLDER_SIZE = "4K"  # as local file systems say
MOST_LINES = 999_999
BATCH_STEPS = 10_000  # at most
BLANK = "(blank file)"


def _key(path: str) -> str:
    """Return the key of a path, which may have . and .. as long as it stays below /memories."""
    if not path.startswith(ROOT):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    segments = [ROOT]
    for segment in path[len(ROOT):].split("/"):
        if segment == "..":
            segments.pop()
        elif segment not in ("", "."):
            segments.append(unicodedata.normalize("NFC", segment))
        if not segments:
            raise ToolError(f"Path {path} would escape {ROOT} directory")
    return "/".join(segments)


def _text(memory: Any) -> str:
    """Return a file's text. A memory has words, so a blank text is in the metadata."""
    return memory["metadata"].get("content", memory["text"])


def _memory(text: str) -> Dict[str, Any]:
    if text.strip():
        return {"text": text, "searchable": True}
    return {"text": BLANK, "searchable": False, "metadata": {"content": text}}


def _size(size: int) -> str:
    power = max(0, min((size.bit_length() - 1) // 10, 3))
    value = size / 1024 ** power
    return f"{int(value) if value == int(value) else format(value, '.1f')}{'BKMG'[power]}"


def _numbered(lines: List[str], start: int) -> str:
    return "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(lines, start))


def _refused(e: CairnError, path: str) -> Exception:
    """Say which path a key that is taken stands for."""
    if overtaken(e):
        return ToolError(f"File {path} already exists")
    if e.code == "key_taken":
        return ToolError(f"The path {path} is above or below a file: {(e.body or {}).get('key', '')}")
    return e


class CairnMemoryTool(BetaAbstractMemoryTool):
    """Keeps the files of the memory tool in a cluster.

    :param namespace: Cairn's namespace of all files.
    """

    def __init__(self, client: Client, *, namespace: str = "memories", **options: Any) -> None:
        super().__init__(**options)
        self._keys = Keys(client, namespace)

    def view(self, command: Any) -> str:
        path, key = command.path, _key(command.path)
        memory = self._keys.get(key) if key != ROOT else None
        if memory is None:
            return self._list(path, key)
        lines = _text(memory).split("\n")
        if len(lines) > MOST_LINES:
            raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
        start, end = 1, len(lines)
        span = getattr(command, "view_range", None)
        if span and len(span) == 2:
            start, end = max(1, span[0]), len(lines) if span[1] == -1 else span[1]
        return f"Here's the content of {path} with line numbers:\n{_numbered(lines[start - 1:end], start)}"

    def create(self, command: Any) -> str:
        key = _key(command.path)
        if self._is_folder(key):
            raise ToolError(f"File {command.path} already exists")
        try:
            self._keys.batch([{"op": "put", "key": key, "memory": _memory(command.file_text), "if_absent": True}])
        except CairnError as e:
            raise _refused(e, command.path) from e
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: Any) -> str:
        path, old = command.path, command.old_str

        def change(text: str) -> Tuple[str, int]:
            found, at = [], text.find(old)
            while at != -1:
                found.append(text.count("\n", 0, at) + 1)
                at = text.find(old, at + 1)
            if not found:
                raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
            if text.count(old) > 1:
                raise ToolError(f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                                f"{', '.join(map(str, found))}. Please ensure it is unique")
            return text.replace(old, command.new_str, 1), found[0] - 1

        text, at = self._edit(path, change)
        first = max(0, at - 2)
        return ("The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
                + _numbered(text.split("\n")[first:at + 3], first + 1))

    def insert(self, command: Any) -> str:
        def change(text: str) -> Tuple[str, int]:
            lines, at = text.split("\n"), command.insert_line  # as view numbers them: other characters end no line
            if lines[-1] == "":
                lines.pop()  # what the last line ends in begins no other
            if at < 0 or at > len(lines):
                raise ToolError(f"Invalid `insert_line` parameter: {at}. It should be within the range [0, {len(lines)}].")
            lines.insert(at, command.insert_text.rstrip("\n"))
            changed = "\n".join(lines)
            return changed if changed.endswith("\n") else changed + "\n", at

        self._edit(command.path, change)
        return f"The file {command.path} has been edited."

    def delete(self, command: Any) -> str:
        key = _key(command.path)
        if key == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        if not self._each(key, lambda file, revision: {"op": "delete", "key": file, "if_revision": revision}):
            raise ToolError(f"The path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    def rename(self, command: Any) -> str:
        old, new = command.old_path, command.new_path
        key, to = _key(old), _key(new)
        if key == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        if self._keys.get(to, latest=True) is not None or self._is_folder(to):
            raise ToolError(f"The destination {new} already exists")
        if to.startswith(key + "/"):
            raise ToolError(f"The path {new} is inside {old}")
        try:
            moved = self._each(key, lambda file, revision: {"op": "rename", "key": file, "to": to + file[len(key):],
                                                            "if_revision": revision})
        except CairnError as e:
            raise _refused(e, new) from e
        if not moved:
            raise ToolError(f"The path {old} does not exist")
        return f"Successfully renamed {old} to {new}"

    def clear_all_memory(self) -> str:
        self._each(ROOT, lambda file, revision: {"op": "delete", "key": file, "if_revision": revision})
        return "All memory cleared"

    def _edit(self, path: str, change: Callable[[str], Tuple[str, int]]) -> Tuple[str, int]:
        """Make of a file's text what change returns for it."""
        key = _key(path)

        def attempt() -> Tuple[str, int]:
            memory = self._keys.get(key, latest=True) if key != ROOT else None
            if memory is None:
                raise ToolError(f"The path {path} is not a file." if self._is_folder(key) else
                                f"The path {path} does not exist. Please provide a valid path.")
            text, at = change(_text(memory))
            self._keys.batch([{"op": "put", "key": key, "memory": _memory(text), "if_revision": memory["revision"]}])
            return text, at
        return self._keys.decide(attempt)

    def _each(self, key: str, step: Callable[[str, int], Dict[str, Any]]) -> int:
        """Do a step with a file, or with all files of a folder at once, and return how many they were."""
        done = 0

        def attempt() -> int:
            nonlocal done
            one = self._keys.get(key, latest=True) if key != ROOT else None
            rows = () if one else self._keys.rows(key, latest=True)
            files = [(key, one["revision"])] if one else [(row["key"], row["revision"]) for row in rows]
            for i in range(0, len(files), BATCH_STEPS):
                done += len(self._keys.batch([step(*file) for file in files[i:i + BATCH_STEPS]])["results"])
            return done
        return self._keys.decide(attempt)

    def _is_folder(self, key: str) -> bool:
        return key == ROOT or next(self._keys.rows(key, depth=1, limit=1, latest=True), None) is not None

    def _list(self, path: str, key: str) -> str:
        folder: Dict[str, Any] = {}  # name to size, or to the folder's own names
        for row in self._keys.rows(key, depth=2):
            name, _, below = row["key"][len(key) + 1:].rstrip("/").partition("/")
            shown: Any = {} if row["key"].endswith("/") else _size(self._bytes(row))
            if below:
                folder.setdefault(name, {})[below] = shown
            else:
                folder[name] = shown
        if not folder and key != ROOT:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        lines = [f"{FOLDER_SIZE}\t{path}"]

        def add(names: Dict[str, Any], above: str) -> None:
            for name in sorted(n for n in names if not n.startswith(".")):
                below = names[name]
                lines.append(f"{FOLDER_SIZE}\t{above}{name}/" if isinstance(below, dict) else f"{below}\t{above}{name}")
                if isinstance(below, dict):
                    add(below, f"{above}{name}/")
        add(folder, f"{path}/")
        return (f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:\n"
                + "\n".join(lines))

    def _bytes(self, row: Any) -> int:
        memory = self._keys.get(row["key"]) if row["bytes"] == len(BLANK) else None
        return len(_text(memory).encode()) if memory else row["bytes"]
