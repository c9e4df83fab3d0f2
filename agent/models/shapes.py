"""The shapes in which models write calls as text: each is read at the very start of a text."""

import re
from collections.abc import Callable

from ogcode.agent.arguments import LENIENT, Unreadable, read, value_of

Call = tuple[str, dict[str, object]]
Found = tuple[list[Call], str]
"""Calls at the start of a text, and the text after them."""

_KEYS = ("name", "arguments", "parameters", "function", "call", "type", "id")
_NAME = r"(?:functions\.)?([\w.-]+?)(?::\d+)?"
_TAGS = ("tool_call", "tool_calls", "function_call", "function_calls", "tool_use", "minimax:tool_call", "tools")
_TAG = rf"<({'|'.join(_TAGS)})>"
_FENCE = r"(?i)```(?:json|tool_calls?|xml)?[ \t]*\n\s*"
_FUNCTION = r'(?s)<(?:function=|invoke name=")([\w.-]+)"?>(.*?)</(?:function|invoke)>'
_PARAMETER = r'(?s)<parameter(?:=| name=")([\w.-]+)"?>(.*?)</parameter>\s*(?=<parameter|\Z)'
_KEYED = r"(?s)([\w.-]+)\s*((?:<arg_key>.*?</arg_value>\s*)+)(?=</tool_call>|\Z)"
_PAIR = r"(?s)<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>"
_CONSTRAINED = r"(?:\s*<\|constrain\|>\s*\w*|\s+\w+)?\s*<\|message\|>"
_HEADED = (
    # Mistral, newer and older
    (rf"\[TOOL_CALLS\]\s*{_NAME}(?:\[CALL_ID\]\w+)?\[ARGS\]", ""),
    (rf"\[TOOL_CALLS\]\s*{_NAME}\s*(?=\{{)", ""),
    # Harmony, with what was thought before
    (
        r"(?:(?:<\|start\|>assistant)?<\|channel\|>\w+<\|message\|>(?:(?!<\|).)*<\|end\|>)?"
        rf"(?:<\|start\|>assistant)?<\|channel\|>\w+ to={_NAME}{_CONSTRAINED}",
        r"<\|(?:call|end|return)\|>",
    ),
    (rf"<\|start\|>assistant to={_NAME}<\|channel\|>\w+{_CONSTRAINED}", r"<\|call\|>"),
    # DeepSeek, older and newer
    (
        rf"(?:<｜tool▁calls▁begin｜>)?\s*<｜tool▁call▁begin｜>function<｜tool▁sep｜>{_NAME}\s*```json",
        r"```\s*<｜tool▁call▁end｜>\s*(?:<｜tool▁calls▁end｜>)?",
    ),
    (
        rf"(?:<｜tool▁calls▁begin｜>)?\s*<｜tool▁call▁begin｜>{_NAME}<｜tool▁sep｜>",
        r"<｜tool▁call▁end｜>\s*(?:<｜tool▁calls▁end｜>)?",
    ),
    # Kimi
    (
        rf"(?:<\|tool_calls_section_begin\|>)?\s*<\|tool_call_begin\|>\s*{_NAME}\s*<\|tool_call_argument_begin\|>",
        r"<\|tool_call_end\|>\s*(?:<\|tool_calls_section_end\|>)?",
    ),
    # Llama
    (rf"<function={_NAME}>\s*(?=\{{)", r"</function>"),
)
"""A head that names the tool; then its arguments as JSON, and a foot, which a model may leave out at its very end."""

SPECIAL = (
    *(f"<{tag}>" for tag in _TAGS if tag != "tools"),
    "```tool_call",
    "<function=",
    "<invoke name=",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<|channel|>commentary to=",
    "<|channel|>analysis to=",
    "<|start|>assistant",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
)
"""How a call begins that can hardly be anything else."""
_STARTS = (*SPECIAL, "<tools>", "<|channel|>", "```json", "```xml", "```\n")
_ENDS = (*(f"</{tag}>" for tag in (*_TAGS, "function", "invoke", "tool_response")), "```", "|>", "｜>")
_BROKEN = (
    r"(?:<(tool_call|function_call)>|\[TOOL_CALLS\]|<\|python_tag\|>)\s*"
    r"""(?P<json>\[?\s*\{\s*["']name["']\s*:\s*["'](?P<name>[\w.-]+)["']\s*,\s*["'](?:arguments|parameters)["']\s*:)"""
)
_NEXT = r"""\{\s*["']name["']\s*:\s*["']([\w.-]+)["']\s*,\s*["'](?:arguments|parameters)["']\s*:"""
_STOP = r"(?:\s|</tool_call>|<\|(?:im_end|eot_id|eom_id|end|endoftext|call|return)\|>|</s>|<｜end▁of▁sentence｜>)+\Z"
"""What may be left of a model's own way to end."""


def leading(text: str) -> Found:
    """Read all calls that a text begins with, one after the other.

    Results that a model makes up, and all that it makes of them, are not part of the text.
    """
    found, rest = list[Call](), f"{text[:-80]}{re.sub(_STOP, '', text[-80:])}".strip()
    while rest and (part := _any(rest)):
        found += part[0]
        rest = part[1].lstrip()
        if rest.startswith("<tool_response"):
            rest = ""
    return found, rest


def may_be_calls(text: str) -> bool:
    """Tell whether what has come so far may still turn out to be nothing but calls."""
    start = text.lstrip()
    if fence := re.match(_FENCE, start):
        return not (inner := start[fence.end() :]) or may_be_calls(inner)
    if any(known.startswith(start[: len(known)]) for known in _STARTS):
        return True
    if start[:1] == "[":
        return bool(inner := start[1:].lstrip()) and inner[0] == "{" and may_be_calls(inner)
    if start[:1] == "{":
        key = start[1:].lstrip()
        return any(f'"{known}"'.startswith(key[: len(known) + 2]) for known in _KEYS)
    return False


def may_be_closed(text: str) -> bool:
    """Tell at a glance whether a text may end with a whole call, or with a result that was made up."""
    return text[-40:].rstrip().endswith(("}", "]") if text.lstrip()[:1] in ("{", "[") else _ENDS)


def named_in(text: str) -> str:
    """Name the tool that a text in special tags calls with arguments that can't be read; empty where it calls none."""
    found = re.match(_BROKEN, text)
    if not found or (found[1] and f"</{found[1]}>" in text and not text.endswith(f"</{found[1]}>")):
        return ""
    return "" if _value(text[found.start("json") :], "") else found["name"]


def next_in(rest: str) -> str:
    """Name the tool that what follows a call calls as JSON which can't be read; empty where it is something else."""
    found = re.match(_NEXT, rest)
    return "" if not found or _value(rest, "") else found[1]


def _any(text: str, closer: str = "") -> Found | None:
    if found := _json(text, closer):
        return found
    for shape in (*SHAPES, _keyed) if closer else SHAPES:
        if found := shape(text):
            return found
    return None


def _json(text: str, closer: str = "") -> Found | None:
    """`{"name": …, "arguments": {…}}`, or a list of them; its own last bracket is not needed to know what it means."""
    if text[:1] not in ("{", "[") or not (part := _value(text, closer, missing="}")):
        return None
    value, rest = part
    calls = [_call(each, tagged=bool(closer)) for each in (value if isinstance(value, list) else [value])]
    known = [call for call in calls if call]
    return (known, rest) if known and len(known) == len(calls) else None


def _value(text: str, closer: str, *, missing: str = "") -> tuple[object, str] | None:
    """Read JSON at the start of a text: to its end where it is strict, else to the closer, mended and completed."""
    try:
        value, end = LENIENT.raw_decode(text)
        return value, re.sub(r"^[\s}\]]+", "", text[end:])
    except (ValueError, RecursionError):
        found = re.search(closer, text) if closer else None
        body, rest = (text[: found.start()], text[found.start() :]) if found else (text, "")
        for whole in dict.fromkeys((body, body + missing)):
            try:
                return value_of(whole), rest
            except Unreadable:
                continue
    return None


def _call(value: object, *, tagged: bool) -> Call | None:
    for outer in ("function", "call"):
        if isinstance(value, dict) and isinstance(value.get(outer), dict) and value.keys() <= {outer, "type", "id"}:
            value = value[outer]
    if not isinstance(value, dict) or not value.keys() <= set(_KEYS) or not isinstance(value.get("name"), str):
        return None
    arguments = value.get("arguments", value.get("parameters", {} if tagged else None))
    if isinstance(arguments, str):
        try:
            arguments = read(arguments)
        except Unreadable:
            return None
    return (value["name"], arguments) if isinstance(arguments, dict) else None


def _fenced(text: str) -> Found | None:
    """Calls between three backticks."""
    opened = re.match(_FENCE, text)
    return _wrapped(text[opened.end() :], "```") if opened else None


def _tagged(text: str) -> Found | None:
    """Calls between `<tool_call>` and `</tool_call>`, or tags like these."""
    opened = re.match(_TAG, text)
    return _wrapped(text[opened.end() :], f"</{opened[1]}>") if opened else None


def _marked(text: str) -> Found | None:
    """JSON after a mark that nothing closes."""
    for mark in ("[TOOL_CALLS]", "<|python_tag|>"):
        if text.startswith(mark):
            return _json(text.removeprefix(mark).lstrip())
    return None


def _wrapped(text: str, closer: str) -> Found | None:
    """Read calls up to `closer`, which a model may leave out at its very end."""
    found, rest = list[Call](), text.lstrip()
    while rest and not re.match(closer, rest):
        part = _any(rest, closer)
        if part is None:
            return None
        found += part[0]
        rest = part[1].lstrip()
    return (found, re.sub(closer, "", rest, count=1)) if found else None


def _headed(text: str) -> Found | None:
    """A name and its arguments between tokens of a model's own."""
    for head, foot in _HEADED:
        if named := re.match(head, text, re.DOTALL):
            part = _value(text[named.end() :].lstrip(), foot)
            if part is None or not isinstance(part[0], dict):
                return None
            rest = part[1].lstrip()
            end = re.match(foot, rest)
            return [(named[1], part[0])], rest[end.end() :] if end else rest
    return None


def _function(text: str) -> Found | None:
    """`<function=name><parameter=key>value</parameter></function>`."""
    whole = re.match(_FUNCTION, text)
    if not whole:
        return None
    body = whole[2].strip()
    if body and not (body.startswith("<parameter") and body.endswith("</parameter>")):
        return None
    given = {part[1]: part[2].removeprefix("\n").removesuffix("\n") for part in re.finditer(_PARAMETER, body)}
    return [(whole[1], dict[str, object](given))], text[whole.end() :]


def _keyed(text: str) -> Found | None:
    """`name<arg_key>key</arg_key><arg_value>value</arg_value>`, in a tag."""
    whole = re.match(_KEYED, text)
    if not whole:
        return None
    return [(whole[1], {key.strip(): value for key, value in re.findall(_PAIR, whole[2])})], text[whole.end() :]


SHAPES: tuple[Callable[[str], Found | None], ...] = (_fenced, _tagged, _marked, _headed, _function)
