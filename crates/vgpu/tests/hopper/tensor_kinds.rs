//! Products in tensor memory by kind: their numbers, shapes, scales, and what they say of D.

use crate::{
    tensor_copies::outside_of_shared,
    tensor_memory::{misuse, random},
    tensor_numbers::{
        BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, Number, PACKED, S8, TF32, U8, matrix, scale,
    },
    tensor_products::{BASE, NEGATES, Product, SATURATES, Scales, Sum, tile, whole},
};
use warpsmith_vgpu::{Misuse, check::Kind};

const I8: Product<'static> = Product {
    kind: "i8",
    a: S8,
    b: S8,
    sum: Sum::S32,
    start: &whole,
    ..BASE
};

const F8: Product<'static> = Product {
    kind: "f8f6f4",
    a: E4M3,
    b: E4M3,
    ..BASE
};

const T32: Product<'static> = Product {
    kind: "tf32",
    a: TF32,
    b: TF32,
    ..BASE
};

/// Any bytes.
fn any_bytes(seed: u64) -> impl Fn(usize, usize) -> u32 {
    move |row, k| random(seed, 256 * row + k) & 0xFF
}

/// An f16 in the lower half, chance in the upper.
fn half(lane: usize, column: usize) -> u32 {
    let chance = random(8, 512 * lane + column);
    let value = f64::from(chance % 65) * 0.25 - 8.0;
    chance << 16 | F16.bits_of(value).expect("an f16")
}

#[test]
fn shapes_of_each_kind_are_right() {
    for (m, n) in [
        (64, 8),
        (64, 56),
        (64, 256),
        (128, 8),
        (128, 104),
        (128, 256),
    ] {
        let shape = Product { m, n, ..BASE };
        Product {
            a: BF16,
            b: BF16,
            ..shape
        }
        .check_some();
        Product {
            m,
            n,
            tiles: [tile(1, false), tile(0, false)],
            ..T32
        }
        .check_some();
        Product { m, n, ..F8 }.check_some();
    }
    for (m, n) in [(64, 24), (64, 208), (128, 8), (128, 32), (128, 48)] {
        Product { m, n, b: U8, ..I8 }.check(&any_bytes(21), &any_bytes(22));
    }
    // 64 rows may be in the upper lanes of each quarter.
    Product {
        m: 64,
        n: 24,
        lane: 16,
        ..BASE
    }
    .check_some();
    Product {
        m: 64,
        n: 24,
        lane: 16,
        in_tensor: true,
        ..F8
    }
    .check_some();
}

#[test]
fn f16_is_added_up_in_halves() {
    let base = Product {
        sum: Sum::F16,
        start: &half,
        ..BASE
    };
    let [a, b] = [51, 52].map(|seed| matrix(F16, seed, (0.5, 2.0)));
    for (m, n) in [(64, 24), (128, 72)] {
        Product { m, n, ..base }.check(&a, &b);
        let [a, b] = [(E5M2, 53), (E3M2, 54)].map(|(of, seed)| matrix(of, seed, (0.5, 2.0)));
        Product {
            kind: "f8f6f4",
            a: E5M2,
            b: E3M2,
            m,
            n,
            ..base
        }
        .check(&a, &b);
    }
    Product {
        halved: 2,
        in_tensor: true,
        more: NEGATES[1],
        ..base
    }
    .check(&a, &b);
}

#[test]
fn numbers_of_eight_six_and_four_bits_are_mixed() {
    let all = [E4M3, E5M2, E2M3, E3M2, E2M1];
    for (i, a) in all.into_iter().enumerate() {
        for b in [all[(i + 1) % 5], all[(i + 3) % 5]] {
            Product {
                a,
                b,
                m: 64,
                n: 40,
                ..F8
            }
            .check_some();
        }
    }
}

/// Each row of A has one number, the next of all there are, and B is of ones: D is that number.
#[track_caller]
fn check_all(base: Product<'_>, number: Number) {
    let count = 1usize << number.bits.min(8);
    let one = number.bits_of(1.0).expect("a one");
    for first in (0..count).step_by(128) {
        let a = |row: usize, k: usize| match k == row % 32 {
            true => ((first + row) % count) as u32,
            false => 0,
        };
        let product = Product {
            a: number,
            b: number,
            adds: "0",
            n: 16,
            ..base
        };
        product.check(&a, &|_, _| one);
    }
}

#[test]
fn each_number_of_few_bits_is_known() {
    for number in [E2M3, E3M2, E2M1, E4M3, E5M2] {
        // An infinity by zero is none of those; here it is by ones only.
        check_all(F8, number);
    }
}

#[test]
fn integers_wrap_or_are_clamped() {
    let near = |lane: usize, column: usize| {
        let far = random(61, 512 * lane + column) % 200_000;
        if column.is_multiple_of(2) {
            i32::MAX as u32 - far
        } else {
            i32::MIN as u32 + far
        }
    };
    for (a, b) in [(S8, S8), (S8, U8), (U8, S8), (U8, U8)] {
        for more in [0, SATURATES] {
            let product = Product {
                a,
                b,
                more,
                n: 16,
                start: &near,
                ..I8
            };
            product.check(&any_bytes(23), &any_bytes(24));
        }
    }
    Product {
        in_tensor: true,
        steps: 3,
        ..I8
    }
    .check(&any_bytes(25), &any_bytes(26));
}

#[test]
fn scales_are_of_their_blocks() {
    let power = |seed: u64| {
        move |which: usize, row: usize, block: usize| {
            126 + (random(seed + which as u64, 4 * row + block) % 3) as u8
        }
    };
    let part = |which: usize, row: usize, block: usize| {
        let values = [0.5, 1.0, 1.5, 2.0, 3.0];
        let value = values[random(71 + which as u64, 4 * row + block) as usize % 5];
        E4M3.bits_of(value).expect("a scale") as u8
    };
    let of: &dyn Fn(usize, usize, usize) -> u8 = &power(73);
    let some = [75, 76].map(|seed| move |of| matrix(of, seed, (0.25, 6.0)));
    let tiles = [tile(2, false), tile(0, false)];
    for (n, first, a, b) in [
        (8, [0, 1], E4M3, E2M1),
        (48, [3, 2], E5M2, E2M3),
        (200, [1, 3], E3M2, E4M3),
    ] {
        let scales = Some(Scales {
            blocks: 1,
            first,
            is_power: true,
            of,
        });
        let kind = "mxf8f6f4.block_scale.scale_vec::1X";
        let product = Product {
            kind,
            a,
            b,
            n,
            scales,
            tiles,
            ..BASE
        };
        product.check(&some[0](a), &some[1](b));
    }
    for (kind, blocks, first, is_power, n) in [
        ("mxf4.block_scale.scale_vec::2X", 2, [0, 2], true, 24),
        ("mxf4.block_scale.block32", 2, [2, 2], true, 256),
        ("mxf4nvf4.block_scale.block32", 2, [2, 0], true, 40),
        ("mxf4nvf4.block_scale.scale_vec::4X", 4, [0, 0], false, 8),
        ("mxf4nvf4.block_scale.block16", 4, [0, 0], false, 120),
        ("mxf4nvf4.block_scale.block16", 4, [0, 0], true, 32),
    ] {
        let of: &dyn Fn(usize, usize, usize) -> u8 = if is_power { of } else { &part };
        let scales = Some(Scales {
            blocks,
            first,
            is_power,
            of,
        });
        let base = Product {
            kind,
            a: PACKED,
            b: PACKED,
            n,
            scales,
            ..BASE
        };
        let in_tensor = blocks == 4;
        let more = NEGATES[usize::from(in_tensor)];
        for product in [
            base,
            Product {
                in_tensor,
                more,
                adds: "%p5",
                tiles,
                ..base
            },
        ] {
            product.check(&some[0](PACKED), &some[1](PACKED));
        }
    }
}

#[test]
fn each_scale_is_known() {
    let one = |number: Number| move |_, _| number.bits_of(1.0).expect("a one");
    for (kind, number, blocks, is_power) in [
        ("mxf8f6f4.block_scale", E4M3, 1, true),
        ("mxf4nvf4.block_scale.block16", PACKED, 4, false),
    ] {
        for first in [0, 128] {
            // Columns have a scale of 1, rows each there is: of the first block alone, as other elements are 0.
            let of = &|which: usize, row: usize, block: usize| match (which, is_power) {
                (0, true) => (first + row) as u8,
                (0, false) if block == 0 => row as u8 % 128,
                (_, true) => 127,
                (_, false) => 0x38,
            };
            assert_eq!(scale(of(1, 0, 0), is_power), 1.0);
            let scales = Some(Scales {
                blocks,
                first: [0, 0],
                is_power,
                of,
            });
            let (a, b) = (number, number);
            let a_of = |row, k| if k == 0 { one(number)(row, k) } else { 0 };
            let product = Product {
                kind,
                a,
                b,
                scales,
                adds: "0",
                n: 8,
                ..BASE
            };
            product.check(&a_of, &one(number));
        }
    }
}

#[test]
fn what_is_said_of_the_old_sum_holds() {
    for adds in ["%p4", "%p5", "!%p4", "!%p5", "0", "1"] {
        Product {
            adds,
            n: 16,
            ..BASE
        }
        .check_some();
        Product {
            adds,
            n: 16,
            in_tensor: true,
            ..T32
        }
        .check_some();
    }
    for halved in [1, 5] {
        Product {
            halved,
            n: 16,
            ..BASE
        }
        .check_some();
        Product {
            halved,
            adds: "%p5",
            n: 24,
            ..T32
        }
        .check_some();
    }
    // The most; the old sums are large enough to leave none of their bits behind.
    let large = |lane: usize, column: usize| {
        let steps = random(81, 512 * lane + column) % 127;
        ((steps as f32 - 63.0) * 4096.0).to_bits()
    };
    Product {
        halved: 15,
        start: &large,
        n: 16,
        ..BASE
    }
    .check_some();
}

#[test]
fn signs_and_lanes_are_as_the_descriptors_say() {
    for more in [NEGATES[0], NEGATES[1], NEGATES[0] | NEGATES[1]] {
        Product {
            more,
            n: 16,
            ..BASE
        }
        .check_some();
        Product {
            more,
            n: 16,
            in_tensor: true,
            ..F8
        }
        .check_some();
        Product {
            more,
            n: 16,
            m: 64,
            ..T32
        }
        .check_some();
    }
    let left_out = Some([0x8000_0001, 0, 0xFFFF_FFFF, random(91, 0)]);
    Product { left_out, ..BASE }.check_some();
    Product {
        left_out,
        m: 64,
        in_tensor: true,
        ..T32
    }
    .check_some();
    Product {
        left_out,
        n: 24,
        ..I8
    }
    .check(&any_bytes(27), &any_bytes(28));
}

#[test]
fn a_descriptor_that_is_wrong_is_a_fault() {
    let of = |product: Product<'_>| misuse(&product.work(&|_, _| 0, &|_, _| 0).case());
    let product = |product: Product<'_>| assert_eq!(of(product), Misuse::TensorProduct);
    // Sparse; D, A or B of what the kind has not.
    product(Product {
        more: 1 << 2,
        ..BASE
    });
    product(Product {
        more: 2 << 4,
        ..BASE
    });
    product(Product {
        sum: Sum::F16,
        ..T32
    });
    product(Product {
        sum: Sum::F32,
        ..I8
    });
    product(Product {
        more: 1 << 8,
        ..BASE
    });
    product(Product {
        more: 1 << 11,
        ..F8
    });
    product(Product {
        more: NEGATES[0],
        ..I8
    });
    // Rows and columns that there are not.
    product(Product { m: 32, ..BASE });
    product(Product { m: 256, ..F8 });
    product(Product { n: 0, ..BASE });
    product(Product {
        n: 256,
        more: 1 << 17,
        ..BASE
    });
    product(Product { n: 40, ..I8 });
    product(Product {
        n: 24,
        tiles: [tile(0, false), tile(0, true)],
        ..F8
    });
    let scales = Some(Scales {
        blocks: 2,
        first: [0, 0],
        is_power: true,
        of: &|_, _, _| 127,
    });
    let (kind, a, b) = ("mxf4.block_scale", PACKED, PACKED);
    let mx = Product {
        kind,
        a,
        b,
        scales,
        ..BASE
    };
    product(Product { m: 64, ..mx });
    product(Product {
        more: 1 << 23,
        ..mx
    });
    product(Product {
        more: 1 << 31,
        ..mx
    });
    // Two scales begin at the first or third byte, four at the first; parts of two are only by four.
    product(Product {
        more: 1 << 29,
        ..mx
    });
    product(Product { more: 3 << 4, ..mx });
    let (kind, of) = (
        "mxf4nvf4.block_scale.block16",
        &|_: usize, _: usize, _: usize| 127,
    );
    let scales = Some(Scales {
        blocks: 4,
        first: [0, 0],
        is_power: false,
        of,
    });
    product(Product {
        more: 2 << 29,
        kind,
        scales,
        ..mx
    });
    let kind = "mxf4nvf4.block_scale.block32";
    product(Product {
        kind,
        more: 1 << 23,
        ..mx
    });
}

#[test]
fn matrices_that_are_elsewhere_are_a_fault() {
    let none = |_: usize, _: usize| 0;
    let of = |product: Product<'_>| misuse(&product.work(&none, &none).case());
    // Lanes where no D of so many rows begins, and columns that were not given out.
    assert_eq!(
        of(Product {
            m: 64,
            lane: 8,
            ..BASE
        }),
        Misuse::TensorLanes
    );
    let mut wide = Product { n: 256, ..BASE }.work(&|_, _| 0, &|_, _| 0);
    wide.columns = 256;
    wide.image.truncate(128 * 256);
    assert_eq!(misuse(&wide.case()), Misuse::TensorMemory);
    // A in other lanes than D.
    let upper = Product {
        m: 64,
        lane: 16,
        in_tensor: true,
        n: 24,
        ..BASE
    };
    let mut work = upper.work(&none, &none);
    let at = upper.columns().0[0];
    let other = work.body.replace(
        &format!("[%r14+{}]", at + (16 << 16)),
        &format!("[%r14+{at}]"),
    );
    assert_ne!(other, work.body);
    work.body = other;
    assert_eq!(misuse(&work.case()), Misuse::TensorLanes);
    // Layouts that there are not for the numbers.
    let turned = [tile(3, true), tile(3, false)];
    assert_eq!(
        of(Product {
            tiles: turned,
            ..T32
        }),
        Misuse::TensorDescriptor
    );
    let scales = Some(Scales {
        blocks: 2,
        first: [0, 0],
        is_power: true,
        of: &|_, _, _| 127,
    });
    let (kind, a, b) = ("mxf4.block_scale", PACKED, PACKED);
    let mx = Product {
        kind,
        a,
        b,
        scales,
        ..BASE
    };
    assert_eq!(
        of(Product {
            tiles: turned,
            ..mx
        }),
        Misuse::TensorDescriptor
    );
    // Shared memory ends before B.
    let mut outside = BASE.work(&|_, _| 0, &|_, _| 0);
    outside.shared.truncate(32768);
    assert_eq!(outside_of_shared(&outside.case()), Kind::OobShared);
}
