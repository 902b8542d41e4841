//! The context of a running warp: its frame, masks, memory windows and launch.
//!
//! Slots come from the lowerer, which lays out the frame it also sizes: that is why the accessors here are
//! safe to call inside of this crate. Debug builds check each one.
#![allow(unsafe_code)]

use super::{Cell, LaneOrder, MicroOp, Pred, Program, Run, Slot, SpanId, Stop, Tiles, Warp, Words};
use crate::{
    error::{Fault, FaultKind, Misuse},
    memory::{Bad, FOREIGN, PARAM_BASE, RANK, WINDOW, Window},
    printed::Printed,
    texture::Objects,
    view::{LaunchView, Peer},
};
use std::sync::Arc;

/// The state handlers work on: one for each worker, switched between warps.
pub(crate) struct Ctx {
    /// Lanes that take part in the current op.
    pub(crate) mask: u32,
    /// Whether no live lane is outside of `mask`, so that whole slots may be written.
    pub(crate) full: bool,
    frame: *mut u8,
    frame_len: u32,
    /// Jumps left in this turn.
    pub(crate) fuel: i32,
    /// Why the turn ended.
    pub(crate) stop: Stop,
    /// The running warp.
    pub(crate) warp: Box<Warp>,
    /// Where lanes are that parted in compiled code.
    #[cfg(target_arch = "x86_64")]
    pub(crate) parted: super::Parted,
    /// The running program.
    pub(crate) program: Arc<Program>,
    /// Device memory.
    pub(crate) global: Window,
    /// The CTA's shared memory at address 0.
    pub(crate) shared: Window,
    /// The CTA's tensor memory, column after column, if its program has any.
    pub(crate) tensor: Window,
    /// Local memory of the whole CTA at address 0: thread after thread.
    pub(crate) local: Window,
    /// The parameters at their generic address; nobody writes them.
    pub(crate) params: Window,
    /// The launch and the CTA.
    pub(crate) view: LaunchView,
    /// The first fault.
    pub(crate) fault: Option<Box<Fault>>,
    /// Instructions that the current turn has run, where they are counted, and where it was last.
    pub(crate) spent: u64,
    pub(crate) spent_at: SpanId,
    /// What it changed of what others see, where it is watched.
    pub(crate) changes: u64,
    /// What decides the order of lanes, if anything does.
    pub(crate) lanes: Option<LaneOrder>,
    /// Whether lanes have come to the barrier of the cluster.
    pub(crate) met: bool,
    /// Whether a warp has slept since this was last asked.
    pub(crate) slept: bool,
    /// The checker, while a checked launch runs.
    pub(crate) checker: Option<Box<crate::check::Checker>>,
    /// Where what kernels print goes, if the program prints.
    pub(crate) printed: Option<Arc<Printed>>,
    /// What handles of textures and surfaces stand for.
    pub(crate) objects: Arc<Objects>,
    /// Where `mma` keeps widened fragments.
    pub(crate) tiles: Option<Box<Tiles>>,
}

// SAFETY: the frame pointer points into a buffer of the CTA that the same worker owns and moves along.
unsafe impl Send for Ctx {}

impl Ctx {
    pub(crate) fn new(program: Arc<Program>, global: Window) -> Ctx {
        Ctx {
            mask: 0,
            full: false,
            frame: std::ptr::null_mut(),
            frame_len: 0,
            fuel: 0,
            stop: Stop::Done,
            warp: Box::default(),
            #[cfg(target_arch = "x86_64")]
            parted: super::Parted::default(),
            program,
            global,
            shared: Window::EMPTY,
            tensor: Window::EMPTY,
            local: Window::EMPTY,
            params: Window::EMPTY,
            view: LaunchView::default(),
            fault: None,
            spent: 0,
            spent_at: SpanId(0),
            changes: 0,
            lanes: None,
            met: false,
            slept: false,
            checker: None,
            printed: None,
            objects: Arc::default(),
            tiles: None,
        }
    }

    /// Where the pointer to the frame is, for compiled code.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const FRAME_AT: usize = std::mem::offset_of!(Ctx, frame);

    /// Switches to another frame.
    ///
    /// # Safety
    /// `frame` is 64-byte aligned and valid for `len` bytes until the next switch, and `len` is the frame
    /// size of `self.program`.
    pub(crate) unsafe fn set_frame(&mut self, frame: *mut u8, len: u32) {
        self.frame = frame;
        self.frame_len = len;
    }

    #[inline(always)]
    fn slot<T>(&self, Slot(slot): Slot) -> *mut T {
        debug_assert!(
            slot as usize + size_of::<T>() <= self.frame_len as usize,
            "slot {slot} of {} bytes is outside of the frame of {}",
            size_of::<T>(),
            self.frame_len
        );
        self.frame.wrapping_add(slot as usize).cast()
    }

    /// 32 cells.
    #[inline(always)]
    pub(crate) fn cells<C: Cell>(&self, slot: Slot) -> &[C; 32] {
        // SAFETY: the lowerer's slots are inside of the frame and 64-byte aligned; writers take `&mut self`.
        unsafe { &*self.slot::<[C; 32]>(slot) }
    }

    /// 32 cells to be written, which no other slot shares.
    #[inline(always)]
    pub(crate) fn cells_mut<C: Cell>(&mut self, slot: Slot) -> &mut [C; 32] {
        // SAFETY: as in `cells`; `&mut self` holds off readers.
        unsafe { &mut *self.slot::<[C; 32]>(slot) }
    }

    /// Cells of several slots to be written whole; `None` where lanes are left out or slots share bytes.
    #[inline(always)]
    pub(crate) fn cells_apart<const N: usize>(
        &mut self,
        slots: [Slot; N],
    ) -> Option<[&mut [u32; 32]; N]> {
        let bytes = size_of::<[u32; 32]>() as u32;
        let apart = |i: usize| (0..i).all(|j| slots[i].0.abs_diff(slots[j].0) >= bytes);
        if !self.full || !(1..N).all(apart) {
            return None;
        }
        // SAFETY: as in `cells_mut`, and no two overlap.
        Some(slots.map(|slot| unsafe { &mut *self.slot::<[u32; 32]>(slot) }))
    }

    /// The scalar of a slot.
    #[inline(always)]
    pub(crate) fn scalar(&self, slot: Slot) -> u64 {
        // SAFETY: as in `cells`; scalars are 8-byte aligned.
        unsafe { *self.slot::<u64>(slot) }
    }

    /// Sets the scalar of a slot.
    #[inline(always)]
    pub(crate) fn set_scalar(&mut self, slot: Slot, value: u64) {
        // SAFETY: as in `scalar`.
        unsafe { *self.slot::<u64>(slot) = value }
    }

    /// The lanes of a mask.
    #[inline(always)]
    pub(crate) fn mask_at(&self, slot: Slot) -> u32 {
        self.scalar(slot) as u32
    }

    /// The lanes in which a predicate holds.
    #[inline(always)]
    pub(crate) fn pred(&self, pred: Pred) -> u32 {
        self.mask_at(pred.mask) ^ pred.flip
    }

    /// Writes the lanes of `self.mask` to a predicate.
    #[inline(always)]
    pub(crate) fn put_mask(&mut self, slot: Slot, bits: u32) {
        let old = self.scalar(slot) as u32;
        let keep = if self.full { 0 } else { !self.mask };
        self.set_scalar(slot, u64::from((old & keep) | (bits & !keep)));
    }

    /// Writes the lanes of `self.mask`.
    #[inline(always)]
    pub(crate) fn put_cells<C: Cell>(&mut self, slot: Slot, values: [C; 32]) {
        let full = self.full;
        let target = if full { slot } else { Slot::SCRATCH };
        // SAFETY: as in `cells`; `&mut self` holds off readers.
        unsafe { *self.slot::<[C; 32]>(target) = values };
        if !full {
            self.blend::<C>(slot);
        }
    }

    #[inline(never)]
    fn blend<C: Cell>(&mut self, slot: Slot) {
        let mask = self.mask;
        let new = *self.cells::<C>(Slot::SCRATCH);
        // SAFETY: as in `cells`.
        let old = unsafe { &mut *self.slot::<[C; 32]>(slot) };
        for i in 0..32 {
            old[i] = if mask >> i & 1 != 0 { new[i] } else { old[i] };
        }
    }

    /// Entries of the program's extra table.
    #[inline(always)]
    pub(crate) fn extra(&self, at: Words, len: usize) -> &[u32] {
        self.program.extra(at, len)
    }

    /// The first op of a block.
    #[inline(always)]
    pub(crate) fn block(&self, block: u32) -> *const MicroOp {
        debug_assert!((block as usize) < self.program.blocks.len());
        // SAFETY: flow ops hold block numbers of their own program, whose blocks start inside of its ops.
        unsafe {
            let first = self.program.blocks.get_unchecked(block as usize).first;
            self.program.ops.as_ptr().add(first as usize)
        }
    }

    /// Runs from `op` until a flow op ends the turn.
    pub(crate) fn run_from(&mut self, mut op: *const MicroOp) {
        while !op.is_null() {
            // SAFETY: `op` comes from `block` or from an op of the program; the lowerer ends each block with
            // a flow op; the machine checked the tier its handlers were picked for.
            op = unsafe { (*op).run()(self, op) };
        }
    }

    /// Runs an op by the code it has in a program that is not watched.
    pub(crate) fn run_as(&mut self, run: Run, op: &MicroOp) -> *const MicroOp {
        // SAFETY: as in `run_from`: `run` is the code of this op in the program that the watched one is a twin of.
        unsafe { run(self, op) }
    }

    /// A copy of the frame.
    pub(crate) fn copy_frame(&self, to: &mut Vec<u8>) {
        to.clear();
        if self.frame.is_null() {
            return;
        }
        // SAFETY: `set_frame` was given so many valid bytes.
        to.extend_from_slice(unsafe {
            std::slice::from_raw_parts(self.frame, self.frame_len as usize)
        });
    }

    /// Runs from `op` up to `end`, straight ops all of them.
    pub(crate) fn run_until(&mut self, mut op: *const MicroOp, end: *const MicroOp) {
        while op != end && !op.is_null() {
            // SAFETY: as in `run_from`; the lowerer counts the ops that a check covers, so that they come to `end`.
            op = unsafe { (*op).run()(self, op) };
        }
    }

    /// Notes a fault of `lane`; the first one stays. The warp stops at its next jump.
    #[cold]
    #[inline(never)]
    pub(crate) fn fault(&mut self, span: SpanId, kind: FaultKind, lane: u32, address: Option<u64>) {
        self.fuel = 0;
        if self.fault.is_some() {
            return;
        }
        self.fault = Some(Box::new(Fault {
            kind,
            kernel: self.program.subject.name.clone(),
            span: self.program.span(span),
            cta: self.view.cta,
            thread: self.thread(self.warp.index * 32 + lane),
            address,
        }));
    }

    /// Notes a refused access.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&mut self, span: SpanId, bad: Bad, lane: u32, address: u64, bytes: u32) {
        let kind = match bad {
            Bad::Bounds if self.has_ended(address) => FaultKind::Misuse(Misuse::EndedCta),
            Bad::Bounds => FaultKind::OutOfBounds { bytes },
            Bad::Align => FaultKind::Misaligned { bytes },
        };
        self.fault(span, kind, lane, Some(address));
    }

    /// A thread's place in its CTA.
    pub(crate) fn thread(&self, index: u32) -> [u32; 3] {
        let [x, y, _] = self.view.block;
        let (x, y) = (x.max(1), y.max(1));
        [index % x, index / x % y, index / x / y]
    }

    /// The window of a generic address as seen by `lane`, and the address in it.
    #[inline(always)]
    pub(crate) fn generic(&self, address: u64, lane: u32) -> (&Window, u64) {
        let own = &self.view.own;
        let local = address.wrapping_sub(own.local(self.warp.index * 32 + lane));
        if address.wrapping_sub(own.shared) < WINDOW {
            self.shared_at(address - own.shared)
        } else if local < WINDOW {
            (&self.local, self.local_address(local, lane))
        } else if address.wrapping_sub(PARAM_BASE) < WINDOW {
            (&self.params, address)
        } else if let Some(peer) = self.peer_at(address) {
            (&peer.shared, address - peer.base)
        } else {
            (&self.global, address)
        }
    }

    /// The shared memory at an address in the window of the CTA or its cluster, and the address in that memory.
    #[inline(always)]
    pub(crate) fn shared_at(&self, inside: u64) -> (&Window, u64) {
        match self
            .view
            .peers
            .get((inside >> RANK).wrapping_sub(1) as usize)
        {
            None => (&self.shared, inside),
            Some(peer) => (&peer.shared, inside & ((1 << RANK) - 1)),
        }
    }

    /// The CTA of the cluster whose shared memory a generic address is of, where each has its own addresses.
    #[inline(always)]
    pub(crate) fn peer_at(&self, address: u64) -> Option<&Peer> {
        if address < FOREIGN {
            return None;
        }
        let mut peers = self.view.peers.iter();
        peers.find(|peer| address.wrapping_sub(peer.base) < WINDOW)
    }

    /// Whether a generic address is of the shared memory of a CTA of the cluster that has ended.
    fn has_ended(&self, address: u64) -> bool {
        let inside = address.wrapping_sub(self.view.own.shared);
        let peer = if inside < WINDOW {
            let rank = (inside >> RANK).wrapping_sub(1);
            self.view.peers.get(rank as usize)
        } else {
            self.peer_at(address)
        };
        peer.is_some_and(|peer| !peer.lives)
    }

    /// Whether a generic address is of a parameter.
    #[inline(always)]
    pub(crate) fn is_param(address: u64) -> bool {
        address.wrapping_sub(PARAM_BASE) < WINDOW
    }

    /// Where byte `address` of `lane`'s local memory is in the CTA's; out of range stays out of range.
    #[inline(always)]
    pub(crate) fn local_address(&self, address: u64, lane: u32) -> u64 {
        let bytes = u64::from(self.program.local_bytes);
        if address >= bytes {
            // Far outside, and as aligned as it is.
            return address | !(u64::MAX >> 1);
        }
        u64::from(self.warp.index * 32 + lane) * bytes + address
    }
}
