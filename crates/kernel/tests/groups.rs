//! Argument structs within others: declared, walked and named in their place, with element types as parameters.

use std::{any::Any, sync::Arc};
use warpsmith_kernel::{
    Cta, Elem, InKernel, Kernel, LaunchError, Options, Shapes, args,
    args::{Access, Changeable, HostBuffer, HostMode, Mode, Name, ScalarArg, Signature, Visitor},
    build,
};
use warpsmith_ptx::target::Target;

args! {
    /// A matrix with a scale for each row.
    struct Scaled<T: Elem> {
        values: In<T>[rows, columns], scales: Maybe<f32>[rows], rows: Scalar<u32>, columns: Scalar<u32>,
    }
}

args! {
    /// `y = a x + b x`.
    struct SumArgs<T: Elem> {
        a: Group<Scaled<T>>, x: In<f32>[a.columns], b: Group<Scaled<f32>>, y: Out<f32>[rows + 1], rows: Scalar<u64>,
    }
}

/// Arrays that are their lengths.
struct Lengths;

struct Array(usize);

impl HostBuffer for Array {
    fn address(&self) -> u64 {
        0
    }
    fn len(&self) -> usize {
        self.0
    }
    fn allocation(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        None
    }
    fn element_bytes(&self) -> usize {
        1
    }
}

impl Mode for Lengths {
    type In<T: Elem> = Array;
    type Maybe<T: Elem> = Option<Array>;
    type Out<T: Elem> = Array;
    type InOut<T: Elem> = Array;
    type Scalar<T: ScalarArg> = T;
}

impl HostMode for Lengths {
    fn input<T: Elem>(field: &Array) -> &dyn HostBuffer {
        field
    }
    fn maybe<T: Elem>(field: &Option<Array>) -> Option<&dyn HostBuffer> {
        field.as_ref().map(|field| field as &dyn HostBuffer)
    }
    fn output<T: Elem>(field: &Array) -> &dyn HostBuffer {
        field
    }
    fn inout<T: Elem>(field: &Array) -> &dyn HostBuffer {
        field
    }
    fn scalar<T: ScalarArg>(field: &T) -> T {
        *field
    }
}

impl Changeable for Lengths {
    fn scalar_mut<T: ScalarArg>(field: &mut T) -> &mut T {
        field
    }
}

/// What a walk shows, in order.
#[derive(Default)]
struct Walk(Vec<String>);

impl Visitor for Walk {
    fn array(
        &mut self,
        name: Name<'_>,
        _access: Access,
        array: Option<&dyn HostBuffer>,
        dims: &[u128],
    ) {
        self.0
            .push(format!("{name} {dims:?} {:?}", array.map(HostBuffer::len)));
    }
    fn scalar(&mut self, name: Name<'_>, bytes: &[u8]) {
        self.0.push(format!("{name} {bytes:?}"));
    }
}

fn sum_args() -> SumArgs<u16, Lengths> {
    SumArgs {
        a: Scaled {
            values: Array(6),
            scales: None,
            rows: 2,
            columns: 3,
        },
        x: Array(3),
        b: Scaled {
            values: Array(20),
            scales: Some(Array(4)),
            rows: 4,
            columns: 5,
        },
        y: Array(8),
        rows: 7,
    }
}

#[test]
fn a_walk_shows_groups_in_their_place_with_their_names() {
    let mut walk = Walk::default();
    SumArgs::<u16>::visit(&sum_args(), &mut walk);
    assert_eq!(
        walk.0,
        [
            "a.values [2, 3] Some(6)",
            "a.scales [2] None",
            "a.rows [2, 0, 0, 0]",
            "a.columns [3, 0, 0, 0]",
            "x [3] Some(3)",
            "b.values [4, 5] Some(20)",
            "b.scales [4] Some(4)",
            "b.rows [4, 0, 0, 0]",
            "b.columns [5, 0, 0, 0]",
            "y [8] Some(8)",
            "rows [7, 0, 0, 0, 0, 0, 0, 0]",
        ]
    );
}

#[test]
fn scalars_of_groups_are_changed_by_their_names_and_seen_by_the_grid() {
    let mut args = sum_args();
    for (name, scalar) in SumArgs::<u16>::scalars(&mut args) {
        if name == "b.columns" {
            assert!(scalar.offset(10));
        }
    }
    let shapes = SumArgs::<u16>::shapes(&args);
    let sizes = |of: [u32; 2]| of;
    assert_eq!(sizes([shapes.a.rows, shapes.a.columns]), [2, 3]);
    assert_eq!(sizes([shapes.b.rows, shapes.b.columns]), [4, 15]);
    assert_eq!(shapes.rows, 7);
}

/// Reads by both groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sum;

impl Kernel for Sum {
    type Args = SumArgs<u16>;

    fn name(&self) -> String {
        "sum".into()
    }

    fn grid(&self, a: &SumArgs<u16, Shapes>) -> Result<u64, LaunchError> {
        Ok(a.rows)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: SumArgs<u16, InKernel<'k>>) {
        let row = cta.id();
        let (own, copied) = (a.a.values.row(row), a);
        let sum = own.at(0u32).f32() + copied.b.values.row(row).at(copied.b.columns - 1);
        cta.leader(|_| a.y.set(row, sum));
    }
}

#[test]
fn parameters_of_groups_are_declared_in_the_order_of_the_walk() {
    let built = build(&Sum, Target::sm(90), Options::default()).expect("a right kernel");
    let mut walk = Walk::default();
    SumArgs::<u16>::visit(&sum_args(), &mut walk);
    let walked = walk.0.iter().map(|shown| {
        let name = shown.split(' ').next().expect("a name");
        format!("p_{}", name.replace('.', "_"))
    });
    let [entry] = &built.module.functions[..] else {
        panic!("one function");
    };
    let declared = entry.params.iter().map(|param| param.name.to_string());
    assert_eq!(declared.collect::<Vec<_>>(), walked.collect::<Vec<_>>());
}
