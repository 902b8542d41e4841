//! Prints the PTX of the gate kernels.
use warpsmith_formats::quant::WeightType;
use warpsmith_kernel::{Options, build};
use warpsmith_library::{attention::*, epilogue::*, gemm::*, weights::Layout};
fn main() {
    let sm: String = std::env::args().nth(1).unwrap();
    let which = std::env::args().nth(2).unwrap();
    let t = sm.parse().unwrap();
    let start = std::time::Instant::now();
    let built = match which.as_str() {
        "flash" => build(
            &Flash {
                head_dim: std::env::args().nth(3).unwrap().parse().unwrap(),
                mask: Mask::Causal,
            },
            t,
            Options::default(),
        ),
        ty => {
            let ty = *WeightType::ALL.iter().find(|x| x.name() == ty).unwrap();
            build(
                &Gemm {
                    layout: Layout::of(ty),
                    tiling: Tiling::for_rows(std::env::args().nth(3).unwrap().parse().unwrap()),
                    epilogue: Epilogue::default(),
                },
                t,
                Options::default(),
            )
        }
    };
    match built {
        Ok(b) => {
            let s = b.module.text();
            eprintln!(
                "{} lines {:?} dyn {}",
                s.lines().count(),
                start.elapsed(),
                b.dynamic_shared
            );
            print!("{s}")
        }
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(1)
        }
    }
}
