//! `ldmatrix`, `stmatrix` and `movmatrix`.

use super::harness::{Random, kernel, list, loads, run, run_on, stores, ways};
use warpsmith_ptx::{parse, verify};
use warpsmith_vgpu::{Error, FaultKind};

/// Copies 32 words of each of `count` input registers to shared memory at `4 * lane + 128 * i`.
fn fill(count: usize) -> String {
    let mut text = String::from("  mov.u32 %r2, sh;\n  mad.lo.u32 %r3, %r1, 4, %r2;\n");
    for i in 0..count {
        text += &format!(
            "  ld.global.b32 %r4, [%rd1+{}];\n  st.shared.b32 [%r3+{}], %r4;\n",
            128 * i,
            128 * i
        );
    }
    text + "  bar.sync 0;\n"
}

/// Element (row, column) of the matrix of 16-byte rows at `rows`.
fn element(memory: &[u32], row: u32, column: usize) -> u32 {
    memory[row as usize / 4 + column / 2] >> (16 * (column % 2)) & 0xFFFF
}

#[test]
fn ldmatrix_takes_rows_from_the_lanes_addresses() {
    for (name, count) in [("x1", 1), ("x2", 2), ("x4", 4)] {
        for trans in ["", ".trans"] {
            for generic in [false, true] {
                let mut random = Random::new(count as u64);
                let mut input: Vec<u32> = (0..8 * 32).map(|_| random.next()).collect();
                let rows: [u32; 32] = std::array::from_fn(|_| 16 * random.below(64));
                input.extend(rows);
                let address = if generic {
                    "  cvt.u64.u32 %rd6, %r6;\n  cvta.shared.u64 %rd6, %rd6;\n"
                } else {
                    ""
                };
                let (space, at) = if generic {
                    ("", "%rd6")
                } else {
                    (".shared", "%r6")
                };
                let body = format!(
                    "{}  ld.global.b32 %r5, [%rd1+1024];\n  add.u32 %r6, %r5, %r2;\n{address}  ldmatrix.sync.aligned.m8n8.{name}{trans}{space}.b16 {}, [{at}];\n{}",
                    fill(8),
                    list("%r", 10, count),
                    stores("b32", "%r", 10, count, 0),
                );
                let got = run(&body, 32, &input, 32 * count);
                for j in 0..count {
                    for lane in 0..32 {
                        let of = |e: usize| {
                            let (row, column) = (lane / 4, lane % 4 * 2 + e);
                            let (row, column) = if trans.is_empty() {
                                (row, column)
                            } else {
                                (column, row)
                            };
                            element(&input, rows[8 * j + row], column)
                        };
                        assert_eq!(
                            got[32 * j + lane],
                            of(0) | of(1) << 16,
                            "{name}{trans} {generic}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn stmatrix_undoes_ldmatrix() {
    for (name, count) in [("x1", 1), ("x2", 2), ("x4", 4)] {
        for trans in ["", ".trans"] {
            let mut random = Random::new(40 + count as u64);
            let input: Vec<u32> = (0..count * 32).map(|_| random.next()).collect();
            // Rows of 16 bytes in reverse order.
            let body = format!(
                "{}  mov.u32 %r2, sh;
  sub.u32 %r3, 31, %r1;
  mad.lo.u32 %r3, %r3, 16, %r2;
  stmatrix.sync.aligned.m8n8.{name}{trans}.shared.b16 [%r3], {};
  bar.sync 0;
  ldmatrix.sync.aligned.m8n8.{name}{trans}.shared.b16 {}, [%r3];
  ld.shared.b32 %r30, [sh+{}];
{}",
                loads("b32", "%r", 10, count, 0),
                list("%r", 10, count),
                list("%r", 20, count),
                16 * 31 + 4,
                stores("b32", "%r", 20, count, 0) + &stores("b32", "%r", 30, 1, count),
            );
            let got = run(&body, 32, &input, 32 * (count + 1));
            assert_eq!(got[..32 * count], input[..]);
            let of = |row: usize, column: usize| {
                input[4 * row + column / 2] >> (16 * (column % 2)) & 0xFFFF
            };
            let want = if trans.is_empty() {
                of(0, 2) | of(0, 3) << 16
            } else {
                of(2, 0) | of(3, 0) << 16
            };
            assert_eq!(got[32 * count], want, "{name}{trans}");
        }
    }
}

#[test]
fn movmatrix_transposes() {
    let input = Random::new(8).warp();
    let body = format!(
        "{}  movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r10;\n{}",
        loads("b32", "%r", 10, 1, 0),
        stores("b32", "%r", 11, 1, 0)
    );
    let got = run(&body, 32, &input, 32);
    for lane in 0..32 {
        let of = |row: usize, column: usize| element(&input, 16 * row as u32, column);
        let (row, column) = (lane / 4, lane % 4 * 2);
        assert_eq!(got[lane], of(column, row) | of(column + 1, row) << 16);
    }
}

#[test]
fn a_row_outside_of_shared_memory_or_off_its_alignment_is_a_fault() {
    let at = |offset: u32| {
        format!(
            "  mov.u32 %r2, sh;\n  setp.eq.u32 %p1, %r1, 5;\n  selp.u32 %r3, {offset}, 0, %p1;\n  add.u32 %r2, %r2, %r3;\n  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r4}}, [%r2];\n  st.global.b32 [%rd2], %r4;\n"
        )
    };
    for (offset, kind) in [
        (8192 - 8, FaultKind::Misaligned { bytes: 16 }),
        (8192, FaultKind::OutOfBounds { bytes: 16 }),
        (0xFFFF_FFF0, FaultKind::OutOfBounds { bytes: 16 }),
    ] {
        for way in ways() {
            let error = run_on(way, &at(offset), 1, 32, &[], 32).expect_err("a fault");
            let Error::Fault(fault) = error else {
                panic!("{error}")
            };
            assert_eq!(fault.kind, kind);
            assert_eq!(fault.thread, [5, 0, 0]);
        }
    }
}

#[test]
fn what_is_not_here_is_refused_by_name() {
    let text = kernel(
        "  mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, {%r6, %r7}, {%r8, %r9}, {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};\n  st.global.f32 [%rd2], %f0;\n",
    );
    let module = verify::verify(parse::parse(&text).expect("parses")).expect("verifies");
    let machine = warpsmith_vgpu::Machine::new(warpsmith_vgpu::Config {
        memory: 1 << 20,
        ..Default::default()
    })
    .expect("a machine");
    let kernel = machine
        .load(&module)
        .expect("loads")
        .kernel("test")
        .expect("declared");
    let stream = machine.stream().expect("a stream");
    let error = stream
        .launch(warpsmith_vgpu::Launch {
            kernel,
            grid: [1; 3],
            block: [32, 1, 1],
            dynamic_shared: 0,
            params: vec![0; 16],
            cooperative: false,
            cluster: None,
        })
        .expect_err("not supported");
    let Error::Unsupported { what, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(what, "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32");
}
