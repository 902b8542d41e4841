"""JSON schemas against a server: ADDRESS MODEL KEY EVERY; asks for an answer of every EVERY-th schema of schemas.jsonl and
validates it with the `jsonschema` package. Prints one JSON object: how many, which were wrong, and which were cut off before
their end."""

import json
import pathlib
import sys
import time

import jsonschema
import openai

address, model, key, every = sys.argv[1:]
client = openai.OpenAI(base_url=address + "/v1", api_key=key, max_retries=0, timeout=600)
lines = pathlib.Path(__file__).with_name("schemas.jsonl").read_text(encoding="utf-8").splitlines()
cases = [json.loads(line) for line in lines][:: int(every)]
wrong, cut, tokens, seconds = [], [], 0, 0.0
for case in cases:
    schema, ask = case["schema"], case.get("ask", "Give an example.")
    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    validator.check_schema(schema)
    form = {"type": "json_schema", "json_schema": {"name": "case", "schema": schema, "strict": True}}
    start = time.monotonic()
    answer = client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": ask}],
        response_format=form,
        max_tokens=400,
        temperature=0.8,
        seed=1,
    )
    seconds += time.monotonic() - start
    tokens += answer.usage.completion_tokens
    text, reason = answer.choices[0].message.content, answer.choices[0].finish_reason
    print(f"{case['name']}: {text}", file=sys.stderr)
    if reason != "stop":
        cut.append(case["name"])
        continue
    try:
        value = json.loads(text)
        errors = [error.message for error in validator(schema).iter_errors(value)]
    except ValueError as error:
        errors = [str(error)]
    if errors:
        wrong.append({"name": case["name"], "text": text, "errors": errors[:3]})

told = {"asked": len(cases), "wrong": wrong, "cut": cut, "tokens": tokens, "seconds": round(seconds, 2)}
print(json.dumps(told, ensure_ascii=False))
sys.exit(1 if wrong or cut else 0)
