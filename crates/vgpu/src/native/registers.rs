//! Registers for a run of nodes, by regalloc2: general, vector and mask registers are its three classes.

use super::{
    nodes::{Code, Nodes},
    target::Target,
};
use regalloc2::{
    Block, Function, Inst, InstRange, MachineEnv, Operand, Output, PReg, PRegSet, RegAllocError,
    RegClass, RegallocOptions, VReg,
};
use std::sync::OnceLock;
use warpsmith_x86::Gpr;

/// The context, which the code is given.
pub(super) const CTX: Gpr = Gpr::RDI;
/// The op where the run begins, which the code is given.
pub(super) const OP: Gpr = Gpr::RSI;
/// The warp's frame.
pub(super) const FRAME: Gpr = Gpr::RDX;
/// Free between nodes.
pub(super) const SCRATCH: Gpr = Gpr(11);
/// Free between nodes.
pub(super) const SCRATCH_MASK: u8 = 7;
/// What a caller wants back as it was.
pub(super) const SAVED: [Gpr; 5] = [Gpr::RBX, Gpr(12), Gpr(13), Gpr(14), Gpr(15)];
/// What a caller does not.
const FREE: [Gpr; 5] = [Gpr::RAX, Gpr::RCX, Gpr(8), Gpr(9), Gpr(10)];

fn machine(target: Target) -> &'static MachineEnv {
    static WIDE: OnceLock<MachineEnv> = OnceLock::new();
    static NARROW: OnceLock<MachineEnv> = OnceLock::new();
    let machine = match target {
        Target::Avx512 => &WIDE,
        Target::Avx2 => &NARROW,
    };
    machine.get_or_init(|| {
        let set = |class: RegClass, all: &mut dyn Iterator<Item = usize>| {
            all.fold(PRegSet::empty(), |set, at| set.with(PReg::new(at, class)))
        };
        let general =
            |all: &[Gpr]| set(RegClass::Int, &mut all.iter().map(|reg| usize::from(reg.0)));
        let scratch = usize::from(target.scratch());
        let vectors = set(RegClass::Float, &mut (0..scratch));
        // A mask in register 0 is none.
        let masks = match target {
            Target::Avx512 => set(RegClass::Vector, &mut (1..usize::from(SCRATCH_MASK))),
            Target::Avx2 => PRegSet::empty(),
        };
        MachineEnv {
            preferred_regs_by_class: [general(&FREE), vectors, masks],
            non_preferred_regs_by_class: [general(&SAVED), PRegSet::empty(), PRegSet::empty()],
            scratch_by_class: [
                Some(PReg::new(usize::from(SCRATCH.0), RegClass::Int)),
                Some(PReg::new(scratch, RegClass::Float)),
                Some(PReg::new(usize::from(SCRATCH_MASK), RegClass::Vector)),
            ],
            fixed_stack_slots: Vec::new(),
        }
    })
}

/// Parts are blocks, and ways out are none: whoever takes one does not come back.
impl Function for Nodes {
    fn num_insts(&self) -> usize {
        self.codes.len()
    }

    fn num_blocks(&self) -> usize {
        self.parts.len()
    }

    fn entry_block(&self) -> Block {
        Block::new(0)
    }

    fn block_insns(&self, block: Block) -> InstRange {
        let from = self.parts[block.index()].first as usize;
        let to = self.parts.get(block.index() + 1);
        let to = to.map_or(self.codes.len(), |part| part.first as usize);
        InstRange::new(Inst::new(from), Inst::new(to))
    }

    fn block_succs(&self, block: Block) -> &[Block] {
        &self.parts[block.index()].to
    }

    fn block_preds(&self, block: Block) -> &[Block] {
        &self.parts[block.index()].from
    }

    fn block_params(&self, block: Block) -> &[VReg] {
        &self.parts[block.index()].params
    }

    fn is_ret(&self, inst: Inst) -> bool {
        matches!(self.codes[inst.index()], Code::Exit(_))
    }

    fn is_branch(&self, inst: Inst) -> bool {
        matches!(self.codes[inst.index()], Code::Turn | Code::Fork(_))
    }

    fn branch_blockparams(&self, block: Block, _: Inst, _: usize) -> &[VReg] {
        &self.parts[block.index()].gives
    }

    fn inst_operands(&self, inst: Inst) -> &[Operand] {
        let from = self.firsts[inst.index()] as usize;
        let to = self.firsts.get(inst.index() + 1);
        &self.operands[from..to.map_or(self.operands.len(), |to| *to as usize)]
    }

    fn inst_clobbers(&self, _: Inst) -> PRegSet {
        PRegSet::empty()
    }

    fn num_vregs(&self) -> usize {
        self.registers
    }

    fn spillslot_size(&self, class: RegClass) -> usize {
        match class {
            RegClass::Float => self.target.bytes() as usize / 8,
            RegClass::Int | RegClass::Vector => 1,
        }
    }
}

/// Finds registers for all nodes.
pub(super) fn allocate(nodes: &Nodes) -> Result<Output, RegAllocError> {
    let options = RegallocOptions {
        validate_ssa: cfg!(debug_assertions),
        ..RegallocOptions::default()
    };
    let output = regalloc2::run(nodes, machine(nodes.target), &options)?;
    #[cfg(test)]
    tests::check(nodes, &output);
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::{Nodes, machine};
    use crate::{Compile, Config, Machine, Tier, module::When};
    use regalloc2::{Output, checker::Checker};
    use std::cell::Cell;
    use warpsmith_ptx::{parse::parse, target::PtxVersion, verify::verify};

    thread_local! {
        static CHECKED: Cell<usize> = const { Cell::new(0) };
    }

    /// Whether each operand finds its value where the allocator says, by regalloc2's own checker.
    pub(super) fn check(nodes: &Nodes, output: &Output) {
        let mut checker = Checker::new(nodes, machine(nodes.target));
        checker.prepare(output);
        if let Err(errors) = checker.run() {
            panic!("{errors:?}");
        }
        CHECKED.set(CHECKED.get() + 1);
    }

    #[test]
    fn every_operand_finds_its_value() {
        for tier in [Tier::Avx2, Tier::Avx512] {
            if tier.is_available() {
                CHECKED.set(0);
                check_programs(tier);
                assert!(CHECKED.get() > 1000, "{} runs", CHECKED.get());
            }
        }
    }

    /// Compiles all programs for a tier.
    fn check_programs(tier: Tier) {
        let machine = Machine::new(Config {
            memory: 1 << 24,
            workers: 1,
            max_ptx: PtxVersion::new(9, 9),
            compile: Compile::Always,
            tier: Some(tier),
            ..Config::default()
        })
        .expect("a machine");
        let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/cases/cuda");
        for folder in std::fs::read_dir(programs).expect("programs") {
            let path = folder.expect("an entry").path().join("sm_90.ptx");
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let module = parse(&text).unwrap_or_else(|e| panic!("{}", e[0]));
            let module = verify(module).unwrap_or_else(|e| panic!("{}", e[0]));
            let module = machine.load(&module).expect("it loads");
            for name in module.kernels() {
                let kernel = module.kernel(name).expect("it is there");
                for block in [[128, 1, 1], [33, 1, 1]] {
                    kernel.program(block, When::Must).expect("it lowers");
                }
            }
        }
    }
}
