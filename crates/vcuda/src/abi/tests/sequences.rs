//! Calls in any order, with handles of other kinds, stale ones and none, addresses and sizes that do not fit: each gives a
//! code, and afterwards the driver works.

use super::super::{library::*, link::*, reserve::*, rows::*, values::*};
use super::*;

/// Numbers without a pattern that matters (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }
}

/// Whatever a call comes to is fine.
fn any(_code: u32) {}

/// What a program has by now.
struct World {
    dice: Dice,
    handles: Vec<Handle>,
    addresses: Vec<u64>,
    host: Vec<u64>,
    card: c_int,
}

impl World {
    fn handle(&mut self) -> Handle {
        match self.dice.roll(8) {
            0 => Handle::NULL,
            1 => Handle(self.dice.roll(4)),
            2 => Handle(self.dice.0 as usize),
            _ => {
                let at = self.dice.roll(self.handles.len());
                self.handles[at]
            }
        }
    }

    fn keep(&mut self, handle: Handle) {
        if self.handles.len() < 200 {
            self.handles.push(handle);
        } else {
            let at = self.dice.roll(200);
            self.handles[at] = handle;
        }
    }

    /// An address that may be of a block, of none, or of the host's buffer.
    fn address(&mut self) -> u64 {
        let at = self.dice.roll(self.addresses.len());
        match self.dice.roll(6) {
            0 => 0,
            1 => self.host.as_ptr() as u64,
            2 => self.addresses[at] + self.dice.roll(64) as u64,
            _ => self.addresses[at],
        }
    }

    /// An address of the host's buffer, which is as long as the largest size.
    fn buffer(&mut self) -> Host {
        Host::of(self.host.as_mut_ptr().cast())
    }

    fn size(&mut self) -> usize {
        [0, 1, 4, 100, 256, 1000, 4096][self.dice.roll(7)]
    }

    fn made(&mut self, call: impl FnOnce(Out<Handle>) -> u32) {
        if let Ok(made) = handle(call) {
            self.keep(made);
        }
    }

    fn allocated(&mut self, call: impl FnOnce(Out<u64>) -> u32) {
        if let Ok(address) = get(call) {
            self.addresses.push(address);
        }
    }

    fn call(&mut self) {
        let (a, b, stream) = (self.handle(), self.handle(), self.handle());
        let (to, from, bytes) = (self.address(), self.address(), self.size());
        let on_card =
            |address: u64| get(|out| cuMemGetAddressRange_v2(out, Out::nowhere(), address)).is_ok();
        let buffer = self.buffer();
        let ptx = text(ADD);
        let name = text("add");
        match self.dice.roll(48) {
            0 => self.made(|out| cuStreamCreate(out, 0)),
            1 => self.made(|out| cuStreamCreate(out, 1)),
            2 => self.made(|out| cuEventCreate(out, 0)),
            3 => self.made(|out| cuModuleLoadData(out, Image::of(&ptx))),
            4 => self.made(|out| cuModuleGetFunction(out, a, Text::of(&name))),
            5 => self.made(|out| cuGraphCreate(out, 0)),
            6 => self.made(|out| cuGraphInstantiateWithFlags(out, a, 0)),
            7 => self.made(|out| cuGraphClone(out, a)),
            8 => self.made(|out| cuGraphAddEmptyNode(out, a, In::of(&[b]), 1)),
            9 => self.made(|out| cuGraphAddChildGraphNode(out, a, In::of(&[]), 0, b)),
            10 => self.made(|out| cuGraphAddEventRecordNode(out, a, In::of(&[b]), 0, stream)),
            11 => self.made(|out| cuStreamEndCapture(stream, out)),
            12 => self.made(|out| {
                cuLibraryLoadData(
                    out,
                    Image::of(&ptx),
                    In::of(&[]),
                    Out::nowhere(),
                    0,
                    In::of(&[]),
                    In::of(&[]),
                    0,
                )
            }),
            13 => self.made(|out| cuLibraryGetKernel(out, a, Text::of(&name))),
            14 => self.made(|out| cuKernelGetFunction(out, a)),
            15 => self.made(|out| cuLibraryGetModule(out, a)),
            16 => self.made(|out| cuLinkCreate_v2(0, In::of(&[]), Out::nowhere(), out)),
            17 => self.allocated(|out| cuMemAlloc_v2(out, bytes)),
            18 => self.allocated(|out| cuMemAllocAsync(out, bytes, stream)),
            19 => self.allocated(|out| cuMemAllocManaged(out, bytes, 1)),
            20 => self.allocated(|out| cuMemAddressReserve(out, 2 << 20, 0, 0, 0)),
            21 => any(cuMemFree_v2(to)),
            22 => any(cuMemFreeAsync(to, stream)),
            23 => any(cuMemFreeHost(Host::of(to as *mut u8))),
            24 => any(cuMemcpyHtoDAsync_v2(to, buffer, bytes, stream)),
            25 => any(cuMemcpyDtoHAsync_v2(buffer, from, bytes, stream)),
            26 => any(cuMemcpyDtoDAsync_v2(to, from, bytes, stream)),
            27 if on_card(to) => any(cuMemcpyAsync(to, buffer.address() as u64, bytes, stream)),
            28 => any(cuMemsetD32Async(to, 7, bytes / 4, stream)),
            29 => any(cuMemsetD2D8_v2(to, 64, 1, bytes.min(64), 3)),
            30 => any(cuStreamWriteValue32(stream, to, 1, 0)),
            31 => any(cuEventRecord(a, stream)),
            32 => any(cuStreamWaitEvent(stream, a, 0)),
            33 => any(cuEventQuery(a)),
            34 => any(cuStreamBeginCapture_v2(stream, 2)),
            35 => any(cuGraphLaunch(a, stream)),
            36 => any(cuGraphExecUpdate_v2(a, b, Out::nowhere())),
            37 => any(cuGraphAddDependencies(
                a,
                In::of(&[b]),
                In::of(&[stream]),
                1,
            )),
            38 => any(cuGraphDestroyNode(a)),
            39 => any(cuGraphDestroy(a)),
            40 => any(cuGraphExecDestroy(a)),
            41 => any(cuStreamDestroy_v2(a)),
            42 => any(cuEventDestroy_v2(a)),
            43 => any(cuLibraryUnload(a)),
            44 => any(cuMemAddressFree(to, 2 << 20)),
            45 => any(cuStreamSynchronize(stream)),
            46 => {
                let n = 3u32;
                let params: [*const u8; 3] = [
                    (&raw const to).cast(),
                    (&raw const to).cast(),
                    (&raw const n).cast(),
                ];
                // Kernels get blocks that are long enough: a fault would end all that follows.
                let long = get(|out: Out<usize>| cuMemGetAddressRange_v2(Out::nowhere(), out, to));
                if long.is_ok_and(|len| len >= 256)
                    && get(|out| cuMemGetAddressRange_v2(out, Out::nowhere(), to)) == Ok(to)
                {
                    let params = Pointers::of(&params);
                    any(cuLaunchKernel(
                        a,
                        1,
                        1,
                        1,
                        32,
                        1,
                        1,
                        0,
                        stream,
                        params,
                        Pointers::NONE,
                    ));
                }
            }
            _ => any(cuCtxGetId(a, Out::of(&mut 0u64))),
        }
    }
}

#[test]
fn calls_in_any_order_give_codes_and_leave_a_driver_that_works() -> Result<(), u32> {
    for seed in [1u64, 0x1234_5678, 0x9E37_79B9_7F4A_7C15] {
        let program = program()?;
        let mut world = World {
            dice: Dice(seed),
            handles: vec![program.module, program.add, program.context],
            addresses: vec![get(|out| cuMemAlloc_v2(out, 4096))?],
            host: vec![0; 512],
            card: program.card,
        };
        for _ in 0..3000 {
            world.call();
        }
        // What was left in a capture or behind one has an end.
        let fresh = handle(|out| cuCtxCreate_v2(out, 0, world.card))?;
        let (ptx, name) = (text(ADD), text("add"));
        let module = handle(|out| cuModuleLoadData(out, Image::of(&ptx)))?;
        let add = handle(|out| cuModuleGetFunction(out, module, Text::of(&name)))?;
        let again = Program {
            context: fresh,
            module,
            add,
            card: world.card,
        };
        let x = get(|out| cuMemAlloc_v2(out, 128))?;
        let (mut from, mut to) = ([7u32; 32], [0u32; 32]);
        assert_eq!(cuMemcpyHtoD_v2(x, words(&mut from), 128), 0);
        assert_eq!(again.add(x, x, 3, Handle::NULL), 0);
        assert_eq!(cuMemcpyDtoH_v2(words(&mut to), x, 128), 0);
        assert_eq!(to, [10; 32]);
        assert_eq!(cuCtxDestroy_v2(fresh), 0);
        assert_eq!(cuDevicePrimaryCtxReset_v2(world.card), 0);
    }
    Ok(())
}
