//! What a kernel says to people: text, assertions, clocks.

use crate::{
    build::{Rep, with},
    misuse::Misuse,
    scope::{Lane, Scope},
    slot::Slot,
    table::address_of,
    uni::{self, Uni},
    val::{Ty, Val},
};
use half::{bf16, f16};
use std::panic::Location;
use warpsmith_ptx::{
    ir::{FuncId, Function, FunctionKind, Imm, Init, Inst, Linkage, Operand, RegId, Var, VarId},
    op::Op,
    qual::Qual,
    special::Special,
    types::{Space, Type},
};

type At = &'static Location<'static>;

/// The most values that one `printf` takes (CUDA C++ programming guide, "Formatted output").
const MOST: usize = 32;

/// Prints from a kernel, as `printf` of C has it: `%d %i %u %x %o %c` take integers of 32 bits, with `ll` of 64,
/// `%f %e %g %a` floats, `%s` text that is known when the kernel is built, `%p` addresses.
///
/// ```
/// # use warpsmith_kernel::{Cta, InKernel, Scope, args, printf};
/// # args! { struct Values { x: In<f32>[n], n: Scalar<u32> } }
/// fn report<'k>(cta: &mut Cta<'k>, a: Values<InKernel<'k>>) {
///     cta.each(a.n, |lane, i| {
///         lane.if_(a.x.at(i).lt(0.0), |lane| printf!(lane, "x[%u] is %f\n", i, a.x.at(i)));
///     });
/// }
/// ```
#[macro_export]
macro_rules! printf {
    ($lane:expr, $format:expr $(, $value:expr)* $(,)?) => {
        $crate::Lane::print($lane, $format, &[$(&$value as &dyn $crate::Printable),*])
    };
}

/// What a conversion of a format takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Int32,
    Int64,
    Float,
    Text,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Int32 => "an integer of 32 bits",
            Kind::Int64 => "an integer of 64 bits",
            Kind::Float => "a float",
            Kind::Text => "text",
        }
    }
}

/// A value that [`printf!`](crate::printf!) prints.
pub trait Printable {
    #[doc(hidden)]
    fn part(&self) -> Part;
}

/// A value as `printf` takes it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Part {
    kind: Kind,
    ty: Type,
    rep: Rep,
    text: Option<String>,
}

fn part<T: Ty, U: Uni>(kind: Kind, value: Val<'_, T, U>) -> Part {
    Part {
        kind,
        ty: T::TYPE,
        rep: value.rep(),
        text: None,
    }
}

macro_rules! printable {
    ($($rust:ident $kind:ident |$x:ident| $value:expr;)*) => {$(
        impl<U: Uni> Printable for Val<'_, $rust, U> {
            #[track_caller]
            fn part(&self) -> Part {
                let $x = *self;
                part(Kind::$kind, $value)
            }
        }
    )*};
}

printable! {
    bool Int32 |x| x.u32(); u32 Int32 |x| x; i32 Int32 |x| x; u64 Int64 |x| x; i64 Int64 |x| x;
    f16 Float |x| x.f32().to::<f64>(); bf16 Float |x| x.f32().to::<f64>(); f32 Float |x| x.to::<f64>(); f64 Float |x| x;
}

impl Printable for &str {
    fn part(&self) -> Part {
        Part {
            kind: Kind::Text,
            ty: Type::U64,
            rep: Rep::imm(Imm::Int(0)),
            text: Some((*self).to_owned()),
        }
    }
}

/// What the conversions of a format take, in order; or what is wrong with it.
fn conversions(format: &str) -> Result<Vec<Kind>, String> {
    let mut kinds = Vec::new();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            continue;
        }
        if rest.next_if_eq(&'%').is_some() {
            continue;
        }
        while rest.next_if(|c| "-+ #0123456789.".contains(*c)).is_some() {}
        let mut longs = 0;
        while rest.next_if_eq(&'l').is_some() {
            longs += 1;
        }
        kinds.push(match rest.next() {
            Some('d' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c') if longs == 0 => Kind::Int32,
            Some('d' | 'i' | 'u' | 'x' | 'X' | 'o') if longs <= 2 => Kind::Int64,
            Some('p') if longs == 0 => Kind::Int64,
            Some('f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A') => Kind::Float,
            Some('s') if longs == 0 => Kind::Text,
            Some(other) => {
                return Err(format!(
                    "`printf` has no conversion `%{other}` in {format:?}"
                ));
            }
            None => return Err(format!("the format {format:?} ends within a conversion")),
        });
    }
    Ok(kinds)
}

/// What is wrong with printing `parts` by `format`.
fn mismatch(format: &str, parts: &[Part]) -> Option<String> {
    let kinds = match conversions(format) {
        Ok(kinds) => kinds,
        Err(what) => return Some(what),
    };
    if kinds.len() != parts.len() || parts.len() > MOST {
        return Some(format!(
            "the format {format:?} takes {} values, there are {} (at most {MOST})",
            kinds.len(),
            parts.len(),
        ));
    }
    let wrong = kinds
        .iter()
        .zip(parts)
        .position(|(kind, part)| *kind != part.kind)?;
    Some(format!(
        "conversion {} of {format:?} takes {}, the value is {}",
        wrong + 1,
        kinds[wrong].name(),
        parts[wrong].kind.name(),
    ))
}

/// A register with the generic address of a text that ends with 0.
fn text(at: At, text: &str) -> RegId {
    let var = with(|b| {
        let bytes = text
            .bytes()
            .chain([0])
            .map(|byte| Init::Imm(Imm::Int(byte.into())));
        let init = Init::List(bytes.collect());
        let same = |var: &Var| var.init.as_ref() == Some(&init);
        if let Some(found) = b.module_vars.iter().position(same) {
            return found as u32;
        }
        let mut var = Var::new(
            format!("text{}", b.module_vars.len()),
            Space::Global,
            Type::B8,
        );
        var.dims.push(Some(text.len() as u64 + 1));
        var.init = Some(init);
        b.module_vars.push(var);
        b.module_vars.len() as u32 - 1
    });
    let address = address_of(at, var);
    let quals = [Qual::Global, Qual::T(Type::U64)];
    with(|b| b.def(at, Op::Cvta, &quals, Type::U64, &[Slot::reg(address)]))
}

/// A function of the system, declared once.
fn declared(name: &'static str, params: &[Type], returns: &[Type]) -> FuncId {
    let vars = |prefix: &str, types: &[Type]| -> Vec<Var> {
        let var = |(at, ty): (usize, &Type)| Var::new(format!("{prefix}{at}"), Space::Param, *ty);
        types.iter().enumerate().map(var).collect()
    };
    with(|b| {
        if let Some(found) = b.externs.iter().position(|function| function.name == name) {
            return FuncId(found as u32);
        }
        let mut function = Function::new(name, FunctionKind::Func);
        function.linkage = Linkage::Extern;
        function.params = vars("p", params);
        function.returns = vars("r", returns);
        b.externs.push(function);
        FuncId(b.externs.len() as u32 - 1)
    })
}

fn regs(regs: &[RegId]) -> Operand {
    Operand::List(regs.iter().map(|reg| Operand::Reg(*reg)).collect())
}

impl<'k> Lane<'k> {
    /// [`printf!`](crate::printf!) with its values.
    #[doc(hidden)]
    #[track_caller]
    pub fn print(&mut self, format: &str, values: &[&dyn Printable]) {
        let at = Location::caller();
        let parts: Vec<Part> = values.iter().map(|value| value.part()).collect();
        if let Some(what) = mismatch(format, &parts) {
            with(|b| b.misuse(Misuse::Format { what, used: at }));
            return;
        }
        let buffer = with(|b| {
            let mut slots = Vec::with_capacity(1);
            Slot::append(&mut slots, &Operand::Var(VarId::Function(b.printed()), 0));
            b.def(at, Op::Mov, &[Qual::T(Type::U64)], Type::U64, &slots)
        });
        let mut offset = 0;
        for Part {
            kind,
            ty,
            rep,
            text: own,
        } in parts
        {
            let bytes: u32 = if kind == Kind::Int32 { 4 } else { 8 };
            offset = u32::next_multiple_of(offset, bytes);
            let value = match own {
                Some(own) => text(at, &own),
                None => with(|b| b.to_reg(at, ty, rep)),
            };
            let memory = if bytes == 4 { Type::B32 } else { Type::B64 };
            let slots = [Slot::at(buffer, i64::from(offset)), Slot::reg(value)];
            with(|b| b.push(at, Op::St, &[Qual::Local, Qual::T(memory)], &slots));
            offset += bytes;
        }
        let format = text(at, format);
        let function = declared("vprintf", &[Type::B64, Type::B64], &[Type::B32]);
        with(|b| {
            b.print_buffer(offset);
            let quals = [Qual::Local, Qual::T(Type::U64)];
            let values = b.def(at, Op::Cvta, &quals, Type::U64, &[Slot::reg(buffer)]);
            let result = b.reg(Type::B32);
            let operands = [
                regs(&[result]),
                Operand::Func(function),
                regs(&[format, values]),
            ];
            b.push_inst(at, &Inst::new(Op::Call, &[], operands));
        });
    }

    /// Stops the launch where `condition` does not hold, with `message`, this file and line: CUDA's `assert`. The launch ends
    /// with an error.
    #[track_caller]
    pub fn assert<U: Uni>(&mut self, condition: Val<'k, bool, U>, message: &str) {
        let at = Location::caller();
        self.if_(!condition, |_| {
            let texts = [message, at.file(), "kernel"].map(|one| text(at, one));
            let (line, size) = with(|b| {
                let line = b.to_reg(at, Type::U32, Rep::imm(Imm::Int(at.line().into())));
                (line, b.to_reg(at, Type::U64, Rep::imm(Imm::Int(1))))
            });
            let types = [Type::B64, Type::B64, Type::B32, Type::B64, Type::B64];
            let function = declared("__assertfail", &types, &[]);
            let arguments = regs(&[texts[0], texts[1], line, texts[2], size]);
            let operands = [Operand::Func(function), arguments];
            with(|b| b.push_inst(at, &Inst::new(Op::Call, &[], operands)));
        });
    }

    /// The multiprocessor's clock, in cycles (`%clock64`): read anew at each call.
    #[track_caller]
    pub fn clock(&mut self) -> Val<'k, u64, uni::Lane> {
        self.special(Special::Clock64)
    }

    /// The device's clock, in nanoseconds (`%globaltimer`): read anew at each call.
    #[track_caller]
    pub fn nanoseconds(&mut self) -> Val<'k, u64, uni::Lane> {
        self.special(Special::Globaltimer)
    }

    #[track_caller]
    fn special(&mut self, special: Special) -> Val<'k, u64, uni::Lane> {
        let at = Location::caller();
        let quals = [Qual::T(Type::U64)];
        Val::from_reg(with(|b| {
            b.def(at, Op::Mov, &quals, Type::U64, &[Slot::special(special)])
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_c_reads_them() {
        use Kind::{Float, Int32, Int64, Text};
        let right: [(&str, &[Kind]); 4] = [
            ("plain 100%%\n", &[]),
            ("%d %5u %-08.3f|%s", &[Int32, Int32, Float, Text]),
            ("%lld %lx %p %c", &[Int64, Int64, Int64, Int32]),
            ("%+e%g", &[Float, Float]),
        ];
        for (format, kinds) in right {
            assert_eq!(conversions(format).as_deref(), Ok(kinds), "{format}");
        }
        for format in ["%", "%5", "%n", "%q", "%lc", "%ls"] {
            assert!(conversions(format).is_err(), "{format}");
        }
    }
}
