//! Pieces of work: what streams do, and what graphs keep.

use crate::{
    abi::{HostCall, HostMemory},
    context::Core,
    status::Status,
};
use std::sync::Arc;
use warpsmith_vgpu as vgpu;

/// One thing a stream does.
#[derive(Clone)]
pub(crate) enum Step {
    Launch(Box<vgpu::Launch>),
    /// Host to device.
    Write {
        to: u64,
        from: HostMemory,
    },
    /// Device to host.
    Read {
        to: HostMemory,
        from: u64,
    },
    Copy {
        to: u64,
        from: u64,
        bytes: u64,
    },
    /// `unit` again and again, `bytes` in all.
    Fill {
        address: u64,
        unit: Unit,
        bytes: u64,
    },
    Call(HostCall),
}

/// What a fill repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    One(u8),
    Two(u16),
    Four(u32),
}

/// A piece of a graph that is ready to run: neighbouring launches are one list.
pub(crate) enum Piece {
    Launches(vgpu::Prepared),
    Step(Step),
}

/// Bytes that move at once between host and device.
const PART: usize = 1 << 20;

impl Step {
    /// Enqueues it. Launches are the stream's own affair, as they are counted.
    pub(crate) fn enqueue(self, core: &Arc<Core>, on: &vgpu::Stream) -> Result<(), Status> {
        match self {
            Step::Launch(launch) => Ok(on.launch(*launch)?),
            Step::Copy { to, from, bytes } => Ok(on.copy(to, from, bytes)?),
            Step::Fill {
                address,
                unit: Unit::One(byte),
                bytes,
            } => Ok(on.fill(address, byte, bytes)?),
            step @ (Step::Write { .. } | Step::Read { .. } | Step::Fill { .. } | Step::Call(_)) => {
                let core = core.clone();
                on.call(move |so_far| {
                    if so_far.is_err() || core.well().is_err() {
                        return;
                    }
                    if let Err(error) = step.run(&core.machine) {
                        core.fail(error.into());
                    }
                });
                Ok(())
            }
        }
    }

    /// Does it on the thread of a stream.
    fn run(self, machine: &vgpu::Machine) -> Result<(), vgpu::Error> {
        match self {
            Step::Write { to, from } => from.parts(PART).try_for_each(|(at, part)| {
                let mut bytes = vec![0; part.len()];
                part.read(&mut bytes);
                machine.write(to + at as u64, &bytes)
            }),
            Step::Read { to, from } => to.parts(PART).try_for_each(|(at, part)| {
                let mut bytes = vec![0; part.len()];
                machine.read(from + at as u64, &mut bytes)?;
                part.write(&bytes);
                Ok(())
            }),
            Step::Fill {
                address,
                unit,
                bytes,
            } => {
                let unit = match unit {
                    Unit::One(x) => vec![x],
                    Unit::Two(x) => x.to_le_bytes().to_vec(),
                    Unit::Four(x) => x.to_le_bytes().to_vec(),
                };
                let pattern = unit.repeat((bytes as usize).min(PART) / unit.len());
                (0..bytes).step_by(PART).try_for_each(|at| {
                    let len = (bytes - at).min(PART as u64) as usize;
                    machine.write(address + at, &pattern[..len])
                })
            }
            Step::Call(call) => {
                call.run();
                Ok(())
            }
            // Streams do these by themselves.
            Step::Launch(_) | Step::Copy { .. } => Ok(()),
        }
    }
}
