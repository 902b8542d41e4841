//! Values of a script: scalars, whose number and bytes must agree, and how elements compare.

use super::{
    Error, Mode,
    json::Node,
    number::{element, encode, hex, is},
};
use warpsmith_ptx::types::Type;

/// What a scalar is and its bytes: its `value` as its `type`, or its `hex`, which are the same if both are there.
pub(super) fn scalar(node: &Node<'_>) -> Result<(Option<Type>, Vec<u8>), Error> {
    node.only(&["kind", "type", "value", "hex"])?;
    let ty = match node.key("type")? {
        Some(ty) => {
            Some(element(ty.text()?).ok_or_else(|| ty.expected("a type such as f32 or i32"))?)
        }
        None => None,
    };
    let given = match node.key("hex")? {
        Some(digits) => {
            let bytes = hex(digits.text()?).filter(|bytes| !bytes.is_empty());
            let bytes = bytes.ok_or_else(|| digits.expected("pairs of hexadecimal digits"))?;
            if let Some(ty) = ty.filter(|ty| ty.bytes() as usize != bytes.len()) {
                return Err(digits.expected(format!("the digits of {} bytes, a {ty}", ty.bytes())));
            }
            Some((digits, bytes))
        }
        None => None,
    };
    let Some(value) = node.key("value")? else {
        return match given {
            Some((_, bytes)) => Ok((ty, bytes)),
            None => Err(node.expected("`value` or `hex` in the object")),
        };
    };
    let ty = match ty {
        Some(ty) => ty,
        None => return Err(value.expected("`type` beside it")),
    };
    let text = value.literal()?;
    let bytes =
        encode(ty, &text).ok_or_else(|| value.expected(format!("a number that fits {ty}")))?;
    match given {
        Some((digits, other)) if !is(ty, &other, &text) => {
            let own: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Err(digits.expected(format!("{own}, the bytes of `value`")))
        }
        Some((_, other)) => Ok((Some(ty), other)),
        None => Ok((Some(ty), bytes)),
    }
}

pub(super) fn mode(check: &Node<'_>) -> Result<Mode, Error> {
    let name = check.need("mode", "`exact`, `value`, `tol` or `none`")?;
    let mode = match name.text()? {
        "exact" => Mode::Exact,
        "value" => Mode::Value,
        "none" => Mode::Ignored,
        "tol" => {
            check.only(&["mode", "abs", "rel"])?;
            let (abs, rel) = (bounds(check, "abs")?, bounds(check, "rel")?);
            if abs.is_empty() && rel.is_empty() {
                return Err(check.expected("`abs` or `rel` in the object"));
            }
            return Ok(Mode::Tolerance { abs, rel });
        }
        _ => return Err(name.expected("`exact`, `value`, `tol` or `none`")),
    };
    check.only(&["mode"])?;
    Ok(mode)
}

/// A tolerance or a list of them, none negative.
fn bounds(check: &Node<'_>, name: &str) -> Result<Vec<f64>, Error> {
    let Some(node) = check.key(name)? else {
        return Ok(Vec::new());
    };
    let items = node.items().unwrap_or_else(|_| vec![node]);
    let bound = |item: &Node<'_>| {
        let number = item.number()?;
        match number >= 0.0 && number.is_finite() {
            true => Ok(number),
            false => Err(item.expected("a number that is not negative")),
        }
    };
    items.iter().map(bound).collect()
}
