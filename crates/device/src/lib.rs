//! One device API over a CUDA driver and the virtual GPU.
