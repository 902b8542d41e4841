//! The forms of a module's instructions, each looked up once: a module has many statements and few forms.

use crate::{
    ir::{Inst, Module, Stmt},
    isa::{self, Form},
    op::Op,
    qual::Quals,
    target::PtxVersion,
};

/// A form that is in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) form: Form,
    /// The lowest PTX version with it for the module's target; `None` if the target lacks it.
    pub(super) lowest: Option<PtxVersion>,
}

/// The forms of all statements.
pub(super) struct Forms {
    known: Vec<Known>,
    /// Of each statement of each function.
    functions: Vec<Vec<u32>>,
}

/// The statement is no instruction, or its form is not in the table.
const NONE: u32 = u32::MAX;

/// Places of the look-up table.
const PLACES: usize = 256;

/// The forms that were seen last.
struct Recent {
    places: Vec<Option<(Op, Quals, u32)>>,
}

impl Forms {
    pub(super) fn of(module: &Module) -> Forms {
        let mut forms = Forms {
            known: Vec::with_capacity(64),
            functions: Vec::with_capacity(module.functions.len()),
        };
        let mut recent = Recent {
            places: vec![None; PLACES],
        };
        for function in &module.functions {
            let body = function.body.as_deref().unwrap_or(&[]);
            let mut add = |stmt: &Stmt| {
                stmt.inst()
                    .map_or(NONE, |inst| forms.add(inst, module, &mut recent))
            };
            let of_body = body.iter().map(&mut add).collect();
            forms.functions.push(of_body);
        }
        forms
    }

    #[inline]
    fn add(&mut self, inst: &Inst, module: &Module, recent: &mut Recent) -> u32 {
        if isa::needs_of_operands(inst) {
            return self.search(inst, module);
        }
        let place = Recent::place(inst);
        if let Some((op, quals, found)) = &recent.places[place]
            && *op == inst.op
            && *quals == inst.quals
        {
            return *found;
        }
        let found = self.search(inst, module);
        recent.places[place] = Some((inst.op, inst.quals, found));
        found
    }

    fn search(&mut self, inst: &Inst, module: &Module) -> u32 {
        let Some(form) = isa::form_of(inst) else {
            return NONE;
        };
        let lowest = form.lowest_version(module.target);
        self.known.push(Known { form, lowest });
        self.known.len() as u32 - 1
    }

    /// The form of each statement of a function.
    pub(super) fn function(&self, at: usize) -> impl Iterator<Item = Option<&Known>> {
        let of_body = self.functions[at].iter();
        of_body.map(|form| self.known.get(*form as usize))
    }

    /// What each form that the target has needs at least.
    pub(super) fn lowest(&self) -> impl Iterator<Item = PtxVersion> {
        self.known.iter().filter_map(|known| known.lowest)
    }
}

impl Recent {
    #[inline]
    fn place(inst: &Inst) -> usize {
        let mix = |mixed: usize, index: usize| mixed.wrapping_mul(31) ^ index;
        let quals = inst.quals.as_slice().iter().map(|qual| qual.index());
        let mixed = quals.fold(inst.op as usize, mix);
        (mixed ^ mixed >> 8) % PLACES
    }
}
