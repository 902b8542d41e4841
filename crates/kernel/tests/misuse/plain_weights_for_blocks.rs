//! Plain f32 weights where a kernel takes blocks of Q4_K.
// says: mismatched types

mod prelude;
use prelude::*;

pub fn launch<'a>(plain: &'a [f32], blocks: &'a [u8], x: &'a [f32], y: &'a mut [f32]) -> GemvArgs<Slices<'a>> {
    #[cfg(not(fixed))]
    let w = plain;
    #[cfg(fixed)]
    let w = blocks;
    let _ = (plain, blocks);
    GemvArgs {
        w, //~ E0308
        x,
        y,
        rows: 1,
        blocks: 1,
    }
}
