//! Tensor maps: what kernels copy of tensors, in 128 bytes that only the device reads.

use super::raw::{In, Out};
use crate::status::Status;
use std::ffi::{c_int, c_uint};
use warpsmith_vgpu::tensor_map::{BYTES, Element, Swizzle, Take, TensorMap};

/// `CUtensorMap`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Map([u8; BYTES]);

/// Types in the order of `CUtensorMapDataType`; those of four and six bits are not done here.
const TYPES: [Element; 13] = [
    Element::U8,
    Element::U16,
    Element::U32,
    Element::S32,
    Element::U64,
    Element::S64,
    Element::F16,
    Element::F32,
    Element::F64,
    Element::Bf16,
    Element::F32Ftz,
    Element::Tf32,
    Element::Tf32Ftz,
];

/// What both ways to make a map are given.
struct Given {
    data_type: c_uint,
    rank: c_uint,
    address: u64,
    dims: In<u64>,
    strides: In<u64>,
    steps: In<u32>,
    interleave: c_uint,
    swizzle: c_uint,
    fill: c_uint,
}

fn lacks<T>(what: &str) -> Result<T, Status> {
    crate::report::lacks(what);
    Err(Status::NotSupported)
}

/// A value in a range; else it is invalid.
fn within<T: PartialOrd>(value: T, least: T, most: T) -> Result<T, Status> {
    if value < least || value > most {
        return Err(Status::InvalidValue);
    }
    Ok(value)
}

impl Given {
    /// The map, whose rows have so many elements.
    fn map(&self, row: u32, take: Take) -> Result<TensorMap, Status> {
        let rank = within(self.rank, 1, 5)? as usize;
        if self.interleave != 0 {
            within(self.interleave, 1, 2)?;
            return lacks("tensor maps of interleaved layouts");
        }
        let element = match TYPES.get(self.data_type as usize) {
            Some(element) => *element,
            None if self.data_type <= 15 => return lacks("tensor maps of elements below 8 bits"),
            None => return Err(Status::InvalidValue),
        };
        let swizzle = match Swizzle::of(self.swizzle) {
            Some(swizzle) => swizzle,
            None if self.swizzle <= 6 => return lacks("swizzles of larger units than 16 bytes"),
            None => return Err(Status::InvalidValue),
        };
        let (mut dims, mut strides, mut steps) = ([1; 5], [0; 4], [1; 5]);
        for i in 0..rank {
            dims[i] = within(self.dims.at(i)?, 1, 1 << 32)?;
            steps[i] = within(self.steps.at(i)?, 1, 8)?;
            if i > 0 {
                strides[i - 1] = within(self.strides.at(i - 1)?, 0, (1 << 40) - 16)?;
            }
        }
        let bytes = row * element.bytes();
        let fits = swizzle.row().is_none_or(|most| bytes <= most);
        let aligned = strides.iter().all(|stride| stride.is_multiple_of(16));
        let fills_nan = within(self.fill, 0, 1)? == 1;
        if !self.address.is_multiple_of(16)
            || !bytes.is_multiple_of(16)
            || !fits
            || !aligned
            || fills_nan && !element.is_float()
        {
            return Err(Status::InvalidValue);
        }
        Ok(TensorMap {
            address: self.address,
            rank: rank as u8,
            element,
            dims,
            strides,
            steps,
            swizzle,
            fills_nan,
            take,
        })
    }
}

entries! {
    cuTensorMapEncodeTiled(
        map: Out<Map>,
        data_type: c_uint,
        rank: c_uint,
        address: u64,
        dims: In<u64>,
        strides: In<u64>,
        boxes: In<u32>,
        steps: In<u32>,
        interleave: c_uint,
        swizzle: c_uint,
        _promotion: c_uint,
        fill: c_uint,
    ) {
        let out = map.wanted()?;
        let mut each = [1; 5];
        for (i, each) in each.iter_mut().enumerate().take(within(rank, 1, 5)? as usize) {
            *each = within(boxes.at(i)?, 1, 256)?;
        }
        let given = Given { data_type, rank, address, dims, strides, steps, interleave, swizzle, fill };
        out.put(Map(given.map(each[0], Take::Tile(each))?.encode()))
    }

    cuTensorMapEncodeIm2col(
        map: Out<Map>,
        data_type: c_uint,
        rank: c_uint,
        address: u64,
        dims: In<u64>,
        strides: In<u64>,
        lower_corner: In<c_int>,
        upper_corner: In<c_int>,
        channels: c_uint,
        pixels: c_uint,
        steps: In<u32>,
        interleave: c_uint,
        swizzle: c_uint,
        _promotion: c_uint,
        fill: c_uint,
    ) {
        let out = map.wanted()?;
        let spatial = within(rank, 3, 5)? as usize - 2;
        // 16 bits for all of them together.
        let most = 1 << (16 / spatial - 1);
        let (mut lower, mut upper) = ([0; 3], [0; 3]);
        for i in 0..spatial {
            lower[i] = within(lower_corner.at(i)?, -most, most - 1)? as i16;
            upper[i] = within(upper_corner.at(i)?, -most, most - 1)? as i16;
        }
        let take = Take::Im2col {
            lower,
            upper,
            channels: within(channels, 1, 256)?,
            pixels: within(pixels, 1, 1024)?,
        };
        let given = Given { data_type, rank, address, dims, strides, steps, interleave, swizzle, fill };
        out.put(Map(given.map(channels, take)?.encode()))
    }

    cuTensorMapReplaceAddress(map: Out<Map>, address: u64) {
        let out = map.wanted()?;
        let Map(bytes) = map.as_in().value()?;
        let mut known = TensorMap::decode(&bytes).ok_or(Status::InvalidValue)?;
        if !address.is_multiple_of(16) {
            return Err(Status::InvalidValue);
        }
        known.address = address;
        out.put(Map(known.encode()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a map of 40 by 30 halves is made with.
    #[derive(Clone)]
    struct Call {
        data_type: c_uint,
        rank: c_uint,
        address: u64,
        dims: Vec<u64>,
        strides: Vec<u64>,
        boxes: Vec<u32>,
        steps: Vec<u32>,
        interleave: c_uint,
        swizzle: c_uint,
        fill: c_uint,
    }

    const RIGHT: fn() -> Call = || Call {
        data_type: 6,
        rank: 2,
        address: 0x10_0000,
        dims: vec![40, 30],
        strides: vec![96],
        boxes: vec![32, 8],
        steps: vec![1, 2],
        interleave: 0,
        swizzle: 2,
        fill: 1,
    };

    impl Call {
        fn make(&self) -> Result<TensorMap, u32> {
            let mut map = Map([0; BYTES]);
            let code = cuTensorMapEncodeTiled(
                Out::of(&mut map),
                self.data_type,
                self.rank,
                self.address,
                In::of(&self.dims),
                In::of(&self.strides),
                In::of(&self.boxes),
                In::of(&self.steps),
                self.interleave,
                self.swizzle,
                0,
                self.fill,
            );
            match code {
                0 => TensorMap::decode(&map.0).ok_or(u32::MAX),
                code => Err(code),
            }
        }
    }

    #[test]
    fn a_map_has_what_it_was_made_with() {
        let map = RIGHT().make().expect("a map");
        assert_eq!((map.rank, map.element), (2, Element::F16));
        assert_eq!((map.dims, map.strides[0]), ([40, 30, 1, 1, 1], 96));
        assert_eq!((map.steps, map.swizzle), ([1, 2, 1, 1, 1], Swizzle::B64));
        assert_eq!(map.take, Take::Tile([32, 8, 1, 1, 1]));
        assert!(map.fills_nan);
        let bf16 = Call {
            data_type: 9,
            ..RIGHT()
        };
        assert_eq!(bf16.make().map(|map| map.element), Ok(Element::Bf16));
    }

    #[test]
    fn what_no_copy_can_be_of_is_refused() {
        let (invalid, absent) = (Status::InvalidValue as u32, Status::NotSupported as u32);
        type Change = fn(&mut Call);
        let cases: &[(Change, u32)] = &[
            (|call| call.rank = 0, invalid),
            (|call| call.rank = 6, invalid),
            (|call| call.address += 8, invalid),
            (|call| call.dims[1] = 0, invalid),
            (|call| call.dims[0] = (1 << 32) + 1, invalid),
            (|call| call.strides[0] = 100, invalid),
            (|call| call.strides[0] = 1 << 40, invalid),
            (|call| call.boxes[1] = 257, invalid),
            (|call| call.boxes[1] = 0, invalid),
            // 12 bytes, and more than the swizzle's rows have.
            (|call| call.boxes[0] = 6, invalid),
            (|call| call.boxes[0] = 40, invalid),
            (|call| call.steps[1] = 9, invalid),
            (|call| call.data_type = 1, invalid),
            (|call| call.data_type = 16, invalid),
            (|call| call.swizzle = 7, invalid),
            (|call| call.interleave = 3, invalid),
            (|call| call.fill = 2, invalid),
            (|call| call.interleave = 1, absent),
            (|call| call.swizzle = 4, absent),
            (|call| call.data_type = 13, absent),
        ];
        for (at, (change, code)) in cases.iter().enumerate() {
            let mut call = RIGHT();
            change(&mut call);
            assert_eq!(call.make().map(drop), Err(*code), "{at}");
        }
    }

    #[test]
    fn pixels_have_corners_of_sixteen_bits_together() {
        let make = |rank: c_uint, lower: i32, upper: i32| {
            let mut map = Map([0; BYTES]);
            let (dims, strides) = ([64u64, 9, 9, 9, 2], [128u64, 1152, 10368, 93312]);
            let code = cuTensorMapEncodeIm2col(
                Out::of(&mut map),
                6,
                rank,
                0x10_0000,
                In::of(&dims),
                In::of(&strides),
                In::of(&[lower; 3]),
                In::of(&[upper; 3]),
                32,
                64,
                In::of(&[1; 5]),
                0,
                3,
                0,
                0,
            );
            (code, TensorMap::decode(&map.0).map(|map| map.take))
        };
        for (rank, most) in [(3, 32767), (4, 127), (5, 15)] {
            let (code, take) = make(rank, -most - 1, most);
            assert_eq!(code, 0, "{rank}");
            let Some(Take::Im2col {
                lower,
                upper,
                channels,
                pixels,
            }) = take
            else {
                panic!("{take:?}")
            };
            assert_eq!((lower[0], upper[0]), (-most as i16 - 1, most as i16));
            assert_eq!((channels, pixels), (32, 64));
            assert_eq!(make(rank, 0, most + 1).0, Status::InvalidValue as u32);
            assert_eq!(make(rank, -most - 2, 0).0, Status::InvalidValue as u32);
        }
        assert_eq!(make(2, 0, 0).0, Status::InvalidValue as u32);
    }
}
