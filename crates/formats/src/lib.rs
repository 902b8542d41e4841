//! Model file formats and quantisation layouts.
