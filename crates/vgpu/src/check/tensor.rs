//! Tensor memory of a CTA: what of it was written, what is on its way, and what was not given back (PTX ISA 9.7.16.6).
//!
//! - A product writes D and reads its operands until a commit behind it has let a phase end that was waited for. Products and
//!   copies of one thread are in order among themselves.
//! - What `tcgen05.st` wrote is there for products once the warp has waited by `tcgen05.wait::st`.
//!
//! Registers of `tcgen05.ld` that are used before `tcgen05.wait::ld` are no finding, though the manual asks for the wait: the
//! assembler keeps account of registers, and compilers (Triton's among them) move arithmetic before it.

use super::{
    Access, Kind, Place,
    checker::{At, Checker, place_in},
    report::New,
};
use crate::ids::SpanId;

/// Cells of a CTA, 128 lanes of 512 columns.
const CELLS: usize = 128 * 512;

/// Columns from one on, and where they end.
pub(crate) type Columns = (u32, u32);

/// A product or copy that may not be done.
struct Flight {
    writes: Columns,
    reads: Vec<Columns>,
    thread: u32,
    span: SpanId,
    /// The objects that it arrives at when it is done.
    objects: Vec<u64>,
}

/// A store of a warp that was not waited for.
struct Stored {
    warp: u32,
    columns: Columns,
    thread: u32,
    span: SpanId,
}

/// Columns that were given out.
struct Given {
    columns: Columns,
    place: Place,
}

/// What is known of a CTA's tensor memory.
#[derive(Default)]
pub(super) struct Tensor {
    /// A bit for each cell that was written; nothing before the first allocation.
    written: Vec<u64>,
    flights: Vec<Flight>,
    stored: Vec<Stored>,
    given: Vec<Given>,
}

impl Tensor {
    pub(super) fn clear(&mut self) {
        self.written.clear();
        self.flights.clear();
        self.stored.clear();
        self.given.clear();
    }

    fn is_written(&self, cell: usize) -> bool {
        let word = self.written.get(cell / 64).copied().unwrap_or(0);
        word >> (cell % 64) & 1 != 0
    }

    fn write(&mut self, cell: usize) {
        if let Some(word) = self.written.get_mut(cell / 64) {
            *word |= 1 << (cell % 64);
        }
    }
}

fn meet(a: Columns, b: Columns) -> bool {
    a.0 < b.1 && b.0 < a.1
}

/// The number of a cell.
fn number([lane, column]: [u32; 2]) -> usize {
    (column as usize * 128 + lane as usize) % CELLS
}

impl Checker {
    /// Columns are given out: nobody has written them.
    pub(crate) fn gives_columns(&mut self, at: &At<'_>, lane: u32, columns: Columns) {
        let Some(cta) = self.cta() else {
            return;
        };
        let tensor = &mut cta.tensor;
        tensor.written.resize(CELLS / 64, 0);
        let words = columns.0 as usize * 2..columns.1 as usize * 2;
        tensor.written[words].fill(0);
        let place = at.place(lane, None);
        tensor.given.push(Given { columns, place });
    }

    /// Columns are given back.
    pub(crate) fn takes_columns(&mut self, columns: Columns) {
        if let Some(cta) = self.cta() {
            let tensor = &mut cta.tensor;
            tensor.given.retain(|given| !meet(given.columns, columns));
        }
    }

    /// The CTA ends: what it was given should be back.
    pub(super) fn columns_left(&mut self) {
        let Some(cta) = self.cta() else {
            return;
        };
        for Given { columns, place } in std::mem::take(&mut cta.tensor.given) {
            let count = columns.1 - columns.0;
            self.findings.add(New {
                kind: Kind::Leak,
                place,
                other: None,
                address: None,
                allocation: None,
                message: format!(
                    "{count} columns of tensor memory are still allocated where their CTA ends"
                ),
            });
        }
    }

    /// A warp stores to cells within some columns.
    pub(crate) fn stores_cells(&mut self, at: &At<'_>, columns: Columns, cells: &[[u32; 2]]) {
        self.flying(at, columns, Access::Write);
        let Some(cta) = self.cta() else {
            return;
        };
        cells
            .iter()
            .for_each(|cell| cta.tensor.write(number(*cell)));
        cta.tensor.stored.push(Stored {
            warp: at.warp,
            columns,
            thread: at.warp * 32 + (at.mask.trailing_zeros() & 31),
            span: at.span,
        });
    }

    /// A warp loads cells within some columns. That some were not written is no fault yet: what they give may be dropped.
    pub(crate) fn loads_cells(&mut self, at: &At<'_>, columns: Columns, cells: &[[u32; 2]]) {
        self.flying(at, columns, Access::Read);
        let Some((_, cta)) = &self.current else {
            return;
        };
        if !cells
            .iter()
            .any(|cell| cta.tensor.is_written(number(*cell)))
        {
            let lane = at.mask.trailing_zeros() & 31;
            self.unwritten(at, lane, cells[0]);
        }
    }

    fn unwritten(&mut self, at: &At<'_>, by: u32, [lane, column]: [u32; 2]) {
        self.findings.add(New {
            kind: Kind::UninitShared,
            place: at.place(by, Some(Access::Read)),
            other: None,
            address: Some(u64::from(lane) << 16 | u64::from(column)),
            allocation: None,
            message: format!(
                "tensor memory is read that nobody wrote: lane {lane}, column {column}"
            ),
        });
    }

    /// A warp's own access meets what is on its way.
    fn flying(&mut self, at: &At<'_>, columns: Columns, access: Access) {
        let Some((index, cta)) = &self.current else {
            return;
        };
        let clashes = |flight: &&Flight| {
            let read = flight.reads.iter().any(|reads| meet(*reads, columns));
            meet(flight.writes, columns) || access == Access::Write && read
        };
        let Some(flight) = cta.tensor.flights.iter().find(clashes) else {
            return;
        };
        let other = place_in(at, *index, flight.thread, flight.span);
        let message = if flight.objects.is_empty() {
            "tensor memory of a product that was not committed to an mbarrier"
        } else {
            "tensor memory of a product whose mbarrier was not waited for"
        };
        self.early(
            at,
            at.mask.trailing_zeros() & 31,
            Some(access),
            other,
            message,
        );
    }

    fn early(
        &mut self,
        at: &At<'_>,
        lane: u32,
        access: Option<Access>,
        other: Place,
        message: &str,
    ) {
        self.findings.add(New {
            kind: Kind::Tcgen05Early,
            place: at.place(lane, access),
            other: Some(other),
            address: None,
            allocation: None,
            message: message.to_owned(),
        });
    }

    /// A product or copy of a thread: the cells that it reads must have been written, and stores to them waited for.
    pub(crate) fn flies(
        &mut self,
        at: &At<'_>,
        lane: u32,
        (writes, reads): (Columns, Vec<Columns>),
        cells: impl Iterator<Item = [u32; 2]>,
    ) {
        let thread = at.warp * 32 + lane;
        let Some((index, cta)) = &mut self.current else {
            return;
        };
        let index = *index;
        let mut cells = cells;
        let fresh = cells.find(|cell| !cta.tensor.is_written(number(*cell)));
        let waits = |stored: &&Stored| {
            let read = reads.iter().any(|reads| meet(*reads, stored.columns));
            read || meet(writes, stored.columns)
        };
        let stored = cta.tensor.stored.iter().find(waits);
        let stored = stored.map(|stored| (stored.thread, stored.span));
        cta.tensor.flights.push(Flight {
            writes,
            reads,
            thread,
            span: at.span,
            objects: Vec::new(),
        });
        if let Some(cell) = fresh {
            self.unwritten(at, lane, cell);
        }
        if let Some((thread, span)) = stored {
            let other = Place {
                access: Some(Access::Write),
                ..place_in(at, index, thread, span)
            };
            let message = "a product has tensor memory whose store was not waited for";
            self.early(at, lane, None, other, message);
        }
    }

    /// Cells that a product or copy writes.
    pub(crate) fn written_cells(&mut self, cells: impl Iterator<Item = [u32; 2]>) {
        if let Some(cta) = self.cta() {
            cells.for_each(|cell| cta.tensor.write(number(cell)));
        }
    }

    /// All that a thread has begun arrives at an object when it is done.
    pub(crate) fn commits_flights(&mut self, at: &At<'_>, lane: u32, object: u64) {
        let thread = at.warp * 32 + lane;
        let Some(cta) = self.cta() else {
            return;
        };
        let flights = cta.tensor.flights.iter_mut();
        flights
            .filter(|flight| flight.thread == thread)
            .for_each(|flight| flight.objects.push(object));
        cta.proxy.commit_to(thread, object);
    }

    /// A phase of an object has ended.
    pub(super) fn lands(&mut self, object: u64) {
        if let Some(cta) = self.cta() {
            let flights = &mut cta.tensor.flights;
            flights.retain(|flight| !flight.objects.contains(&object));
            cta.proxy.returns(object);
        }
    }

    /// `tcgen05.wait::st`: the stores of a warp are done.
    pub(crate) fn waits_for_stores(&mut self, at: &At<'_>) {
        if let Some(cta) = self.cta() {
            cta.tensor.stored.retain(|stored| stored.warp != at.warp);
        }
    }
}
