//! Tensor graphs: shapes, plan, eager and replayed runs.
