//! Cases of keys and values that go to their places in pages.

use super::{KvScatter, KvScatterArgs, Places, Scatter};
use crate::{
    attention::{Cached, History, Paging},
    case::{AnyCase, Case, Expected, HostElem, Random, Updated},
};
use half::f16;

/// Odd head sizes, several tokens of one sequence, positions outside.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    // key heads, head size, page, blocks, slots and positions
    let shapes = [
        (
            3,
            64,
            16,
            3,
            vec![(1, 0u32), (0, 17), (1, 47), (2, 48), (0, u32::MAX)],
        ),
        (1, 1, 32, 1, vec![(0, 31)]),
        (2, 33, 32, 2, vec![(0, 30), (0, 31), (0, 32)]),
        (2, 6, 16, 4, vec![(1, 5), (0, 63)]),
    ];
    for (kv_heads, head_dim, page, blocks, given) in shapes {
        let at = PagedShape {
            kv_heads,
            head_dim,
            page,
            blocks,
            given,
        };
        cases.push(Box::new(case(rng, &at, |x| x)));
        cases.push(Box::new(case(rng, &at, f16::from_f32)));
    }
    cases
}

struct PagedShape {
    kv_heads: u32,
    head_dim: u32,
    page: u32,
    blocks: u32,
    /// Slots and positions.
    given: Vec<(u32, u32)>,
}

/// A case with a cache of `T`, which `number` rounds to.
fn case<T: Cached + HostElem + Into<f64>>(
    rng: &mut Random,
    shape: &PagedShape,
    number: impl Fn(f32) -> T,
) -> Case<KvScatter<T>> {
    let PagedShape {
        kv_heads,
        head_dim,
        page,
        blocks,
        ref given,
    } = *shape;
    let tokens = given.len() as u32;
    let (slots, positions): (Vec<u32>, Vec<u32>) = given.iter().copied().unzip();
    let sequences = slots.iter().max().unwrap_or(&0) + 1;
    let pages = sequences * blocks + 1;
    // No page twice, as nobody writes to a page that is shared.
    let table: Vec<u32> = (0..sequences * blocks).map(|at| pages - 1 - at).collect();
    let width = kv_heads * head_dim;
    let new = (tokens * width) as usize;
    let (k, v) = (rng.numbers(new, 3.0), rng.numbers(new, 3.0));
    let mut updated = |new: &[f32]| {
        let before = rng.numbers((pages * page * width) as usize, 3.0);
        let before: Vec<T> = before.into_iter().map(&number).collect();
        let mut after: Vec<f64> = before.iter().map(|x| (*x).into()).collect();
        for (token, (slot, position)) in (0u32..).zip(given) {
            if *position >= blocks * page {
                continue;
            }
            let home = table[(slot * blocks + position / page) as usize];
            for i in 0..width {
                let (head, within) = (i / head_dim, i % head_dim);
                let row = (home * kv_heads + head) * page + position % page;
                let x = number(new[(token * width + i) as usize]);
                after[(row * head_dim + within) as usize] = x.into();
            }
        }
        Updated {
            before: before.into(),
            after: Expected::exact(after),
        }
    };
    Case {
        label: format!(
            "{kv_heads} heads of {head_dim}, pages of {page}, slots and positions {given:?}"
        ),
        kernel: KvScatter::new(Scatter {
            history: History::Paged { page },
            places: Places::Given,
        }),
        args: KvScatterArgs {
            k_cache: updated(&k),
            v_cache: updated(&v),
            k: k.into(),
            v: v.into(),
            positions: Some(positions.into()),
            paging: Paging {
                slots: Some(slots.into()),
                table: Some(table.into()),
                rows: tokens,
                sequences,
                blocks,
            },
            tokens,
            sequences: pages,
            kv_heads,
            head_dim,
            max_len: page,
            start: 0,
        },
    }
}
