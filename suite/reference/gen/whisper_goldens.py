"""Goldens of Whisper base from openai-whisper: beam search, prompts, translation, languages, words, long audio.

usage: whisper_goldens.py MODELS REFERENCE     (MODELS as fetch_models.sh lays it out, REFERENCE = suite/reference)

All in f32 on the f16 weights widened exactly. Each case of `base.transcribe.json` also has what the loop asked for and
got (`decodes`, `alignments`), so that the loop can be tested without a model.
"""
import gzip, json, os, struct, sys
import numpy as np, torch
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wconv, whisper
import whisper.decoding as wd, whisper.timing as wt, whisper.transcribe as _
from whisper.tokenizer import get_tokenizer, LANGUAGES, TO_LANGUAGE_CODE
wtr = sys.modules['whisper.transcribe']

MODELS, REF = sys.argv[1:3]
OUT = os.path.join(REF, 'whisper')
torch.set_num_threads(1); torch.set_grad_enabled(False)

def wav(name): return np.frombuffer(open(f'{REF}/audio/{name}.wav', 'rb').read()[44:], '<i2').astype(np.float32) / 32768
CLIPS = {c: wav(c) for c in ('jfk', 'ss0870', 'ss0880', 'goforward', 'deutsch')}
gap = np.zeros(8000, np.float32)
CLIPS['long_shared'] = np.concatenate(sum([[CLIPS[c], gap] for c in ('jfk', 'ss0870', 'ss0880', 'goforward', 'jfk')], [])[:-1])
CLIPS['silence'] = np.zeros(30 * 16000, np.float32)
rng = np.random.default_rng(7)
CLIPS['noise'] = (rng.standard_normal(10 * 16000) * 0.05).astype(np.float32)
CLIPS['pauses'] = np.concatenate([CLIPS['goforward'], np.zeros(12 * 16000, np.float32), CLIPS['ss0880'], np.zeros(20 * 16000, np.float32), CLIPS['goforward']])

model = wconv.openai_model(f'{MODELS}/whisper-base/model.bin')
model.set_alignment_heads(whisper._ALIGNMENT_HEADS['base'])
r6 = lambda x: float(f'{x:.6g}')

# what the ranker saw
ranked = []
rank0 = wd.MaximumLikelihoodRanker.rank
def rank(self, tokens, sums):
    ranked.append([{'tokens': t.tolist(), 'sum_logprob': r6(s)} for t, s in zip(tokens[0], sums[0])])
    return rank0(self, tokens, sums)
wd.MaximumLikelihoodRanker.rank = rank

# how near the two best tokens of a greedy step were, after the rules
margins = []
update0 = wd.GreedyDecoder.update
def update(self, tokens, logits, sums):
    best = logits[0].topk(2).values
    margins.append(r6(best[0] - best[1]))
    return update0(self, tokens, logits, sums)
wd.GreedyDecoder.update = update

def result(r):
    return {'tokens': r.tokens, 'text': r.text, 'avg_logprob': r6(r.avg_logprob), 'no_speech_prob': r6(r.no_speech_prob),
            'compression_ratio': r6(r.compression_ratio), 'temperature': r.temperature, 'language': r.language}

def dump(name, value):
    with open(f'{OUT}/{name}', 'w') as f: json.dump(value, f, ensure_ascii=False, separators=(',', ':')); f.write('\n')
    print(name, os.path.getsize(f'{OUT}/{name}'), flush=True)

def decode_goldens():
    out = {}
    CASES = {
        'beam5': dict(language='en', beam_size=5), 'beam5_notimestamps': dict(language='en', beam_size=5, without_timestamps=True),
        'beam5_patience2': dict(language='en', beam_size=5, patience=2.0), 'beam3_penalty': dict(language='en', beam_size=3, length_penalty=0.6),
        'prompt': dict(language='en', prompt='A story of the Dashwood family; fellow Americans.'),
        'prefix': dict(language='en', prefix='Well,', sample_len=200),
        'translate': dict(task='translate'), 'auto': dict(),
        'no_suppress': dict(language='en', suppress_tokens='', suppress_blank=False),
        'best_of5': dict(language='en', temperature=0.8, best_of=5), 'best_of3_penalty': dict(language='en', temperature=1.0, best_of=3, length_penalty=1.0),
    }
    for clip in ('jfk', 'ss0870', 'ss0880', 'goforward', 'deutsch'):
        mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(CLIPS[clip]))
        _, probs = model.detect_language(mel)
        top = sorted(probs.items(), key=lambda kv: -kv[1])[:10]
        out[clip] = {'languages': [[k, r6(v)] for k, v in top]}
        for name, options in CASES.items():
            ranked.clear(); margins.clear(); torch.manual_seed(1)
            r = result(model.decode(mel, wd.DecodingOptions(fp16=False, **options)))
            out[clip][name] = {'options': options, **r, 'candidates': ranked[-1]}
            if not {'beam_size', 'temperature'} & options.keys(): out[clip][name]['margins'] = list(margins)
            print(clip, name, repr(r['text']), flush=True)
    dump('base.decode.json', out)

def transcribe_goldens():
    out = {}
    decodes, alignments = [], []
    decode0, align0 = whisper.model.Whisper.decode, wt.find_alignment
    def decode(self, mel, options):
        r = decode0(self, mel, options)
        decodes.append({'prompt': list(options.prompt or []), **result(r)})
        return r
    def align(model, tokenizer, text_tokens, mel, num_frames, **kw):
        a = align0(model, tokenizer, text_tokens, mel, num_frames, **kw)
        alignments.append({'text_tokens': list(text_tokens), 'num_frames': int(num_frames),
            'words': [{'word': w.word, 'tokens': list(w.tokens), 'start': float(w.start), 'end': float(w.end), 'probability': r6(w.probability)} for w in a]})
        return a
    whisper.model.Whisper.decode, wt.find_alignment = decode, align
    CASES = [
        ('long_greedy', 'long_shared', dict(temperature=0)),
        ('long_beam5', 'long_shared', dict(temperature=0, beam_size=5)),
        ('long_unconditioned', 'long_shared', dict(temperature=0, condition_on_previous_text=False)),
        ('long_prompt', 'long_shared', dict(temperature=0, initial_prompt='A story of the Dashwood family.')),
        ('long_prompt_carried', 'long_shared', dict(temperature=0, initial_prompt='A story of the Dashwood family.', carry_initial_prompt=True)),
        ('long_words', 'long_shared', dict(temperature=0, word_timestamps=True)),
        ('long_words_beam5', 'long_shared', dict(temperature=0, beam_size=5, word_timestamps=True)),
        ('jfk_words', 'jfk', dict(temperature=0, word_timestamps=True)),
        ('ss0870_words', 'ss0870', dict(temperature=0, word_timestamps=True)),
        ('ss0880_words', 'ss0880', dict(temperature=0, word_timestamps=True)),
        ('goforward_words', 'goforward', dict(temperature=0, word_timestamps=True)),
        ('deutsch_auto', 'deutsch', dict(temperature=0, language=None)),
        ('deutsch_translate', 'deutsch', dict(temperature=0, language='de', task='translate')),
        ('deutsch_words', 'deutsch', dict(temperature=0, language='de', word_timestamps=True)),
        ('silence', 'silence', dict()),
        ('noise', 'noise', dict()),
        ('fallback_forced', 'jfk', dict(temperature=(0.0, 0.2, 0.6), logprob_threshold=0.0, no_speech_threshold=None)),
        ('fallback_repetition', 'jfk', dict(temperature=(0.0, 1.0), compression_ratio_threshold=0.5)),
        ('reset_after_hot', 'long_shared', dict(temperature=0.8, best_of=2)),
        ('clips', 'long_shared', dict(temperature=0, clip_timestamps='2,9,20,36.5')),
        ('pauses', 'pauses', dict(temperature=0)),
        ('pauses_words', 'pauses', dict(temperature=0, word_timestamps=True)),
        ('pauses_guard', 'pauses', dict(temperature=0, word_timestamps=True, hallucination_silence_threshold=2.0)),
        ('pauses_guard_long', 'pauses', dict(temperature=0, word_timestamps=True, hallucination_silence_threshold=0.5)),
    ]
    for name, clip, options in CASES:
        decodes.clear(); alignments.clear(); torch.manual_seed(1)
        kw = dict(options)
        if 'language' not in kw: kw['language'] = 'en'
        r = whisper.transcribe(model, CLIPS[clip], fp16=False, **kw)
        for s in r['segments']:
            for k in ('avg_logprob', 'compression_ratio', 'no_speech_prob', 'start', 'end'): s[k] = float(s[k]) if k in ('start', 'end') else r6(s[k])
            for w in s.get('words', []):
                w['probability'] = r6(w['probability']); w['start'] = float(w['start']); w['end'] = float(w['end'])
        out[name] = {'clip': clip, 'samples': len(CLIPS[clip]), 'options': options, 'language': r['language'], 'text': r['text'],
                     'segments': r['segments'], 'decodes': list(decodes), 'alignments': list(alignments)}
        print(name, repr(r['text'][:100]), len(decodes), flush=True)
    whisper.model.Whisper.decode, wt.find_alignment = decode0, align0
    dump('base.transcribe.json', out)

def alignment_golden():
    """Raw scores of the alignment heads on ss0880, with every stage after them."""
    clip = 'ss0880'; tok = get_tokenizer(True, num_languages=99, language='en', task='transcribe')
    mel = whisper.log_mel_spectrogram(CLIPS[clip], padding=480000); n = mel.shape[-1] - 3000
    mel = whisper.pad_or_trim(mel[:, :n], 3000)
    text = [t for t in json.load(open(f'{OUT}/base.transcribe.json'))['ss0880_words']['alignments'][0]['text_tokens']]
    tokens = torch.tensor([*tok.sot_sequence, tok.no_timestamps, *text, tok.eot])
    QKs = [None] * 6
    hooks = [b.cross_attn.register_forward_hook(lambda _, i, o, index=k: QKs.__setitem__(index, o[-1][0])) for k, b in enumerate(model.decoder.blocks)]
    with whisper.model.disable_sdpa(): logits = model(mel[None], tokens[None])[0]
    for h in hooks: h.remove()
    heads = model.alignment_heads.indices().T.tolist()
    qk = torch.stack([QKs[l][h] for l, h in heads])[:, :, : n // 2]
    w = qk.softmax(-1); std, mean = torch.std_mean(w, dim=-2, keepdim=True, unbiased=False)
    w = wt.median_filter((w - mean) / std, 7).mean(0)[len(tok.sot_sequence):-1]
    ti, fi = wt.dtw(-w)
    probs = logits[len(tok.sot_sequence):, :tok.eot].softmax(-1)[np.arange(len(text)), text]
    qk.numpy().astype('<f4').tofile(f'{OUT}/base.ss0880.cross_scores.f32.bin')
    dump('base.ss0880.alignment.json', {'heads': heads, 'shape': list(qk.shape), 'tokens': tokens.tolist(), 'text_tokens': text, 'num_frames': n,
        'matrix_row0': [r6(x) for x in w[0].tolist()], 'text_indices': ti.tolist(), 'time_indices': fi.tolist(), 'token_probs': [r6(p) for p in probs.tolist()]})

TEXTS = ['', ' ', '  two  spaces ', 'Hello, world!', " And so, my fellow Americans: ask not what your country can do for you.", "it's we'll I'VE 'S", 'naïve café — “quoted” ½ ²',
    '12345 6.7e8 $9', 'こんにちは世界、元気ですか？', '你好，世界。', 'Привет, мир!', '안녕하세요', 'สวัสดีชาวโลก', '🙂👩‍👩‍👧‍👦🎉', '♪♪ la la ♫', '\n\ntabs\t\tand\r\nlines  \n', 'Größe Straße', '<|endoftext|>', ' -- (laughs) [MUSIC]', 'a\u0301e\u0302 zwj\u200dhere', 'mixed日本語and English 123']

def tokenizer_goldens():
    out = {}
    for name, multi, n in (('english', False, 99), ('multilingual99', True, 99), ('multilingual100', True, 100)):
        tok = get_tokenizer(multi, num_languages=n, language='en' if multi else None)
        enc = lambda s: tok.encoding.encode(s, disallowed_special=())
        out[name] = {'special': {k: getattr(tok, k) for k in ('eot', 'sot', 'translate', 'transcribe', 'sot_lm', 'sot_prev', 'no_speech', 'no_timestamps', 'timestamp_begin')},
            'n_vocab': tok.encoding.n_vocab, 'sot_sequence': list(tok.sot_sequence), 'non_speech': list(tok.non_speech_tokens),
            'suppress_default': list(wd.DecodingTask._get_suppress_tokens(type('T', (), {'options': wd.DecodingOptions(), 'tokenizer': tok})())),
            'blank': tok.encode(' '),
            'texts': [{'text': s, 'ids': enc(s), 'words': tok.split_to_word_tokens(enc(s) + [tok.eot])} for s in TEXTS]}
        if multi:
            out[name]['languages'] = {c: tok.to_language_token(c) for c in list(LANGUAGES)[:n]}
            ja = get_tokenizer(True, num_languages=n, language='ja', task='translate')
            out[name]['ja'] = {'sot_sequence': list(ja.sot_sequence), 'texts': [{'text': s, 'words': ja.split_to_word_tokens(enc(s) + [ja.eot])} for s in TEXTS]}
        # 1-tuples of (words, tokens) become objects
        for group in [out[name]['texts']] + ([out[name]['ja']['texts']] if multi else []):
            for t in group: t['words'] = [{'word': w, 'tokens': ids} for w, ids in zip(*t['words'])]
    out['language_names'] = LANGUAGES; out['language_aliases'] = {k: v for k, v in TO_LANGUAGE_CODE.items() if k not in LANGUAGES.values()}
    dump('tokenizer.json', out)
    # the tokens themselves, as a ggml file has them: count, then length and bytes of each
    for name, multi in (('english', False), ('multilingual', True)):
        ranks = sorted(get_tokenizer(multi, num_languages=99).encoding._mergeable_ranks.items(), key=lambda kv: kv[1])
        assert [i for _, i in ranks] == list(range(len(ranks)))
        raw = struct.pack('<I', len(ranks)) + b''.join(struct.pack('<I', len(k)) + k for k, _ in ranks)
        with open(f'{OUT}/{name}.tokens.gz', 'wb') as f: f.write(gzip.compress(raw, 9, mtime=0))

def mel_goldens():
    z = np.load(os.path.join(os.path.dirname(whisper.__file__), 'assets', 'mel_filters.npz'))
    z['mel_128'].astype('<f4').tofile(f'{OUT}/mel_filters_128x201.f32.bin')
    a = CLIPS['goforward']; mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(a), 128)
    n = (len(a) + 200) // 160 + 1
    mel[:, :n].numpy().astype('<f4').tofile(f'{OUT}/goforward.mel128.f32.bin')
    dump('goforward.mel128.json', {'shape': [128, n], 'pad_value': float(mel[0, -1])})

def writer_goldens():
    """What openai-whisper writes of two cases, in each format."""
    from whisper.utils import get_writer
    cases = json.load(open(f'{OUT}/base.transcribe.json')); out = {}
    for name in ('long_greedy', 'long_words', 'silence'):
        r = {k: cases[name][k] for k in ('text', 'segments', 'language')}
        out[name] = {}
        for fmt in ('txt', 'srt', 'vtt', 'tsv', 'json'):
            get_writer(fmt, '/tmp')(json.loads(json.dumps(r)), 'golden.wav', {'highlight_words': False, 'max_line_count': None, 'max_line_width': None, 'max_words_per_line': None})
            out[name][fmt] = open(f'/tmp/golden.{fmt}').read()
    dump('writers.json', out)

STEPS = [mel_goldens, tokenizer_goldens, decode_goldens, transcribe_goldens, alignment_golden, writer_goldens]
only = sys.argv[3:]
for step in STEPS:
    if not only or step.__name__ in only: step()
