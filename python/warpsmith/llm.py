"""Language models."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator, Literal, Mapping, Sequence, TypedDict, Union, overload

import numpy as np

from . import _native
from .errors import InputError, own_process

if TYPE_CHECKING:
    from types import TracebackType

    import numpy.typing as npt
    from typing_extensions import Unpack

__all__ = ["LLM", "Completion", "Event", "Token"]

Prompt = Union[str, Sequence[int]]
Message = Mapping[str, Any]


class Options(TypedDict, total=False):
    """The options of `LLM.generate`, which says what they are."""

    max_tokens: int | None
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repeat_penalty: float
    seed: int | None
    stop: str | Sequence[str]
    logprobs: int | None
    logit_bias: Mapping[int, float] | None
    json_schema: Mapping[str, Any] | str | None
    grammar: str | None
    regex: str | None


@dataclass(frozen=True)
class Token:
    """A token that was drawn.

    id
        its number
    logprob
        the natural logarithm of its probability, by the logits as they are; None if it was not asked for
    top
        the most probable tokens in its place, the best first: (id, logprob); None if it was not asked for
    """

    id: int
    logprob: float | None = None
    top: tuple[tuple[int, float], ...] | None = None


@dataclass(frozen=True)
class Event:
    """What one step brought for one prompt.

    index
        which prompt, from 0
    text
        text that is certain now: never half a character or a piece of a stop string; often none
    token
        the token that was drawn; None in the last event
    finish_reason
        None, but in the last event of each prompt: "stop" (by itself, or before a stop string), "length" (max_tokens) or
        "context" (the context is full)
    """

    index: int
    text: str
    token: Token | None = None
    finish_reason: str | None = None


class Completion(str):
    """The text that a model wrote: a `str` that knows how it came about.

    tokens
        the tokens drawn, each a `Token`; the one that ends a text is not among them
    finish_reason
        "stop", "length" or "context", as in `Event`
    prompt_tokens
        tokens of the prompt
    seed
        what draws began with: with it the same is drawn again
    """

    tokens: list[Token]
    finish_reason: str
    prompt_tokens: int
    seed: int

    def __new__(
        cls,
        text: str,
        tokens: Sequence[Token] = (),
        finish_reason: str = "stop",
        prompt_tokens: int = 0,
        seed: int = 0,
    ) -> Completion:
        made = super().__new__(cls, text)
        made.tokens = list(tokens)
        made.finish_reason = finish_reason
        made.prompt_tokens = prompt_tokens
        made.seed = seed
        return made

    @property
    def logprobs(self) -> list[float | None]:
        """The logarithm of the probability of each token; None each if `logprobs` was not given."""
        return [token.logprob for token in self.tokens]


class LLM:
    """A language model of the Llama kind: a GGUF file, or a folder with config.json, tokenizer.json and safetensors.

        llm = LLM("SmolLM2-135M-Instruct.Q4_1.gguf")
        print(llm.generate("The capital of France is", max_tokens=8, temperature=0))

    One model may be used by many threads: what they ask for is done together, up to `sequences` prompts at a time. It is
    also a context manager, which closes it.

    path
        the file or folder
    device
        "auto", "cuda:N", "virtual" or "virtual:SETTINGS"
    precision
        "fast": tensor cores on f16, 8-bit activations, f16 cache; "exact": f32 throughout
    ctx_size
        tokens of a sequence, prompt and answer; 0 is the model's own, at most 4096
    sequences
        how many prompts are worked on at a time, 1 to 64; more wait
    pages
        pages of 16 positions for all sequences together; 0 is enough for all at their longest
    weights
        rounds F32, F16 and BF16 matrices while they are loaded: "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"
    threads
        threads of the virtual GPU, 1 to 1024; needs device="virtual"

    Raises ModelError for files that cannot be used, DeviceError without such a device, OutOfMemoryError,
    UnsupportedError with the name of what is not done, InputError for an argument out of its range.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        device: str = "auto",
        precision: str = "fast",
        ctx_size: int = 0,
        sequences: int = 16,
        pages: int = 0,
        weights: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._native = _native.Llm(
            os.fspath(path), device, threads, weights, precision, ctx_size, sequences, pages
        )
        facts = self._native.facts()
        #: Tokens of a sequence.
        self.ctx_size: int = facts[0]
        #: Tokens of the vocabulary.
        self.vocab_size: int = facts[1]
        #: Numbers of a hidden state, and of an embedding.
        self.width: int = facts[2]
        #: Layers.
        self.layers: int = facts[3]
        #: The name of the device.
        self.device: str = facts[4]
        #: Where the file does not agree with itself.
        self.warnings: list[str] = facts[5]
        self._path = os.fspath(path)
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"LLM({self._path!r}, ctx_size={self.ctx_size}, device={self.device!r})"

    def __enter__(self) -> LLM:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Frees the model. What is being generated ends with ClosedError."""
        self._native.close()

    # Text.

    @overload
    def generate(self, prompt: str, **options: Unpack[Options]) -> Completion: ...

    @overload
    def generate(self, prompt: Sequence[int], **options: Unpack[Options]) -> Completion: ...

    @overload
    def generate(
        self, prompt: list[str] | Sequence[Sequence[int]], **options: Unpack[Options]
    ) -> list[Completion]: ...

    def generate(
        self,
        prompt: Any,
        *,
        max_tokens: int | None = 256,
        temperature: float = 0.8,
        top_k: int = 40,
        top_p: float = 0.95,
        min_p: float = 0.05,
        repeat_penalty: float = 1.0,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        logprobs: int | None = None,
        logit_bias: Mapping[int, float] | None = None,
        json_schema: Mapping[str, Any] | str | None = None,
        grammar: str | None = None,
        regex: str | None = None,
    ) -> Completion | list[Completion]:
        """Goes on with a text, or with several at once.

        prompt
            a text, or its token ids; of a list of these a list of completions comes back, in order. Control tokens in a
            text count. No chat template is applied, `chat` does that.
        max_tokens
            most tokens to draw; None is all that fit into the context
        temperature
            divides the logits, from 0; 0 takes the most probable token
        top_k
            keeps the k most probable tokens; 0 keeps all
        top_p
            keeps the fewest tokens that together are this probable, above 0 to 1
        min_p
            keeps tokens that are at least this fraction as probable as the best, from 0 to below 1
        repeat_penalty
            makes tokens that came before less probable; 1 does not
        seed
            the same seed draws the same tokens; None takes the clock
        stop
            a string, or several, before which the text ends
        logprobs
            tells how probable each token is, and this many of the most probable ones; 0 and more
        logit_bias
            adds to the logits of tokens by id; float("-inf") forbids one
        json_schema
            the text is JSON that this schema describes, a dict or its text; see `json.loads`
        grammar
            the text is what the rule `start` of this grammar describes, in llguidance's form of Lark
        regex
            the text as a whole is what this regular expression matches

        Of the last three at most one is given. What of a schema is not done is an InputError with its keyword. With
        finish_reason "length" or "context" the text is cut off in its middle.

        Returns a `Completion`, which is a `str`, or a list of them. Raises InputError for a setting out of its range,
        ContextFullError for a prompt that is too long, KeyboardInterrupt on Ctrl-C.
        """
        prompts, alone = self._prompts(prompt)
        made = self._submit(
            prompts,
            max_tokens=max_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            repeat_penalty=repeat_penalty,
            seed=seed,
            stop=stop,
            logprobs=logprobs,
            logit_bias=logit_bias,
            json_schema=json_schema,
            grammar=grammar,
            regex=regex,
        )
        texts: list[list[str]] = [[] for _ in prompts]
        tokens: list[list[Token]] = [[] for _ in prompts]
        ends = ["stop" for _ in prompts]
        for event in _events(self._native, made):
            texts[event.index].append(event.text)
            if event.token is not None:
                tokens[event.index].append(event.token)
            if event.finish_reason is not None:
                ends[event.index] = event.finish_reason
        done = [
            Completion("".join(text), drawn, end, len(prompt), made.seed)
            for text, drawn, end, prompt in zip(texts, tokens, ends, prompts)
        ]
        return done[0] if alone else done

    def stream(
        self, prompt: Prompt | Sequence[Prompt], **options: Unpack[Options]
    ) -> Iterator[Event]:
        """Goes on with a text, or several, telling of each token as it comes: an iterator of `Event`.

        The arguments are those of `generate`. What is not consumed further, because the iterator was closed or dropped,
        is not made further.
        """
        prompts, _ = self._prompts(prompt)
        return _events(self._native, self._submit(prompts, **options))

    @overload
    def chat(
        self,
        messages: str | Sequence[Message],
        *,
        stream: Literal[False] = False,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **options: Unpack[Options],
    ) -> Completion: ...

    @overload
    def chat(
        self,
        messages: str | Sequence[Message],
        *,
        stream: Literal[True],
        tools: Sequence[Mapping[str, Any]] | None = None,
        **options: Unpack[Options],
    ) -> Iterator[Event]: ...

    def chat(
        self,
        messages: str | Sequence[Message],
        *,
        stream: bool = False,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **options: Unpack[Options],
    ) -> Completion | Iterator[Event]:
        """Answers a conversation, by the model's own chat template (ChatML if it has none).

        messages
            a list of {"role": ..., "content": ...}, or a text, which is one message of the user
        stream
            gives an iterator of `Event` instead of a `Completion`
        tools
            functions that the model may call, as OpenAI's clients describe them

        Further arguments are those of `generate`. Raises InputError where the template refuses the messages,
        UnsupportedError for tools that the template does not know.
        """
        prompt = self.encode_chat(messages, tools=tools)
        return self.stream(prompt, **options) if stream else self.generate(prompt, **options)

    def apply_chat_template(
        self,
        messages: str | Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
    ) -> str:
        """The text that the chat template makes of a conversation; see `chat`."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        plain = json.dumps([_message(at, one) for at, one in enumerate(messages)])
        given = None if tools is None else json.dumps(list(tools))
        return self._native.render(plain, given, add_generation_prompt, int(time.time()))

    def encode_chat(
        self,
        messages: str | Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[int]:
        """The token ids of a conversation, with the beginning of the answer."""
        return self.tokenize(self.apply_chat_template(messages, tools=tools))

    # Numbers.

    def logits(self, tokens: Prompt, *, last: bool = False) -> npt.NDArray[np.float32]:
        """The logits of what follows each token.

        tokens
            token ids, or a text
        last
            only those of the last token

        Returns float32 [tokens, vocab_size], or [vocab_size] if `last`. Raises ContextFullError, InputError.
        """
        own_process(self._process)
        ids = self._ids(tokens)
        raw = self._native.logits(ids, last)
        rows: npt.NDArray[np.float32] = np.frombuffer(raw, dtype="<f4").reshape(-1, self.vocab_size).copy()
        return rows[0] if last else rows

    def embed(
        self, texts: Prompt | Sequence[Prompt], *, pooling: str = "mean"
    ) -> npt.NDArray[np.float32]:
        """The embeddings of texts: vectors of length 1, from the hidden states after the last norm.

        texts
            a text or its token ids, or a list of these
        pooling
            "mean" of all states, or the "last" one

        Returns float32 [width], or [texts, width] for a list.
        """
        own_process(self._process)
        prompts, alone = self._prompts(texts)
        raw = b"".join(self._native.embed(ids, pooling) for ids in prompts)
        rows: npt.NDArray[np.float32] = np.frombuffer(raw, dtype="<f4").reshape(len(prompts), self.width).copy()
        return rows[0] if alone else rows

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        """Token ids of a text; with `special=False` the names of control tokens in it are ordinary text."""
        return self._native.encode(text, special)

    def detokenize(self, tokens: Sequence[int]) -> str:
        """The text of token ids. Raises InputError for ids that the tokenizer does not have."""
        return self._native.decode(_list_of_ids(tokens))

    # What both need.

    def _ids(self, prompt: Prompt) -> list[int]:
        return self.tokenize(prompt) if isinstance(prompt, str) else _list_of_ids(prompt)

    def _prompts(self, prompt: Any) -> tuple[list[list[int]], bool]:
        """All prompts as token ids, and whether it is one alone."""
        if isinstance(prompt, str):
            return [self._ids(prompt)], True
        several = list(prompt)
        if several and all(isinstance(one, (int, np.integer)) for one in several):
            return [_list_of_ids(several)], True
        return [self._ids(one) for one in several], False

    def _submit(
        self,
        prompts: list[list[int]],
        *,
        max_tokens: int | None = 256,
        temperature: float = 0.8,
        top_k: int = 40,
        top_p: float = 0.95,
        min_p: float = 0.05,
        repeat_penalty: float = 1.0,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        logprobs: int | None = None,
        logit_bias: Mapping[int, float] | None = None,
        json_schema: Mapping[str, Any] | str | None = None,
        grammar: str | None = None,
        regex: str | None = None,
    ) -> _native.Generation:
        own_process(self._process)
        stops = [stop] if isinstance(stop, str) else list(stop)
        bias = [(int(token), float(by)) for token, by in (logit_bias or {}).items()]
        numbers = {"max_tokens": max_tokens, "top_k": top_k, "seed": seed, "logprobs": logprobs}
        for name, number in numbers.items():
            if number is not None and number < 0:
                raise InputError(f"{name}: expected a number from 0, found {number}")
        return self._native.submit(
            prompts,
            max_tokens,
            temperature,
            top_k,
            top_p,
            min_p,
            repeat_penalty,
            time.time_ns() if seed is None else seed,
            stops,
            logprobs,
            bias,
            _form(json_schema, grammar, regex),
        )


def _form(
    json_schema: Mapping[str, Any] | str | None, grammar: str | None, regex: str | None
) -> tuple[str, str] | None:
    """What texts are held to, by the name of its argument."""
    if isinstance(json_schema, Mapping):
        try:
            json_schema = json.dumps(json_schema)
        except (TypeError, ValueError) as error:
            raise InputError(f"json_schema: expected what JSON can say, found: {error}") from error
    forms = {"json_schema": json_schema, "grammar": grammar, "regex": regex}
    given = [(name, text) for name, text in forms.items() if text is not None]
    for name, text in given:
        if not isinstance(text, str):
            raise InputError(f"{name}: expected a text, found {type(text).__name__}")
    if len(given) > 1:
        raise InputError(f"expected one of json_schema, grammar and regex, found {' and '.join(name for name, _ in given)}")
    return given[0] if given else None


def _list_of_ids(tokens: Any) -> list[int]:
    ids = [int(token) for token in tokens]
    for token in ids:
        if not 0 <= token < 1 << 32:
            raise InputError(f"tokens: expected ids from 0, found {token}")
    return ids


def _events(model: Any, made: _native.Generation) -> Iterator[Event]:
    """What comes of prompts; `model` is not closed by itself before all has come."""
    try:
        for index, text, token, logprob, top, finish in made:
            drawn = None
            if token is not None:
                drawn = Token(token, logprob, None if top is None else tuple(top))
            yield Event(index, text, drawn, finish)
    finally:
        made.close()


#: What a message may have.
_KEYS = {"role", "content", "tool_calls", "tool_call_id", "name"}


def _message(at: int, message: Message) -> dict[str, Any]:
    """A message as the template wants it: content as a text, arguments of calls as objects."""
    if not isinstance(message, Mapping):
        raise InputError(f"messages[{at}]: expected a dict, found {type(message).__name__}")
    plain = {key: value for key, value in message.items() if value is not None}
    for key in plain:
        if key not in _KEYS:
            raise InputError(f"messages[{at}]: expected {', '.join(sorted(_KEYS))}, found {key!r}")
    content = plain.get("content", "")
    if not isinstance(content, str):
        parts = []
        for part in content:
            if not (isinstance(part, Mapping) and part.get("type") == "text"):
                raise InputError(f"messages[{at}].content: expected parts of type 'text', found {part!r}")
            parts.append(part["text"])
        content = "".join(parts)
    plain["content"] = content
    calls = []
    for call in plain.get("tool_calls", ()):
        call = json.loads(json.dumps(call))
        function = call.get("function", {})
        if isinstance(function.get("arguments"), str):
            function["arguments"] = json.loads(function["arguments"])
        calls.append(call)
    if calls:
        plain["tool_calls"] = calls
    return plain
