//! What is encoded is decoded again by iced-x86, and says what was meant.

use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind, Register, RoundingControl};
use warpsmith_x86::{
    Alu, Assembler, Cond, Executable, Gpr, Len, MaskAlu, Masking, Mem, Rm, Shift, Vop, vector,
};

fn decode(bytes: &[u8]) -> Instruction {
    let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
    let inst = decoder.decode();
    assert!(!inst.is_invalid(), "{bytes:02x?} is no instruction");
    assert_eq!(inst.len(), bytes.len(), "{bytes:02x?}: {inst:?}");
    inst
}

fn name(inst: &Instruction) -> String {
    format!("{:?}", inst.mnemonic()).to_lowercase()
}

struct Random(u64);
impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % below
    }
    fn mem(&mut self) -> Mem {
        let index = match self.next(2) {
            0 => None,
            _ => Some((
                Gpr([0, 1, 5, 8, 12, 15][self.next(6) as usize]),
                self.next(4) as u8,
            )),
        };
        let offset = [
            0,
            1,
            4,
            16,
            32,
            64,
            127 * 64,
            128 * 64,
            -64,
            -128 * 64,
            -1,
            1 << 20,
        ][self.next(12) as usize];
        Mem::Base {
            base: Gpr(self.next(16) as u8),
            index,
            offset,
        }
    }
}

fn check_mem(inst: &Instruction, mem: Mem, what: &str) {
    let Mem::Base {
        base,
        index,
        offset,
    } = mem
    else {
        return;
    };
    assert_eq!(inst.memory_base().number(), usize::from(base.0), "{what}");
    assert_eq!(
        inst.memory_displacement64() as i64,
        i64::from(offset),
        "{what}"
    );
    match index {
        None => assert_eq!(inst.memory_index(), Register::None, "{what}"),
        Some((index, shift)) => {
            assert_eq!(inst.memory_index().number(), usize::from(index.0), "{what}");
            assert_eq!(inst.memory_index_scale(), 1 << shift, "{what}");
        }
    }
}

/// Registers in the order in which the decoder tells them.
fn regs(inst: &Instruction) -> Vec<usize> {
    (0..inst.op_count())
        .filter(|i| inst.op_kind(*i) == OpKind::Register)
        .map(|i| inst.op_register(i).number())
        .collect()
}

fn is_general(op: &Vop) -> bool {
    ["vmovd", "vmovq"].contains(&op.name) || [vector::SPLAT_GPR32, vector::SPLAT_GPR64].contains(op)
}

#[test]
fn vector_instructions_say_what_was_meant() {
    let mut random = Random(7);
    for op in vector::ALL {
        if op.name.contains("gather") || op.name.contains("scatter") {
            continue;
        }
        let mut forms = 0;
        for turn in 0..400 {
            let evex = op.has_evex() && (turn % 2 == 0 || !op.has_vex());
            let general = is_general(op);
            let len = match (general && op.name.starts_with("vmov"), evex) {
                (true, _) => Len::L128,
                (false, true) => Len::L512,
                (false, false) => Len::L256,
            };
            let top = if evex { 32 } else { 16 };
            let is_compare = op.name.starts_with("vpcmp")
                || op.name.starts_with("vcmp")
                || op.name.starts_with("vptest");
            let mask_result = is_compare && evex;
            let reg = random.next(if mask_result { 8 } else { top }) as u8;
            let mut second = random.next(top) as u8;
            let rm_reg = random.next(if general { 16 } else { top }) as u8;
            let lanes = op.name.starts_with("vpmaskmov");
            let signs = op.name.contains("movmsk");
            let with_mem = lanes
                || [vector::SPLAT_128, vector::SPLAT_PAIR_128].contains(op)
                || turn % 3 != 0
                    && !signs
                    && ![vector::SPLAT_GPR32, vector::SPLAT_GPR64].contains(op);
            let mem = random.mem();
            let broadcast = with_mem && evex && op.broadcasts() && turn % 5 == 0;
            let blends = op.has_vector_mask();
            let masked = evex && !general && turn % 4 == 0 || blends;
            let masking = masked.then(|| Masking {
                mask: 1 + random.next(if blends { 15 } else { 7 }) as u8,
                zero: !mask_result && !with_mem && random.next(2) == 1,
            });
            // Shifts by a constant take memory in EVEX alone.
            if op.has_digit() && with_mem && !evex {
                continue;
            }
            // Which operands it has can be seen from the decoder.
            let rm = match (with_mem, broadcast) {
                (true, true) => Rm::Broadcast(mem),
                (true, false) => Rm::Mem(mem),
                (false, _) => Rm::Reg(rm_reg),
            };
            let emit = |second: u8| {
                let mut code = Assembler::new();
                code.vector_full(op, len, reg, second, rm, masking, 5);
                code.finish()
            };
            let probe = emit(0);
            let mut decoder = Decoder::with_ip(64, &probe, 0, DecoderOptions::NONE);
            let probe = decoder.decode();
            let what = format!("{} {turn}: {probe:?}", op.name);
            assert!(!probe.is_invalid(), "{what}");
            let operands = probe.op_count() - u32::from(op.has_imm() || blends);
            let three = operands == 3;
            if !three && !op.has_digit() {
                second = 0;
            }
            let inst = decode(&emit(second));
            assert_eq!(name(&inst), op.name, "{what}");
            let rm_first = inst.op_kind(0) == OpKind::Memory
                || !with_mem
                    && !three
                    && !op.has_digit()
                    && regs(&inst) == [usize::from(rm_reg), usize::from(reg)]
                    && rm_reg != reg;
            let mut want: Vec<usize> = match (op.has_digit(), three) {
                (true, _) => vec![second.into()],
                (false, true) if lanes && inst.op_kind(0) == OpKind::Memory => {
                    vec![second.into(), reg.into()]
                }
                (false, true) => vec![reg.into(), second.into()],
                (false, false) => vec![reg.into()],
            };
            if !with_mem {
                want.insert(if rm_first { 0 } else { want.len() }, rm_reg.into());
            }
            let mask = masking.map_or(0, |masking| masking.mask);
            if blends {
                want.push(mask.into());
            }
            assert_eq!(regs(&inst), want, "{what}");
            assert_eq!(inst.is_broadcast(), broadcast, "{what}");
            let mask = if blends { 0 } else { mask };
            assert_eq!(inst.op_mask() == Register::None, mask == 0, "{what}");
            if mask != 0 {
                assert_eq!(inst.op_mask().number(), usize::from(mask), "{what}");
                assert_eq!(
                    inst.zeroing_masking(),
                    masking.is_some_and(|m| m.zero),
                    "{what}"
                );
            }
            if with_mem {
                check_mem(&inst, mem, &what);
            }
            if op.has_imm() {
                assert_eq!(inst.immediate8(), 5, "{what}");
            }
            forms += 1;
        }
        assert!(forms > 100, "{} was hardly tried", op.name);
    }
}

#[test]
fn directions_of_rounding_say_what_was_meant() {
    let ops = [
        &vector::ADD_F32,
        &vector::SUB_F32,
        &vector::MUL_F32,
        &vector::DIV_F32,
        &vector::FMA_F32,
        &vector::SQRT_F32,
    ];
    let lens = [
        (Len::L512, RoundingControl::None),
        (Len::Down, RoundingControl::RoundDown),
        (Len::Up, RoundingControl::RoundUp),
        (Len::Zero, RoundingControl::RoundTowardZero),
    ];
    for op in ops {
        for (len, want) in lens {
            let second = if *op == vector::SQRT_F32 { 0 } else { 18 };
            let mut code = Assembler::new();
            code.vector(op, len, 3, second, Rm::Reg(29));
            let inst = decode(&code.finish());
            assert_eq!(name(&inst), op.name);
            assert_eq!(inst.rounding_control(), want, "{inst:?}");
            assert!(inst.op0_register().is_zmm(), "{inst:?}");
            let mut regs_wanted = vec![3, 18, 29];
            regs_wanted.retain(|reg| *reg != 18 || second == 18);
            assert_eq!(regs(&inst), regs_wanted, "{inst:?}");
        }
    }
}

#[test]
fn scalar_instructions_say_what_was_meant() {
    type Emit = Box<dyn Fn(&mut Assembler, Gpr, Gpr, Mem)>;
    let cases: Vec<(&str, Emit)> = vec![
        ("add", Box::new(|c, a, b, _| c.alu(Alu::Add, true, a, b))),
        ("cmp", Box::new(|c, a, b, _| c.alu(Alu::Cmp, false, a, b))),
        (
            "and",
            Box::new(|c, a, _, _| c.alu_imm(Alu::And, true, a, 100)),
        ),
        (
            "xor",
            Box::new(|c, a, _, _| c.alu_imm(Alu::Xor, false, a, -100_000)),
        ),
        (
            "shl",
            Box::new(|c, a, _, _| c.shift(Shift::Left, true, a, 5)),
        ),
        (
            "sar",
            Box::new(|c, a, _, _| c.shift(Shift::Arithmetic, false, a, 5)),
        ),
        ("sub", Box::new(|c, _, _, m| c.alu_mem_imm(Alu::Sub, m, 1))),
        ("test", Box::new(|c, a, _, _| c.test_imm(false, a, 15))),
        ("mov", Box::new(|c, a, b, _| c.mov(true, a, b))),
        ("mov", Box::new(|c, a, _, _| c.mov_imm(a, 17))),
        ("mov", Box::new(|c, a, _, _| c.mov_imm(a, u64::MAX))),
        ("mov", Box::new(|c, a, _, _| c.mov_imm(a, 1 << 40))),
        ("mov", Box::new(|c, a, _, m| c.load(true, a, m))),
        ("mov", Box::new(|c, a, _, m| c.load(false, a, m))),
        ("movzx", Box::new(|c, a, _, m| c.load_small(1, a, m))),
        ("movzx", Box::new(|c, a, _, m| c.load_small(2, a, m))),
        ("mov", Box::new(|c, a, _, m| c.store(1, m, a))),
        ("mov", Box::new(|c, a, _, m| c.store(2, m, a))),
        ("mov", Box::new(|c, a, _, m| c.store(4, m, a))),
        ("mov", Box::new(|c, a, _, m| c.store(8, m, a))),
        ("lea", Box::new(|c, a, _, m| c.lea(true, a, m))),
        ("imul", Box::new(|c, a, b, _| c.imul(true, a, b))),
        ("imul", Box::new(|c, a, b, _| c.imul_imm(false, a, b, 77))),
        ("movsxd", Box::new(|c, a, b, _| c.extend_sign(a, b))),
        ("movzx", Box::new(|c, a, b, _| c.extend(8, false, a, b))),
        ("movsx", Box::new(|c, a, b, _| c.extend(16, true, a, b))),
        (
            "cmovb",
            Box::new(|c, a, b, _| c.cmov(Cond::Below, true, a, b)),
        ),
        ("jmp", Box::new(|c, a, _, _| c.jump_reg(a))),
        ("tzcnt", Box::new(|c, a, b, _| c.trailing_zeros(a, b))),
        ("lzcnt", Box::new(|c, a, b, _| c.leading_zeros(a, b))),
        ("pdep", Box::new(|c, a, b, _| c.deposit(a, b, Gpr(9)))),
        ("blsr", Box::new(|c, a, b, _| c.without_lowest(a, b))),
        ("vldmxcsr", Box::new(|c, _, _, m| c.load_control(m))),
        ("vstmxcsr", Box::new(|c, _, _, m| c.store_control(m))),
        ("push", Box::new(|c, a, _, _| c.push(a))),
        ("pop", Box::new(|c, a, _, _| c.pop(a))),
        ("prefetcht0", Box::new(|c, _, _, m| c.prefetch(m))),
        ("kmovd", Box::new(|c, _, _, m| c.mask_load(3, m))),
        ("kmovd", Box::new(|c, _, _, m| c.mask_store(m, 3))),
        ("kmovd", Box::new(|c, a, _, _| c.mask_from(3, a))),
        ("kmovd", Box::new(|c, a, _, _| c.mask_to(a, 3))),
    ];
    let mut random = Random(3);
    for (want, emit) in &cases {
        for _ in 0..60 {
            let (a, b, mem) = (
                Gpr(random.next(16) as u8),
                Gpr(random.next(16) as u8),
                random.mem(),
            );
            let mut code = Assembler::new();
            emit(&mut code, a, b, mem);
            let inst = decode(&code.finish());
            assert_eq!(name(&inst), *want, "{inst:?}");
            if (0..inst.op_count()).any(|i| inst.op_kind(i) == OpKind::Memory) {
                check_mem(&inst, mem, want);
            } else if inst.op_kind(0) == OpKind::Register && !want.starts_with("kmov") {
                assert_eq!(
                    inst.op_register(0).full_register().number(),
                    usize::from(a.0),
                    "{want} {inst:?}"
                );
                if inst.op_count() > 1 && inst.op_kind(1) == OpKind::Register {
                    assert_eq!(
                        inst.op_register(1).full_register().number(),
                        usize::from(b.0),
                        "{want} {inst:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn gathers_and_scatters_say_what_was_meant() {
    let mut random = Random(11);
    let all = [
        &vector::GATHER_I32_32,
        &vector::GATHER_I32_64,
        &vector::GATHER_I64_64,
        &vector::SCATTER_I32_32,
        &vector::SCATTER_I32_64,
        &vector::SCATTER_I64_64,
    ];
    for op in all {
        for _ in 0..200 {
            let (reg, base) = (random.next(32) as u8, Gpr(random.next(16) as u8));
            let index = (reg + 1 + random.next(31) as u8) % 32;
            let mask = 1 + random.next(7) as u8;
            let mut code = Assembler::new();
            code.scattered(op, reg, base, index, mask);
            let inst = decode(&code.finish());
            assert_eq!(name(&inst), op.name);
            assert_eq!(regs(&inst), vec![usize::from(reg)], "{inst:?}");
            assert_eq!(inst.memory_base().number(), usize::from(base.0));
            assert_eq!(inst.memory_index().number(), usize::from(index));
            assert_eq!(inst.memory_displacement64(), 0);
            assert_eq!(inst.op_mask().number(), usize::from(mask));
        }
    }
}

#[test]
fn gathers_of_avx2_say_what_was_meant() {
    let mut random = Random(13);
    let all = [
        &vector::GATHER_I32_32,
        &vector::GATHER_I32_64,
        &vector::GATHER_I64_64,
    ];
    for op in all {
        for _ in 0..200 {
            let (reg, base) = (random.next(16) as u8, Gpr(random.next(16) as u8));
            let index = (reg + 1 + random.next(7) as u8) % 16;
            let mask = (index + 1 + random.next(7) as u8) % 16;
            if mask == reg {
                continue;
            }
            let mut code = Assembler::for_avx2();
            code.gathered(op, reg, base, index, mask);
            let inst = decode(&code.finish());
            assert_eq!(name(&inst), op.name);
            assert_eq!(regs(&inst), vec![usize::from(reg), usize::from(mask)]);
            assert_eq!(inst.memory_base().number(), usize::from(base.0));
            assert_eq!(inst.memory_index().number(), usize::from(index));
            assert!(inst.memory_index().is_ymm(), "{inst:?}");
            assert_eq!(inst.memory_displacement64(), 0);
        }
    }
}

/// What code for AVX2 must not have panics where it is written; builds without debug assertions do not look.
#[test]
fn code_for_avx2_takes_no_instruction_of_avx512() {
    let refuses = |emit: fn(&mut Assembler)| {
        let mut code = Assembler::for_avx2();
        let emit = std::panic::AssertUnwindSafe(|| emit(&mut code));
        std::panic::catch_unwind(emit).is_err()
    };
    assert!(!refuses(|c| c.vector(
        &vector::ADD_I32,
        Len::L256,
        1,
        1,
        Rm::Reg(15)
    )));
    let all: [fn(&mut Assembler); 6] = [
        |c| c.vector(&vector::ADD_I32, Len::L512, 1, 1, Rm::Reg(1)),
        |c| c.vector(&vector::ADD_I32, Len::L256, 16, 1, Rm::Reg(1)),
        |c| c.vector(&vector::TERNARY, Len::L256, 1, 1, Rm::Reg(1)),
        |c| c.scattered(&vector::GATHER_I32_32, 1, Gpr::RAX, 2, 1),
        |c| c.mask_not(1, 2),
        |c| c.mask_load(1, Mem::at(Gpr::RAX, 0)),
    ];
    for (at, emit) in all.into_iter().enumerate() {
        assert_eq!(refuses(emit), cfg!(debug_assertions), "instruction {at}");
    }
}

#[test]
fn masks_say_what_was_meant() {
    for (op, want) in [
        (MaskAlu::And, "kandd"),
        (MaskAlu::AndNot, "kandnd"),
        (MaskAlu::Or, "kord"),
        (MaskAlu::Xnor, "kxnord"),
        (MaskAlu::Xor, "kxord"),
    ] {
        let mut code = Assembler::new();
        code.mask_alu(op, 1, 2, 3);
        let inst = decode(&code.finish());
        assert_eq!((name(&inst).as_str(), regs(&inst)), (want, vec![1, 2, 3]));
    }
    let one = |emit: &dyn Fn(&mut Assembler)| {
        let mut code = Assembler::new();
        emit(&mut code);
        let inst = decode(&code.finish());
        (name(&inst), regs(&inst))
    };
    assert_eq!(one(&|c| c.mask_not(1, 2)), ("knotd".to_owned(), vec![1, 2]));
    assert_eq!(
        one(&|c| c.mask_join(1, 2, 3)),
        ("kunpckwd".to_owned(), vec![1, 2, 3])
    );
    assert_eq!(
        one(&|c| c.mask_join8(1, 2, 3)),
        ("kunpckbw".to_owned(), vec![1, 2, 3])
    );
    assert_eq!(
        one(&|c| c.mask_shift_right(1, 2, 16)),
        ("kshiftrd".to_owned(), vec![1, 2])
    );
    assert_eq!(one(&|c| c.mask_mov(1, 2)), ("kmovd".to_owned(), vec![1, 2]));
    assert_eq!(
        one(&|c| c.mask_test16(1, 2)),
        ("kortestw".to_owned(), vec![1, 2])
    );
}

#[test]
fn code_runs_jumps_and_finds_its_constants() {
    // Sums the bytes 1..=64 of a constant four bytes at a time, as words.
    let mut code = Assembler::new();
    let words: [u8; 64] = std::array::from_fn(|i| if i % 4 == 0 { i as u8 / 4 + 1 } else { 0 });
    let constant = code.constant(words);
    assert_eq!(code.constant(words), constant);
    let (again, done) = (code.label(), code.label());
    code.mov_imm(Gpr::RAX, 0);
    code.mov_imm(Gpr::RCX, 0);
    code.lea(true, Gpr::RDX, Mem::Constant(constant));
    code.bind(again);
    code.alu_imm(Alu::Cmp, true, Gpr::RCX, 16);
    code.jump_if(Cond::AboveEqual, done);
    let word = Mem::Base {
        base: Gpr::RDX,
        index: Some((Gpr::RCX, 2)),
        offset: 0,
    };
    code.load(false, Gpr(8), word);
    code.alu(Alu::Add, false, Gpr::RAX, Gpr(8));
    code.alu_imm(Alu::Add, true, Gpr::RCX, 1);
    code.jump(again);
    code.bind(done);
    code.ret();
    let code = Executable::new(&code.finish()).expect("pages for code");
    assert_eq!(call(&code), 136);
}

#[allow(unsafe_code)]
fn call(code: &Executable) -> u64 {
    // SAFETY: the code above keeps to the convention, takes nothing and returns a number.
    unsafe { std::mem::transmute::<*const u8, extern "sysv64" fn() -> u64>(code.address(0))() }
}
