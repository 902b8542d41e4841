//! Products of warp groups: shapes, types, layouts in shared memory, signs and transposes, against the host.

use crate::harness::{Case, kernel};
use warpsmith_vgpu::check::Kind;

/// How a matrix lies in shared memory.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Bytes of the swizzle's rows; 16 without one.
    row: usize,
    /// Whether rows of the matrix lie together, instead of steps of k.
    transposed: bool,
}

/// Leading and stride offsets for a matrix of so many rows.
fn offsets(layout: Layout, rows: usize) -> [usize; 2] {
    match (layout.row, layout.transposed) {
        // Units of 8 rows by 16 bytes: those of one step of k together.
        (16, false) => [rows / 8 * 128, 128],
        (row, false) => [16, 8 * row],
        (16, true) => [rows / 8 * 128, 128],
        // Blocks of `row` bytes of rows by 8 steps of k: first all of k, then the next rows.
        (row, true) => [16 * row, 8 * row],
    }
}

/// Where element `k` of a row is, in bytes.
fn place(layout: Layout, rows: usize, element: usize, row: usize, k: usize) -> usize {
    let [leading, stride] = offsets(layout, rows);
    let at = if layout.transposed {
        let per = layout.row / element;
        let [inside, block] = [row % per, row / per];
        match layout.row {
            16 => block * stride + k % 8 * 16 + k / 8 * leading + inside * element,
            pitch => block * leading + k % 8 * pitch + k / 8 * stride + inside * element,
        }
    } else {
        let byte = k * element;
        let group = row / 8 * stride + row % 8 * layout.row;
        match layout.row {
            16 => group + byte / 16 * leading + byte % 16,
            _ => group + byte,
        }
    };
    let bits = layout.row / 16 - 1;
    at ^ (at >> 7 & bits) << 4
}

fn descriptor(layout: Layout, rows: usize, start: usize) -> u64 {
    let [leading, stride] = offsets(layout, rows);
    let mode = match layout.row {
        16 => 0,
        128 => 1,
        64 => 2,
        _ => 3,
    };
    (start >> 4 | (leading >> 4) << 16) as u64 | (stride as u64 >> 4) << 32 | mode << 62
}

/// A product: D's words, as rows of columns.
struct Product<'a> {
    form: &'a str,
    n: usize,
    k: usize,
    /// Bytes of an element of A and B.
    element: usize,
    a: Layout,
    b: Layout,
    in_registers: bool,
    /// What stands behind the descriptors.
    tail: &'a str,
    scale: &'a str,
    halves: bool,
}

/// Where B starts in shared memory.
const B: usize = 32768;

impl Product<'_> {
    fn case(
        &self,
        a: impl Fn(usize, usize) -> Vec<u8>,
        b: impl Fn(usize, usize) -> Vec<u8>,
        c: u32,
    ) -> Case {
        let Product { n, k, element, .. } = *self;
        let mut shared = vec![0u8; 65536];
        let mut put =
            |at: usize, bytes: Vec<u8>| shared[at..at + bytes.len()].copy_from_slice(&bytes);
        for row in 0..64 {
            for step in 0..k {
                put(place(self.a, 64, element, row, step), a(row, step));
            }
        }
        for column in 0..n {
            for step in 0..k {
                put(B + place(self.b, n, element, column, step), b(column, step));
            }
        }
        let count = n / if self.halves { 4 } else { 2 };
        let is_float = self.form.contains(".f32.");
        let name = |i: usize| match is_float {
            true => format!("%f{i}"),
            false => format!("%r{}", 40 + i),
        };
        let sums: Vec<String> = (0..count).map(name).collect();
        let first: String = sums
            .iter()
            .map(|sum| format!("  mov.b32 {sum}, 0x{c:x};\n"))
            .collect();
        let stores: String = sums
            .iter()
            .enumerate()
            .map(|(i, sum)| format!("  st.global.b32 [%d6+{}], {sum};\n", 4 * i))
            .collect();
        let sums = sums.join(", ");
        let from = if self.in_registers {
            "{%r20, %r21, %r22, %r23}".to_owned()
        } else {
            "%d4".to_owned()
        };
        let body = format!(
            "
  mov.u32 %r2, tile; shl.b32 %r3, %r0, 4;
copy:
  cvt.u64.u32 %d3, %r3; add.u64 %d3, %d0, %d3;
  ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%d3];
  add.u32 %r8, %r2, %r3; st.shared.v4.u32 [%r8], {{%r4, %r5, %r6, %r7}};
  add.u32 %r3, %r3, 2048;
  setp.lt.u32 %p1, %r3, 65536;
  @%p1 bra copy;
  mul.wide.u32 %d3, %r0, 16; add.u64 %d3, %d1, %d3;
  ld.global.v4.u32 {{%r20, %r21, %r22, %r23}}, [%d3];
  fence.proxy.async;
  bar.sync 0;
  mov.u64 %d4, {};
  mov.u64 %d5, {};
  shr.u32 %r9, %r2, 4; cvt.u64.u32 %d7, %r9; add.u64 %d4, %d4, %d7; add.u64 %d5, %d5, %d7;
  setp.eq.u32 %p2, %r2, 12345;
{first}
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.{} {{{sums}}}, {from}, %d5, {}{};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  mul.wide.u32 %d6, %r0, {}; add.u64 %d6, %d2, %d6;
{stores}",
            descriptor(self.a, 64, 0),
            descriptor(self.b, n, B),
            self.form,
            self.scale,
            self.tail,
            4 * count
        );
        // The registers of A as threads have them.
        let mut registers = Vec::new();
        for thread in 0..128 {
            let (warp, g, t) = (thread / 32, thread % 32 / 4, thread % 4);
            for i in 0..4 {
                let row = 16 * warp + g + 8 * (i % 2);
                let each = 4 / element;
                let step = (16 * (i / 2) + 4 * t) / element;
                registers.extend((0..each).flat_map(|e| a(row, step + e)));
            }
        }
        let text = kernel(
            "",
            3,
            "",
            &body.replace("mov.u32 %r2, tile;", "mov.u32 %r2, tiles;"),
        );
        Case {
            block: 128,
            dynamic_shared: 65536,
            inputs: vec![shared, registers],
            ..Case::new(
                format!(".extern .shared .align 1024 .b8 tiles[];\n{text}"),
                128 * count,
            )
        }
    }

    /// The element of D at a row and a column: the word and whether it is the upper half.
    fn word(&self, row: usize, column: usize) -> (usize, bool) {
        let count = self.n / if self.halves { 4 } else { 2 };
        let (warp, inside) = (row / 16, row % 16);
        let thread = 32 * warp + inside % 8 * 4 + column % 8 / 2;
        let (block, upper) = (column / 8, column % 2);
        if self.halves {
            (thread * count + 2 * block + inside / 8, upper == 1)
        } else {
            (thread * count + 4 * block + 2 * (inside / 8) + upper, false)
        }
    }
}

const PLAIN: Layout = Layout {
    row: 128,
    transposed: false,
};

fn value(i: usize, k: usize, seed: usize) -> f32 {
    let x = (i * 31 + k * 17 + seed * 7) % 23;
    (x as f32 - 11.0) * 0.25
}

fn f16(x: f32) -> Vec<u8> {
    half::f16::from_f32(x).to_le_bytes().to_vec()
}

fn bf16(x: f32) -> Vec<u8> {
    half::bf16::from_f32(x).to_le_bytes().to_vec()
}

/// All numbers are multiples of 1/16 and small: sums are exact in any order.
#[track_caller]
fn check_floats(product: &Product<'_>, encode: fn(f32) -> Vec<u8>, c: f32, signs: f32) {
    let start = if product.halves {
        let half = u32::from(half::f16::from_f32(c).to_bits());
        half | half << 16
    } else {
        c.to_bits()
    };
    let case = product.case(
        |r, k| encode(value(r, k, 1)),
        |n, k| encode(value(n, k, 2)),
        start,
    );
    let found = case.run();
    let c = if product.scale == "1" { c } else { 0.0 };
    for row in 0..64 {
        for column in 0..product.n {
            let dot: f32 = (0..product.k)
                .map(|k| value(row, k, 1) * value(column, k, 2))
                .sum();
            let (word, upper) = product.word(row, column);
            let word = found[word];
            let found = if product.halves {
                half::f16::from_bits((word >> if upper { 16 } else { 0 }) as u16).to_f32()
            } else {
                f32::from_bits(word)
            };
            let want = signs * dot + c;
            assert_eq!(
                found, want,
                "row {row}, column {column} of {}",
                product.form
            );
        }
    }
}

#[test]
fn each_layout_gives_the_same_product() {
    let layouts =
        [16, 32, 64, 128].map(|row| [false, true].map(|transposed| Layout { row, transposed }));
    for a in layouts.as_flattened() {
        for b in layouts.as_flattened() {
            let n = 64;
            let tail = format!(
                ", 1, 1, {}, {}",
                u8::from(a.transposed),
                u8::from(b.transposed)
            );
            let product = Product {
                form: "m64n64k16.f32.f16.f16",
                n,
                k: 16,
                element: 2,
                a: *a,
                b: *b,
                in_registers: false,
                tail: &tail,
                scale: "1",
                halves: false,
            };
            // Those that are alike in one are tried with the other alone.
            if a.row == b.row || a.row == 128 || b.row == 128 {
                check_floats(&product, f16, 2.5, 1.0);
            }
        }
    }
}

#[test]
fn each_width_and_type_of_floats_is_right() {
    let base = Product {
        form: "",
        n: 8,
        k: 16,
        element: 2,
        a: PLAIN,
        b: PLAIN,
        in_registers: false,
        tail: ", 1, 1, 0, 0",
        scale: "1",
        halves: false,
    };
    for n in [8, 24, 104, 256] {
        let form = format!("m64n{n}k16.f32.bf16.bf16");
        check_floats(
            &Product {
                form: &form,
                n,
                ..base
            },
            bf16,
            -1.0,
            1.0,
        );
    }
    for (tail, signs) in [
        (", 1, 1, 0, 0", 1.0),
        (", -1, 1, 0, 0", -1.0),
        (", -1, -1, 0, 0", 1.0),
    ] {
        let form = "m64n16k16.f16.f16.f16";
        let product = Product {
            form,
            n: 16,
            tail,
            halves: true,
            ..base
        };
        check_floats(&product, f16, 0.5, signs);
    }
    // A predicate that does not hold, and a constant.
    for scale in ["%p2", "0", "!%p2"] {
        let scale_is_one = scale == "!%p2";
        let form = "m64n16k16.f32.f16.f16";
        let product = Product {
            form,
            n: 16,
            scale,
            ..base
        };
        if scale_is_one {
            let case = product.case(
                |r, k| f16(value(r, k, 1)),
                |n, k| f16(value(n, k, 2)),
                1f32.to_bits(),
            );
            let one = Product {
                scale: "1",
                ..product
            };
            let same = one.case(
                |r, k| f16(value(r, k, 1)),
                |n, k| f16(value(n, k, 2)),
                1f32.to_bits(),
            );
            assert_eq!(case.run(), same.run());
        } else {
            check_floats(&product, f16, 7.0, 1.0);
        }
    }
    let tf32 = |x: f32| x.to_bits().to_le_bytes().to_vec();
    let product = Product {
        form: "m64n40k8.f32.tf32.tf32",
        n: 40,
        k: 8,
        element: 4,
        tail: ", 1, -1",
        ..base
    };
    check_floats(&product, tf32, 4.0, -1.0);
    // A in registers.
    let product = Product {
        form: "m64n32k16.f32.f16.f16",
        n: 32,
        in_registers: true,
        tail: ", -1, 1, 1",
        b: Layout {
            row: 64,
            transposed: true,
        },
        ..base
    };
    check_floats(&product, f16, 4.0, -1.0);
}

/// An `e4m3` or `e5m2` of a small number: its multiples of 1/4 are exact.
fn eighth(x: f32, mantissa: u32, bias: i32) -> Vec<u8> {
    if x == 0.0 {
        return vec![0];
    }
    let bits = x.to_bits();
    let exponent = (bits >> 23 & 0xFF) as i32 - 127 + bias;
    let fraction = bits >> (23 - mantissa) & ((1 << mantissa) - 1);
    vec![(bits >> 31 << 7 | (exponent as u32) << mantissa | fraction) as u8]
}

#[test]
fn eighths_and_integers_are_right() {
    let base = Product {
        form: "",
        n: 16,
        k: 32,
        element: 1,
        a: PLAIN,
        b: Layout {
            row: 32,
            transposed: false,
        },
        in_registers: false,
        tail: ", 1, 1",
        scale: "1",
        halves: false,
    };
    // Of four bits of fraction all products of these are exact.
    let small = |x: f32| (x * 4.0).rem_euclid(7.0) * 0.25 - 0.75;
    for (halves, sum) in [(false, "f32"), (true, "f16")] {
        let form = format!("m64n16k32.{sum}.e4m3.e5m2");
        let product = Product {
            form: &form,
            halves,
            ..base
        };
        let a = |r, k| eighth(small(value(r, k, 1)), 3, 7);
        let b = |n, k| eighth((small(value(n, k, 2)) * 2.0).trunc() * 0.5, 2, 15);
        let found = product.case(a, b, 0).run();
        for row in 0..64 {
            for column in 0..16 {
                let dot: f32 = (0..32)
                    .map(|k| {
                        small(value(row, k, 1)) * ((small(value(column, k, 2)) * 2.0).trunc() * 0.5)
                    })
                    .sum();
                let (word, upper) = product.word(row, column);
                let word = found[word];
                let found = if halves {
                    half::f16::from_bits((word >> if upper { 16 } else { 0 }) as u16).to_f32()
                } else {
                    f32::from_bits(word)
                };
                assert_eq!(found, dot, "{sum} {row} {column}");
            }
        }
    }
    for (form, signed) in [
        ("s8.s8", [true, true]),
        ("u8.s8", [false, true]),
        ("s8.u8.satfinite", [true, false]),
    ] {
        let form = format!("m64n16k32.s32.{form}");
        let byte = |i: usize, k: usize, seed: usize| (i * 37 + k * 101 + seed * 53) as u8;
        for in_registers in [false, true] {
            let product = Product {
                form: &form,
                in_registers,
                tail: "",
                ..base
            };
            let found = product
                .case(|r, k| vec![byte(r, k, 1)], |n, k| vec![byte(n, k, 2)], 100)
                .run();
            let number = |byte: u8, signed: bool| {
                if signed {
                    i32::from(byte as i8)
                } else {
                    i32::from(byte)
                }
            };
            for row in 0..64 {
                for column in 0..16 {
                    let dot: i32 = (0..32)
                        .map(|k| {
                            number(byte(row, k, 1), signed[0])
                                * number(byte(column, k, 2), signed[1])
                        })
                        .sum();
                    assert_eq!(
                        found[product.word(row, column).0] as i32,
                        dot + 100,
                        "{form}"
                    );
                }
            }
        }
    }
    // Bits: 32 bytes are 256 of them.
    let product = Product {
        form: "m64n24k256.s32.b1.b1.and.popc",
        n: 24,
        tail: "",
        ..base
    };
    let byte = |i: usize, k: usize, seed: usize| (i * 91 + k * 29 + seed * 3) as u8;
    let found = product
        .case(|r, k| vec![byte(r, k, 1)], |n, k| vec![byte(n, k, 2)], 5)
        .run();
    for row in 0..64 {
        for column in 0..24 {
            let common: u32 = (0..32)
                .map(|k| (byte(row, k, 1) & byte(column, k, 2)).count_ones())
                .sum();
            assert_eq!(found[product.word(row, column).0], common + 5);
        }
    }
}

#[test]
fn operands_of_products_are_fenced_and_left_alone_or_it_is_found() {
    let product = Product {
        form: "m64n16k16.f32.f16.f16",
        n: 16,
        k: 16,
        element: 2,
        a: PLAIN,
        b: PLAIN,
        in_registers: false,
        tail: ", 1, 1, 0, 0",
        scale: "1",
        halves: false,
    };
    let right = product.case(|r, k| f16(value(r, k, 1)), |n, k| f16(value(n, k, 2)), 0);
    assert_eq!(right.finds(), []);
    let finds = |from: &str, to: &str| {
        let text = right.text.replacen(from, to, 1);
        assert_ne!(text, right.text, "{from}");
        Case {
            text,
            ..right.clone()
        }
        .finds()
    };
    let found = finds("  fence.proxy.async;\n", "");
    let is_product =
        |one: &(Kind, String)| one.0 == Kind::ProxyFence && one.1.starts_with("wgmma.mma_async");
    assert!(
        !found.is_empty() && found.iter().all(is_product),
        "{found:?}"
    );
    let store = "  bar.sync 0;\n  setp.eq.u32 %p3, %r0, 0;\n  @%p3 st.shared.u32 [%r2], %r0;\n";
    let wait = "  wgmma.wait_group.sync.aligned 0;\n";
    let found = finds(wait, &format!("{store}{wait}"));
    let is_early =
        |one: &(Kind, String)| one.0 == Kind::AsyncEarly && one.1.starts_with("@%p3 st.shared");
    assert!(!found.is_empty() && found.iter().all(is_early), "{found:?}");
    assert_eq!(finds(wait, &format!("{wait}{store}")), []);
}
