//! Which clusters a launch has: those that are asked for, and those that its kernel is made for.

use crate::error::Limit;
use warpsmith_ptx::ir::{Directive, Function};

/// The clusters of a launch, if it has any, and its CTAs: those that the kernel requires, and no others than it allows.
pub(crate) fn clusters(
    kernel: &Function,
    sm: u16,
    asked: Option<[u32; 3]>,
    grid: [u32; 3],
) -> Result<(Option<[u32; 3]>, [u32; 3]), (Limit, u64, u64)> {
    let all = |dims: [u32; 3]| dims.iter().map(|n| u64::from(*n)).product::<u64>();
    let (mut required, mut most, mut blocks) = (None, most_ctas(sm), false);
    for directive in &kernel.directives {
        if let Directive::Other(name, numbers) = directive {
            match &**name {
                ".reqnctapercluster" => {
                    let dim = |at: usize| numbers.get(at).copied().unwrap_or(1).max(1);
                    required = Some([dim(0), dim(1), dim(2)]);
                }
                ".maxclusterrank" => {
                    most = numbers.first().map_or(most, |n| most.min(u64::from(*n)))
                }
                ".blocksareclusters" => blocks = true,
                _ => {}
            }
        }
    }
    if let (Some(wanted), Some(found)) = (required, asked)
        && wanted != found
    {
        return Err((Limit::ReqCluster, all(found), all(wanted)));
    }
    let Some(cluster) = required.or(asked) else {
        return Ok((None, grid));
    };
    if !(1..=most).contains(&all(cluster)) {
        return Err((Limit::ClusterSize, all(cluster), most));
    }
    // The grid may be one of clusters.
    if blocks {
        let whole = |i: usize| grid[i].saturating_mul(cluster[i]);
        return Ok((Some(cluster), [whole(0), whole(1), whole(2)]));
    }
    for (n, each) in grid.iter().zip(cluster) {
        if !n.is_multiple_of(each) {
            let next = u64::from(*n).next_multiple_of(u64::from(each));
            return Err((Limit::ClusterGrid, u64::from(*n), next));
        }
    }
    Ok((Some(cluster), grid))
}

/// CTAs that a cluster may have: on cards from sm_90 on as many as those have that are asked for more than every card has.
fn most_ctas(sm: u16) -> u64 {
    if sm >= 90 { 16 } else { 1 }
}
