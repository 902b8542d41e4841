"""A language model from Python: text, streams, batches, numbers, errors, interruptions."""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time

import numpy as np
import pytest

import warpsmith
from conftest import SMOLLM2
from warpsmith.errors import ClosedError, ContextFullError, InputError, ModelError, UnsupportedError

PROMPT = "The capital of France is"


def test_greedy_text_is_the_same_alone_streamed_in_a_batch_and_from_many_threads(llm):
    options = {"max_tokens": 12, "temperature": 0}
    prompts = [PROMPT, "Water boils at", "Once upon a time"]
    alone = [llm.generate(prompt, **options) for prompt in prompts]
    assert "Paris" in alone[0] and isinstance(alone[0], str)
    assert llm.generate(prompts, **options) == alone
    assert llm.generate([llm.tokenize(prompt) for prompt in prompts], **options) == alone
    events = list(llm.stream(PROMPT, **options))
    assert "".join(event.text for event in events) == alone[0]
    assert [event.token.id for event in events if event.token] == [one.id for one in alone[0].tokens]
    assert [event.finish_reason for event in events][-1] == alone[0].finish_reason == "length"
    from_threads = {}
    threads = [
        threading.Thread(target=lambda at=at: from_threads.update({at: llm.generate(prompts[at], **options)}))
        for at in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [from_threads[at] for at in range(3)] == alone
    assert alone[0].prompt_tokens == len(llm.tokenize(PROMPT))
    assert llm.generate([], **options) == []


def test_a_seed_draws_the_same_again(llm):
    one = llm.generate(PROMPT, max_tokens=8, temperature=1.5)
    assert llm.generate(PROMPT, max_tokens=8, temperature=1.5, seed=one.seed) == one
    assert [token.id for token in one.tokens] != [
        token.id for token in llm.generate(PROMPT, max_tokens=8, temperature=1.5, seed=one.seed + 1).tokens
    ]


def test_stop_strings_biases_and_the_end_of_a_text(llm):
    whole = llm.generate(PROMPT, max_tokens=12, temperature=0)
    stopped = llm.generate(PROMPT, max_tokens=12, temperature=0, stop=["Paris"])
    assert stopped == whole.split("Paris")[0] and stopped.finish_reason == "stop"
    first = whole.tokens[0].id
    other = llm.generate(PROMPT, max_tokens=1, temperature=0, logit_bias={first: float("-inf")})
    assert other.tokens[0].id != first
    answer = llm.chat("Answer with one word: what colour is the sky?", max_tokens=40, temperature=0)
    assert answer and answer.finish_reason == "stop" and "<|im_end|>" not in answer


def test_logprobs_are_those_of_the_logits(llm):
    made = llm.generate(PROMPT, max_tokens=2, temperature=0, logprobs=3)
    ids = llm.tokenize(PROMPT)
    rows = llm.logits(ids)
    assert rows.shape == (len(ids), llm.vocab_size) and rows.dtype == np.float32
    last = llm.logits(PROMPT, last=True)
    np.testing.assert_allclose(last, rows[-1], atol=0.05)
    assert int(last.argmax()) == made.tokens[0].id
    logs = last - np.log(np.exp(last.astype(np.float64) - last.max()).sum()) - last.max()
    assert math.isclose(made.logprobs[0], logs[made.tokens[0].id], abs_tol=0.1)
    assert [len(token.top) for token in made.tokens] == [3, 3]
    assert made.tokens[0].top[0] == (made.tokens[0].id, made.logprobs[0])


def test_embeddings_have_length_one_and_tell_texts_apart(llm):
    vectors = llm.embed(["A cat sleeps.", "The cat is asleep.", "Interest rates rose by a quarter."])
    assert vectors.shape == (3, llm.width) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    np.testing.assert_array_equal(llm.embed("A cat sleeps."), vectors[0])
    assert not np.allclose(llm.embed("A cat sleeps.", pooling="last"), vectors[0])


def test_tokens_are_text_and_back(llm):
    text = "Äpfel, 12 für 3 €!\n"
    assert llm.detokenize(llm.tokenize(text)) == text
    assert len(llm.tokenize("<|im_end|>")) == 1 < len(llm.tokenize("<|im_end|>", special=False))
    np.testing.assert_equal(llm.detokenize(np.array(llm.tokenize("Hello"))), "Hello")


def test_conversations_go_through_the_template(llm):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    text = llm.apply_chat_template(messages)
    assert text.endswith("<|im_start|>assistant\n") and "Be brief." in text
    parts = [messages[0], {"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert llm.apply_chat_template(parts) == text
    streamed = llm.chat(messages, stream=True, max_tokens=4, temperature=0)
    assert "".join(event.text for event in streamed) == llm.chat(messages, max_tokens=4, temperature=0)
    with pytest.raises(UnsupportedError, match="tools"):
        llm.chat(messages, tools=[{"type": "function", "function": {"name": "f"}}])
    for odd, said in [
        ([{"role": "user", "text": "Hi"}], "messages[0]: expected content, name, role"),
        (["Hi"], "messages[0]: expected a dict, found str"),
        ([{"content": "Hi"}], "missing field `role`"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content"),
    ]:
        with pytest.raises(InputError) as caught:
            llm.chat(odd)
        assert said in str(caught.value)


PET = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "kind": {"enum": ["cat", "dog", "bird"]},
        "age": {"type": "integer", "minimum": 0, "maximum": 30},
    },
    "required": ["name", "kind", "age"],
    "additionalProperties": False,
}


def test_a_text_is_what_a_schema_a_grammar_or_an_expression_describes(llm):
    options = {"max_tokens": 60, "temperature": 0}
    prompts = ["Describe a pet.", "Describe an old dog.", "Describe a bird."]
    alone = [llm.chat(prompt, json_schema=PET, **options) for prompt in prompts]
    for text in alone:
        pet = json.loads(text)
        assert list(pet) == ["name", "kind", "age"] and text.finish_reason == "stop"
        assert pet["kind"] in PET["properties"]["kind"]["enum"] and 0 <= pet["age"] <= 30
        # Tokens that the grammar knows are told as those that are drawn.
        assert llm.detokenize([token.id for token in text.tokens]) == text
    assert llm.chat("Describe a pet.", json_schema=json.dumps(PET), **options) == alone[0]
    together = llm.generate([llm.encode_chat(prompt) for prompt in prompts], json_schema=PET, **options)
    assert together == alone
    streamed = list(llm.chat(prompts[0], stream=True, json_schema=PET, **options))
    assert "".join(event.text for event in streamed) == alone[0]
    told = llm.chat(prompts[0], json_schema=PET, logprobs=1, **options)
    assert json.loads(told) and all(logprob is not None for logprob in told.logprobs)
    assert re.fullmatch("(red|green|blue), [0-9]{2}", llm.generate(PROMPT, regex="(red|green|blue), [0-9]{2}", **options))
    assert llm.generate(PROMPT, grammar='start: "Paris" | "London"', **options) in ("Paris", "London")
    # With one way to go there is nothing to draw.
    assert llm.generate(PROMPT, grammar='start: " exactly this"', **options) == " exactly this"
    cut = llm.chat("Describe a pet.", json_schema=PET, max_tokens=3, temperature=0)
    assert cut.finish_reason == "length" and alone[0].startswith(cut)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"json_schema": {"type": "strnig"}}, "strnig"),
        ({"json_schema": "{"}, "json_schema: expected a JSON schema"),
        ({"json_schema": {"type": {1, 2}}}, "json_schema: expected what JSON can say"),
        ({"json_schema": 5}, "json_schema: expected a text, found int"),
        ({"regex": "("}, "regular expression"),
        ({"grammar": "start: nothing"}, "grammar"),
        ({"json_schema": {}, "regex": "a"}, "found json_schema and regex"),
        ({"temperature": -1}, "temperature is -1, expected a finite number from 0"),
        ({"top_p": 0}, "top_p is 0, expected"),
        ({"min_p": 1}, "min_p is 1, expected"),
        ({"repeat_penalty": 0}, "repeat_penalty is 0"),
        ({"top_k": -1}, "top_k: expected a number from 0, found -1"),
        ({"max_tokens": -1}, "max_tokens: expected a number from 0, found -1"),
        ({"stop": [""]}, "stop string 0 is empty"),
        ({"logit_bias": {10**6: 1.0}}, "token id of a bias is 1000000"),
        ({"logit_bias": {1: float("nan")}}, "bias is NaN"),
    ],
)
def test_settings_out_of_their_range_are_refused_by_name(llm, options, said):
    with pytest.raises(InputError) as caught:
        llm.generate(PROMPT, **options)
    assert said in str(caught.value)


def test_what_cannot_be_done_is_an_error(llm, tmp_path):
    with pytest.raises(ContextFullError, match="512"):
        llm.generate("word " * 600)
    with pytest.raises(ContextFullError):
        llm.logits([1] * 513)
    for ids in ([llm.vocab_size], [-1]):
        with pytest.raises(InputError):
            llm.generate(ids)
    with pytest.raises(InputError):
        llm.generate("")
    with pytest.raises(InputError):
        llm.detokenize([10**7])
    with pytest.raises(InputError, match="pooling"):
        llm.embed("x", pooling="first")
    with pytest.raises(TypeError):
        llm.generate(PROMPT, temprature=0)
    with pytest.raises(ModelError, match="no-such-file"):
        warpsmith.LLM(tmp_path / "no-such-file.gguf", device="virtual")
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(SMOLLM2.read_bytes()[:5000])
    with pytest.raises(ModelError):
        warpsmith.LLM(damaged, device="virtual")
    for options in ({"precision": "double"}, {"device": "gpu"}, {"weights": "q9"}, {"threads": 2}):
        with pytest.raises(InputError):
            warpsmith.LLM(SMOLLM2, **options)


def test_others_run_while_a_model_works(llm):
    # The GIL is free: this thread counts meanwhile.
    worker = threading.Thread(target=lambda: llm.generate(PROMPT, max_tokens=30, temperature=0))
    counted = 0
    worker.start()
    while worker.is_alive():
        counted += 1
        time.sleep(0.001)
    assert counted > 20


def test_ctrl_c_and_closing_an_iterator_end_the_work(llm, interrupted):
    start = time.monotonic()
    with interrupted(0.3), pytest.raises(KeyboardInterrupt):
        llm.generate([PROMPT] * 8, max_tokens=400, temperature=0, logit_bias={2: float("-inf")})
    assert time.monotonic() - start < 10
    events = llm.stream(PROMPT, max_tokens=400)
    next(events)
    events.close()
    start = time.monotonic()
    assert "Paris" in llm.generate(PROMPT, max_tokens=8, temperature=0)
    assert time.monotonic() - start < 10


def test_a_model_lives_as_long_as_its_stream():
    events = warpsmith.LLM(SMOLLM2, device="virtual", ctx_size=64, sequences=1).stream(PROMPT, max_tokens=8, temperature=0)
    assert "Paris" in "".join(event.text for event in events)


def test_a_forked_process_is_told_that_the_model_is_not_its_own(llm):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            llm.generate(PROMPT, max_tokens=1)
        except ClosedError as error:
            code = 0 if "spawn" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_a_closed_model_says_so():
    model = warpsmith.LLM(SMOLLM2, device="virtual:sm80", ctx_size=128, sequences=1)
    with model:
        # One runs, the other waits for its place.
        events = model.stream(PROMPT, max_tokens=100)
        next(events)
        waits = model.stream(PROMPT, max_tokens=100)
    for one in (events, waits):
        with pytest.raises(ClosedError):
            list(one)
    with pytest.raises(ClosedError):
        model.generate(PROMPT)
    model.close()
