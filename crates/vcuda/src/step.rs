//! Pieces of work: what streams do, and what graphs keep.

use crate::{
    core::Core,
    host::{HostCall, HostMemory},
    module::Function,
    status::Status,
};
use std::sync::Arc;
use warpsmith_vgpu::{self as vgpu, check::Turn};

/// One thing a stream does.
#[derive(Clone)]
pub(crate) enum Step {
    Launch(Arc<Function>, Box<vgpu::Launch>),
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
    /// Host to another card, whose memory stays while this is under way.
    WriteTo {
        on: Arc<Core>,
        to: u64,
        from: HostMemory,
    },
    /// Another card to the host.
    ReadFrom {
        of: Arc<Core>,
        to: HostMemory,
        from: u64,
    },
    /// Bytes that were taken from the host when the call was made.
    Staged {
        to: u64,
        bytes: Arc<[u8]>,
    },
    /// On the host.
    Host {
        to: HostMemory,
        from: HostMemory,
    },
    Copy {
        to: u64,
        from: u64,
        bytes: u64,
    },
    /// From one card to another.
    Between {
        to: u64,
        of: Arc<Core>,
        from: u64,
        on: Arc<Core>,
        bytes: u64,
    },
    /// Rows of a copy or a fill.
    Many(Arc<[Step]>),
    /// Later work waits for a word of memory.
    WaitValue {
        address: u64,
        value: u64,
        wide: bool,
        until: Until,
    },
    /// `unit` again and again, `bytes` in all.
    Fill {
        address: u64,
        unit: Unit,
        bytes: u64,
    },
    Call(HostCall),
}

/// When a wait for a word ends: how the word stands to the value that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// At least it, in a circle.
    AtLeast,
    Equal,
    /// They have a bit in common.
    And,
    /// Some bit is in neither.
    Nor,
}

/// What a fill repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    One(u8),
    Two(u16),
    Four(u32),
}

impl Until {
    fn holds(self, word: u64, value: u64, wide: bool) -> bool {
        match self {
            Until::AtLeast if wide => word.wrapping_sub(value) as i64 >= 0,
            Until::AtLeast => (word as u32).wrapping_sub(value as u32) as i32 >= 0,
            Until::Equal => word == value,
            Until::And => word & value != 0,
            Until::Nor if wide => !(word | value) != 0,
            Until::Nor => !(word as u32 | value as u32) != 0,
        }
    }
}

/// Bytes that move at once between host and device.
const PART: usize = 1 << 20;

impl Step {
    /// Enqueues it. Launches are the stream's own affair, as they are counted.
    pub(crate) fn enqueue(self, core: &Arc<Core>, on: &vgpu::Stream) -> Result<(), Status> {
        match self {
            Step::Launch(_, launch) => Ok(on.launch(*launch)?),
            Step::Staged { to, bytes } => Ok(on.write(to, bytes)?),
            Step::Many(steps) => steps
                .iter()
                .try_for_each(|step| step.clone().enqueue(core, on)),
            Step::Copy { to, from, bytes } => Ok(on.copy(to, from, bytes)?),
            Step::Fill {
                address,
                unit: Unit::One(byte),
                bytes,
            } => Ok(on.fill(address, byte, bytes)?),
            step @ (Step::Write { .. }
            | Step::Read { .. }
            | Step::WriteTo { .. }
            | Step::ReadFrom { .. }
            | Step::Host { .. }
            | Step::Between { .. }
            | Step::WaitValue { .. }
            | Step::Fill { .. }
            | Step::Call(_)) => {
                let core = core.clone();
                let turn = match step {
                    Step::Read { .. } => on.turn(),
                    _ => None,
                };
                on.call(move |so_far| {
                    if so_far.is_err() || core.well().is_err() {
                        return;
                    }
                    if let Err(error) = step.run(&core.machine, turn.as_ref()) {
                        core.fault(&error);
                    }
                });
                Ok(())
            }
        }
    }

    /// Does it on the thread of a stream.
    fn run(self, machine: &vgpu::Machine, turn: Option<&Turn>) -> Result<(), vgpu::Error> {
        match self {
            Step::Write { to, from } => write(machine, to, &from),
            Step::WriteTo { on, to, from } => write(&on.machine, to, &from),
            Step::Read { to, from } => read(machine, turn, &to, from),
            Step::ReadFrom { of, to, from } => read(&of.machine, None, &to, from),
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
            Step::Host { to, from } => {
                to.parts(PART)
                    .zip(from.parts(PART))
                    .try_for_each(|((_, to), (_, from))| {
                        let mut bytes = vec![0; from.len()];
                        from.read(&mut bytes);
                        to.write(&bytes);
                        Ok(())
                    })
            }
            Step::Between {
                to,
                of,
                from,
                on,
                bytes,
            } => (0..bytes).step_by(PART).try_for_each(|at| {
                let mut part = vec![0; (bytes - at).min(PART as u64) as usize];
                of.machine.read(from + at, &mut part)?;
                on.machine.write(to + at, &part)
            }),
            Step::WaitValue {
                address,
                value,
                wide,
                until,
            } => loop {
                let low = machine.load_word(address)?;
                let high = if wide {
                    machine.load_word(address + 4)?
                } else {
                    0
                };
                if until.holds(u64::from(high) << 32 | u64::from(low), value, wide) {
                    break Ok(());
                }
                std::thread::sleep(std::time::Duration::from_micros(20));
            },
            // Streams do these by themselves.
            Step::Launch(..) | Step::Copy { .. } | Step::Staged { .. } | Step::Many(_) => Ok(()),
        }
    }
}

/// Copies from the host into memory of a card, in parts.
fn write(machine: &vgpu::Machine, to: u64, from: &HostMemory) -> Result<(), vgpu::Error> {
    from.parts(PART).try_for_each(|(at, part)| {
        let mut bytes = vec![0; part.len()];
        part.read(&mut bytes);
        machine.write(to + at as u64, &bytes)
    })
}

/// Copies from memory of a card to the host, in parts.
fn read(
    machine: &vgpu::Machine,
    turn: Option<&Turn>,
    to: &HostMemory,
    from: u64,
) -> Result<(), vgpu::Error> {
    to.parts(PART).try_for_each(|(at, part)| {
        let mut bytes = vec![0; part.len()];
        machine.read_in(turn, from + at as u64, &mut bytes)?;
        part.write(&bytes);
        Ok(())
    })
}
