//! What arguments of C are: pointers whose targets the program vouches for.
//!
//! Values of these types come from calls of C only, which promise what the driver's manual asks: a pointer is null or
//! valid for what the function does with it, for as long as it does. Nothing else is relied on, alignment included.

use crate::{
    fatbin::{self, OURS},
    status::Status,
};
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr, slice,
};

/// Where a result goes.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Out<T> {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    pub(crate) fn put(self, value: T) -> Result<(), Status> {
        if !self.is_wanted() {
            return Err(Status::InvalidValue);
        }
        // SAFETY: not null, so the program's to write.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Whether it is not null.
    pub(crate) fn is_wanted(self) -> bool {
        !self.0.is_null()
    }

    /// For results that need not be wanted.
    pub(crate) fn put_if_wanted(self, value: T) {
        let _null_is_fine = self.put(value);
    }

    /// The same place for a result of another type.
    pub(crate) fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// The place of the element at `index`, of an array.
    pub(crate) fn at(self, index: usize) -> Out<T> {
        Out(self.0.wrapping_add(index))
    }

    /// What stands there already.
    pub(crate) fn as_in(self) -> In<T> {
        In(self.0)
    }

    /// A place of ours, for a call that is made at once.
    pub(crate) fn to(value: &mut T) -> Out<T> {
        Out(value)
    }

    /// Where it is.
    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    /// No place at all.
    pub(crate) fn nowhere() -> Out<T> {
        Out(ptr::null_mut())
    }

    /// Fails early where a result has no place.
    pub(crate) fn wanted(self) -> Result<Out<T>, Status> {
        if self.is_wanted() {
            Ok(self)
        } else {
            Err(Status::InvalidValue)
        }
    }
}

// SAFETY: an address; the program vouches for it until it takes it back.
unsafe impl<T> Send for Out<T> {}

impl Out<u8> {
    /// Bytes of a structure.
    pub(crate) fn put_bytes(self, bytes: &[u8]) -> Result<(), Status> {
        let out = self.wanted()?;
        // SAFETY: not null, so a structure of the program's that is as long.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), out.0, bytes.len()) };
        Ok(())
    }

    /// A text with its zero byte, cut to `len` bytes in all.
    pub(crate) fn put_text(self, text: &str, len: usize) -> Result<(), Status> {
        let out = self.wanted()?;
        let room = len.checked_sub(1).ok_or(Status::InvalidValue)?;
        let text = &text.as_bytes()[..text.len().min(room)];
        // SAFETY: the program gives `len` bytes, and one less and a zero are written.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), out.0, text.len());
            out.0.add(text.len()).write(0);
        }
        Ok(())
    }
}

/// Where values come from.
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> In<T> {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T> In<T> {
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Values of another type at the same place.
    pub(crate) fn cast<U>(self) -> In<U> {
        In(self.0.cast())
    }

    /// Values at an address.
    pub(crate) fn at_address(address: usize) -> In<T> {
        In(ptr::with_exposed_provenance(address))
    }

    /// The place `bytes` behind.
    pub(crate) fn behind(self, bytes: usize) -> In<T> {
        In(self.0.wrapping_byte_add(bytes))
    }
}

/// A value of ours, for a call that is made at once.
impl<T> From<&T> for In<T> {
    fn from(value: &T) -> In<T> {
        In(value)
    }
}

impl<T: Copy> In<T> {
    pub(crate) fn value(self) -> Result<T, Status> {
        self.at(0)
    }

    /// The value at `index`, of an array.
    pub(crate) fn at(self, index: usize) -> Result<T, Status> {
        if self.0.is_null() {
            return Err(Status::InvalidValue);
        }
        // SAFETY: not null, so the program's array, of more than `index` values as its other arguments say.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }
}

/// A string of C.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    pub(crate) fn to_string(self) -> Result<String, Status> {
        if self.0.is_null() {
            return Err(Status::InvalidValue);
        }
        // SAFETY: not null, so a string with its zero byte.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str()
            .map(str::to_owned)
            .map_err(|_| Status::InvalidValue)
    }
}

/// A program for the card, whose length is in itself.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Image(*const c_void);

// SAFETY: an address; the program keeps its images until it takes them back.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

/// The version of a wrapping that lists programs which are to be linked.
const LISTS: u32 = 2;

impl Image {
    /// The programs in it: itself, or those that its wrapping lists.
    pub(crate) fn pieces(self) -> Result<Vec<Image>, Status> {
        if self.0.is_null() {
            return Err(Status::InvalidValue);
        }
        if !self.starts_with(&fatbin::WRAPPED.to_le_bytes()) {
            return Ok(vec![self]);
        }
        // SAFETY: what starts so is two words, a pointer to a fat binary, and in the second version one to pointers to
        // more of them, up to a null.
        unsafe {
            let words = self.0.cast::<u32>();
            let list = words.add(4).cast::<*const *const c_void>().read_unaligned();
            if words.add(1).read_unaligned() != LISTS || list.is_null() {
                return Ok(vec![self]);
            }
            let all = (0..).map(|at| list.add(at).read_unaligned());
            Ok(all
                .take_while(|piece| !piece.is_null())
                .map(Image)
                .collect())
        }
    }

    /// The PTX in it for a card: bare, in our wrapping, or in a fat binary.
    pub(crate) fn ptx(self, sm: u16) -> Result<Vec<u8>, Status> {
        if self.0.is_null() {
            return Err(Status::InvalidValue);
        }
        if self.starts_with(b"\x7fELF") {
            crate::report::lacks("a cubin, which is code for a card: this driver runs PTX");
            return Err(Status::NoBinaryForGpu);
        }
        let bytes = self.0.cast::<u8>();
        if self.starts_with(&fatbin::WRAPPED.to_le_bytes()) {
            // SAFETY: what starts so is two words and a pointer to a fat binary.
            let inner = unsafe { bytes.add(8).cast::<*const c_void>().read_unaligned() };
            let inner = Image(inner);
            if inner.0.is_null() || !inner.starts_with(&fatbin::MAGIC.to_le_bytes()) {
                return Err(Status::InvalidImage);
            }
            return inner.ptx(sm);
        }
        if self.starts_with(&fatbin::MAGIC.to_le_bytes()) {
            // SAFETY: what starts so has a header of this size, which says how long it is.
            let all = unsafe {
                let header = slice::from_raw_parts(bytes, fatbin::HEADER);
                let len = fatbin::len(header).ok_or(Status::InvalidImage)?;
                slice::from_raw_parts(bytes, len)
            };
            return fatbin::ptx(all, sm);
        }
        if self.starts_with(&OURS) {
            // SAFETY: what starts so was made by `fatbin::wrap`: eight bytes of length, as many bytes, a zero byte.
            return Ok(unsafe {
                let len = bytes.add(OURS.len()).cast::<u64>().read_unaligned();
                slice::from_raw_parts(bytes.add(OURS.len() + 8), len as usize).to_vec()
            });
        }
        // SAFETY: all else that an image may be is text with its zero byte.
        Ok(unsafe { CStr::from_ptr(self.0.cast()) }.to_bytes().to_vec())
    }

    fn starts_with(self, magic: &[u8]) -> bool {
        let bytes = self.0.cast::<u8>();
        // SAFETY: byte by byte, up to the first that differs; magics hold no zero byte, so that is at the end of a
        // text at the latest.
        let same = |at: usize| unsafe { *bytes.add(at) } == magic[at];
        (0..magic.len()).all(same)
    }

    /// Its first `len` bytes, or what [`Image::ptx`] finds.
    pub(crate) fn sized(self, len: usize) -> Result<Vec<u8>, Status> {
        if self.0.is_null() || len == 0 {
            return Err(Status::InvalidValue);
        }
        // SAFETY: the program says that there are `len` bytes.
        let bytes = unsafe { slice::from_raw_parts(self.0.cast::<u8>(), len) };
        Ok(bytes.strip_suffix(b"\0").unwrap_or(bytes).to_vec())
    }
}

/// Memory of the program's that copies use until their stream has come past them.
#[derive(Clone, Copy)]
pub(crate) struct HostMemory {
    start: *mut u8,
    len: usize,
}

// SAFETY: it is an address; the program orders its own use of the memory after the stream's.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

/// A pointer to memory of the program's, whose length another argument tells.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Host(*mut c_void);

impl Host {
    pub(crate) fn bytes(self, len: usize) -> Result<HostMemory, Status> {
        if self.0.is_null() && len > 0 {
            return Err(Status::InvalidValue);
        }
        Ok(HostMemory {
            start: self.0.cast(),
            len,
        })
    }

    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    /// An address as an argument.
    pub(crate) fn of(address: *mut u8) -> Host {
        Host(address.cast())
    }
}

impl HostMemory {
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// Pieces of at most `len` bytes with their offsets.
    pub(crate) fn parts(self, len: usize) -> impl Iterator<Item = (usize, HostMemory)> {
        (0..self.len).step_by(len).map(move |at| {
            let part = HostMemory {
                start: self.start.wrapping_add(at),
                len: len.min(self.len - at),
            };
            (at, part)
        })
    }

    /// What it holds now.
    pub(crate) fn now(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len);
        // SAFETY: the program has `len` bytes there while it calls; as many are reserved.
        unsafe {
            ptr::copy_nonoverlapping(self.start, bytes.as_mut_ptr(), self.len);
            bytes.set_len(self.len);
        }
        bytes
    }

    /// Copies it to `into`, which is as long.
    pub(crate) fn read(self, into: &mut [u8]) {
        assert_eq!(into.len(), self.len, "as long");
        // SAFETY: the program keeps `len` bytes there until the stream is past the copy.
        unsafe { ptr::copy_nonoverlapping(self.start, into.as_mut_ptr(), self.len) };
    }

    /// Copies `from`, which is as long, to it.
    pub(crate) fn write(self, from: &[u8]) {
        assert_eq!(from.len(), self.len, "as long");
        // SAFETY: as in `read`.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), self.start, self.len) };
    }
}

/// A function of the program's with its argument, as an argument of a call.
pub(crate) type HostFunction = Option<unsafe extern "C" fn(*mut c_void)>;

/// A function of the program's that a stream calls.
#[derive(Clone, Copy)]
pub(crate) struct HostCall {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: the program gives it to be called from a thread of the driver.
unsafe impl Send for HostCall {}
// SAFETY: as above.
unsafe impl Sync for HostCall {}

impl HostCall {
    pub(crate) fn new(function: HostFunction, data: Host) -> Result<HostCall, Status> {
        let function = function.ok_or(Status::InvalidValue)?;
        Ok(HostCall {
            function,
            data: data.0,
        })
    }

    pub(crate) fn run(self) {
        // SAFETY: the program promised that it may be called so.
        unsafe { (self.function)(self.data) };
    }
}

/// A function of the program's that a stream calls with how it fared.
pub(crate) type Callback = Option<unsafe extern "C" fn(usize, u32, *mut c_void)>;

/// Such a function with its arguments.
#[derive(Clone, Copy)]
pub(crate) struct StreamCall {
    function: unsafe extern "C" fn(usize, u32, *mut c_void),
    stream: usize,
    data: *mut c_void,
}

// SAFETY: the program gives it to be called from a thread of the driver.
unsafe impl Send for StreamCall {}

impl StreamCall {
    pub(crate) fn new(function: Callback, stream: usize, data: Host) -> Result<StreamCall, Status> {
        let function = function.ok_or(Status::InvalidValue)?;
        Ok(StreamCall {
            function,
            stream,
            data: data.0,
        })
    }

    pub(crate) fn run(self, code: u32) {
        // SAFETY: the program promised that it may be called so.
        unsafe { (self.function)(self.stream, code, self.data) };
    }
}

/// Lets this be called when the process ends.
pub(crate) fn at_exit(function: extern "C" fn()) {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> c_int;
    }
    // SAFETY: the function is there until the process ends: libraries with thread-local values are not unloaded.
    let _more_than_fit_are_not_called = unsafe { atexit(function) };
}

/// The two ways to give a kernel its parameters.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Pointers(*const *const u8);

impl Pointers {
    pub(crate) const NONE: Pointers = Pointers(ptr::null());

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Pointers to parameters at these places of a block that lives on.
    pub(crate) fn of_shown(pointers: &[usize]) -> Pointers {
        Pointers(pointers.as_ptr().cast())
    }

    fn at(self, index: usize) -> *const u8 {
        // SAFETY: an array of as many pointers as the kernel has parameters, or one that ends with a zero.
        unsafe { self.0.add(index).read_unaligned() }
    }

    /// Each parameter at `(offset, size)` of `into`, from the pointer of its number.
    pub(crate) fn gather(self, params: &[(usize, usize)], into: &mut [u8]) -> Result<(), Status> {
        for (index, (offset, size)) in params.iter().enumerate() {
            let from = self.at(index);
            if from.is_null() {
                return Err(Status::InvalidValue);
            }
            let to = &mut into[*offset..offset + size];
            // SAFETY: the program points to a value of the parameter's size.
            unsafe { ptr::copy_nonoverlapping(from, to.as_mut_ptr(), *size) };
        }
        Ok(())
    }

    /// All parameters at once: keys 1 (a pointer) and 2 (a pointer to its size) up to key 0.
    pub(crate) fn packed(self) -> Result<Vec<u8>, Status> {
        let (mut data, mut len) = (ptr::null::<u8>(), None);
        let mut at = 0;
        loop {
            match self.at(at) as usize {
                0 => break,
                1 => data = self.at(at + 1),
                2 if !self.at(at + 1).is_null() => {
                    // SAFETY: key 2 comes with a pointer to a size.
                    len = Some(unsafe { self.at(at + 1).cast::<usize>().read_unaligned() });
                }
                _ => return Err(Status::InvalidValue),
            }
            at += 2;
        }
        let len = len
            .filter(|len| *len <= 1 << 15)
            .ok_or(Status::InvalidValue)?;
        if data.is_null() {
            return Err(Status::InvalidValue);
        }
        // SAFETY: the program says that there are `len` bytes.
        Ok(unsafe { slice::from_raw_parts(data, len) }.to_vec())
    }
}

/// Where the compiler writes what it has to say.
#[derive(Clone, Copy)]
pub(crate) struct JitOptions {
    buffer: *mut u8,
    room: usize,
    /// Where the length of what was written goes.
    used: *mut *mut c_void,
}

// SAFETY: addresses; the program keeps what they point to for as long as the compiler may write.
unsafe impl Send for JitOptions {}
// SAFETY: as above; each linker is one thread's at a time.
unsafe impl Sync for JitOptions {}

/// `CU_JIT_INFO_LOG_BUFFER`, and that of its size: there is nothing to say of what is right.
const NOTES: u32 = 3;
const NOTES_SIZE: u32 = 4;
/// `CU_JIT_ERROR_LOG_BUFFER`, and that of its size.
const LOG: u32 = 5;
const LOG_SIZE: u32 = 6;

impl JitOptions {
    pub(crate) const NONE: JitOptions = JitOptions {
        buffer: ptr::null_mut(),
        room: 0,
        used: ptr::null_mut(),
    };

    /// Finds the log among `count` options; others say how to compile, which makes no difference here.
    pub(crate) fn find(
        count: u32,
        options: In<u32>,
        values: Out<*mut c_void>,
    ) -> Result<JitOptions, Status> {
        let mut found = JitOptions::NONE;
        let (mut notes, mut room_for_notes) = (ptr::null_mut::<u8>(), 0);
        for index in 0..count as usize {
            let value = values.wanted()?.0.wrapping_add(index);
            // SAFETY: there are `count` values.
            let held = unsafe { value.read_unaligned() };
            match options.at(index)? {
                LOG => found.buffer = held.cast(),
                LOG_SIZE => {
                    found.room = held as usize & 0xFFFF_FFFF;
                    found.used = value;
                    Out(value).put(ptr::null_mut())?;
                }
                NOTES => notes = held.cast(),
                NOTES_SIZE => {
                    room_for_notes = held as usize & 0xFFFF_FFFF;
                    Out(value).put(ptr::null_mut())?;
                }
                _ => {}
            }
        }
        // Until there is something to say.
        for (buffer, room) in [(found.buffer, found.room), (notes, room_for_notes)] {
            if !buffer.is_null() && room > 0 {
                let _there_is_room = Out(buffer).put_text("", room);
            }
        }
        Ok(found)
    }

    /// Writes a log.
    pub(crate) fn tell(&self, log: &str) {
        if self.buffer.is_null() || self.room == 0 {
            return;
        }
        let _there_is_room = Out(self.buffer).put_text(log, self.room);
        let used = log.len().min(self.room - 1);
        Out(self.used).put_if_wanted(ptr::without_provenance_mut(used));
    }
}

#[cfg(test)]
mod of_tests;
