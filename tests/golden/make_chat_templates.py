"""Writes the golden values of chat templates, rendered by jinja2 as transformers sets it up.

chat_template_cases.inc: small templates of our own, one a construct, with their text or "error".
chat_template_peers.inc: with a folder of released models' templates as argument: FNV-1a hashes of their renderings of
generated conversations (the templates themselves stay outside).

Needs jinja2. python make_chat_templates.py [FOLDER/templates]
"""
import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2026, 7, 4, 9, 5, 3)

MESSAGES = [
    {"role": "system", "content": " Be brief. "},
    {"role": "user", "content": "Grüße, 'you' & \"me\" <b>\n"},
    {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHi!"},
    {"role": "user", "content": "Next?"},
]
ARGUMENTS = {
    "word": "straße Élan", "empty": "", "five": 5, "half": 2.5, "yes": True, "nothing": None, "list": [3, 1, 2],
    "names": ["b", "A", "c", "a"], "nested": {"b": {"x": [1, 2.0, None, True, "q'\"\n"]}, "a": {}, "items": 7},
    "rows": [{"n": 2, "t": {"k": "B"}}, {"n": 1, "t": {"k": "a"}}, {"n": 2, "t": {"k": "c"}}],
    "text": " a,b,,c \n d\te ", "number": "42", "pairs": [["k", 1], ["l", 2]], "emoji": "a😀b",
}
CASES = HERE.joinpath("chat_template_cases.txt").read_text().split("\n----\n")


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def render(source, messages, arguments, add_generation_prompt=True):
    """The text, or None for an error."""
    variables = {"tools": None, "documents": None, "bos_token": "<s>", "eos_token": "</s>", **arguments}
    try:
        return environment().from_string(source).render(
            messages=messages, add_generation_prompt=add_generation_prompt, **variables)
    except Exception:  # jinja2 lets Python's own errors through.
        return None


def c_string(text):
    out = ""
    for byte in text.encode():
        out += chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
    return f'"{out}"'


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def conversations():
    user = {"role": "user", "content": "  Hello <|im_end|> there 'q' \"d\"\n"}
    assistant = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHi!"}
    system = {"role": "system", "content": "Be brief. /no_think\n"}
    call = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "abcdef123", "type": "function",
         "function": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 2, "x": [1.5, None, True, 1e20]}}}]}
    result = {"role": "tool", "content": '{"t": 21}', "tool_call_id": "abcdef123", "name": "get_weather"}
    two = dict(call, tool_calls=call["tool_calls"] * 2)
    return [[user], [system, user], [user, assistant, user], [system, user, assistant, user, assistant],
            [user, call, result], [system, user, call, result, assistant, user], [user, user], [assistant], [system],
            [user, dict(assistant, reasoning_content="because", thinking="because"), user],
            [user, call, result, two, result, result]]


def argument_sets():
    tools = [
        {"type": "function", "function": {
            "name": "get_weather", "description": 'Get the "weather" <b>now</b>',
            "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "München"},
                                                            "days": {"type": "integer", "default": 3}},
                           "required": ["city"]}}},
        {"type": "function", "function": {"name": "noop", "description": "Nothing",
                                          "parameters": {"type": "object", "properties": {}}}}]
    return [{}, {"tools": tools}, {"enable_thinking": False},
            {"tools": tools, "enable_thinking": True, "documents": [{"doc_id": 1, "title": "T", "text": "body"}],
             "thinking": True, "controls": {"citations": True}},
            {"custom_tools": tools, "builtin_tools": ["get_weather", "code_interpreter"], "tools_in_user_message": False,
             "date_string": "X"}]


def dumps(value):
    return json.dumps(value, ensure_ascii=False)


def write_cases():
    lines = ["// Written by make_chat_templates.py with jinja2: template, text (null: an error).",
             f"constexpr char kMessages[] = {c_string(dumps(MESSAGES))};",
             f"constexpr char kArguments[] = {c_string(dumps(ARGUMENTS))};", "constexpr GoldenCase kCases[] = {"]
    for source in CASES:
        text = render(source, MESSAGES, ARGUMENTS)
        lines.append(f"    {{{c_string(source)}, {'nullptr' if text is None else c_string(text)}}},")
    HERE.joinpath("chat_template_cases.inc").write_text("\n".join([*lines, "};", ""]))


def write_peers(folder):
    lines = ["// Written by make_chat_templates.py with jinja2: per template, FNV-1a of each rendering (0: an error),",
             "// for each conversation, each set of arguments, without and with a generation prompt.",
             "constexpr const char* kConversations[] = {"]
    lines += [f"    {c_string(dumps(chat))}," for chat in conversations()]
    lines += ["};", "constexpr const char* kArgumentSets[] = {"]
    lines += [f"    {c_string(dumps(arguments))}," for arguments in argument_sets()]
    lines += ["};", "constexpr PeerTemplate kPeers[] = {"]
    for path in sorted(pathlib.Path(folder).glob("*.jinja")):
        source = path.read_text()
        hashes = []
        for chat in conversations():
            for arguments in argument_sets():
                for prompt in (False, True):
                    text = render(source, chat, arguments, prompt)
                    hashes.append("0" if text is None else f"{fnv(text):#x}")
        lines.append(f"    {{{c_string(path.name)},")
        lines += ["     " + ("{" if i == 0 else "") + ", ".join(hashes[i:i + 5]) +
                  ("}}," if i + 5 >= len(hashes) else ",") for i in range(0, len(hashes), 5)]
    HERE.joinpath("chat_template_peers.inc").write_text("\n".join([*lines, "};", ""]))


if __name__ == "__main__":
    write_cases()
    if len(sys.argv) > 1:
        write_peers(sys.argv[1])
