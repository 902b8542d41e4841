//! Functions of the driver and the runtime, with what each argument is, by letters.
//!
//! | letter | an argument | letter | an argument |
//! |---|---|---|---|
//! | `C M F S E G X N P L K U` | a handle: context, module, function, stream, event, graph, ready graph, node, pool, library, kernel, object | `>` and one of them | where such a handle goes |
//! | `a`, `>a` | an address of a card, and where one goes | `o` | where a result goes |
//! | `h` | memory of the host | `y` | its length, at most |
//! | `z` | any size | `c` | a count of few |
//! | `D` | a card | `i` | a small number, or a very large one |
//! | `u` | flags | `t` | a name |
//! | `m` | a program | `q` | parameters of a kernel |
//! | `r` | an array of nodes | `g b s` | sizes of a grid, of a block, of shared memory |
//! | `f` | a function of the host | `0`, `3` | null, and that number |
//! | `A B T`, `>A` | arrays, arrays of levels, textures and surfaces | `p e j` | what describes an array, a resource, a texture |
//! | `H`, `>H` | page-locked memory, and where it goes | | |
//! | `w W k v x` | copies of boxes and of rows; nodes: a kernel, a fill, a call | `d` | a value of a fill |

/// Each function and its arguments.
pub(super) const FUNCTIONS: &[(&str, &str)] = &[
    ("cuInit", "u"),
    ("cuDriverGetVersion", "o"),
    ("cuDeviceGetCount", "o"),
    ("cuDeviceGet", "oi"),
    ("cuDeviceGetName", "hyD"),
    ("cuDeviceGetAttribute", "oiD"),
    ("cuDeviceTotalMem_v2", "oD"),
    ("cuDeviceGetPCIBusId", "hyD"),
    ("cuDeviceGetDefaultMemPool", ">PD"),
    ("cuDeviceSetMemPool", "DP"),
    ("cuDevicePrimaryCtxRetain", ">CD"),
    ("cuDevicePrimaryCtxRelease_v2", "D"),
    ("cuDevicePrimaryCtxReset_v2", "D"),
    ("cuDevicePrimaryCtxGetState", "Doo"),
    ("cuCtxCreate_v2", ">CuD"),
    ("cuCtxDestroy_v2", "C"),
    ("cuCtxSetCurrent", "C"),
    ("cuCtxSetCurrent", "C"),
    ("cuCtxSetCurrent", "C"),
    ("cuCtxPushCurrent_v2", "C"),
    ("cuCtxPopCurrent_v2", "o"),
    ("cuCtxGetCurrent", "o"),
    ("cuCtxSynchronize", ""),
    ("cuCtxGetDevice", "o"),
    ("cuCtxSetLimit", "iz"),
    ("cuCtxGetLimit", "oi"),
    ("cuModuleLoadData", ">Mm"),
    ("cuModuleUnload", "M"),
    ("cuModuleGetFunction", ">FMt"),
    ("cuModuleGetFunction", ">FMt"),
    ("cuModuleGetGlobal_v2", ">aoMt"),
    ("cuModuleGetFunctionCount", "oM"),
    ("cuFuncGetAttribute", "oiF"),
    ("cuFuncSetAttribute", "Fii"),
    ("cuFuncGetName", "oF"),
    ("cuFuncGetModule", "oF"),
    ("cuFuncGetParamInfo", "Fioo"),
    ("cuLibraryLoadData", ">Lm000000"),
    ("cuLibraryUnload", "L"),
    ("cuLibraryGetKernel", ">KLt"),
    ("cuLibraryGetGlobal", ">aoLt"),
    ("cuKernelGetFunction", ">FK"),
    ("cuLaunchKernel", "FgggbbbsSq0"),
    ("cuLaunchKernel", "FgggbbbsSq0"),
    ("cuLaunchKernel", "KgggbbbsSq0"),
    ("cuLaunchCooperativeKernel", "FgggbbbsSq"),
    ("cuLaunchHostFunc", "Sfh"),
    ("cuOccupancyMaxActiveBlocksPerMultiprocessor", "oFiz"),
    ("cuOccupancyMaxPotentialBlockSize", "ooF0zi"),
    ("cuMemAlloc_v2", ">az"),
    ("cuMemAlloc_v2", ">ay"),
    ("cuMemAllocManaged", ">ayu"),
    ("cuMemAllocPitch_v2", ">aozzi"),
    ("cuMemAllocAsync", ">ayS"),
    ("cuMemAllocFromPoolAsync", ">ayPS"),
    ("cuMemFree_v2", "a"),
    ("cuMemFreeAsync", "aS"),
    ("cuMemGetInfo_v2", "oo"),
    ("cuMemGetAddressRange_v2", "ooa"),
    ("cuMemHostGetDevicePointer_v2", "oHu"),
    ("cuMemHostGetFlags", "oH"),
    ("cuMemFreeHost", "H"),
    ("cuMemHostAlloc", ">Hyu"),
    ("cuPointerGetAttribute", "oia"),
    ("cuMemPoolTrimTo", "Pz"),
    ("cuMemPoolDestroy", "P"),
    ("cuMemcpyHtoD_v2", "ahy"),
    ("cuMemcpyDtoH_v2", "hay"),
    ("cuMemcpyDtoD_v2", "aaz"),
    ("cuMemcpyHtoDAsync_v2", "ahyS"),
    ("cuMemcpyDtoHAsync_v2", "hayS"),
    ("cuMemcpyDtoDAsync_v2", "aazS"),
    ("cuMemcpy3D_v2", "w"),
    ("cuArray3DCreate_v2", ">Ap"),
    ("cuArray3DCreate_v2", ">Ap"),
    ("cuArrayDestroy", "A"),
    ("cuArray3DGetDescriptor_v2", "hA"),
    ("cuMipmappedArrayCreate", ">Bpi"),
    ("cuMipmappedArrayGetLevel", ">ABi"),
    ("cuMipmappedArrayDestroy", "B"),
    ("cuMemcpyHtoA_v2", "Azhy"),
    ("cuMemcpyAtoH_v2", "hAzy"),
    ("cuMemcpyDtoA_v2", "Azay"),
    ("cuMemcpyAtoD_v2", "aAzy"),
    ("cuMemcpyAtoA_v2", "AzAzy"),
    ("cuTexObjectCreate", ">Tej0"),
    ("cuTexObjectCreate", ">Tej0"),
    ("cuTexObjectDestroy", "T"),
    ("cuTexObjectGetResourceDesc", "hT"),
    ("cuTexObjectGetTextureDesc", "hT"),
    ("cuSurfObjectCreate", ">Te"),
    ("cuSurfObjectDestroy", "T"),
    ("cuSurfObjectGetResourceDesc", "hT"),
    ("cuMemcpy3DAsync_v2", "wS"),
    ("cuMemcpy2D_v2", "W"),
    ("cuMemcpy2DAsync_v2", "WS"),
    ("cuMemsetD8_v2", "adz"),
    ("cuMemsetD16_v2", "adz"),
    ("cuMemsetD32_v2", "adz"),
    ("cuMemsetD32Async", "adzS"),
    ("cuMemsetD2D8_v2", "azdzc"),
    ("cuStreamCreate", ">Su"),
    ("cuStreamDestroy_v2", "S"),
    ("cuStreamQuery", "S"),
    ("cuStreamSynchronize", "S"),
    ("cuStreamWaitEvent", "SEu"),
    ("cuStreamBeginCapture_v2", "Si"),
    ("cuStreamEndCapture", "S>G"),
    ("cuStreamIsCapturing", "So"),
    ("cuStreamGetCaptureInfo_v2", "Soo0oo"),
    ("cuStreamUpdateCaptureDependencies", "Srcu"),
    ("cuStreamWriteValue32", "Saiu"),
    ("cuStreamGetCtx", "So"),
    ("cuEventCreate", ">Eu"),
    ("cuEventDestroy_v2", "E"),
    ("cuEventRecord", "ES"),
    ("cuEventQuery", "E"),
    ("cuEventSynchronize", "E"),
    ("cuEventElapsedTime", "oEE"),
    ("cuGraphCreate", ">Gu"),
    ("cuGraphDestroy", "G"),
    ("cuGraphClone", ">GG"),
    ("cuGraphAddKernelNode", ">NGrck"),
    ("cuGraphAddMemcpyNode", ">NGrcw0"),
    ("cuGraphAddMemsetNode", ">NGrcv0"),
    ("cuGraphAddHostNode", ">NGrcx"),
    ("cuGraphAddEmptyNode", ">NGrc"),
    ("cuGraphAddChildGraphNode", ">NGrcG"),
    ("cuGraphAddEventRecordNode", ">NGrcE"),
    ("cuGraphAddEventWaitNode", ">NGrcE"),
    ("cuGraphAddDependencies", "Grrc"),
    ("cuGraphRemoveDependencies", "Grrc"),
    ("cuGraphDestroyNode", "N"),
    ("cuGraphNodeGetType", "No"),
    ("cuGraphKernelNodeGetParams", "No"),
    ("cuGraphKernelNodeSetParams", "Nk"),
    ("cuGraphChildGraphNodeGetGraph", "N>G"),
    ("cuGraphGetNodes", "G0o"),
    ("cuGraphInstantiateWithFlags", ">XGu"),
    ("cuGraphExecKernelNodeSetParams", "XNk"),
    ("cuGraphExecMemsetNodeSetParams", "XNv0"),
    ("cuGraphExecUpdate_v2", "XGo"),
    ("cuGraphLaunch", "XS"),
    ("cuGraphLaunch", "XS"),
    ("cuGraphUpload", "XS"),
    ("cuGraphExecDestroy", "X"),
    ("cuUserObjectCreate", ">Uhfcu"),
    ("cuUserObjectRetain", "Uc"),
    ("cuUserObjectRelease", "Uc"),
    ("cuGraphRetainUserObject", "GUcu"),
    ("cuGraphReleaseUserObject", "GUc"),
    ("cuGetErrorName", "io"),
    ("cuGetErrorString", "io"),
    ("cuGetProcAddress_v2", "toiuo"),
    ("cudaSetDevice", "i"),
    ("cudaGetDevice", "o"),
    ("cudaDeviceReset", ""),
    ("cudaDeviceSynchronize", ""),
    ("cudaMalloc", ">az"),
    ("cudaMalloc", ">ay"),
    ("cudaMallocPitch", ">aozz"),
    ("cudaMallocManaged", ">ayu"),
    ("cudaFree", "a"),
    ("cudaMemcpyAsync", "aaz3S"),
    ("cudaMemset", "adz"),
    ("cudaMemset2D", "azdzc"),
    ("cudaMemGetInfo", "oo"),
    ("cudaPointerGetAttributes", "oa"),
    ("cudaStreamCreateWithFlags", ">Su"),
    ("cudaStreamDestroy", "S"),
    ("cudaStreamSynchronize", "S"),
    ("cudaEventCreateWithFlags", ">Eu"),
    ("cudaEventRecord", "ES"),
    ("cudaFuncGetAttributes", "oF"),
    ("cudaOccupancyMaxActiveBlocksPerMultiprocessor", "oFiz"),
    ("cudaGraphInstantiate", ">XGu"),
    ("cudaGraphAddKernelNode", ">NGrck"),
    ("cudaGraphLaunch", "XS"),
    ("cudaGetSymbolAddress", ">ah"),
    ("cudaGetErrorName", "i"),
    ("cudaGetLastError", ""),
];

/// Programs: one whose kernels end, fault and wait; what is none.
pub(super) const PROGRAMS: &[&std::ffi::CStr] = &[
    c".version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 word;
.visible .entry inc(.param .u64 p, .param .u32 n) {
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %d2, %r2, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.u32 %r3, [%d3];
  add.u32 %r3, %r3, 1;
  st.global.u32 [%d3], %r3;
DONE:
  ret;
}
.visible .entry nothing() {
  ret;
}
.visible .entry waits() {
  .shared .align 4 .b8 tile[256];
  bar.sync 0;
  ret;
}
.visible .entry ends() {
  trap;
}
",
    c".version 7.0\n.target sm_70\n.address_size 64\nnonsense\n",
    c".version 99.9\n.target sm_70\n",
    c"",
    c"\x7fELF",
];

/// Names of what the first has, and others.
pub(super) const NAMES: &[&std::ffi::CStr] = &[
    c"inc",
    c"inc",
    c"nothing",
    c"waits",
    c"word",
    c"ends",
    c"cuMemAlloc",
    c"",
    c"\xff\xfe",
];
