"""LiteLLM against a server: ADDRESS TEXT-MODEL TOOLS-MODEL SPEECH-MODEL SOUND KEY; prints one JSON object of what came."""

import json
import sys
import typing

import litellm
import pydantic

address, text_model, tools_model, speech_model, sound, key = sys.argv[1:]
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


litellm.telemetry = False
# Standard output is for the answer.
litellm.suppress_debug_info = True
to = dict(api_base=base, api_key=key, max_retries=0)
messages = [{"role": "user", "content": asked}]
chat = dict(model="openai/" + text_model, messages=messages, temperature=0, max_tokens=12, **to)
whole = litellm.completion(**chat)
found["chat"] = whole.choices[0].message.content
pieces = list(litellm.completion(**chat, stream=True, stream_options={"include_usage": True}))
found["stream"] = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
assert pieces[-1].usage.completion_tokens == whole.usage.completion_tokens, pieces[-1]
several = litellm.completion(**chat | {"temperature": 1.0}, n=2, seed=3, stop=["\n\n"], top_p=0.9)
assert len(several.choices) == 2, several
pet = litellm.completion(**chat | {"max_tokens": 100}, response_format=Pet)
Pet.model_validate_json(pet.choices[0].message.content)
functions = [
    {"type": "function", "function": {"name": "Weather", "strict": True, "parameters": Weather.model_json_schema()}}
]
able = chat | {"model": "openai/" + tools_model, "max_tokens": 200, "tools": functions}
call = litellm.completion(**able, tool_choice="required").choices[0].message.tool_calls[0]
Weather.model_validate_json(call.function.arguments)
pieces = list(litellm.completion(**able, tool_choice="required", stream=True))
whole = litellm.stream_chunk_builder(pieces)
Weather.model_validate_json(whole.choices[0].message.tool_calls[0].function.arguments)
free = litellm.completion(**able, tool_choice="auto").choices[0].message
assert free.content or free.tool_calls, free
text = litellm.text_completion(
    model="text-completion-openai/" + text_model, prompt="The capital of France is", max_tokens=6, temperature=0, **to
)
found["completion"] = text.choices[0].text
vectors = litellm.embedding(model="openai/" + text_model, input=["one"], encoding_format="float", **to)
assert len(vectors.data[0]["embedding"]) > 100
with open(sound, "rb") as file:
    found["text"] = litellm.transcription(model="openai/" + speech_model, file=file, **to).text
try:
    litellm.completion(**chat | {"model": "openai/nobody"})
except litellm.NotFoundError as error:
    assert "nobody" in str(error), error
else:
    raise AssertionError("a model that is none was not refused")

print(json.dumps(found))
