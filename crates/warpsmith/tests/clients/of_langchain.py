"""LangChain's client against a server: ADDRESS TEXT-MODEL TOOLS-MODEL KEY; prints one JSON object of what came."""

import json
import sys
import typing

import langchain_openai
import pydantic
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

address, text_model, tools_model, key = sys.argv[1:]
base = address + "/v1"
asked = "Name a colour"
found = {}


class Pet(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    name: typing.Annotated[str, pydantic.Field(max_length=20)]
    kind: typing.Literal["cat", "dog"]
    age: typing.Annotated[int, pydantic.Field(ge=0, le=30)]


class Weather(pydantic.BaseModel):
    """What the weather of a city will be."""

    model_config = pydantic.ConfigDict(extra="forbid")
    city: typing.Literal["Bonn", "Ulm"]
    days: typing.Annotated[int, pydantic.Field(ge=1, le=9)]


@tool
def clock(utc: bool) -> str:
    """Tells the time."""
    return "noon" if utc else "one"


def chat(model, **more):
    more = dict(temperature=0, max_tokens=12) | more
    return langchain_openai.ChatOpenAI(base_url=base, api_key=key, model=model, max_retries=0, **more)

model = chat(text_model)
whole = model.invoke(asked)
found["chat"] = whole.content
assert whole.usage_metadata["output_tokens"] > 0, whole
pieces = list(chat(text_model, stream_usage=True).stream(asked))
found["stream"] = "".join(piece.content for piece in pieces)
assert sum((piece.usage_metadata or {}).get("output_tokens", 0) for piece in pieces) == whole.usage_metadata["output_tokens"]
batch = model.batch([asked, asked])
assert [one.content for one in batch] == [whole.content] * 2, batch
system = model.invoke([SystemMessage("Answer in one word."), HumanMessage(asked)])
assert system.content, system
told = chat(text_model, logprobs=True, top_logprobs=2).invoke(asked)
assert len(told.response_metadata["logprobs"]["content"][0]["top_logprobs"]) == 2

long = chat(text_model, max_tokens=100)
for method in ["json_schema", "json_mode"]:
    pet = long.with_structured_output(Pet if method == "json_schema" else None, method=method).invoke("A pet, as JSON.")
    assert isinstance(pet, Pet if method == "json_schema" else dict), pet
responses = chat(text_model, use_responses_api=True).invoke(asked)
assert responses.text == whole.content, responses

# Tools: forced, by name, strict, where the model decides, and what came of a call.
able = chat(tools_model, max_tokens=200)
for choice, strict in [("any", True), ("required", True), ("Weather", True), ("Weather", None)]:
    answer = able.bind_tools([Weather, clock], tool_choice=choice, strict=strict).invoke("Rain in Bonn?")
    call = answer.tool_calls[0]
    assert call["name"] in ["Weather", "clock"] and not answer.invalid_tool_calls, answer
    if call["name"] == "Weather":
        Weather(**call["args"])
pieces = list(able.bind_tools([Weather], tool_choice="Weather").stream("Rain?"))
total = pieces[0]
for piece in pieces[1:]:
    total += piece
Weather(**total.tool_calls[0]["args"])
for more in [{}, {"strict": True}, {"parallel_tool_calls": False}]:
    answer = able.bind_tools([Weather, clock], **more).invoke("Rain in Bonn?")
    assert answer.content or answer.tool_calls, answer
weather = able.with_structured_output(Weather, method="function_calling").invoke("Rain?")
assert isinstance(weather, Weather), weather
messages = [HumanMessage("Rain?"), total, ToolMessage("none", tool_call_id=total.tool_calls[0]["id"])]
assert able.invoke(messages).content is not None

# What it counts tokens with is OpenAI's, of which other models know nothing.
vectors = langchain_openai.OpenAIEmbeddings(
    base_url=base, api_key=key, model=text_model, check_embedding_ctx_length=False, max_retries=0
)
first = vectors.embed_query("one")
assert vectors.embed_documents(["two", "one"])[1] == first

print(json.dumps(found))
