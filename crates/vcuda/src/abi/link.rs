//! The linker: as the driver has it, and under the names of the library that links without one.

use super::raw::{Image, In, JitOptions, Out, Text};
use crate::{
    driver::{driver, usable},
    fatbin,
    linker::Link,
    status::Status,
    table::{Handle, Table},
};
use std::{
    ffi::{c_int, c_uint, c_void},
    sync::{Arc, LazyLock, Mutex},
};

/// What a linker takes: code of ours, PTX, a fat binary, an object, an archive.
const CODE: c_int = 0;
const PTX: c_int = 1;
const FAT: c_int = 2;
const ARCHIVE: c_int = 4;

/// The newest target, for linkers that are told none.
const ANY: u16 = u16::MAX;

/// Adds a piece of a kind.
fn add(link: &Link, kind: c_int, bytes: &[u8], name: &str) -> Result<(), Status> {
    // What the device runtime has is here.
    if name.contains("cudadevrt") && matches!(kind, ARCHIVE | FAT | CODE) {
        return Ok(());
    }
    let is_fat = bytes.starts_with(&fatbin::MAGIC.to_le_bytes());
    match kind {
        FAT if is_fat => link.add(&fatbin::ptx(bytes, ANY)?, name),
        CODE | PTX | FAT if !bytes.starts_with(b"\x7fELF") => link.add(bytes, name),
        _ => {
            let what = format!("linking {name}, which is code for a card: this driver links PTX");
            link.options.tell(&format!("error: {what}"));
            crate::report::lacks(&what);
            Err(Status::NotSupported)
        }
    }
}

/// Linkers without a driver.
static LINKERS: LazyLock<Table<Link>> = LazyLock::new(Table::default);

/// `nvJitLinkResult`: 3 is invalid input, 4 PTX that does not compile.
fn jit(result: Result<(), Status>) -> Result<(), Status> {
    result.map_err(|status| match status {
        Status::InvalidPtx => Status::Deinitialized,
        _ => Status::NotInitialized,
    })
}

entries! {
    cuLinkCreate_v2(count: c_uint, options: In<u32>, values: Out<*mut c_void>, link: Out<Handle>) {
        let out = link.wanted()?;
        usable()?;
        let options = JitOptions::find(count, options, values)?;
        let state = Mutex::default();
        out.put(driver()?.links.insert(Arc::new(Link { options, state })))
    }

    cuLinkAddData_v2(
        link: Handle,
        kind: c_int,
        data: Image,
        len: usize,
        name: Text,
        count: c_uint,
        options: In<u32>,
        values: Out<*mut c_void>,
    ) {
        usable()?;
        JitOptions::find(count, options, values)?;
        let link = driver()?.links.find(link)?;
        let name = name.to_string().unwrap_or_else(|_| "a piece".to_owned());
        add(&link, kind, &data.sized(len)?, &name)
    }

    cuLinkAddFile_v2(
        link: Handle,
        kind: c_int,
        path: Text,
        count: c_uint,
        options: In<u32>,
        values: Out<*mut c_void>,
    ) {
        usable()?;
        JitOptions::find(count, options, values)?;
        let link = driver()?.links.find(link)?;
        let path = path.to_string()?;
        let bytes = std::fs::read(&path).map_err(|_| Status::FileNotFound)?;
        add(&link, kind, &bytes, &path)
    }

    cuLinkComplete(link: Handle, code: Out<*const u8>, len: Out<usize>) {
        let settings = usable()?.core.settings;
        let (start, bytes) = driver()?.links.find(link)?.complete(Some(settings))?;
        code.put(start)?;
        len.put_if_wanted(bytes);
        Ok(())
    }

    cuLinkDestroy(link: Handle) {
        driver()?.links.remove(link).map(drop)
    }

    nvJitLinkCreate(link: Out<Handle>, _count: c_uint, _options: In<*const u8>) {
        let out = link.wanted()?;
        let state = Mutex::default();
        out.put(LINKERS.insert(Arc::new(Link { options: JitOptions::NONE, state })))
    }

    nvJitLinkAddData(link: Handle, kind: c_int, data: Image, len: usize, name: Text) {
        let link = LINKERS.find(link)?;
        let name = name.to_string().unwrap_or_else(|_| "a piece".to_owned());
        jit(add(&link, jit_kind(kind)?, &data.sized(len)?, &name))
    }

    nvJitLinkAddFile(link: Handle, kind: c_int, path: Text) {
        let link = LINKERS.find(link)?;
        let path = path.to_string()?;
        let bytes = std::fs::read(&path).map_err(|_| Status::InvalidValue)?;
        jit(add(&link, jit_kind(kind)?, &bytes, &path))
    }

    nvJitLinkComplete(link: Handle) {
        jit(LINKERS.find(link)?.complete(None).map(drop))
    }

    nvJitLinkGetLinkedCubinSize(link: Handle, len: Out<usize>) {
        len.put(LINKERS.find(link)?.complete(None)?.1)
    }

    nvJitLinkGetLinkedCubin(link: Handle, out: Out<u8>) {
        let link = LINKERS.find(link)?;
        link.complete(None)?;
        let code = link.code();
        code.iter().enumerate().try_for_each(|(at, byte)| out.at(at).put(*byte))
    }

    nvJitLinkGetLinkedPtxSize(link: Handle, len: Out<usize>) {
        let link = LINKERS.find(link)?;
        link.complete(None)?;
        len.put(crate::link::unwrapped(&link.code()).len() + 1)
    }

    nvJitLinkGetLinkedPtx(link: Handle, out: Out<u8>) {
        let link = LINKERS.find(link)?;
        link.complete(None)?;
        let code = link.code();
        let text = crate::link::unwrapped(&code);
        text.iter().chain(b"\0").enumerate().try_for_each(|(at, byte)| out.at(at).put(*byte))
    }

    nvJitLinkGetErrorLogSize(link: Handle, len: Out<usize>) {
        len.put(LINKERS.find(link)?.log().len() + 1)
    }

    nvJitLinkGetErrorLog(link: Handle, out: Out<u8>) {
        let log = LINKERS.find(link)?.log();
        out.put_text(&log, log.len() + 1)
    }

    nvJitLinkGetInfoLogSize(link: Handle, len: Out<usize>) {
        LINKERS.find(link)?;
        len.put(1)
    }

    nvJitLinkGetInfoLog(link: Handle, out: Out<u8>) {
        LINKERS.find(link)?;
        out.put(0)
    }

    nvJitLinkDestroy(link: Out<Handle>) {
        LINKERS.remove(link.as_in().value()?)?;
        link.put(Handle::NULL)
    }

    /// The last version that those who want LTO do not take: they link PTX by the driver then.
    nvJitLinkVersion(major: Out<c_uint>, minor: Out<c_uint>) {
        major.put(12)?;
        minor.put(0)
    }
}

/// The linker's functions under the names of each version of its header, which programs and libraries (cuSPARSE) link.
macro_rules! by_version {
    ([$($module:ident $version:literal)*] $functions:tt) => {
        $(mod $module {
            use super::*;
            by_version!(@all $version $functions);
        })*
    };
    (@all $version:literal { $($name:ident($($arg:ident: $ty:ty),*);)* }) => {
        $(
            // SAFETY: the names are those of the linker's functions, which this library is made to stand for.
            #[unsafe(export_name = concat!("__", stringify!($name), "_", $version))]
            extern "C" fn $name($($arg: $ty),*) -> u32 {
                super::$name($($arg),*)
            }
        )*
    };
}

by_version! {
    [
        v12_0 "12_0" v12_1 "12_1" v12_2 "12_2" v12_3 "12_3" v12_4 "12_4" v12_5 "12_5"
        v12_6 "12_6" v12_7 "12_7" v12_8 "12_8" v12_9 "12_9" v13_0 "13_0" v13_1 "13_1"
        v13_2 "13_2" v13_3 "13_3" v13_4 "13_4" v13_5 "13_5"
    ] {
        nvJitLinkCreate(link: Out<Handle>, count: c_uint, options: In<*const u8>);
        nvJitLinkAddData(link: Handle, kind: c_int, data: Image, len: usize, name: Text);
        nvJitLinkAddFile(link: Handle, kind: c_int, path: Text);
        nvJitLinkComplete(link: Handle);
        nvJitLinkGetLinkedCubinSize(link: Handle, len: Out<usize>);
        nvJitLinkGetLinkedCubin(link: Handle, out: Out<u8>);
        nvJitLinkGetLinkedPtxSize(link: Handle, len: Out<usize>);
        nvJitLinkGetLinkedPtx(link: Handle, out: Out<u8>);
        nvJitLinkGetErrorLogSize(link: Handle, len: Out<usize>);
        nvJitLinkGetErrorLog(link: Handle, out: Out<u8>);
        nvJitLinkGetInfoLogSize(link: Handle, len: Out<usize>);
        nvJitLinkGetInfoLog(link: Handle, out: Out<u8>);
        nvJitLinkDestroy(link: Out<Handle>);
    }
}

/// `nvJitLinkInputType`: code, PTX, LTO-IR, a fat binary, an object, an archive, a text, anything.
fn jit_kind(kind: c_int) -> Result<c_int, Status> {
    match kind {
        1 => Ok(CODE),
        2 => Ok(PTX),
        4 => Ok(FAT),
        5 => Ok(CODE),
        6 => Ok(ARCHIVE),
        10 => Ok(FAT),
        _ => {
            crate::report::lacks("linking LTO-IR, which only its own linker reads");
            Err(Status::InvalidValue)
        }
    }
}
