//! Result codes of the driver, each with its name and text.

use std::ffi::CStr;
use warpsmith_vgpu::{Error, FaultKind, Limit};

macro_rules! statuses {
    ($($name:ident = $code:literal, $c_name:literal, $text:literal;)*) => {
        /// Why a call failed.
        /// Codes that no call of ours returns are there for their names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Status {
            $($name = $code,)*
        }

        impl Status {
            /// The failure with this code, if it is one of ours.
            pub(crate) fn of_code(code: u32) -> Option<Status> {
                match code {
                    $($code => Some(Status::$name),)*
                    _ => None,
                }
            }

            /// The name in the driver's headers.
            pub(crate) fn name(self) -> &'static CStr {
                match self {
                    $(Status::$name => $c_name,)*
                }
            }

            /// What it means.
            pub(crate) fn text(self) -> &'static CStr {
                match self {
                    $(Status::$name => $text,)*
                }
            }
        }
    };
}

statuses! {
    InvalidValue = 1, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument";
    OutOfMemory = 2, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory";
    NotInitialized = 3, c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error";
    Deinitialized = 4, c"CUDA_ERROR_DEINITIALIZED", c"driver shutting down";
    ProfilerDisabled = 5, c"CUDA_ERROR_PROFILER_DISABLED", c"profiler disabled while using external profiling tool";
    ProfilerNotInitialized = 6, c"CUDA_ERROR_PROFILER_NOT_INITIALIZED", c"profiler not initialized";
    ProfilerAlreadyStarted = 7, c"CUDA_ERROR_PROFILER_ALREADY_STARTED", c"profiler already started";
    ProfilerAlreadyStopped = 8, c"CUDA_ERROR_PROFILER_ALREADY_STOPPED", c"profiler already stopped";
    StubLibrary = 34, c"CUDA_ERROR_STUB_LIBRARY", c"CUDA driver is a stub library";
    CallRequiresNewerDriver = 36, c"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", c"the CUDA call requires a newer driver";
    DeviceUnavailable = 46, c"CUDA_ERROR_DEVICE_UNAVAILABLE", c"device busy or unavailable";
    MulticastResourceFull = 47, c"CUDA_ERROR_MULTICAST_RESOURCE_FULL", c"multicast resources are used up";
    NoDevice = 100, c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected";
    InvalidDevice = 101, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal";
    DeviceNotLicensed = 102, c"CUDA_ERROR_DEVICE_NOT_LICENSED", c"device is not licensed";
    InvalidImage = 200, c"CUDA_ERROR_INVALID_IMAGE", c"device kernel image is invalid";
    InvalidContext = 201, c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context";
    ContextAlreadyCurrent = 202, c"CUDA_ERROR_CONTEXT_ALREADY_CURRENT", c"context already current";
    MapFailed = 205, c"CUDA_ERROR_MAP_FAILED", c"mapping of buffer object failed";
    UnmapFailed = 206, c"CUDA_ERROR_UNMAP_FAILED", c"unmapping of buffer object failed";
    ArrayIsMapped = 207, c"CUDA_ERROR_ARRAY_IS_MAPPED", c"array is mapped";
    AlreadyMapped = 208, c"CUDA_ERROR_ALREADY_MAPPED", c"resource already mapped";
    NoBinaryForGpu = 209, c"CUDA_ERROR_NO_BINARY_FOR_GPU", c"no kernel image is available for execution on the device";
    AlreadyAcquired = 210, c"CUDA_ERROR_ALREADY_ACQUIRED", c"resource already acquired";
    NotMapped = 211, c"CUDA_ERROR_NOT_MAPPED", c"resource not mapped";
    NotMappedAsArray = 212, c"CUDA_ERROR_NOT_MAPPED_AS_ARRAY", c"resource not mapped as array";
    NotMappedAsPointer = 213, c"CUDA_ERROR_NOT_MAPPED_AS_POINTER", c"resource not mapped as pointer";
    EccUncorrectable = 214, c"CUDA_ERROR_ECC_UNCORRECTABLE", c"uncorrectable ECC error encountered";
    UnsupportedLimit = 215, c"CUDA_ERROR_UNSUPPORTED_LIMIT", c"limit is not supported on this architecture";
    ContextAlreadyInUse = 216, c"CUDA_ERROR_CONTEXT_ALREADY_IN_USE", c"exclusive-thread device already in use by a different thread";
    PeerAccessUnsupported = 217, c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", c"peer access is not supported between these two devices";
    InvalidPtx = 218, c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed";
    InvalidGraphicsContext = 219, c"CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", c"invalid OpenGL or DirectX context";
    NvlinkUncorrectable = 220, c"CUDA_ERROR_NVLINK_UNCORRECTABLE", c"uncorrectable NVLink error detected during the execution";
    JitCompilerNotFound = 221, c"CUDA_ERROR_JIT_COMPILER_NOT_FOUND", c"PTX JIT compiler library not found";
    UnsupportedPtxVersion = 222, c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", c"the provided PTX was compiled with an unsupported toolchain.";
    JitCompilationDisabled = 223, c"CUDA_ERROR_JIT_COMPILATION_DISABLED", c"PTX JIT compilation was disabled";
    UnsupportedExecAffinity = 224, c"CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", c"execution affinity is not supported";
    UnsupportedDevsideSync = 225, c"CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", c"device-side synchronization is not supported by the kernel's code";
    Contained = 226, c"CUDA_ERROR_CONTAINED", c"an error was contained";
    InsufficientLoaderVersion = 227, c"CUDA_ERROR_INSUFFICIENT_LOADER_VERSION", c"the loader is older than the driver asks for";
    InvalidSource = 300, c"CUDA_ERROR_INVALID_SOURCE", c"device kernel image is invalid";
    FileNotFound = 301, c"CUDA_ERROR_FILE_NOT_FOUND", c"file not found";
    SharedObjectSymbolNotFound = 302, c"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", c"shared object symbol not found";
    SharedObjectInitFailed = 303, c"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", c"shared object initialization failed";
    OperatingSystem = 304, c"CUDA_ERROR_OPERATING_SYSTEM", c"OS call failed or operation not supported on this OS";
    InvalidHandle = 400, c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle";
    IllegalState = 401, c"CUDA_ERROR_ILLEGAL_STATE", c"the operation cannot be performed in the present state";
    LossyQuery = 402, c"CUDA_ERROR_LOSSY_QUERY", c"a query would lose information";
    NotFound = 500, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found";
    NotReady = 600, c"CUDA_ERROR_NOT_READY", c"device not ready";
    IllegalAddress = 700, c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered";
    LaunchOutOfResources = 701, c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", c"too many resources requested for launch";
    LaunchTimeout = 702, c"CUDA_ERROR_LAUNCH_TIMEOUT", c"the launch timed out and was terminated";
    LaunchIncompatibleTexturing = 703, c"CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", c"launch uses incompatible texturing mode";
    PeerAccessAlreadyEnabled = 704, c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", c"peer access is already enabled";
    PeerAccessNotEnabled = 705, c"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", c"peer access has not been enabled";
    PrimaryContextActive = 708, c"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", c"primary context already active";
    ContextIsDestroyed = 709, c"CUDA_ERROR_CONTEXT_IS_DESTROYED", c"context is destroyed";
    Assert = 710, c"CUDA_ERROR_ASSERT", c"device-side assert triggered";
    TooManyPeers = 711, c"CUDA_ERROR_TOO_MANY_PEERS", c"peer mapping resources exhausted";
    HostMemoryAlreadyRegistered = 712, c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", c"part or all of the requested memory range is already mapped";
    HostMemoryNotRegistered = 713, c"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", c"pointer does not correspond to a registered memory region";
    HardwareStackError = 714, c"CUDA_ERROR_HARDWARE_STACK_ERROR", c"hardware stack error";
    IllegalInstruction = 715, c"CUDA_ERROR_ILLEGAL_INSTRUCTION", c"an illegal instruction was encountered";
    MisalignedAddress = 716, c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address";
    InvalidAddressSpace = 717, c"CUDA_ERROR_INVALID_ADDRESS_SPACE", c"operation not supported on global/shared address space";
    InvalidPc = 718, c"CUDA_ERROR_INVALID_PC", c"invalid program counter";
    LaunchFailed = 719, c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure";
    CooperativeLaunchTooLarge = 720, c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", c"too many blocks in cooperative launch";
    TensorMemoryLeak = 721, c"CUDA_ERROR_TENSOR_MEMORY_LEAK", c"tensor memory was not given back";
    NotPermitted = 800, c"CUDA_ERROR_NOT_PERMITTED", c"operation not permitted";
    NotSupported = 801, c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported";
    SystemNotReady = 802, c"CUDA_ERROR_SYSTEM_NOT_READY", c"system not yet initialized";
    SystemDriverMismatch = 803, c"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", c"system has unsupported display driver / cuda driver combination";
    CompatNotSupportedOnDevice = 804, c"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", c"forward compatibility was attempted on non supported hardware";
    MpsConnectionFailed = 805, c"CUDA_ERROR_MPS_CONNECTION_FAILED", c"MPS client failed to connect to the MPS control daemon or the MPS server";
    MpsRpcFailure = 806, c"CUDA_ERROR_MPS_RPC_FAILURE", c"MPS server failed";
    MpsServerNotReady = 807, c"CUDA_ERROR_MPS_SERVER_NOT_READY", c"MPS server is not ready";
    MpsMaxClientsReached = 808, c"CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", c"MPS clients are used up";
    MpsMaxConnectionsReached = 809, c"CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", c"MPS connections are used up";
    MpsClientTerminated = 810, c"CUDA_ERROR_MPS_CLIENT_TERMINATED", c"MPS client was terminated";
    CdpNotSupported = 811, c"CUDA_ERROR_CDP_NOT_SUPPORTED", c"dynamic parallelism is not supported on this device";
    CdpVersionMismatch = 812, c"CUDA_ERROR_CDP_VERSION_MISMATCH", c"versions of dynamic parallelism do not match";
    CaptureUnsupported = 900, c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", c"operation not permitted when stream is capturing";
    CaptureInvalidated = 901, c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", c"operation failed due to a previous error during capture";
    StreamCaptureMerge = 902, c"CUDA_ERROR_STREAM_CAPTURE_MERGE", c"operation would result in a merge of separate capture sequences";
    CaptureUnmatched = 903, c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", c"capture was not initiated in this stream";
    StreamCaptureUnjoined = 904, c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", c"capturing stream has unjoined work";
    StreamCaptureIsolation = 905, c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", c"dependency created on uncaptured work in another stream";
    StreamCaptureImplicit = 906, c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", c"operation would make the legacy stream depend on a capturing blocking stream";
    CapturedEvent = 907, c"CUDA_ERROR_CAPTURED_EVENT", c"operation not permitted on an event last recorded in a capturing stream";
    StreamCaptureWrongThread = 908, c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", c"attempt to terminate a thread-local capture sequence from another thread";
    Timeout = 909, c"CUDA_ERROR_TIMEOUT", c"wait operation timed out";
    GraphExecUpdateFailure = 910, c"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", c"the graph update was not performed because it included changes which violated constraints";
    ExternalDevice = 911, c"CUDA_ERROR_EXTERNAL_DEVICE", c"an asynchronous error occurred outside of CUDA";
    InvalidClusterSize = 912, c"CUDA_ERROR_INVALID_CLUSTER_SIZE", c"invalid cluster size";
    FunctionNotLoaded = 913, c"CUDA_ERROR_FUNCTION_NOT_LOADED", c"function is not loaded";
    InvalidResourceType = 914, c"CUDA_ERROR_INVALID_RESOURCE_TYPE", c"invalid resource type";
    InvalidResourceConfiguration = 915, c"CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", c"invalid resource configuration";
    KeyRotation = 916, c"CUDA_ERROR_KEY_ROTATION", c"key rotation failed";
    StreamDetached = 917, c"CUDA_ERROR_STREAM_DETACHED", c"stream is detached from its context";
    GraphRecaptureFailure = 918, c"CUDA_ERROR_GRAPH_RECAPTURE_FAILURE", c"the graph was not captured again";
    FabricNotReady = 919, c"CUDA_ERROR_FABRIC_NOT_READY", c"the fabric is not ready";
    Unknown = 999, c"CUDA_ERROR_UNKNOWN", c"unknown error";
}

impl From<&Error> for Status {
    fn from(error: &Error) -> Status {
        match error {
            Error::OutOfMemory { .. } => Status::OutOfMemory,
            Error::Reserve { .. } | Error::Thread { .. } => Status::OperatingSystem,
            Error::Tier { .. } | Error::Panic { .. } => Status::Unknown,
            Error::NotAllocated { .. } | Error::Range { .. } | Error::OtherMachine { .. } => {
                Status::InvalidValue
            }
            Error::Launch { what, .. } => match what {
                Limit::ClusterSize | Limit::ReqCluster | Limit::ClusterGrid => {
                    Status::InvalidClusterSize
                }
                Limit::Threads
                | Limit::GridExtent
                | Limit::ReqNtid
                | Limit::MaxNtid
                | Limit::Parameters
                | Limit::Shared
                | Limit::Cooperative => Status::InvalidValue,
            },
            Error::PtxVersion { .. } => Status::UnsupportedPtxVersion,
            Error::Unsupported { .. } => Status::NotSupported,
            Error::Fault(fault) => match fault.kind {
                FaultKind::OutOfBounds { .. } => Status::IllegalAddress,
                FaultKind::Misaligned { .. } => Status::MisalignedAddress,
                FaultKind::Deadlock { .. } | FaultKind::Budget { .. } | FaultKind::Stopped => {
                    Status::LaunchTimeout
                }
                FaultKind::StackFull { .. } => Status::IllegalAddress,
                FaultKind::Assert => Status::Assert,
                FaultKind::Trap
                | FaultKind::Partial { .. }
                | FaultKind::TwoPlaces { .. }
                | FaultKind::Misuse(_) => Status::LaunchFailed,
            },
        }
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Status {
        Status::from(&error)
    }
}
