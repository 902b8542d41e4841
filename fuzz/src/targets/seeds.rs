//! Well-formed inputs of each parser, small and varied.

use warpsmith_formats::{
    gguf::{Array, Value, Writer},
    quant::{WeightType, quantize},
    whisper::{Dims, MelFilters, Writer as Whisper},
};

fn written(writer: &Writer) -> Vec<u8> {
    writer.to_bytes().expect("a correct file")
}

pub(super) fn gguf() -> Vec<Vec<u8>> {
    let mut plain = Writer::new();
    plain.set("general.architecture", "llama".into());
    for (key, value) in [
        ("u8", Value::U8(1)),
        ("i8", Value::I8(-1)),
        ("u16", Value::U16(2)),
        ("i16", Value::I16(-2)),
        ("u32", Value::U32(3)),
        ("i32", Value::I32(-3)),
        ("u64", Value::U64(4)),
        ("i64", Value::I64(-4)),
        ("f32", Value::F32(0.5)),
        ("f64", Value::F64(-0.25)),
        ("bool", Value::Bool(true)),
        (
            "strings",
            Value::Array(Array::String(vec!["a".into(), "\u{e9}".into()])),
        ),
        (
            "nested",
            Value::Array(Array::Array(vec![
                Array::U8(vec![1, 2]),
                Array::I32(vec![-1]),
            ])),
        ),
    ] {
        plain.set(key, value);
    }
    let values: Vec<f32> = (0..256).map(|i| (i as f32 * 0.1).sin()).collect();
    let block = |ty| quantize(ty, &values).expect("whole blocks");
    plain.add(
        "a.weight",
        &[256, 1],
        WeightType::F32,
        block(WeightType::F32),
    );
    plain.add(
        "b.weight",
        &[32, 4, 2],
        WeightType::Q8_0,
        block(WeightType::Q8_0),
    );
    plain.add(
        "c.weight",
        &[64, 4],
        WeightType::Q4_1,
        block(WeightType::Q4_1),
    );

    let mut aligned = Writer::new();
    aligned.set("general.alignment", Value::U32(64));
    aligned.add("w", &[32], WeightType::Q4_0, vec![0; 18]);
    let empty = written(&Writer::new());
    let mut version2 = written(&aligned);
    version2[4] = 2;
    vec![written(&plain), written(&aligned), version2, empty]
}

pub(super) fn safetensors() -> Vec<Vec<u8>> {
    let file = |header: &str, data: usize| {
        let mut out = (header.len() as u64).to_le_bytes().to_vec();
        out.extend(header.as_bytes());
        out.extend((0..data).map(|i| i as u8 & 0x3f));
        out
    };
    vec![
        file(
            r#"{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}"#,
            24,
        ),
        file(
            r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},"b.weight":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]}}"#,
            12,
        ),
    ]
}

pub(super) fn ptx() -> Vec<Vec<u8>> {
    [
        include_str!("../../../crates/ptx/tests/cases/atomics_sm80.ptx"),
        include_str!("../../../crates/ptx/tests/cases/bulk_sm90.ptx"),
        include_str!("../../../crates/ptx/tests/cases/handwritten_constants.ptx"),
        include_str!("../../../crates/ptx/tests/cases/handwritten_scopes.ptx"),
        include_str!("../../../crates/ptx/tests/cases/mma_sm80.ptx"),
        ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<2>;\n.reg .f32 %f<2>;\n.reg .pred %p<1>;\nld.param.u64 %rd0, [p];\ncvta.to.global.u64 %rd1, %rd0;\nld.global.f32 %f0, [%rd1+4];\nsetp.lt.f32 %p0, %f0, 0f3F800000;\n@%p0 bra $done;\nadd.f32 %f1, %f0, 0f40000000;\nst.global.f32 [%rd1], %f1;\n$done:\nret;\n}\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

pub(super) fn tokenizer_json() -> Vec<Vec<u8>> {
    [
        r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","vocab":{"h":0,"i":1,"hi":2},"merges":["h i"]}}"#,
        r#"{"version":"1.0","added_tokens":[{"id":4,"content":"<|im_end|>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},"post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"vocab":{"H":0,"e":1,"l":2,"He":3},"merges":[["H","e"]]}}"#,
        r#"{"version":"1.0","added_tokens":[{"id":0,"content":"<unk>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"pre_tokenizer":null,"post_processor":null,"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},"model":{"type":"BPE","unk_token":"<unk>","fuse_unk":true,"byte_fallback":true,"vocab":{"<unk>":0,"<0x0A>":1,"▁":2,"H":3,"e":4,"He":5,"▁He":6},"merges":["H e","▁ He"]}}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

pub(super) fn tokenizer_gguf() -> Vec<Vec<u8>> {
    let strings = |texts: &[&str]| {
        Value::from(
            texts
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>(),
        )
    };
    let mut bpe = Writer::new();
    bpe.set("tokenizer.ggml.model", "gpt2".into());
    bpe.set("tokenizer.ggml.pre", "qwen2".into());
    bpe.set(
        "tokenizer.ggml.tokens",
        strings(&["H", "e", "l", "o", "He", "\u{120}", "1", "<|im_end|>"]),
    );
    bpe.set(
        "tokenizer.ggml.token_type",
        Value::from(vec![1, 1, 1, 1, 1, 1, 1, 3]),
    );
    bpe.set("tokenizer.ggml.merges", strings(&["H e"]));
    bpe.set("tokenizer.ggml.eos_token_id", 7u32.into());
    bpe.set("tokenizer.ggml.add_bos_token", false.into());

    let mut spm = Writer::new();
    spm.set("tokenizer.ggml.model", "llama".into());
    spm.set(
        "tokenizer.ggml.tokens",
        strings(&[
            "<unk>",
            "<s>",
            "</s>",
            "<0x0A>",
            "\u{2581}",
            "H",
            "e",
            "He",
            "\u{2581}He",
        ]),
    );
    spm.set(
        "tokenizer.ggml.scores",
        Value::from(vec![0.0, 0.0, 0.0, 0.0, -5.0, -4.0, -3.0, -2.0, -1.0f32]),
    );
    spm.set(
        "tokenizer.ggml.token_type",
        Value::from(vec![2, 3, 3, 6, 1, 1, 1, 1, 1]),
    );
    spm.set("tokenizer.ggml.bos_token_id", 1u32.into());
    spm.set("tokenizer.ggml.eos_token_id", 2u32.into());
    spm.set("tokenizer.ggml.unknown_token_id", 0u32.into());
    vec![written(&bpe), written(&spm)]
}

pub(super) fn chat_template() -> Vec<Vec<u8>> {
    [
        "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
        "{{ bos_token }}{% set ns = namespace(found=false) %}{%- for m in messages if m.role != 'system' -%}{% if loop.first %}[{{ m.content | trim }}]{% else %} {{ m['content'].strip().upper() }}{% endif %}{% set ns.found = true %}{%- endfor -%}{% if not ns.found %}{{ raise_exception('no turns') }}{% endif %}{{ eos_token }}",
        "{% macro turn(m, last=false) %}<{{ m.role }}>{{ m.content.split(' ') | join('+') }}{% if last %}!{% endif %}</{{ m.role }}>{% endmacro %}{% for i in range(messages | length) %}{{ turn(messages[i], last=(i == 3)) }}{% endfor %}{{ {'a': [1, 2.5, none, true]} | tojson }}{{ strftime_now('%Y-%m-%d') }}{{ '%s' | format('x') }}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// A Whisper model of a few numbers.
fn whisper() -> Whisper {
    let dims = Dims {
        n_mels: 1,
        n_audio_ctx: 1,
        n_audio_state: 1,
        n_audio_head: 1,
        n_audio_layer: 1,
        n_text_ctx: 1,
        n_text_state: 1,
        n_text_head: 1,
        n_text_layer: 1,
        n_vocab: 2,
    };
    let mut writer = Whisper::new(dims, |_, shape| {
        let count: u64 = shape.iter().product();
        (WeightType::F16, vec![0x3c; count as usize * 2])
    })
    .expect("a correct model");
    writer.tokens = vec![b"a".to_vec(), vec![0xff, 0xfe]];
    writer.mel_filters = MelFilters {
        n_mels: 1,
        n_freqs: 2,
        values: vec![0.5, 0.25],
    };
    writer
}

pub(super) fn whisper_ct2() -> Vec<Vec<u8>> {
    vec![whisper().to_ct2().expect("a correct model")]
}

pub(super) fn whisper_ggml() -> Vec<Vec<u8>> {
    vec![whisper().to_ggml()]
}

pub(super) fn whisper_safetensors() -> Vec<Vec<u8>> {
    vec![whisper().to_safetensors().expect("a correct model").0]
}

/// The configuration of [`whisper_safetensors`].
pub(super) fn whisper_config() -> Vec<u8> {
    whisper().to_safetensors().expect("a correct model").1
}

pub(super) fn whisper_tokenizer_json() -> Vec<Vec<u8>> {
    // Nothing shorter than all tokens of a model is accepted: bytes as they are spelled, one word, names.
    let mut spelled: Vec<char> = ('!'..='~').chain('¡'..='¬').chain('®'..='ÿ').collect();
    spelled.extend('\u{100}'..='\u{143}');
    let token = |id: u32| match (spelled.get(id as usize), id) {
        (Some('"' | '\\'), _) => format!("\\{}", spelled[id as usize]),
        (Some(byte), _) => byte.to_string(),
        (None, 264) => "\u{120}the".to_owned(),
        (None, _) => format!("t{id}"),
    };
    let vocab: Vec<String> = (0..50_257)
        .map(|id| format!(r#""{}":{id}"#, token(id)))
        .collect();
    let whole = format!(
        r#"{{"added_tokens":[{{"id":50257,"content":"<|endoftext|>"}},{{"id":50258,"content":"<|startoftranscript|>"}},{{"id":50363,"content":"<|notimestamps|>"}}],"model":{{"vocab":{{{}}}}}}}"#,
        vocab.join(",")
    );
    vec![whole.into_bytes()]
}

pub(super) fn sound() -> Vec<Vec<u8>> {
    // 16-bit PCM and floats at a rate that is resampled.
    let wav = |format: u16, bits: u16, rate: u32, data: &[u8]| {
        let mut out = b"RIFF".to_vec();
        out.extend((36 + data.len() as u32).to_le_bytes());
        out.extend(b"WAVEfmt ");
        out.extend(16u32.to_le_bytes());
        for word in [format, 1] {
            out.extend(word.to_le_bytes());
        }
        for word in [rate, rate * u32::from(bits / 8)] {
            out.extend(word.to_le_bytes());
        }
        for word in [bits / 8, bits] {
            out.extend(word.to_le_bytes());
        }
        out.extend(b"data");
        out.extend((data.len() as u32).to_le_bytes());
        out.extend(data);
        out
    };
    let floats: Vec<u8> = (0..200)
        .flat_map(|i| (i as f32 * 0.1).sin().to_le_bytes())
        .collect();
    vec![
        wav(1, 16, 16_000, &[7; 900]),
        wav(3, 32, 8_000, &floats),
        include_bytes!("../../../suite/reference/audio/goforward.ogg").to_vec(),
    ]
}
