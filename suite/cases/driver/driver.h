// What the samples use of the driver API, by the names and layouts of its ABI, and what they check themselves by.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr, CUtexObject, CUsurfObject, CUmemHandle;
typedef struct context *CUcontext;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
typedef struct library *CUlibrary;
typedef struct kernel *CUkernel;
typedef struct stream *CUstream;
typedef struct event *CUevent;
typedef struct array *CUarray;
typedef struct link *CUlinkState;
typedef struct graph *CUgraph;
typedef struct node *CUgraphNode;
typedef struct executable *CUgraphExec;
typedef struct pool *CUmemPool;
typedef struct user_object *CUuserObject;
typedef struct { char bytes[16]; } CUuuid;
typedef void (*CUhostFn)(void *data);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *data);
typedef size_t (*CUblockToShared)(int block);

enum { HOST = 1, DEVICE = 2, ARRAY = 3, UNIFIED = 4 };
#define PER_THREAD ((CUstream)2)

typedef struct {
  size_t src_x, src_y;
  unsigned src_type;
  const void *src_host;
  CUdeviceptr src_device;
  CUarray src_array;
  size_t src_pitch, dst_x, dst_y;
  unsigned dst_type;
  void *dst_host;
  CUdeviceptr dst_device;
  CUarray dst_array;
  size_t dst_pitch, width, height;
} CUcopy2D;

typedef struct {
  size_t src_x, src_y, src_z, src_level;
  unsigned src_type;
  const void *src_host;
  CUdeviceptr src_device;
  CUarray src_array;
  void *reserved0;
  size_t src_pitch, src_height, dst_x, dst_y, dst_z, dst_level;
  unsigned dst_type;
  void *dst_host;
  CUdeviceptr dst_device;
  CUarray dst_array;
  void *reserved1;
  size_t dst_pitch, dst_height, width, height, depth;
} CUcopy3D;

typedef struct { size_t width, height; unsigned format, channels; } CUarrayShape;
typedef struct { size_t width, height, depth; unsigned format, channels, flags; } CUarrayShape3D;
typedef struct { unsigned kind; union { CUarray array; int reserved[32]; } of; unsigned flags; } CUresource;
typedef struct {
  unsigned address[3], filter, flags, anisotropy, level_filter;
  float level_bias, level_from, level_to, border[4];
  int reserved[12];
} CUsampling;
typedef struct { uint64_t words[16]; } __attribute__((aligned(64))) CUtensorMap;

typedef struct {
  CUfunction function;
  unsigned grid[3], block[3], shared;
  void **params, **extra;
  CUkernel kernel;
  CUcontext context;
} CUkernelNode;
typedef struct { CUdeviceptr to; size_t pitch; unsigned value, element; size_t width, height; } CUfillNode;
typedef struct { CUhostFn function; void *data; } CUhostNode;
typedef struct { unsigned result; CUgraphNode node, from; } CUupdateResult;

typedef struct { unsigned id; char pad[4]; union { unsigned words[16]; CUevent event; } value; } CUlaunchAttribute;
typedef struct {
  unsigned grid[3], block[3], shared;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned count;
} CUlaunchConfig;

typedef struct { unsigned type; int id; } CUplace;
typedef struct { unsigned type, handles; CUplace place; void *security; size_t max; unsigned short usage; char reserved[54]; } CUpoolShape;
typedef struct { unsigned type, handles; CUplace place; void *win32; unsigned char flags[8]; } CUmemoryShape;
typedef struct { CUplace place; unsigned flags; } CUaccess;
typedef union {
  unsigned operation;
  struct { unsigned operation; CUdeviceptr address; uint64_t value; unsigned flags; CUdeviceptr alias; } value;
  uint64_t pad[6];
} CUstreamOperation;

CUresult cuInit(unsigned), cuDriverGetVersion(int *), cuGetErrorName(CUresult, const char **),
    cuGetErrorString(CUresult, const char **), cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);
CUresult cuDeviceGet(CUdevice *, int), cuDeviceGetCount(int *), cuDeviceGetName(char *, int, CUdevice),
    cuDeviceTotalMem_v2(size_t *, CUdevice), cuDeviceGetAttribute(int *, int, CUdevice), cuDeviceGetUuid_v2(CUuuid *, CUdevice),
    cuDeviceGetPCIBusId(char *, int, CUdevice), cuDeviceGetByPCIBusId(CUdevice *, const char *),
    cuDeviceCanAccessPeer(int *, CUdevice, CUdevice), cuDevicePrimaryCtxRetain(CUcontext *, CUdevice),
    cuDevicePrimaryCtxRelease_v2(CUdevice), cuDevicePrimaryCtxReset_v2(CUdevice),
    cuDevicePrimaryCtxGetState(CUdevice, unsigned *, int *), cuDeviceGetDefaultMemPool(CUmemPool *, CUdevice);
CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice), cuCtxDestroy_v2(CUcontext), cuCtxSetCurrent(CUcontext),
    cuCtxGetCurrent(CUcontext *), cuCtxPushCurrent_v2(CUcontext), cuCtxPopCurrent_v2(CUcontext *),
    cuCtxGetDevice(CUdevice *), cuCtxSynchronize(void), cuCtxGetLimit(size_t *, int), cuCtxSetLimit(int, size_t),
    cuCtxGetApiVersion(CUcontext, unsigned *), cuCtxGetStreamPriorityRange(int *, int *);
CUresult cuModuleLoad(CUmodule *, const char *), cuModuleLoadData(CUmodule *, const void *),
    cuModuleLoadDataEx(CUmodule *, const void *, unsigned, int *, void **), cuModuleUnload(CUmodule),
    cuModuleGetFunction(CUfunction *, CUmodule, const char *),
    cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *), cuModuleGetFunctionCount(unsigned *, CUmodule),
    cuModuleEnumerateFunctions(CUfunction *, unsigned, CUmodule), cuFuncGetName(const char **, CUfunction),
    cuFuncGetModule(CUmodule *, CUfunction), cuFuncGetAttribute(int *, int, CUfunction),
    cuFuncSetAttribute(CUfunction, int, int), cuFuncGetParamInfo(CUfunction, size_t, size_t *, size_t *);
CUresult cuLibraryLoadData(CUlibrary *, const void *, int *, void **, unsigned, int *, void **, unsigned),
    cuLibraryLoadFromFile(CUlibrary *, const char *, int *, void **, unsigned, int *, void **, unsigned),
    cuLibraryUnload(CUlibrary), cuLibraryGetKernel(CUkernel *, CUlibrary, const char *),
    cuLibraryGetKernelCount(unsigned *, CUlibrary), cuLibraryEnumerateKernels(CUkernel *, unsigned, CUlibrary),
    cuLibraryGetModule(CUmodule *, CUlibrary), cuLibraryGetGlobal(CUdeviceptr *, size_t *, CUlibrary, const char *),
    cuKernelGetFunction(CUfunction *, CUkernel), cuKernelGetName(const char **, CUkernel),
    cuKernelGetAttribute(int *, int, CUkernel, CUdevice), cuKernelSetAttribute(int, int, CUkernel, CUdevice);
CUresult cuLinkCreate_v2(unsigned, int *, void **, CUlinkState *),
    cuLinkAddData_v2(CUlinkState, int, void *, size_t, const char *, unsigned, int *, void **),
    cuLinkAddFile_v2(CUlinkState, int, const char *, unsigned, int *, void **),
    cuLinkComplete(CUlinkState, void **, size_t *), cuLinkDestroy(CUlinkState);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t), cuMemAllocPitch_v2(CUdeviceptr *, size_t *, size_t, size_t, unsigned),
    cuMemFree_v2(CUdeviceptr), cuMemGetInfo_v2(size_t *, size_t *),
    cuMemGetAddressRange_v2(CUdeviceptr *, size_t *, CUdeviceptr), cuMemAllocHost_v2(void **, size_t),
    cuMemHostAlloc(void **, size_t, unsigned), cuMemFreeHost(void *), cuMemHostGetFlags(unsigned *, void *),
    cuMemHostGetDevicePointer_v2(CUdeviceptr *, void *, unsigned), cuMemHostRegister_v2(void *, size_t, unsigned),
    cuMemHostUnregister(void *), cuMemAllocManaged(CUdeviceptr *, size_t, unsigned),
    cuMemPrefetchAsync(CUdeviceptr, size_t, CUdevice, CUstream), cuMemAdvise(CUdeviceptr, size_t, int, CUdevice),
    cuMemRangeGetAttribute(void *, size_t, int, CUdeviceptr, size_t);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t), cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t),
    cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, size_t), cuMemcpy(CUdeviceptr, CUdeviceptr, size_t),
    cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream),
    cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream),
    cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, size_t, CUstream),
    cuMemcpyPeer(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t),
    cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream), cuMemcpy2D_v2(const CUcopy2D *),
    cuMemcpy2DUnaligned_v2(const CUcopy2D *), cuMemcpy2DAsync_v2(const CUcopy2D *, CUstream),
    cuMemcpy3D_v2(const CUcopy3D *), cuMemcpy3DAsync_v2(const CUcopy3D *, CUstream),
    cuMemcpyHtoA_v2(CUarray, size_t, const void *, size_t), cuMemcpyAtoH_v2(void *, CUarray, size_t, size_t);
CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t), cuMemsetD16_v2(CUdeviceptr, unsigned short, size_t),
    cuMemsetD32_v2(CUdeviceptr, unsigned, size_t), cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream),
    cuMemsetD16Async(CUdeviceptr, unsigned short, size_t, CUstream),
    cuMemsetD32Async(CUdeviceptr, unsigned, size_t, CUstream),
    cuMemsetD2D8_v2(CUdeviceptr, size_t, unsigned char, size_t, size_t),
    cuMemsetD2D16_v2(CUdeviceptr, size_t, unsigned short, size_t, size_t),
    cuMemsetD2D32_v2(CUdeviceptr, size_t, unsigned, size_t, size_t);
CUresult cuPointerGetAttribute(void *, int, CUdeviceptr), cuPointerGetAttributes(unsigned, int *, void **, CUdeviceptr),
    cuPointerSetAttribute(const void *, int, CUdeviceptr);
CUresult cuMemAllocAsync(CUdeviceptr *, size_t, CUstream), cuMemFreeAsync(CUdeviceptr, CUstream),
    cuMemPoolCreate(CUmemPool *, const CUpoolShape *), cuMemPoolDestroy(CUmemPool), cuMemPoolTrimTo(CUmemPool, size_t),
    cuMemAllocFromPoolAsync(CUdeviceptr *, size_t, CUmemPool, CUstream), cuMemPoolGetAttribute(CUmemPool, int, void *),
    cuMemPoolSetAttribute(CUmemPool, int, void *);
CUresult cuMemGetAllocationGranularity(size_t *, const CUmemoryShape *, int),
    cuMemAddressReserve(CUdeviceptr *, size_t, size_t, CUdeviceptr, uint64_t), cuMemAddressFree(CUdeviceptr, size_t),
    cuMemCreate(CUmemHandle *, size_t, const CUmemoryShape *, uint64_t), cuMemRelease(CUmemHandle),
    cuMemMap(CUdeviceptr, size_t, size_t, CUmemHandle, uint64_t), cuMemUnmap(CUdeviceptr, size_t),
    cuMemSetAccess(CUdeviceptr, size_t, const CUaccess *, size_t), cuMemGetAccess(uint64_t *, const CUplace *, CUdeviceptr);
CUresult cuStreamCreate(CUstream *, unsigned), cuStreamCreateWithPriority(CUstream *, unsigned, int),
    cuStreamGetPriority(CUstream, int *), cuStreamGetFlags(CUstream, unsigned *), cuStreamGetCtx(CUstream, CUcontext *),
    cuStreamDestroy_v2(CUstream), cuStreamSynchronize(CUstream), cuStreamQuery(CUstream),
    cuStreamWaitEvent(CUstream, CUevent, unsigned), cuStreamAddCallback(CUstream, CUstreamCallback, void *, unsigned),
    cuLaunchHostFunc(CUstream, CUhostFn, void *), cuStreamWriteValue32_v2(CUstream, CUdeviceptr, unsigned, unsigned),
    cuStreamWriteValue64_v2(CUstream, CUdeviceptr, uint64_t, unsigned),
    cuStreamWaitValue32_v2(CUstream, CUdeviceptr, unsigned, unsigned),
    cuStreamWaitValue64_v2(CUstream, CUdeviceptr, uint64_t, unsigned),
    cuStreamBatchMemOp_v2(CUstream, unsigned, CUstreamOperation *, unsigned), cuStreamBeginCapture_v2(CUstream, int),
    cuStreamEndCapture(CUstream, CUgraph *), cuStreamIsCapturing(CUstream, int *);
CUresult cuEventCreate(CUevent *, unsigned), cuEventDestroy_v2(CUevent), cuEventRecord(CUevent, CUstream),
    cuEventSynchronize(CUevent), cuEventQuery(CUevent), cuEventElapsedTime(float *, CUevent, CUevent);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **),
    cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **),
    cuLaunchKernelEx(const CUlaunchConfig *, CUfunction, void **, void **);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, CUfunction, int, size_t),
    cuOccupancyMaxPotentialBlockSize(int *, int *, CUfunction, CUblockToShared, size_t, int),
    cuOccupancyAvailableDynamicSMemPerBlock(size_t *, CUfunction, int, int),
    cuOccupancyMaxActiveClusters(int *, CUfunction, const CUlaunchConfig *),
    cuOccupancyMaxPotentialClusterSize(int *, CUfunction, const CUlaunchConfig *);
CUresult cuGraphCreate(CUgraph *, unsigned), cuGraphDestroy(CUgraph), cuGraphClone(CUgraph *, CUgraph),
    cuGraphAddKernelNode_v2(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUkernelNode *),
    cuGraphAddMemcpyNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUcopy3D *, CUcontext),
    cuGraphAddMemsetNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUfillNode *, CUcontext),
    cuGraphAddHostNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUhostNode *),
    cuGraphAddChildGraphNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraph),
    cuGraphAddEmptyNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t),
    cuGraphAddDependencies(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t),
    cuGraphGetNodes(CUgraph, CUgraphNode *, size_t *), cuGraphGetRootNodes(CUgraph, CUgraphNode *, size_t *),
    cuGraphGetEdges(CUgraph, CUgraphNode *, CUgraphNode *, size_t *), cuGraphNodeGetType(CUgraphNode, int *),
    cuGraphNodeFindInClone(CUgraphNode *, CUgraphNode, CUgraph), cuGraphDestroyNode(CUgraphNode),
    cuGraphKernelNodeGetParams_v2(CUgraphNode, CUkernelNode *),
    cuGraphKernelNodeSetParams_v2(CUgraphNode, const CUkernelNode *),
    cuGraphInstantiateWithFlags(CUgraphExec *, CUgraph, uint64_t), cuGraphExecDestroy(CUgraphExec),
    cuGraphLaunch(CUgraphExec, CUstream), cuGraphUpload(CUgraphExec, CUstream),
    cuGraphExecKernelNodeSetParams_v2(CUgraphExec, CUgraphNode, const CUkernelNode *),
    cuGraphExecMemsetNodeSetParams(CUgraphExec, CUgraphNode, const CUfillNode *, CUcontext),
    cuGraphExecUpdate_v2(CUgraphExec, CUgraph, CUupdateResult *),
    cuGraphNodeSetEnabled(CUgraphExec, CUgraphNode, unsigned), cuGraphNodeGetEnabled(CUgraphExec, CUgraphNode, unsigned *),
    cuUserObjectCreate(CUuserObject *, void *, CUhostFn, unsigned, unsigned), cuUserObjectRelease(CUuserObject, unsigned),
    cuGraphRetainUserObject(CUgraph, CUuserObject, unsigned, unsigned);
CUresult cuArrayCreate_v2(CUarray *, const CUarrayShape *), cuArray3DCreate_v2(CUarray *, const CUarrayShape3D *),
    cuArrayGetDescriptor_v2(CUarrayShape *, CUarray), cuArray3DGetDescriptor_v2(CUarrayShape3D *, CUarray),
    cuArrayDestroy(CUarray), cuTexObjectCreate(CUtexObject *, const CUresource *, const CUsampling *, const void *),
    cuTexObjectDestroy(CUtexObject), cuSurfObjectCreate(CUsurfObject *, const CUresource *),
    cuSurfObjectDestroy(CUsurfObject),
    cuTensorMapEncodeTiled(CUtensorMap *, int, unsigned, void *, const uint64_t *, const uint64_t *, const uint32_t *,
                           const uint32_t *, int, int, int, int);

static inline const char *error_name(CUresult code) {
  const char *name = NULL;
  return cuGetErrorName(code, &name) ? "a code without a name" : name;
}

// A call that ends with a code.
#define IS(call, want) is(__FILE__, __LINE__, #call, (call), (want))
#define OK(call) IS(call, 0)
static inline void is(const char *file, int line, const char *call, CUresult got, CUresult want) {
  if (got == want) return;
  printf("%s:%d: %s is %d (%s), not %d (%s)\n", file, line, call, got, error_name(got), want, error_name(want));
  exit(1);
}

// A number.
#define WANT(what, want) want_number(__FILE__, __LINE__, #what, (long long)(what), (long long)(want))
static inline void want_number(const char *file, int line, const char *what, long long got, long long want) {
  if (got == want) return;
  printf("%s:%d: %s is %lld, not %lld\n", file, line, what, got, want);
  exit(1);
}

// Something that holds.
#define EXPECT(what) want_number(__FILE__, __LINE__, #what, !!(what), 1)

#define HEAD(target) ".version 8.0\n.target " target "\n.address_size 64\n"

// `increase(x)`: thread i adds 1 to word i of x. `slow(x)`: one thread counts to 200000 and writes that to x.
#define INCREASE                                                                                                   \
  ".visible .entry increase(.param .u64 px) {\n.reg .b32 %r<3>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [px];\n"       \
  "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\nld.u32 %r2, [%d3];\n"                    \
  "add.u32 %r2, %r2, 1;\nst.u32 [%d3], %r2;\nret;\n}\n"
#define SLOW                                                                                                       \
  ".visible .entry slow(.param .u64 px) {\n.reg .pred %p;\n.reg .b32 %r<2>;\n.reg .b64 %d<2>;\n"                    \
  "ld.param.u64 %d1, [px];\nmov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, 200000;\n@%p bra L;\n"    \
  "st.u32 [%d1], %r1;\nret;\n}\n"

// The first card's own context, which is current from here on.
static inline CUcontext begin(void) {
  CUcontext context;
  CUdevice device;
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  return context;
}

static inline CUmodule load(const char *text) {
  CUmodule module;
  OK(cuModuleLoadData(&module, text));
  return module;
}

static inline CUfunction function_of(CUmodule module, const char *name) {
  CUfunction function;
  OK(cuModuleGetFunction(&function, module, name));
  return function;
}

// Memory of so many bytes, each of which is 0.
static inline CUdeviceptr zeros(size_t bytes) {
  CUdeviceptr address;
  OK(cuMemAlloc_v2(&address, bytes));
  OK(cuMemsetD8_v2(address, 0, bytes));
  OK(cuCtxSynchronize());
  return address;
}

// The word at an address.
static inline unsigned word(CUdeviceptr address) {
  unsigned value;
  OK(cuMemcpyDtoH_v2(&value, address, 4));
  return value;
}

// A block of threads that takes one address.
static inline CUresult launch(CUfunction function, unsigned threads, CUdeviceptr address, CUstream stream) {
  void *params[] = {&address};
  return cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, params, NULL);
}
