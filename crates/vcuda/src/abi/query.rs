//! Start, versions, errors, and functions by name.

use super::raw::{In, Out, Text};
use crate::{
    driver::{configure, init},
    status::Status,
};
use std::ffi::{c_char, c_int, c_uint};

/// How the names of tables begin that NVIDIA's CUDA runtime asks for.
const OF_THE_RUNTIME: [u32; 7] = [
    0xf8cf_f951,
    0x6bd5_fb6c,
    0xa094_798c,
    0x42d8_5a81,
    0xc693_336e,
    0x263e_8860,
    0xd408_2055,
];

entries! {
    cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(Status::InvalidValue);
        }
        init()
    }

    /// Tables that only the toolkit's own libraries know.
    cuGetExportTable(table: Out<usize>, id: In<[u8; 16]>) {
        table.put_if_wanted(0);
        let id = id.value().unwrap_or_default();
        let first = u32::from_be_bytes([id[0], id[1], id[2], id[3]]);
        crate::report::missed(&format!("a private table of the driver ({first:08x})"));
        // NVRTC asks, too, and does without.
        if OF_THE_RUNTIME.contains(&first) {
            crate::report::lacks(
                "NVIDIA's own CUDA runtime, which needs private tables of its driver: programs that nvcc links by \
                 `-cudart shared` have ours; CuPy, torch and what is linked with a static runtime do not run",
            );
        }
        Err(Status::NotSupported)
    }

    cuProfilerStart() {
        crate::driver::driver().map(drop)
    }

    cuProfilerStop() {
        crate::driver::driver().map(drop)
    }

    cuFlushGPUDirectRDMAWrites(_target: c_int, _scope: c_int) {
        crate::driver::driver().map(drop)
    }

    /// Known before the driver is initialised.
    cuDriverGetVersion(version: Out<c_int>) {
        let out = version.wanted()?;
        out.put(crate::driver::version()?)
    }

    cuGetErrorName(code: c_uint, name: Out<*const c_char>) {
        if code == 0 {
            return name.put(c"CUDA_SUCCESS".as_ptr());
        }
        match Status::of_code(code) {
            Some(status) => name.put(status.name().as_ptr()),
            None => {
                name.put(std::ptr::null())?;
                Err(Status::InvalidValue)
            }
        }
    }

    cuGetErrorString(code: c_uint, text: Out<*const c_char>) {
        if code == 0 {
            return text.put(c"no error".as_ptr());
        }
        match Status::of_code(code) {
            Some(status) => text.put(status.text().as_ptr()),
            None => {
                text.put(std::ptr::null())?;
                Err(Status::InvalidValue)
            }
        }
    }

    /// The newest form of the function of this name that the version asked for has.
    cuGetProcAddress(name: Text, function: Out<usize>, version: c_int, flags: u64) {
        find(&name.to_string()?, version, flags, function, Out::<c_int>::nowhere())
    }

    cuGetProcAddress_v2(name: Text, function: Out<usize>, version: c_int, flags: u64, found: Out<c_int>) {
        find(&name.to_string()?, version, flags, function, found)
    }

    cuModuleGetLoadingMode(mode: Out<c_int>) {
        // Eager.
        mode.put(1)
    }

    /// Ours: sets `NAME=value` pairs before `cuInit`.
    warpsmithVcudaConfigure(words: Text) {
        configure(&words.to_string()?)
    }
}

/// Functions whose arguments changed, with the version of CUDA that first had each form.
const SINCE: &[(&str, c_int)] = &[
    ("cuCtxCreate_v3", 11040),
    ("cuCtxSynchronize_v2", 13000),
    ("cuCtxGetDevice_v2", 13000),
    ("cuStreamGetCtx_v2", 12050),
    ("cuLaunchHostFunc_v2", 13000),
    ("cuCtxCreate_v4", 12050),
    ("cuStreamGetCaptureInfo_v2", 11030),
    ("cuStreamGetCaptureInfo_v3", 12030),
    ("cuGraphAddKernelNode_v2", 12000),
    ("cuGraphKernelNodeGetParams_v2", 12000),
    ("cuGraphKernelNodeSetParams_v2", 12000),
    ("cuGraphExecKernelNodeSetParams_v2", 12000),
    ("cuGraphExecUpdate_v2", 12000),
    ("cuGraphInstantiate_v2", 11000),
    ("cuGraphAddNode_v2", 12030),
    ("cuGraphGetEdges_v2", 12030),
    ("cuGraphNodeGetDependencies_v2", 12030),
    ("cuGraphNodeGetDependentNodes_v2", 12030),
    ("cuGraphAddDependencies_v2", 12030),
    ("cuGraphRemoveDependencies_v2", 12030),
    ("cuStreamUpdateCaptureDependencies_v2", 12030),
    ("cuMemPrefetchAsync_v2", 12020),
    ("cuMemAdvise_v2", 12020),
    ("cuMemcpyBatchAsync_v2", 13000),
    ("cuGetProcAddress_v2", 12000),
];

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const OWN_STREAM: u64 = 2;

/// The newest form of a function that the version has.
fn entry(name: &str, version: c_int) -> Option<&'static super::Entry> {
    // From 12.0 on this is another function.
    let name = match name {
        "cuGraphInstantiate" if version >= 12000 => "cuGraphInstantiateWithFlags",
        name => name,
    };
    let known = |name: &str| {
        SINCE
            .iter()
            .find(|(other, _)| *other == name)
            .is_none_or(|(_, since)| *since <= version)
    };
    ["_v4", "_v3", "_v2", ""].into_iter().find_map(|suffix| {
        let mut entries = super::entries();
        entries.find(|entry| entry.name.strip_suffix(suffix) == Some(name) && known(entry.name))
    })
}

fn find(
    name: &str,
    version: c_int,
    flags: u64,
    function: Out<usize>,
    found: Out<c_int>,
) -> Result<(), Status> {
    let function = function.wanted()?;
    // Some ask by the name of the form that they want.
    let exact = || super::entries().find(|entry| entry.name == name);
    match entry(name, version).or_else(exact) {
        Some(entry) => {
            found.put_if_wanted(0);
            let own = entry.own.filter(|_| flags & OWN_STREAM != 0);
            function.put(own.unwrap_or(entry.address)())
        }
        None => {
            crate::report::missed(name);
            // The symbol is not found.
            found.put_if_wanted(1);
            function.put(0)?;
            if found.is_wanted() {
                Ok(())
            } else {
                Err(Status::NotFound)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_form_that_a_version_has_is_found() {
        for (name, version, want) in [
            ("cuCtxCreate", 11000, "cuCtxCreate_v2"),
            ("cuCtxCreate", 12000, "cuCtxCreate_v3"),
            ("cuCtxCreate", 13000, "cuCtxCreate_v4"),
            ("cuMemAlloc", 12000, "cuMemAlloc_v2"),
            ("cuCtxSynchronize", 12090, "cuCtxSynchronize"),
            ("cuGraphInstantiate", 11040, "cuGraphInstantiate_v2"),
            ("cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"),
            ("cuGraphGetEdges", 12000, "cuGraphGetEdges"),
            ("cuGraphGetEdges", 12030, "cuGraphGetEdges_v2"),
            ("cuInit", 2000, "cuInit"),
        ] {
            assert_eq!(
                entry(name, version).map(|entry| entry.name),
                Some(want),
                "{name} {version}"
            );
        }
        assert!(entry("cuNothing", 12000).is_none());
    }
}
