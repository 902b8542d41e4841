//! Times instructions of whole warps in nanoseconds each, on one thread of the best tier; an argument picks
//! those with it in their name.

use std::time::Instant;
use warpsmith_ptx::{parse, verify};
use warpsmith_vgpu::{Config, Launch, Machine};

fn text(setup: &str, body: &str) -> String {
    format!(
        ".version 8.3
.target sm_90
.address_size 64
.visible .entry test(.param .u64 a, .param .u32 turns)
{{
  .reg .pred %p<4>;
  .reg .b32 %r<128>;
  .reg .b64 %rd<16>;
  .reg .f32 %f<128>;
  .shared .align 128 .b8 sh[16384];
  ld.param.u64 %rd1, [a];
  ld.param.u32 %r8, [turns];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 16;
  add.u64 %rd3, %rd1, %rd2;
  mov.u32 %r2, sh;
  mad.lo.u32 %r3, %r1, 16, %r2;
  and.b32 %r4, %r1, 7;
  xor.b32 %r5, %r1, %r4;
  mad.lo.u32 %r6, %r5, 16, %r3;
{setup}
  mov.u32 %r7, 0;
LOOP:
{body}
  add.u32 %r7, %r7, 1;
  setp.lt.u32 %p1, %r7, %r8;
  @%p1 bra LOOP;
  st.global.f32 [%rd3], %f0;
  st.global.b32 [%rd3+4], %r40;
  ret;
}}
"
    )
}

fn time(name: &str, count: u32, setup: &str, body: &str) -> Result<(), Box<dyn std::error::Error>> {
    let wanted = std::env::args().nth(1);
    if wanted.is_some_and(|part| !name.contains(&part)) {
        return Ok(());
    }
    let module = parse::parse(&text(setup, body)).map_err(|e| format!("{e:?}"))?;
    let module = verify::verify(module).map_err(|e| format!("{e:?}"))?;
    let machine = Machine::new(Config {
        workers: 1,
        memory: 1 << 22,
        ..Config::default()
    })?;
    let kernel = machine.load(&module)?.kernel("test").ok_or("no kernel")?;
    let a = machine.alloc(1 << 16)?;
    machine.write(a, &vec![0; 1 << 16])?;
    let stream = machine.stream()?;
    let run = |turns: u32| -> Result<f64, Box<dyn std::error::Error>> {
        let start = Instant::now();
        stream.launch(Launch {
            kernel: kernel.clone(),
            grid: [1; 3],
            block: [32, 1, 1],
            dynamic_shared: 0,
            params: [a.to_le_bytes(), u64::from(turns).to_le_bytes()].concat()[..12].to_vec(),
            cooperative: false,
            cluster: None,
        })?;
        stream.synchronize()?;
        Ok(start.elapsed().as_secs_f64())
    };
    // The difference of two lengths, so that the launch does not count.
    let (mut short, mut long) = (f64::MAX, f64::MAX);
    for _ in 0..500 {
        short = short.min(run(100)?);
        long = long.min(run(400)?);
    }
    let each = (long - short) * 1e9 / f64::from(300 * count);
    println!("{name:40} {each:8.1} ns");
    Ok(())
}

fn list(prefix: &str, first: u32, count: u32) -> String {
    let all: Vec<String> = (first..first + count)
        .map(|i| format!("{prefix}{i}"))
        .collect();
    format!("{{{}}}", all.join(", "))
}

/// A warp tile of `m` by `n` products: A from `%r40`, B from `%r60`, sums from `%f0`.
fn tile(ty: &str, m: u32, n: u32) -> String {
    let mut body = String::new();
    for i in 0..m {
        for j in 0..n {
            let sums = list("%f", 4 * (n * i + j), 4);
            let (a, b) = (list("%r", 40 + 4 * i, 4), list("%r", 60 + 2 * j, 2));
            body += &format!(
                "  mma.sync.aligned.m16n8k16.row.col.f32.{ty}.{ty}.f32 {sums}, {a}, {b}, {sums};\n"
            );
        }
    }
    body
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:?}", warpsmith_vgpu::Tier::best());
    let mut setup = String::new();
    for i in 0..64 {
        setup += &format!("  ld.global.f32 %f{i}, [%rd3];\n");
    }
    for i in 40..80 {
        setup += &format!("  ld.global.b32 %r{i}, [%rd3];\n");
    }
    let load = "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r40, %r41, %r42, %r43}, [%r6];\n";
    time("empty loop", 1, &setup, "")?;
    for ty in ["f16", "bf16"] {
        time(&format!("mma {ty} 1 x 1"), 1, &setup, &tile(ty, 1, 1))?;
        time(
            &format!("mma {ty} 4 x 4, each"),
            16,
            &setup,
            &tile(ty, 4, 4),
        )?;
    }
    let alone = tile("f16", 2, 2).replace(";\n", ";\n  xor.b32 %r80, %r80, %r7;\n");
    time("mma f16, runs of 1, with an xor", 4, &setup, &alone)?;
    let half = "  mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r70, %r71}, {%r40, %r41, %r42, %r43}, {%r60, %r61}, {%r70, %r71};\n";
    time("mma f16 sums of f16", 1, &setup, half)?;
    let tf32 = "  mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r40, %r41, %r42, %r43}, {%r60, %r61}, {%f0, %f1, %f2, %f3};\n";
    time("mma tf32 m16n8k8", 1, &setup, tf32)?;
    let bytes = "  mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r70, %r71, %r72, %r73}, {%r40, %r41, %r42, %r43}, {%r60, %r61}, {%r70, %r71, %r72, %r73};\n";
    time("mma s8 m16n8k32", 1, &setup, bytes)?;
    time("ldmatrix x4, each of 4", 4, &setup, &load.repeat(4))?;
    time(
        "ldmatrix x4 trans, each of 4",
        4,
        &setup,
        &load.replace("x4", "x4.trans").repeat(4),
    )?;
    let copy = "  cp.async.cg.shared.global [%r3], [%rd3+1088], 16;\n";
    time("cp.async 16, neighbours", 4, &setup, &copy.repeat(4))?;
    time(
        "cp.async 16, apart",
        4,
        &setup,
        &copy.replace("%r3]", "%r6]").repeat(4),
    )?;
    let shuffle = "  shfl.sync.bfly.b32 %r40, %r40, 4, 0x1f, 0xFFFFFFFF;\n";
    time("shfl bfly", 4, &setup, &shuffle.repeat(4))?;
    time(
        "shfl idx",
        4,
        &setup,
        &shuffle.replace("bfly", "idx").repeat(4),
    )?;
    time(
        "red.global.add.f32, one cell",
        1,
        &setup,
        "  red.global.add.f32 [%rd1+64], %f1;\n",
    )?;
    time(
        "red.global.add.f32, 32 cells",
        1,
        &setup,
        "  red.global.add.f32 [%rd3+8], %f1;\n",
    )?;
    time(
        "red.shared.add.u32, 32 cells",
        1,
        &setup,
        "  red.shared.add.u32 [%r3], %r40;\n",
    )?;
    Ok(())
}
