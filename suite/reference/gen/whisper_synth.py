"""A tiny random Whisper with 128 mel bins in every format, and what openai-whisper's code computes with it.

usage: whisper_synth.py REFERENCE [MODELS]      (REFERENCE = suite/reference)

Two encoder layers and one decoder layer of width 64, two heads, 50 audio frames, 256 tokens. All weights are f16 numbers.
Quantised files hold the two-dimensional matrices in blocks, as whisper.cpp's `quantize` does; their results are those of
f32 arithmetic on the values that gguf-py dequantises. With MODELS, also what whisper.cpp writes of jfk with base, in f16
and quantised.
"""
import json, os, struct, sys
import numpy as np, torch
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gguf, whisper
from gguf.quants import quantize, dequantize
from safetensors.numpy import save_file
Q = gguf.GGMLQuantizationType
REF = sys.argv[1]; OUT = f'{REF}/whisper/synth'; os.makedirs(OUT, exist_ok=True)
torch.set_num_threads(1); torch.set_grad_enabled(False)
DIMS = dict(n_mels=128, n_audio_ctx=50, n_audio_state=64, n_audio_head=2, n_audio_layer=2, n_vocab=256,
            n_text_ctx=32, n_text_state=64, n_text_head=2, n_text_layer=1)
KEEP = ('encoder.positional_embedding', 'decoder.positional_embedding')

def model(state):
    m = whisper.model.Whisper(whisper.model.ModelDimensions(**DIMS))
    m.load_state_dict({k: torch.from_numpy(np.ascontiguousarray(v, np.float32)) for k, v in state.items()}, strict=True)
    return m.eval()

def weights():
    torch.manual_seed(5)
    m = whisper.model.Whisper(whisper.model.ModelDimensions(**DIMS))
    state = {}
    for k, v in m.state_dict().items():
        if k == 'encoder.positional_embedding': v = v * 0.5
        elif k == 'decoder.positional_embedding': v = torch.randn(v.shape)
        elif '_ln.' in k or '.ln' in k: v = (1.0 if k.endswith('weight') else 0.0) + 0.2 * torch.randn(v.shape)
        elif 'token_embedding' in k: v = torch.randn(v.shape) * 0.15
        else: v = v * 2.5
        state[k] = v.numpy().astype('<f2')
    return state

def hugging_face(k):
    side, rest = k.split('.', 1)
    for a, b in (('token_embedding', 'embed_tokens'), ('ln_post', 'layer_norm'), ('blocks.', 'layers.'),
                 ('cross_attn_ln', 'encoder_attn_layer_norm'), ('attn_ln', 'self_attn_layer_norm'), ('mlp_ln', 'final_layer_norm'),
                 ('cross_attn', 'encoder_attn'), ('mlp.0', 'fc1'), ('mlp.2', 'fc2'), ('query', 'q_proj'), ('key', 'k_proj'), ('value', 'v_proj')):
        if a == 'attn_ln' and 'encoder_attn_layer_norm' in rest: continue
        rest = rest.replace(a, b)
    if rest == 'positional_embedding': rest = 'embed_positions.weight'
    if rest.startswith('ln.'): rest = 'layer_norm.' + rest[3:]
    import re
    rest = re.sub(r'(layers\.\d+)\.attn\.', r'\1.self_attn.', rest)
    rest = re.sub(r'attn\.out\.', 'attn.out_proj.', rest)
    return f'model.{side}.{rest}'

def ggml(path, state, dims, mels, tokens, qtype):
    """whisper.cpp's format; returns the weights as they read back."""
    ftype = {Q.F16: 1, Q.Q8_0: 7, Q.Q5_0: 8, Q.Q5_1: 9}[qtype] + (0 if qtype == Q.F16 else 2000)
    back = {}
    with open(path, 'wb') as f:
        f.write(struct.pack('<I', 0x67676d6c))
        f.write(struct.pack('<11i', *(dims[k] for k in ('n_vocab', 'n_audio_ctx', 'n_audio_state', 'n_audio_head', 'n_audio_layer',
                'n_text_ctx', 'n_text_state', 'n_text_head', 'n_text_layer', 'n_mels')), ftype))
        f.write(struct.pack('<2i', *mels.shape)); f.write(mels.astype('<f4').tobytes())
        f.write(struct.pack('<i', len(tokens)))
        for t in tokens: f.write(struct.pack('<i', len(t))); f.write(t)
        for n, a in state.items():
            back[n] = a.astype(np.float32)
            shape = list(a.shape)
            if n in ('encoder.conv1.bias', 'encoder.conv2.bias'): shape += [1]
            if a.ndim == 2 and n not in KEEP and qtype != Q.F16:
                data = quantize(a.astype(np.float32), qtype); ty = int(qtype); back[n] = dequantize(data, qtype)
            elif a.ndim >= 2 and n not in KEEP: data = a.astype('<f2'); ty = 1
            else: data = a.astype('<f4'); ty = 0
            nb = n.encode()
            f.write(struct.pack('<3i', len(shape), len(nb), ty))
            for s in reversed(shape): f.write(struct.pack('<i', s))
            f.write(nb); f.write(data.tobytes())
    return back

def run(m, mel):
    enc = m.encoder(mel[None]); tokens = [1, 2, 3]; steps = []
    first = None
    for _ in range(20):
        logits = m.decoder(torch.tensor([tokens]), enc)[0, -1]
        if first is None: first = logits
        top = logits.topk(2)
        steps.append({'token': int(top.indices[0]), 'margin': float(f'{(top.values[0] - top.values[1]).item():.6g}')})
        tokens.append(int(top.indices[0]))
    return enc[0], first, tokens[3:], steps

def tiny():
    state = weights()
    filters = np.fromfile(f'{REF}/whisper/mel_filters_128x201.f32.bin', '<f4').reshape(128, 201)
    shape = json.load(open(f'{REF}/whisper/goforward.mel128.json'))['shape']
    mel = torch.from_numpy(np.fromfile(f'{REF}/whisper/goforward.mel128.f32.bin', '<f4').reshape(shape)[:, 100:200].copy())
    tokens = [bytes([i]) for i in range(256)]
    save_file({hugging_face(k): v for k, v in state.items()}, f'{OUT}/model.safetensors')
    json.dump({'model_type': 'whisper', 'activation_function': 'gelu', 'num_mel_bins': 128, 'max_source_positions': 50, 'd_model': 64,
        'encoder_attention_heads': 2, 'encoder_layers': 2, 'encoder_ffn_dim': 256, 'max_target_positions': 32, 'decoder_attention_heads': 2,
        'decoder_layers': 1, 'decoder_ffn_dim': 256, 'vocab_size': 256}, open(f'{OUT}/config.json', 'w'))
    golden = {'mel': 'whisper/goforward.mel128.f32.bin, frames 100 to 199', 'prompt': [1, 2, 3], 'types': {}}
    for name, q in (('f16', Q.F16), ('q5_0', Q.Q5_0), ('q5_1', Q.Q5_1), ('q8_0', Q.Q8_0)):
        back = ggml(f'{OUT}/ggml-{name}.bin', state, DIMS, filters, tokens, q)
        enc, first, greedy, steps = run(model(back), mel)
        torch.stack([enc[i] for i in (0, 1, 24, 49)]).numpy().astype('<f4').tofile(f'{OUT}/{name}.enc_rows.f32.bin')
        first.numpy().astype('<f4').tofile(f'{OUT}/{name}.first_logits.f32.bin')
        golden['types'][name] = {'encoder_rows': [0, 1, 24, 49], 'encoder_norm': float(enc.norm()), 'greedy': greedy, 'steps': steps}
        print(name, greedy, min(s['margin'] for s in steps))
    json.dump(golden, open(f'{OUT}/golden.json', 'w')); print(sum(os.path.getsize(f'{OUT}/{f}') for f in os.listdir(OUT)))

def whisper_cpp(models):
    import wconv, ct2
    from pywhispercpp.model import Model
    from whisper.tokenizer import get_tokenizer
    h, V, A, _ = ct2.load(f'{models}/whisper-base/model.bin'); state, dims = wconv.to_openai(V)
    filters = np.fromfile(f'{REF}/whisper/mel_filters_80x201.f32.bin', '<f4').reshape(80, 201)
    ranks = sorted(get_tokenizer(True, num_languages=99).encoding._mergeable_ranks.items(), key=lambda kv: kv[1])
    out = {}
    for name, q in (('f16', Q.F16), ('q5_0', Q.Q5_0), ('q5_1', Q.Q5_1), ('q8_0', Q.Q8_0)):
        path = f'/tmp/wg/ggml-base-{name}.bin'; ggml(path, state, dims, filters, [k for k, _ in ranks], q)
        m = Model(path, n_threads=1, print_progress=False, print_realtime=False, language='en')
        segments = m.transcribe(f'{REF}/audio/jfk.wav', greedy={'best_of': 1}, temperature_inc=0.0)
        out[name] = [{'start': s.t0 / 100, 'end': s.t1 / 100, 'text': s.text} for s in segments]
        print(name, out[name], flush=True)
    json.dump(out, open(f'{REF}/whisper/base.jfk.whisper_cpp.json', 'w'), indent=0)

tiny()
if len(sys.argv) > 2: whisper_cpp(sys.argv[2])
