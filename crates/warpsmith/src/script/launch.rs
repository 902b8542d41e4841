//! A launch of a script against its kernel: the shape, and the bytes of each parameter.

use super::{Arg, Error, LaunchSpec};
use warpsmith_ptx::{
    ir::{Directive, Function, Var},
    types::{Type, TypeKind},
};
use warpsmith_vgpu::Kernel;

/// Threads of a CTA along x, y and z at most, and CTAs of a grid.
const BLOCK: [u32; 3] = [1024, 1024, 64];
const GRID: [u32; 3] = [0x7FFF_FFFF, 0xFFFF, 0xFFFF];
/// Threads of a CTA at most.
const THREADS: u64 = 1024;

/// A launch with its place in the script.
pub(super) struct Checked<'s> {
    /// Which launch.
    pub(super) at: usize,
    pub(super) spec: &'s LaunchSpec,
    /// The kernel as it is declared.
    pub(super) function: &'s Function,
    /// Where each buffer is.
    pub(super) addresses: &'s [u64],
}

/// A number of each extent, as scripts and options write them.
fn shown(extents: &[u32; 3]) -> String {
    let [x, y, z] = extents;
    format!("{x}, {y}, {z}")
}

impl Checked<'_> {
    fn wrong(&self, place: &str, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::Script {
            at: format!("$.launches[{}].{place}", self.at),
            line: None,
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// Whether the kernel can be launched so.
    pub(super) fn shape(&self) -> Result<(), Error> {
        let LaunchSpec { grid, block, .. } = self.spec;
        let threads = block
            .iter()
            .fold(1u64, |all, n| all.saturating_mul(u64::from(*n)));
        for (name, extents, limits) in [("grid", grid, GRID), ("block", block, BLOCK)] {
            if extents.contains(&0) {
                return Err(self.wrong(name, "at least 1 of each extent", shown(extents)));
            }
            if extents.iter().zip(limits).any(|(n, limit)| *n > limit) {
                let expected = format!("at most {}", shown(&limits));
                return Err(self.wrong(name, expected, shown(extents)));
            }
        }
        if threads > THREADS {
            let found = format!("{}, which are {threads}", shown(block));
            return Err(self.wrong("block", format!("at most {THREADS} threads"), found));
        }
        for directive in &self.function.directives {
            match directive {
                Directive::ReqNtid(wanted) if wanted != block => {
                    let expected = format!("{}, the kernel's .reqntid", shown(wanted));
                    return Err(self.wrong("block", expected, shown(block)));
                }
                Directive::MaxNtid(most) => {
                    let all = most
                        .iter()
                        .fold(1u64, |all, n| all.saturating_mul(u64::from(*n)));
                    if threads > all {
                        let expected = format!("at most {all} threads, the kernel's .maxntid");
                        return Err(self.wrong("block", expected, shown(block)));
                    }
                }
                Directive::ReqNtid(_)
                | Directive::MinNctaPerSm(_)
                | Directive::MaxNreg(_)
                | Directive::NoReturn
                | Directive::Pragma(_)
                | Directive::Other(..) => {}
            }
        }
        Ok(())
    }

    /// The bytes of all parameters.
    pub(super) fn params(&self, kernel: &Kernel) -> Result<Vec<u8>, Error> {
        let wanted = kernel.params();
        let args = &self.spec.args;
        if wanted.len() != args.len() {
            let expected = format!("{} arguments", wanted.len());
            return Err(self.wrong("args", expected, args.len().to_string()));
        }
        let mut out = vec![0; kernel.param_bytes() as usize];
        let vars = &self.function.params;
        for (number, ((arg, param), var)) in args.iter().zip(&wanted).zip(vars).enumerate() {
            let here = format!("args[{number}]");
            if let Some(found) = unlike(var, arg) {
                let expected = format!("a {}, the type of the parameter `{}`", var.ty, var.name);
                return Err(self.wrong(&here, expected, found));
            }
            let bytes = self.bytes(arg);
            let place = param.offset as usize..(param.offset + param.size) as usize;
            if bytes.len() != place.len() {
                let expected = format!("{} bytes, the size of the parameter", place.len());
                return Err(self.wrong(&here, expected, format!("{} bytes", bytes.len())));
            }
            out[place].copy_from_slice(&bytes);
        }
        Ok(out)
    }

    fn bytes(&self, arg: &Arg) -> Vec<u8> {
        match arg {
            Arg::Pointer { buffer, offset } => {
                let base = buffer.map_or(0, |buffer| self.addresses[buffer]);
                base.wrapping_add(*offset).to_le_bytes().to_vec()
            }
            Arg::Bytes {
                ty: _,
                bytes,
                pointers,
            } => {
                let mut bytes = bytes.clone();
                for (offset, buffer) in pointers {
                    let place = *offset as usize..*offset as usize + 8;
                    if let Some(place) = bytes.get_mut(place) {
                        place.copy_from_slice(&self.addresses[*buffer].to_le_bytes());
                    }
                }
                bytes
            }
        }
    }
}

/// What an argument is, if a parameter of such a type cannot be meant by it. Integers of one size stand for each
/// other, as compilers use them, and for bits anything of their size does.
fn unlike(var: &Var, arg: &Arg) -> Option<String> {
    let kind = var.ty.kind();
    if !var.dims.is_empty() || var.vector > 1 || kind == TypeKind::Bits {
        return None;
    }
    match arg {
        Arg::Pointer { .. } => var.ty.is_float().then(|| "an address".to_owned()),
        Arg::Bytes { ty: None, .. } => None,
        Arg::Bytes { ty: Some(ty), .. } => {
            let same = ty.bytes() == var.ty.bytes()
                && (ty.kind() == TypeKind::Bits || ty.is_int() == var.ty.is_int())
                && (!ty.is_float() || *ty == var.ty || *ty == Type::TF32);
            (!same).then(|| format!("a {ty}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_ptx::types::Space;

    #[test]
    fn parameters_take_what_has_their_type_and_width() {
        for (param, given, fits) in [
            (Type::U32, Type::S32, true),
            (Type::U32, Type::U32, true),
            (Type::S32, Type::B32, true),
            (Type::B32, Type::F32, true),
            (Type::B32, Type::S32, true),
            (Type::U32, Type::F32, false),
            (Type::F32, Type::S32, false),
            (Type::F32, Type::B32, true),
            (Type::U32, Type::U64, false),
            (Type::U64, Type::F64, false),
            (Type::F64, Type::F64, true),
            (Type::U8, Type::S8, true),
            (Type::U16, Type::F16, false),
            (Type::B16, Type::F16, true),
            (Type::F16, Type::BF16, false),
        ] {
            let var = Var::new("p", Space::Param, param);
            let arg = Arg::Bytes {
                ty: Some(given),
                bytes: vec![0; given.bytes() as usize],
                pointers: Vec::new(),
            };
            assert_eq!(unlike(&var, &arg).is_none(), fits, "{given} for {param}");
        }
        let pointer = Arg::Pointer {
            buffer: None,
            offset: 0,
        };
        for (param, fits) in [(Type::U64, true), (Type::B64, true), (Type::F64, false)] {
            let var = Var::new("p", Space::Param, param);
            assert_eq!(unlike(&var, &pointer).is_none(), fits, "{param}");
        }
    }
}
