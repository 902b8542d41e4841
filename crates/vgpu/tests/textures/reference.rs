//! The formulas of "Texture Fetching" as they stand in the Programming Guide, one dimension at a time.

use crate::harness::Picture;
use warpsmith_vgpu::texture::{Address, Channel, Filter, Sampler};

/// A value with the sum of the sizes of what was added up.
#[derive(Clone, Copy)]
pub(crate) struct Sum {
    pub(crate) value: f64,
    pub(crate) size: f64,
}

/// The element of a row of n that stands at i.
fn neighbour(mut i: i64, n: i64, address: Address) -> Option<i64> {
    match address {
        Address::Clamp if i < 0 => Some(0),
        Address::Clamp if i >= n => Some(n - 1),
        Address::Border if i < 0 || i >= n => None,
        Address::Wrap => {
            while i < 0 {
                i += n;
            }
            Some(i % n)
        }
        Address::Mirror => {
            // Walk back and forth.
            let (mut at, mut step) = (0, 1);
            let mut left = if i < 0 { -1 - i } else { i };
            while left > 0 {
                if at + step < 0 || at + step >= n {
                    step = -step;
                } else {
                    at += step;
                }
                left -= 1;
            }
            Some(at)
        }
        Address::Clamp | Address::Border => Some(i),
    }
}

/// A channel of an element as a texture gives it.
pub(crate) fn number(picture: &Picture, sampler: &Sampler, place: [u32; 3], channel: usize) -> f64 {
    if channel >= usize::from(picture.format.channels) {
        return f64::from(channel == 3);
    }
    let x = picture.channel(place, channel);
    if !sampler.as_float {
        return x;
    }
    match picture.format.channel {
        Channel::U8 if sampler.srgb && channel < 3 => {
            let c = x / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        }
        Channel::U8 => x / 255.0,
        Channel::S8 => (x / 127.0).max(-1.0),
        Channel::U16 => x / 65535.0,
        Channel::S16 => (x / 32767.0).max(-1.0),
        _ => x,
    }
}

/// What stands at coordinates in units of elements.
pub(crate) fn at(
    picture: &Picture,
    sampler: &Sampler,
    (x, slice): ([f64; 3], u32),
    channel: usize,
) -> Sum {
    let dimensions = picture.geometry.dimensions();
    along(
        picture,
        sampler,
        &x[..dimensions],
        &mut [0, 0, slice],
        channel,
    )
}

/// One dimension: the last of those that are left.
fn along(
    picture: &Picture,
    sampler: &Sampler,
    x: &[f64],
    place: &mut [u32; 3],
    channel: usize,
) -> Sum {
    let Some((x, rest)) = x.split_last() else {
        let value = number(picture, sampler, *place, channel);
        return Sum {
            value,
            size: value.abs(),
        };
    };
    let dimension = rest.len();
    let n = i64::from(picture.size[dimension]);
    let address = match sampler.address[dimension] {
        Address::Wrap | Address::Mirror if !sampler.normalized => Address::Clamp,
        mode => mode,
    };
    let mut one = |i: i64| match neighbour(i, n, address) {
        Some(i) => {
            place[dimension] = i as u32;
            along(picture, sampler, rest, place, channel)
        }
        None => {
            let value = f64::from(sampler.border[channel]);
            Sum {
                value,
                size: value.abs(),
            }
        }
    };
    if sampler.filter == Filter::Point {
        return one(x.floor() as i64);
    }
    // 9 bits of fixed point, 8 of them behind the point.
    let from = x - 0.5;
    let part = ((from - from.floor()) * 256.0).round() / 256.0;
    let (low, high) = (one(from.floor() as i64), one(from.floor() as i64 + 1));
    Sum {
        value: (1.0 - part) * low.value + part * high.value,
        size: (1.0 - part) * low.size + part * high.size,
    }
}

/// That a result is the reference, rounded a few times.
#[track_caller]
pub(crate) fn same(got: u32, want: Sum, what: &dyn std::fmt::Debug) {
    let got = f64::from(f32::from_bits(got));
    let most = 2.0 * f64::from(f32::EPSILON) * want.size;
    assert!(
        (got - want.value).abs() <= most,
        "{what:?}: {got}, not {}",
        want.value
    );
}
