//! What clean-up must leave: instructions of the raw layer whose effect their operands do not show, and values that raw code
//! writes again.

use warpsmith_kernel::{
    Cta, InKernel, Kernel, Lane, LaunchError, Options, Scope, Val, args, build,
    raw::{define, emit},
    uni, upto,
};
use warpsmith_ptx::{
    ir::{Address, Base, Function, Imm, Inst, Operand, RegId},
    op::Op,
    qual::Qual,
    special::Special,
    types::Type,
};

args! {
    /// `y` of `x`.
    pub struct RawArgs { x: In<u32>[n], y: Out<u32>[n], n: Scalar<u32> }
}

type Word<'k> = Val<'k, u32, uni::Lane>;

/// A kernel whose body the test gives.
#[derive(Clone)]
struct Raw(for<'k> fn(&mut Lane<'k>, Word<'k>) -> Vec<Word<'k>>);

impl PartialEq for Raw {
    fn eq(&self, other: &Raw) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Raw {}

impl std::hash::Hash for Raw {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.0 as usize).hash(state);
    }
}

impl Kernel for Raw {
    type Args = RawArgs;

    fn name(&self) -> String {
        "raw".into()
    }

    fn grid(&self, a: &RawArgs) -> Result<u64, LaunchError> {
        Ok(a.n.into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: RawArgs<InKernel<'k>>) {
        cta.each(a.n, |lane, i| {
            for value in (self.0)(lane, a.x.at(i)) {
                a.y.set(i, value);
            }
        });
    }
}

fn function(body: for<'k> fn(&mut Lane<'k>, Word<'k>) -> Vec<Word<'k>>) -> Function {
    let built = build(
        &Raw(body),
        "sm_90".parse().expect("a target"),
        Options::default(),
    )
    .expect("a right kernel");
    built.module.functions[0].clone()
}

fn insts(function: &Function, op: Op) -> Vec<&Inst> {
    let body = function.body.as_deref().unwrap_or(&[]);
    let insts = body.iter().filter_map(|stmt| stmt.inst());
    insts.filter(|inst| inst.op == op).collect()
}

/// The registers that are stored, in order.
fn stored(function: &Function) -> Vec<RegId> {
    let value = |inst: &&Inst| match inst.operands[1] {
        Operand::Reg(reg) => reg,
        ref other => panic!("{other:?} is stored"),
    };
    insts(function, Op::St).iter().map(value).collect()
}

const U32: Qual = Qual::T(Type::U32);

fn int(value: i64) -> Operand {
    Operand::Imm(Imm::Int(value))
}

#[test]
fn equal_values_are_computed_once() {
    let function = function(|_, x| vec![x + 1, x + 1, (x + 1) * 3, (x + 1) * 3]);
    let stored = stored(&function);
    assert_eq!(stored[0], stored[1]);
    assert_eq!(stored[2], stored[3]);
    assert_ne!(stored[0], stored[2]);
}

#[test]
fn a_carry_out_is_kept_though_the_sum_is_not_read() {
    let function = function(|_, x| {
        let _low: Word = define(Op::Add, &[Qual::Cc, U32], [x.operand(), int(-1)]);
        let high: Word = define(Op::Addc, &[U32], [x.operand(), int(0)]);
        let _low: Word = define(Op::Add, &[Qual::Cc, U32], [x.operand(), int(-1)]);
        vec![high, define(Op::Addc, &[U32], [x.operand(), int(0)])]
    });
    let carries = |inst: &&&Inst| inst.quals.has(Qual::Cc);
    assert_eq!(insts(&function, Op::Add).iter().filter(carries).count(), 2);
    assert_eq!(insts(&function, Op::Addc).len(), 2);
}

#[test]
fn clocks_are_read_each_time() {
    let function = function(|_, _| {
        let now = || -> Word { define(Op::Mov, &[U32], [Operand::Special(Special::Clock)]) };
        let lane = || -> Word { define(Op::Mov, &[U32], [Operand::Special(Special::Laneid)]) };
        let (first, second) = (now(), now());
        vec![second - first, lane() + lane()]
    });
    let read = |special: Special| {
        let movs = insts(&function, Op::Mov);
        let of = |inst: &&&Inst| inst.operands[1] == Operand::Special(special);
        movs.iter().filter(of).count()
    };
    assert_eq!(read(Special::Clock), 2);
    assert_eq!(read(Special::Laneid), 1);
}

#[test]
fn a_value_that_raw_code_writes_again_is_nobody_elses() {
    let function = function(|_, x| {
        let (one, other) = (x + 1, x + 1);
        let add = [other.operand(), other.operand(), int(5)];
        emit(Op::Add, &[U32], add);
        vec![one, other]
    });
    let stored = stored(&function);
    assert_ne!(stored[0], stored[1], "x + 1 and x + 6 are two values");
}

#[test]
fn a_source_that_raw_code_changes_in_a_loop_is_read_again() {
    let function = function(|lane, x| {
        let source: Word = define(Op::Mov, &[U32], [int(7)]);
        let before = source + 1;
        lane.for_(upto(x), |_, _| {
            let within = source + 1;
            emit(
                Op::Add,
                &[U32],
                [source.operand(), within.operand(), int(0)],
            );
        });
        vec![before, source]
    });
    let plus_one = |inst: &&&Inst| inst.operands[2] == int(1);
    // Before the loop, in it, and the loop's own step.
    assert_eq!(insts(&function, Op::Add).iter().filter(plus_one).count(), 3);
}

#[test]
fn what_acts_stays_though_nobody_reads_it() {
    let function = function(|_, x| {
        let address: Val<u64, uni::Lane> =
            define(Op::Cvt, &[Qual::T(Type::U64), U32], [x.operand()]);
        let at = Operand::Addr(Address {
            base: Base::Reg(match address.operand() {
                Operand::Reg(reg) => reg,
                other => panic!("{other:?} is no register"),
            }),
            offset: 0,
        });
        let quals = [Qual::Arrive, Qual::T(Type::B64)];
        let _state: Val<u64, uni::Lane> = define(Op::Mbarrier, &quals, [at.clone()]);
        emit(Op::Prefetch, &[Qual::Global, Qual::L2], [at]);
        vec![]
    });
    assert_eq!(insts(&function, Op::Mbarrier).len(), 1);
    assert_eq!(insts(&function, Op::Prefetch).len(), 1);
}
