//! Result codes of the driver, each with its name and text.

use std::ffi::CStr;
use warpsmith_vgpu::{Error, FaultKind};

macro_rules! statuses {
    ($($name:ident = $code:literal, $c_name:literal, $text:literal;)*) => {
        /// Why a call failed.
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
    NoDevice = 100, c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected";
    InvalidDevice = 101, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal";
    InvalidImage = 200, c"CUDA_ERROR_INVALID_IMAGE", c"device kernel image is invalid";
    InvalidContext = 201, c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context";
    NoBinaryForGpu = 209, c"CUDA_ERROR_NO_BINARY_FOR_GPU", c"no kernel image is available for execution on the device";
    UnsupportedLimit = 215, c"CUDA_ERROR_UNSUPPORTED_LIMIT", c"limit is not supported on this architecture";
    InvalidPtx = 218, c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed";
    UnsupportedPtxVersion = 222, c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", c"the provided PTX was compiled with an unsupported toolchain.";
    FileNotFound = 301, c"CUDA_ERROR_FILE_NOT_FOUND", c"file not found";
    OperatingSystem = 304, c"CUDA_ERROR_OPERATING_SYSTEM", c"OS call failed or operation not supported on this OS";
    InvalidHandle = 400, c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle";
    NotFound = 500, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found";
    NotReady = 600, c"CUDA_ERROR_NOT_READY", c"device not ready";
    IllegalAddress = 700, c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered";
    LaunchOutOfResources = 701, c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", c"too many resources requested for launch";
    LaunchTimeout = 702, c"CUDA_ERROR_LAUNCH_TIMEOUT", c"the launch timed out and was terminated";
    MisalignedAddress = 716, c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address";
    LaunchFailed = 719, c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure";
    CooperativeLaunchTooLarge = 720, c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", c"too many blocks in cooperative launch";
    NotSupported = 801, c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported";
    SystemDriverMismatch = 803, c"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", c"system has unsupported display driver / cuda driver combination";
    CaptureUnsupported = 900, c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", c"operation not permitted when stream is capturing";
    CaptureInvalidated = 901, c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", c"operation failed due to a previous error during capture";
    CaptureUnmatched = 903, c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", c"capture was not initiated in this stream";
    CapturedEvent = 907, c"CUDA_ERROR_CAPTURED_EVENT", c"operation not permitted on an event last recorded in a capturing stream";
    Unknown = 999, c"CUDA_ERROR_UNKNOWN", c"unknown error";
}

impl From<&Error> for Status {
    fn from(error: &Error) -> Status {
        match error {
            Error::OutOfMemory { .. } => Status::OutOfMemory,
            Error::Reserve { .. } | Error::Thread { .. } => Status::OperatingSystem,
            Error::Tier { .. } | Error::Panic { .. } => Status::Unknown,
            Error::NotAllocated { .. }
            | Error::Range { .. }
            | Error::Launch { .. }
            | Error::OtherMachine { .. } => Status::InvalidValue,
            Error::PtxVersion { .. } => Status::UnsupportedPtxVersion,
            Error::Unsupported { .. } => Status::NotSupported,
            Error::Fault(fault) => match fault.kind {
                FaultKind::OutOfBounds { .. } => Status::IllegalAddress,
                FaultKind::Misaligned { .. } => Status::MisalignedAddress,
                FaultKind::Deadlock { .. } | FaultKind::Budget { .. } | FaultKind::Stopped => {
                    Status::LaunchTimeout
                }
                FaultKind::StackFull { .. } => Status::IllegalAddress,
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
