//! What is written reads back the same.

use crate::bytes_of;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use warpsmith_formats::gguf::{Array, Gguf, Value, Writer};
use warpsmith_formats::quant::{WeightType, check_finite, random_blocks};

fn number() -> impl Strategy<Value = f32> {
    prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL | prop::num::f32::INFINITE
}

fn wide_number() -> impl Strategy<Value = f64> {
    prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::INFINITE
}

fn array() -> impl Strategy<Value = Array> {
    let flat = prop_oneof![
        vec(any::<u8>(), 0..20).prop_map(Array::U8),
        vec(any::<i8>(), 0..20).prop_map(Array::I8),
        vec(any::<u16>(), 0..20).prop_map(Array::U16),
        vec(any::<i16>(), 0..20).prop_map(Array::I16),
        vec(any::<u32>(), 0..20).prop_map(Array::U32),
        vec(any::<i32>(), 0..20).prop_map(Array::I32),
        vec(number(), 0..20).prop_map(Array::F32),
        vec(any::<bool>(), 0..20).prop_map(Array::Bool),
        vec(any::<String>(), 0..20).prop_map(Array::String),
        vec(any::<u64>(), 0..20).prop_map(Array::U64),
        vec(any::<i64>(), 0..20).prop_map(Array::I64),
        vec(wide_number(), 0..20).prop_map(Array::F64),
    ];
    flat.prop_recursive(3, 20, 4, |inner| vec(inner, 0..4).prop_map(Array::Array))
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u8>().prop_map(Value::U8),
        any::<i8>().prop_map(Value::I8),
        any::<u16>().prop_map(Value::U16),
        any::<i16>().prop_map(Value::I16),
        any::<u32>().prop_map(Value::U32),
        any::<i32>().prop_map(Value::I32),
        number().prop_map(Value::F32),
        any::<bool>().prop_map(Value::Bool),
        any::<String>().prop_map(Value::String),
        array().prop_map(Value::Array),
        any::<u64>().prop_map(Value::U64),
        any::<i64>().prop_map(Value::I64),
        wide_number().prop_map(Value::F64),
    ]
}

#[derive(Clone, Debug)]
struct Tensor {
    dims: Vec<u64>,
    dtype: WeightType,
    data: Vec<u8>,
}

fn tensor() -> impl Strategy<Value = Tensor> {
    let dtype = prop::sample::select(WeightType::ALL.to_vec());
    (dtype, 1u64..4, vec(1u64..4, 0..4), any::<u64>()).prop_map(|(dtype, blocks, outer, seed)| {
        let n = blocks * outer.iter().product::<u64>();
        let mut dims = vec![blocks * dtype.block_len() as u64];
        dims.extend(outer);
        Tensor {
            dims,
            dtype,
            data: random_blocks(dtype, seed, n as usize),
        }
    })
}

proptest! {
    #[test]
    fn a_written_file_parses_to_what_was_written(
        pairs in btree_map("[a-z._0-9]{0,20}", value(), 0..8),
        tensors in btree_map(any::<String>(), tensor(), 0..6),
        alignment in prop::option::of(3u32..8),
    ) {
        let mut pairs: Vec<(String, Value)> = pairs.into_iter().collect();
        if let Some(log) = alignment {
            pairs.push(("general.alignment".to_owned(), Value::U32(1 << log)));
        }
        let mut writer = Writer::new();
        for (key, value) in &pairs {
            writer.set(key, value.clone());
        }
        for (name, tensor) in &tensors {
            writer.add(name, &tensor.dims, tensor.dtype, tensor.data.clone());
        }
        let file = Gguf::parse(writer.to_bytes().expect("sound")).expect("sound");
        let read: Vec<(String, Value)> =
            file.metadata().iter().map(|(k, v)| (k.to_owned(), v.clone())).collect();
        prop_assert_eq!(read, pairs);
        prop_assert_eq!(file.tensors().len(), tensors.len());
        for (name, want) in &tensors {
            let got = file.tensor(name).expect("written");
            prop_assert_eq!((&got.dims, got.dtype), (&want.dims, want.dtype));
            prop_assert_eq!(got.offset % (1 << alignment.unwrap_or(5)), 0);
            let data = bytes_of(|out| file.read(got, out));
            prop_assert!(data == want.data);
            prop_assert!(check_finite(&got.name, got.dtype, &data).is_ok());
        }
    }

    #[test]
    fn arbitrary_bytes_after_the_magic_never_panic(bytes in vec(any::<u8>(), 0..400)) {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend(&bytes);
        drop(Gguf::parse(file));
        drop(warpsmith_formats::safetensors::Safetensors::parse(bytes));
    }
}
