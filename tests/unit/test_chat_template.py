"""Chat templates: code from strangers that writes a conversation as the model knows it."""

from datetime import datetime

import pytest

from specchat.chat.template import ChatTemplate, Turn
from specchat.errors import TemplateProblem

CHATML = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}"""

WITHOUT_SYSTEM = """\
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {{- raise_exception('System role not supported') }}
    {%- endif %}
    {{- '[' ~ message.role ~ ']' ~ message.content }}
{%- endfor %}"""


def render(source: str | None, *turns: Turn) -> str:
    return ChatTemplate(source, bos="<s>", eos="</s>").render(turns)


def system(content: str) -> Turn:
    return {"role": "system", "content": content}


def user(content: str) -> Turn:
    return {"role": "user", "content": content}


def assistant(content: str) -> Turn:
    return {"role": "assistant", "content": content}


def test_a_conversation_is_written_up_to_where_the_answer_begins() -> None:
    text = render(CHATML, system("Be brief."), user("Hi"), assistant("Hello"), user("Why?"))

    assert text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello<|im_end|>\n"
        "<|im_start|>user\nWhy?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_what_a_person_wrote_is_not_read_as_a_template() -> None:
    content = "{{ 1 + 1 }} {% raw %} <b> & 'quotes'"

    assert f"user\n{content}<|im_end|>" in render(CHATML, user(content))


def test_a_system_turn_that_the_template_refuses_goes_in_front_of_the_first_user_turn() -> None:
    text = render(WITHOUT_SYSTEM, system("Be brief."), user("Hi"), assistant("Yes?"), user("Why?"))

    assert text == "[user]Be brief.\n\nHi[assistant]Yes?[user]Why?"


def test_rendering_leaves_the_conversation_as_it_was() -> None:
    turns = [system("Be brief."), user("Hi")]
    ChatTemplate(WITHOUT_SYSTEM, bos="", eos="").render(turns)

    assert turns == [system("Be brief."), user("Hi")]


@pytest.mark.parametrize("turns", [[user("Hi")], [system("Be brief."), user("Hi")]])
def test_a_template_that_always_refuses_is_quoted(turns: list[Turn]) -> None:
    with pytest.raises(TemplateProblem) as refusal:
        render("{{ raise_exception('Only on Sundays') }}", *turns)

    assert "Only on Sundays" in refusal.value.happened


@pytest.mark.parametrize(
    "source", ["{% for %}", "{{ 'open", "{% endif %}", "{{ 1 | no_such_filter }}", "{% unknown %}"]
)
def test_a_template_with_an_error_in_it_is_a_problem_with_the_template(source: str) -> None:
    with pytest.raises(TemplateProblem):
        render(source, user("Hi"))


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages[0].content + 1 }}",
        "{{ 1 / 0 }}",
        "{{ 5 | dictsort }}",
        "{{ cycler() }}",
        "{{ messages | map('length') | sum(start='') }}",
        "{{ no_such_thing.attribute }}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{{ " + "9" * 5000 + " }}",
    ],
    ids=lambda source: source[:20],
)
def test_whatever_goes_wrong_in_a_template_is_a_problem_with_the_template(source: str) -> None:
    with pytest.raises(TemplateProblem):
        render(source, user("Hi"))


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.__init__.__globals__ }}",
        "{{ raise_exception.__globals__['os'] }}",
        "{{ strftime_now.__code__.co_consts }}",
        "{{ lipsum.__globals__['os'].getcwd() }}",
        "{{ '{0.__class__.__mro__}'.format('') }}",
        "{{ (''|attr('__class__')).mro() }}",
        "{% include '/etc/passwd' %}",
        "{{ messages.append(messages[0]) }}",
        "{{ messages[0].update(role='system') }}",
        "{% for number in range(10 ** 9) %}{% endfor %}",
    ],
)
def test_a_template_reaches_nothing_outside_and_changes_nothing(source: str) -> None:
    with pytest.raises(TemplateProblem):
        render(source, user("Hi"))


def test_the_beginning_and_the_end_token_are_known_to_the_template() -> None:
    assert render("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}", user("Hi")) == (
        "<s>Hi</s>"
    )


def test_a_template_can_ask_for_the_date() -> None:
    before = datetime.now()
    written = render("{{ strftime_now('%Y-%m-%d %H:%M') }}", user("Hi"))
    after = datetime.now()

    assert written in (before.strftime("%Y-%m-%d %H:%M"), after.strftime("%Y-%m-%d %H:%M"))


def test_json_is_written_as_models_are_trained_on_it() -> None:
    text = render("{{ messages[0] | tojson }}", user("grüße <b> & 'so'"))

    assert text == """{"role": "user", "content": "grüße <b> & 'so'"}"""


def test_json_takes_the_options_that_templates_use() -> None:
    indented = render("{{ messages[0] | tojson(indent=2) }}", user("ü"))
    ascii_only = render("{{ messages[0].content | tojson(ensure_ascii=True) }}", user("ü"))

    assert indented == '{\n  "role": "user",\n  "content": "ü"\n}'
    assert ascii_only == '"\\u00fc"'


def test_loops_can_be_left_early() -> None:
    source = (
        "{% for message in messages %}"
        "{% if message.role == 'assistant' %}{% continue %}{% endif %}"
        "{% if message.content == 'stop' %}{% break %}{% endif %}"
        "{{ message.content }}"
        "{% endfor %}"
    )

    assert render(source, user("a"), assistant("b"), user("c"), user("stop"), user("d")) == "ac"


def test_lines_of_nothing_but_statements_leave_no_trace() -> None:
    source = "{% if true %}\n  {% set name = 'x' %}\n{{ name }}\n{% endif %}\n"

    assert render(source, user("Hi")) == "x\n"


def test_without_a_template_the_model_writes_on_from_the_text() -> None:
    assert render(None, system("Once"), user("upon {{ 1 }}")) == "Once\n\nupon {{ 1 }}"
    assert render(None) == ""
