//! Names without a version, of functions that have one.
//!
//! Under some of them old drivers took addresses of 32 bits. No program of 64 bits calls those: they are the newer ones here.

use super::{
    array::{
        FlatDescriptor, cuArray3DCreate_v2, cuArray3DGetDescriptor_v2, cuArrayCreate_v2,
        cuArrayGetDescriptor_v2,
        lines::{
            cuMemcpyAtoA_v2, cuMemcpyAtoD_v2, cuMemcpyAtoH_v2, cuMemcpyAtoHAsync_v2,
            cuMemcpyDtoA_v2, cuMemcpyHtoA_v2, cuMemcpyHtoAAsync_v2,
        },
    },
    context::{
        cuCtxCreate_v2, cuCtxDestroy_v2, cuCtxPopCurrent_v2, cuCtxPushCurrent_v2,
        cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxSetFlags_v2,
    },
    copy::{
        cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2,
        cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, cuMemsetD8_v2, cuMemsetD16_v2, cuMemsetD32_v2,
    },
    device::cuDeviceTotalMem_v2,
    link::{cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkCreate_v2},
    memory::{
        cuMemAlloc_v2, cuMemAllocHost_v2, cuMemAllocPitch_v2, cuMemFree_v2,
        cuMemGetAddressRange_v2, cuMemGetInfo_v2, cuMemHostGetDevicePointer_v2,
        cuMemHostRegister_v2,
    },
    module::cuModuleGetGlobal_v2,
    raw::{Host, Image, In, Out, Text},
    rows::{
        FlatRows, Rows, cuMemcpy2D_v2, cuMemcpy2DAsync_v2, cuMemcpy2DUnaligned_v2, cuMemcpy3D_v2,
        cuMemcpy3DAsync_v2, cuMemsetD2D8_v2, cuMemsetD2D16_v2, cuMemsetD2D32_v2,
    },
    stream::{cuEventDestroy_v2, cuStreamDestroy_v2},
};
use crate::{array::Descriptor, table::Handle};
use std::ffi::{c_int, c_uchar, c_uint, c_ushort, c_void};

/// Exports functions that only call others.
macro_rules! also {
    ($($name:ident($($arg:ident: $ty:ty),*) = $other:ident;)*) => {
        $(
            // SAFETY: the names are those of the driver's functions, which this library is made to stand for.
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $name($($arg: $ty),*) -> u32 {
                $other($($arg),*)
            }
        )*

        /// What this file exports.
        pub(super) const ENTRIES: &[super::Entry] = &[
            $(super::Entry { name: stringify!($name), address: || $name as *const () as usize, own: None }),*
        ];
    };
}

also! {
    cuCtxCreate(context: Out<Handle>, flags: c_uint, device: c_int) = cuCtxCreate_v2;
    cuCtxDestroy(context: Handle) = cuCtxDestroy_v2;
    cuCtxPushCurrent(context: Handle) = cuCtxPushCurrent_v2;
    cuCtxPopCurrent(context: Out<Handle>) = cuCtxPopCurrent_v2;
    cuDevicePrimaryCtxRelease(device: c_int) = cuDevicePrimaryCtxRelease_v2;
    cuDevicePrimaryCtxReset(device: c_int) = cuDevicePrimaryCtxReset_v2;
    cuDevicePrimaryCtxSetFlags(device: c_int, flags: c_uint) = cuDevicePrimaryCtxSetFlags_v2;
    cuDeviceTotalMem(bytes: Out<usize>, device: c_int) = cuDeviceTotalMem_v2;
    cuMemGetInfo(free: Out<usize>, total: Out<usize>) = cuMemGetInfo_v2;
    cuMemAlloc(address: Out<u64>, bytes: usize) = cuMemAlloc_v2;
    cuMemAllocPitch(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize, unit: c_uint) = cuMemAllocPitch_v2;
    cuMemFree(address: u64) = cuMemFree_v2;
    cuMemGetAddressRange(start: Out<u64>, bytes: Out<usize>, address: u64) = cuMemGetAddressRange_v2;
    cuMemAllocHost(pages: Out<Host>, bytes: usize) = cuMemAllocHost_v2;
    cuMemHostRegister(start: Host, bytes: usize, flags: c_uint) = cuMemHostRegister_v2;
    cuMemHostGetDevicePointer(address: Out<u64>, start: Host, flags: c_uint) = cuMemHostGetDevicePointer_v2;
    cuMemcpyHtoD(to: u64, from: Host, bytes: usize) = cuMemcpyHtoD_v2;
    cuMemcpyDtoH(to: Host, from: u64, bytes: usize) = cuMemcpyDtoH_v2;
    cuMemcpyDtoD(to: u64, from: u64, bytes: usize) = cuMemcpyDtoD_v2;
    cuMemcpyHtoDAsync(to: u64, from: Host, bytes: usize, stream: Handle) = cuMemcpyHtoDAsync_v2;
    cuMemcpyDtoHAsync(to: Host, from: u64, bytes: usize, stream: Handle) = cuMemcpyDtoHAsync_v2;
    cuMemcpyDtoDAsync(to: u64, from: u64, bytes: usize, stream: Handle) = cuMemcpyDtoDAsync_v2;
    cuArrayCreate(array: Out<Handle>, descriptor: In<FlatDescriptor>) = cuArrayCreate_v2;
    cuArrayGetDescriptor(descriptor: Out<FlatDescriptor>, array: Handle) = cuArrayGetDescriptor_v2;
    cuArray3DCreate(array: Out<Handle>, descriptor: In<Descriptor>) = cuArray3DCreate_v2;
    cuArray3DGetDescriptor(descriptor: Out<Descriptor>, array: Handle) = cuArray3DGetDescriptor_v2;
    cuMemcpyHtoA(to: Handle, offset: usize, from: Host, bytes: usize) = cuMemcpyHtoA_v2;
    cuMemcpyAtoH(to: Host, from: Handle, offset: usize, bytes: usize) = cuMemcpyAtoH_v2;
    cuMemcpyDtoA(to: Handle, offset: usize, from: u64, bytes: usize) = cuMemcpyDtoA_v2;
    cuMemcpyAtoD(to: u64, from: Handle, offset: usize, bytes: usize) = cuMemcpyAtoD_v2;
    cuMemcpyAtoA(to: Handle, offset: usize, from: Handle, at: usize, bytes: usize) = cuMemcpyAtoA_v2;
    cuMemcpyHtoAAsync(to: Handle, offset: usize, from: Host, bytes: usize, stream: Handle) = cuMemcpyHtoAAsync_v2;
    cuMemcpyAtoHAsync(to: Host, from: Handle, offset: usize, bytes: usize, stream: Handle) = cuMemcpyAtoHAsync_v2;
    cuMemcpy2D(copy: In<FlatRows>) = cuMemcpy2D_v2;
    cuMemcpy2DUnaligned(copy: In<FlatRows>) = cuMemcpy2DUnaligned_v2;
    cuMemcpy2DAsync(copy: In<FlatRows>, stream: Handle) = cuMemcpy2DAsync_v2;
    cuMemcpy3D(copy: In<Rows>) = cuMemcpy3D_v2;
    cuMemcpy3DAsync(copy: In<Rows>, stream: Handle) = cuMemcpy3DAsync_v2;
    cuMemsetD8(address: u64, value: c_uchar, count: usize) = cuMemsetD8_v2;
    cuMemsetD16(address: u64, value: c_ushort, count: usize) = cuMemsetD16_v2;
    cuMemsetD32(address: u64, value: c_uint, count: usize) = cuMemsetD32_v2;
    cuMemsetD2D8(address: u64, pitch: usize, value: c_uchar, width: usize, height: usize) = cuMemsetD2D8_v2;
    cuMemsetD2D16(address: u64, pitch: usize, value: c_ushort, width: usize, height: usize) = cuMemsetD2D16_v2;
    cuMemsetD2D32(address: u64, pitch: usize, value: c_uint, width: usize, height: usize) = cuMemsetD2D32_v2;
    cuModuleGetGlobal(address: Out<u64>, bytes: Out<usize>, module: Handle, name: Text) = cuModuleGetGlobal_v2;
    cuLinkCreate(count: c_uint, options: In<u32>, values: Out<*mut c_void>, link: Out<Handle>) = cuLinkCreate_v2;
    cuLinkAddData(link: Handle, kind: c_int, data: Image, len: usize, name: Text, count: c_uint, options: In<u32>, values: Out<*mut c_void>) = cuLinkAddData_v2;
    cuLinkAddFile(link: Handle, kind: c_int, path: Text, count: c_uint, options: In<u32>, values: Out<*mut c_void>) = cuLinkAddFile_v2;
    cuStreamDestroy(stream: Handle) = cuStreamDestroy_v2;
    cuEventDestroy(event: Handle) = cuEventDestroy_v2;
}
