//! What the registers of PTX hold inside of a run: values in one or more forms, loaded when they are asked for.

use super::{
    exits::Exit,
    loops::{Loop, Turn},
    nodes::{Arg, Code, MemoryAt, Nodes, Vector},
    products::{Fragment, FragmentKey},
    reach::{Reach, Span},
    regions::Waits,
    shapes::Lanes,
    tiles::Pending,
};
use crate::{
    exec::Slot,
    lower::{Dst, Lowerer, Value as Preset, immediate},
};
use regalloc2::VReg;
use rustc_hash::FxHashMap;
use warpsmith_ptx::{
    ir::{Inst, Operand, RegId},
    special::Special,
    types::Type,
};
use warpsmith_x86::{MaskAlu, vector};

/// A value, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ValueId(u32);

/// Where a value can be read from the frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// One value for the warp.
    Scalar(u32),
    Narrow(u32),
    Wide(u32),
    /// The lanes of a predicate.
    Mask(u32),
}

/// A value: its forms so far, all of which say the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    pub(super) wide: bool,
    pub(super) constant: Option<u64>,
    pub(super) scalar: Option<VReg>,
    /// All lanes the same, in one register.
    pub(super) splat: Option<VReg>,
    pub(super) lanes: Option<[VReg; 2]>,
    pub(super) quads: Option<[VReg; 4]>,
    /// Lane 0, and what each lane has more than the one before.
    pub(super) affine: Option<(VReg, i64)>,
    pub(super) mask: Option<VReg>,
    pub(super) source: Option<Source>,
    /// NaNs in `splat` and `lanes` may have any bits.
    pub(super) raw: bool,
}

/// What cannot be compiled here.
#[derive(Debug)]
pub(super) struct Skip;

/// A register in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) value: ValueId,
    /// The frame has another.
    pub(super) dirty: bool,
}

/// Of memory, what is the same all through a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Known {
    /// What stands in the context at a place.
    Field(u32),
    /// The last place in a window where so many bytes begin.
    Limit { shared: bool, len: u32 },
    /// Where local memory of the warp begins, of so many bytes for each thread.
    Own(u32),
}

/// A run being compiled.
pub(super) struct Coder<'a, 'b> {
    pub(super) l: &'a Lowerer<'b>,
    pub(super) nodes: Nodes,
    pub(super) exits: Vec<Exit>,
    /// What lanes are guessed to hold, by register.
    pub(super) shapes: &'a [Lanes],
    /// Registers that are read as one value for the warp.
    scalars: &'a [bool],
    values: Vec<Forms>,
    pub(super) regs: FxHashMap<u32, Held>,
    specials: FxHashMap<Special, ValueId>,
    /// Registers that are read behind the current instruction, or by it.
    pub(super) live: &'a [Vec<Vec<u64>>],
    /// The current block, instruction of it, and op.
    pub(super) block: usize,
    pub(super) at: usize,
    pub(super) op: u32,
    /// The lanes that the run is for, if not all.
    pub(super) active: Option<VReg>,
    /// In a part of a region, where other lanes wait.
    pub(super) waits: Option<Waits>,
    /// The lanes that the current instruction is for, if not those.
    pub(super) guard: Option<VReg>,
    /// What is known of the windows of memory.
    pub(super) windows: FxHashMap<Known, VReg>,
    /// Memory that has been checked, by the address and whether it is shared.
    pub(super) reached: FxHashMap<(ValueId, bool), Vec<Reach>>,
    /// Fragments of matrices that have been prepared.
    pub(super) fragments: FxHashMap<FragmentKey, Fragment>,
    /// Room that is kept for fragments of products that will go on with the same sums: by the operand, and its registers.
    pub(super) kept: FxHashMap<(usize, Vec<RegId>), u32>,
    /// Products that have not been made yet.
    pub(super) pending: Vec<Pending>,
    /// Where turns of a loop end, and the loop that this run is.
    pub(super) turns: Vec<Turn>,
    pub(super) own_loop: Option<Loop>,
    /// The instructions of each block.
    pub(super) insts: &'a [Vec<Option<&'a Inst>>],
    /// Where the run is left if a register does not hold what was guessed: block, instruction and register.
    pub(super) doubts: Vec<(usize, usize, RegId)>,
    /// The same by halves of warps, with the bytes from lane to lane: where the host has both.
    pub(super) halves_reached: FxHashMap<(ValueId, bool, i64), Vec<(Span, [VReg; 2])>>,
}

impl<'a, 'b> Coder<'a, 'b> {
    pub(super) fn new(
        l: &'a Lowerer<'b>,
        (shapes, scalars): (&'a [Lanes], &'a [bool]),
        live: &'a [Vec<Vec<u64>>],
        insts: &'a [Vec<Option<&'a Inst>>],
    ) -> Coder<'a, 'b> {
        Coder {
            l,
            nodes: Nodes::default(),
            exits: Vec::new(),
            shapes,
            scalars,
            values: Vec::new(),
            regs: FxHashMap::default(),
            specials: FxHashMap::default(),
            live,
            block: 0,
            at: 0,
            op: 0,
            active: None,
            waits: None,
            guard: None,
            windows: FxHashMap::default(),
            reached: FxHashMap::default(),
            fragments: FxHashMap::default(),
            kept: FxHashMap::default(),
            pending: Vec::new(),
            turns: Vec::new(),
            own_loop: None,
            insts,
            doubts: Vec::new(),
            halves_reached: FxHashMap::default(),
        }
    }

    /// The same for a run that begins anew.
    pub(super) fn afresh(&self) -> Coder<'a, 'b> {
        Coder::new(self.l, (self.shapes, self.scalars), self.live, self.insts)
    }

    pub(super) fn add(&mut self, forms: Forms) -> ValueId {
        self.values.push(forms);
        ValueId(self.values.len() as u32 - 1)
    }

    pub(super) fn forms(&mut self, id: ValueId) -> &mut Forms {
        &mut self.values[id.0 as usize]
    }

    pub(super) fn forms_of(&self, id: ValueId) -> &Forms {
        &self.values[id.0 as usize]
    }

    /// All values, to be set again.
    pub(super) fn values_now(&self) -> Vec<Forms> {
        self.values.clone()
    }

    pub(super) fn set_values(&mut self, values: Vec<Forms>) {
        self.values = values;
    }

    // Values made.

    pub(super) fn constant(&mut self, value: u64, wide: bool) -> ValueId {
        self.add(Forms {
            wide,
            constant: Some(value),
            ..Forms::default()
        })
    }

    pub(super) fn of_scalar(&mut self, reg: VReg, wide: bool) -> ValueId {
        self.add(Forms {
            wide,
            scalar: Some(reg),
            ..Forms::default()
        })
    }

    pub(super) fn of_splat(&mut self, reg: VReg, raw: bool) -> ValueId {
        self.add(Forms {
            splat: Some(reg),
            raw,
            ..Forms::default()
        })
    }

    pub(super) fn of_lanes(&mut self, regs: [VReg; 2], raw: bool) -> ValueId {
        self.add(Forms {
            lanes: Some(regs),
            raw,
            ..Forms::default()
        })
    }

    pub(super) fn of_quads(&mut self, regs: [VReg; 4]) -> ValueId {
        self.add(Forms {
            wide: true,
            quads: Some(regs),
            ..Forms::default()
        })
    }

    pub(super) fn of_affine(&mut self, base: VReg, step: i64, wide: bool) -> ValueId {
        self.add(Forms {
            wide,
            affine: Some((base, step)),
            ..Forms::default()
        })
    }

    pub(super) fn of_mask(&mut self, mask: VReg) -> ValueId {
        self.add(Forms {
            mask: Some(mask),
            ..Forms::default()
        })
    }

    // Values read.

    /// The value of an operand that is read as `bits` wide.
    pub(super) fn read(&mut self, operand: &Operand, bits: u32) -> Result<ValueId, Skip> {
        match operand {
            Operand::Reg(reg) => {
                let own = self.l.type_of(*reg).bits();
                let value = self.read_reg(*reg);
                if (own > 32) != (bits > 32) && own != 1 {
                    return Err(Skip);
                }
                Ok(value)
            }
            Operand::Imm(imm) => Ok(self.constant(immediate(*imm, bits), bits > 32)),
            Operand::Special(special) if bits <= 32 => self.read_special(*special),
            Operand::Var(var, offset) => {
                let address = self.l.layout().address(*var).ok_or(Skip)?;
                Ok(self.constant(address.wrapping_add(*offset as u64), bits > 32))
            }
            _ => Err(Skip),
        }
    }

    fn read_special(&mut self, special: Special) -> Result<ValueId, Skip> {
        if let Some(id) = self.specials.get(&special) {
            return Ok(*id);
        }
        let Dst {
            slot: Slot(slot),
            uniform,
        } = self.l.special_home(special).ok_or(Skip)?;
        let id = if uniform {
            self.add(Forms {
                source: Some(Source::Scalar(slot)),
                ..Forms::default()
            })
        } else {
            self.lanes_of(special, slot)
        };
        self.specials.insert(special, id);
        Ok(id)
    }

    /// A special register that differs between lanes.
    fn lanes_of(&mut self, special: Special, slot: u32) -> ValueId {
        let [x, y, z] = self.l.block();
        let counts = match special {
            Special::Laneid => true,
            Special::TidX => x.is_multiple_of(32) || (y == 1 && z == 1),
            _ => false,
        };
        if counts {
            let base = self.nodes.load(4, MemoryAt::Frame(slot));
            return self.of_affine(base, 1, false);
        }
        self.add(Forms {
            source: Some(Source::Narrow(slot)),
            ..Forms::default()
        })
    }

    pub(super) fn read_reg(&mut self, reg: RegId) -> ValueId {
        if let Some(held) = self.regs.get(&reg.0) {
            return held.value;
        }
        let Dst { slot, uniform } = self.l.dst_of(reg);
        let ty = self.l.type_of(reg);
        let preset = self.l.preset_at(slot);
        let value = match (preset, self.shapes[reg.index()]) {
            (Some(Preset::Lanes(special)), _) => self.lanes_of(special, slot.0),
            (None, Lanes::Affine(step)) if !uniform && step != 0 && ty != Type::Pred => {
                if self.active.is_none() {
                    self.doubts.push((self.block, self.at, reg));
                }
                // In a region it holds behind it, too.
                let active = self.active.take_if(|_| self.waits.is_some());
                let value = self.guess(slot.0, step, ty.bits() > 32);
                self.active = self.active.or(active);
                value
            }
            _ => self.in_frame(reg),
        };
        self.regs.insert(
            reg.0,
            Held {
                value,
                dirty: false,
            },
        );
        value
    }

    /// What the frame has of a register.
    fn in_frame(&mut self, reg: RegId) -> ValueId {
        let Dst {
            slot: Slot(slot),
            uniform,
        } = self.l.dst_of(reg);
        let ty = self.l.type_of(reg);
        let wide = ty.bits() > 32;
        let source = match ty {
            Type::Pred => Source::Mask(slot),
            _ if uniform => Source::Scalar(slot),
            _ if wide => Source::Wide(slot),
            _ => Source::Narrow(slot),
        };
        self.add(Forms {
            wide,
            source: Some(source),
            ..Forms::default()
        })
    }

    /// What lanes hold that the current instruction is not for. What was guessed may be right of those alone that are here.
    fn before(&mut self, reg: RegId) -> ValueId {
        let some = self.active.is_some() && self.waits.is_none();
        if some && !self.regs.get(&reg.0).is_some_and(|held| held.dirty) {
            return self.in_frame(reg);
        }
        self.read_reg(reg)
    }

    /// Whether a register is read where one value for the warp is wanted.
    pub(super) fn wants_scalar(&self, reg: RegId) -> bool {
        self.scalars[reg.index()]
    }

    // Values written.

    /// A register gets a value.
    pub(super) fn write(&mut self, reg: RegId, value: ValueId) {
        self.regs.insert(reg.0, Held { value, dirty: true });
    }

    /// The destination of an instruction gets a value.
    pub(super) fn put(&mut self, operand: &Operand, value: ValueId) -> Result<(), Skip> {
        match operand {
            Operand::Reg(reg) => {
                let Dst { uniform, .. } = self.l.dst_of(*reg);
                let pred = self.l.type_of(*reg) == Type::Pred;
                let wide = self.l.type_of(*reg).bits() > 32;
                // What is one value for the warp must be known as one.
                let fits = !uniform || pred || self.is_uniform(value);
                if !fits || !pred && wide != self.forms(value).wide {
                    return Err(Skip);
                }
                // In a region there may be no lane, and others may want what the register held.
                let alone = self.guard.is_none() && !self.is_read_elsewhere(*reg);
                let value = match (self.lanes_of_now(), uniform && !pred) {
                    (None, _) => value,
                    // It is written if the instruction runs at all.
                    (Some(_), true) if alone => value,
                    (Some(_), true) => return Err(Skip),
                    (Some(_), false) if alone && self.waits.is_some() => value,
                    (Some(lanes), false) => self.blend(lanes, *reg, value)?,
                };
                self.write(*reg, value);
                Ok(())
            }
            Operand::Sink => Ok(()),
            _ => Err(Skip),
        }
    }

    /// The lanes that the current instruction is for, if not all.
    pub(super) fn lanes_of_now(&self) -> Option<VReg> {
        self.guard.or(self.active)
    }

    /// The value in the lanes of a mask, what the register held in the others.
    fn blend(&mut self, guard: VReg, reg: RegId, value: ValueId) -> Result<ValueId, Skip> {
        let old = self.before(reg);
        if self.l.type_of(reg) == Type::Pred {
            let (old, new) = (self.mask(old, false)?, self.mask(value, false)?);
            let mut both = |op, a, b| self.nodes.mask(Code::MaskAlu(op), &[a, b]);
            let new = both(MaskAlu::And, new, guard);
            let old = both(MaskAlu::AndNot, guard, old);
            let mask = both(MaskAlu::Or, old, new);
            return Ok(self.of_mask(mask));
        }
        self.choose(guard, value, old)
    }

    /// One value in the lanes of a mask, another in the others.
    pub(super) fn choose(
        &mut self,
        mask: VReg,
        yes: ValueId,
        no: ValueId,
    ) -> Result<ValueId, Skip> {
        if self.forms(yes).wide {
            let (yes, no) = (self.quads(yes)?, self.quads(no)?);
            let regs = [0, 1, 2, 3].map(|j| {
                let own = self.part(mask, 8 * j as u8);
                let v = Vector {
                    mask: Some(own),
                    ..Vector::two(no[j], Arg::Reg(yes[j]))
                };
                self.vector(&vector::BLEND_I64, v)
            });
            return Ok(self.of_quads(regs));
        }
        let (yes, no) = (self.lanes_exact(yes)?, self.lanes_exact(no)?);
        let regs = [0, 1].map(|j| {
            let own = self.part(mask, 16 * j as u8);
            let v = Vector {
                mask: Some(own),
                ..Vector::two(no[j], Arg::Reg(yes[j]))
            };
            self.vector(&vector::BLEND_I32, v)
        });
        Ok(self.of_lanes(regs, false))
    }

    /// The lanes of a mask from one on.
    pub(super) fn part(&mut self, mask: VReg, from: u8) -> VReg {
        if from == 0 {
            mask
        } else {
            self.nodes.mask(Code::MaskShift(from), &[mask])
        }
    }
}
