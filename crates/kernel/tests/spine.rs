//! A first kernel goes through the language to verified PTX.

use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, Options, args, build, require};
use warpsmith_ptx::target::Target;

args! {
    /// `y = x * w / rms(x)`.
    pub struct RmsNormArgs {
        x: In<f32>[rows, n], w: In<f32>[n], y: Out<f32>[rows, n],
        rows: Scalar<u32>, n: Scalar<u32>, eps: Scalar<f32>,
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct RmsNorm;

impl Kernel for RmsNorm {
    type Args = RmsNormArgs;

    fn name(&self) -> String {
        "rms_norm".into()
    }

    fn grid(&self, a: &RmsNormArgs) -> Result<u64, LaunchError> {
        require(a.n > 0, "n", a.n.into(), "at least 1")?;
        Ok(a.rows.into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: RmsNormArgs<InKernel<'k>>) {
        let (x, y) = (a.x.row(cta.id()), a.y.row(cta.id()));
        let squares = cta.sum(a.n, |i| x.at(i) * x.at(i));
        let scale = (squares / a.n.f32() + a.eps).rsqrt();
        cta.each(a.n, |_, i| y.set(i, x.at(i) * scale * a.w.at(i)));
    }
}

#[test]
fn rms_norm_is_built_and_verified() {
    for target in Target::SUPPORTED {
        let built = build(&RmsNorm, *target, Options::default()).expect("a correct kernel");
        println!("{}", built.module.text());
        assert_eq!(built.threads, 256);
    }
}
