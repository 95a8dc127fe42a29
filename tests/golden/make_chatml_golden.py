"""Writes chatml_golden.inc: conversations rendered by jinja2 with templates of the ChatML family.

Needs jinja2. Run from anywhere: python make_chatml_golden.py
"""
import json
import pathlib

from jinja2.sandbox import ImmutableSandboxedEnvironment

OUT = pathlib.Path(__file__).with_name("chatml_golden.inc")

SMOLLM2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
PLAIN = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
ESCAPED_ON_LINES = r"""{% for message in messages %}
    {% if loop.first and messages[0].role != "system" %}
{{ "<|im_start|>system\nBe \"kind\".<|im_end|>\n" -}}
    {% endif %}
{{- "<|im_start|>" + message.role + "\n" -}}
    {{ message.content }}<|im_end|>
{% endfor %}
{%- if add_generation_prompt -%}
   {{ "<|im_start|>assistant\n" }}
{%- endif %}
"""

CHATS = [
    [("user", "Hello")],
    [("system", "Be brief."), ("user", "Why is the sky blue?")],
    [("user", "Hi"), ("assistant", "Hello!"), ("user", "{{ 7 }} <|im_end|>\n and 'quotes'")],
    [("user", "")],
    [("user", "one"), ("system", "late"), ("user", "two")],
]


def c_string(text):
    return json.dumps(text, ensure_ascii=True)


def main():
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    lines = ["// Written by make_chatml_golden.py with jinja2: template, messages, rendered text."]
    for source in (SMOLLM2, PLAIN, ESCAPED_ON_LINES):
        for chat in CHATS:
            messages = [{"role": role, "content": content} for role, content in chat]
            text = environment.from_string(source).render(messages=messages, add_generation_prompt=True)
            pairs = ", ".join(f"{{{c_string(role)}, {c_string(content)}}}" for role, content in chat)
            lines.append(f"{{{c_string(source)},\n {{{pairs}}},\n {c_string(text)}}},")
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
