"""OpenAI's own client against a server: ADDRESS TEXT-MODEL TOOLS-MODEL SPEECH-MODEL SOUND KEY; prints one JSON object of what
came."""

import json
import struct
import sys
import typing

import openai
import pydantic

address, text_model, tools_model, speech_model, sound, key = sys.argv[1:]
client = openai.OpenAI(base_url=address + "/v1", api_key=key, max_retries=0, timeout=120)
found = {}

models = [model.id for model in client.models.list()]
assert sorted([text_model, tools_model, speech_model]) == sorted(models), models

messages = [{"role": "user", "content": "Name a colour"}]
asked = dict(model=text_model, messages=messages, max_tokens=12, temperature=0)
whole = client.chat.completions.create(**asked)
found["chat"] = whole.choices[0].message.content
assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens

stream = client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
chunks = list(stream)
found["stream"] = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
assert chunks[-1].usage == whole.usage, chunks[-1]

several = client.chat.completions.create(
    **{**asked, "temperature": 1.0}, n=2, seed=3, logprobs=True, top_logprobs=2
)
assert len(several.choices) == 2
for choice in several.choices:
    for token in choice.logprobs.content:
        assert token.logprob <= 0 and len(token.top_logprobs) == 2, token

done = client.completions.create(
    model=text_model, prompt="The capital of France is", max_tokens=6, temperature=0
)
found["completion"] = done.choices[0].text

answer = client.responses.create(model=text_model, input="Name a colour", max_output_tokens=12, temperature=0)
found["response"] = answer.output_text
events = list(
    client.responses.create(
        model=text_model, input="Name a colour", max_output_tokens=12, temperature=0, stream=True
    )
)
deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
assert "".join(deltas) == answer.output_text, deltas
assert events[-1].response.output_text == answer.output_text

# The client asks for base64 unless told otherwise.
plain = client.embeddings.create(model=text_model, input=["one", "two"], encoding_format="float")
packed = client.embeddings.create(model=text_model, input=["one", "two"])
for a, b in zip(plain.data, packed.data):
    assert struct.pack(f"<{len(a.embedding)}f", *a.embedding) == struct.pack(f"<{len(b.embedding)}f", *b.embedding)
    assert abs(sum(x * x for x in a.embedding) - 1) < 1e-4

with open(sound, "rb") as file:
    found["text"] = client.audio.transcriptions.create(model=speech_model, file=file).text
with open(sound, "rb") as file:
    verbose = client.audio.transcriptions.create(
        model=speech_model, file=file, response_format="verbose_json", timestamp_granularities=["word"]
    )
assert verbose.words and verbose.words[0].start <= verbose.words[0].end, verbose
with open(sound, "rb") as file:
    events = list(client.audio.transcriptions.create(model=speech_model, file=file, stream=True))
assert events[-1].type == "transcript.text.done" and events[-1].text == found["text"], events


class Pet(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    name: typing.Annotated[str, pydantic.Field(max_length=20)]
    kind: typing.Literal["cat", "dog"]
    age: typing.Annotated[int, pydantic.Field(ge=0, le=30)]


# As its users ask for a class: chat, a stream, responses.
asked_pet = {**asked, "messages": [{"role": "user", "content": "Describe a pet."}], "max_tokens": 100}
pet = client.chat.completions.parse(**asked_pet, response_format=Pet).choices[0].message.parsed
assert isinstance(pet, Pet), pet
with client.chat.completions.stream(**asked_pet, response_format=Pet) as stream:
    assert stream.get_final_completion().choices[0].message.parsed == pet
answer = client.responses.parse(
    model=text_model, input="Describe a pet.", max_output_tokens=100, temperature=0, text_format=Pet
)
assert answer.output_parsed == pet, (answer.output_parsed, pet)


# Its own description of a class as a function is strict, and the model decides unless it has to call.
functions = dict(model=tools_model, tools=[openai.pydantic_function_tool(Pet)], max_tokens=200)
free = client.chat.completions.create(**asked | functions | {"max_tokens": 8})
assert free.choices[0].message.content, free
message = client.chat.completions.parse(**asked | functions, tool_choice="required").choices[0].message
assert isinstance(message.tool_calls[0].function.parsed_arguments, Pet), message


def refused(kind, param, call):
    try:
        call()
    except kind as error:
        assert error.param == param, error.body
    else:
        raise AssertionError(f"{param} was not refused")


tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
refused(openai.BadRequestError, "tools", lambda: client.chat.completions.create(**asked, tools=[tool]))
refused(
    openai.BadRequestError,
    "response_format.json_schema.schema",
    lambda: client.chat.completions.create(
        **asked, response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": {"not": {}}}}
    ),
)
refused(openai.NotFoundError, "model", lambda: client.chat.completions.create(**{**asked, "model": "gpt-5"}))
refused(openai.BadRequestError, "file", lambda: client.audio.transcriptions.create(model=speech_model, file=b"noise"))
stranger = openai.OpenAI(base_url=address + "/v1", api_key="wrong", max_retries=0)
refused(openai.AuthenticationError, None, lambda: stranger.models.list())

# A stream that is left half-way.
with client.chat.completions.create(**{**asked, "max_tokens": 200}, stream=True) as stream:
    next(iter(stream))

print(json.dumps(found))
