//! What a caller gives for a parameter of a kernel, as the bytes of that parameter.

use crate::errors;
use pyo3::prelude::*;
use warpsmith::{
    ptx::{
        ir::Var,
        types::{Type, TypeKind},
    },
    script::{element, encode},
};

/// A value for a parameter that is no array.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A number of Python, of whichever type the parameter is.
    Number(String),
    /// A scalar of numpy: its type by name, and its bytes.
    Scalar(String, Vec<u8>),
    /// The bytes of a structure.
    Bytes(Vec<u8>),
}

/// A type as Python and run scripts write it.
pub(crate) fn name(ty: Type) -> String {
    ty.to_string().trim_start_matches('.').to_owned()
}

/// The bytes of parameter `number`, from 0.
///
/// # Errors
/// `InputError` for a value of another type or size.
pub(crate) fn bytes(number: usize, var: &Var, value: &Value) -> PyResult<Vec<u8>> {
    let what = || format!("args[{number}] (`{}`)", var.name);
    let size = var.bytes().unwrap_or(0);
    let is_array = !var.dims.is_empty() || var.vector > 1;
    match value {
        Value::Number(text) => {
            let expected = match is_array {
                true => format!("{size} bytes, as the parameter is an array"),
                false => format!("a number of type {}", name(var.ty)),
            };
            let found = encode(var.ty, text).filter(|_| !is_array);
            // A whole number is a float as well.
            found.ok_or_else(|| errors::input(&what(), &expected, text))
        }
        Value::Scalar(dtype, bytes) => {
            let expected = format!("a {}, the type of the parameter", name(var.ty));
            let given = element(dtype).ok_or_else(|| errors::input(&what(), &expected, dtype))?;
            match fits(var.ty, given) && !is_array {
                true => Ok(bytes.clone()),
                false => Err(errors::input(&what(), &expected, format!("a {dtype}"))),
            }
        }
        Value::Bytes(bytes) => match bytes.len() as u64 == size {
            true => Ok(bytes.clone()),
            false => {
                let expected = format!("{size} bytes, the size of the parameter");
                let found = format!("{} bytes", bytes.len());
                Err(errors::input(&what(), &expected, found))
            }
        },
    }
}

/// Whether a value of one type stands for a parameter of another: integers of one size do, and anything does for bits.
fn fits(param: Type, given: Type) -> bool {
    given.bytes() == param.bytes()
        && (param.kind() == TypeKind::Bits
            || given.kind() == TypeKind::Bits
            || (param.is_float() == given.is_float() && (!given.is_float() || given == param)))
}
