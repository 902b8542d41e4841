//! What is refused while a kernel is built: with the user's line first, and what to write.

use std::panic::Location;
use warpsmith_kernel::{BuildError, Kernel, Options, Val, build, kernel, misuse::Misuse, printf};
use warpsmith_ptx::target::Target;

/// The only misuse of a kernel.
fn misuse<K: Kernel>(kernel: &K) -> Misuse {
    match build(kernel, Target::sm(90), Options::default()) {
        Err(BuildError::Misuse { found, .. }) if found.len() == 1 => found[0].clone(),
        other => panic!("{}: {other:?}", kernel.name()),
    }
}

macro_rules! escapes {
    ($($test:ident $name:ident $args:ident $construct:literal $instead:literal |$cta:ident, $g:ident| $body:block)*) => {$(
        kernel! {
            /// Uses a value behind what makes it.
            struct $name($args { x: In<f32>[n], y: Out<f32>[n], n: Scalar<u32> });
            grid(g) = g.n;
            body($cta, $g) $body
        }

        #[test]
        fn $test() {
            let found = misuse(&$name);
            let Misuse::Escaped { construct, made, used } = &found else { panic!("{found}") };
            assert_eq!(*construct, $construct);
            let own = Location::caller().file();
            assert!(made.file() == own && used.file() == own && made.line() < used.line(), "{found}");
            let text = found.to_string();
            let place = format!("{own}:{}:", used.line());
            assert!(text.starts_with(&place) && text.contains($instead), "{text}");
        }
    )*};
}

escapes! {
    a_sum_that_each_changes SumOfEach SumOfEachArgs "each" "`fold`" |cta, g| {
        let mut sum = Val::<f32>::constant(0.0);
        cta.each(g.n, |_, i| sum += g.x.at(i));
        g.y.set(cta.thread(), sum);
    }
    a_product_that_for_changes ProductOfFor ProductOfForArgs "for_" "`fold`" |cta, g| {
        let mut product = Val::<f32>::constant(1.0);
        cta.for_(warpsmith_kernel::upto(8), |_, i| product *= g.x.at(i));
        g.y.set(cta.thread(), product);
    }
    a_value_of_one_way ValueOfOneWay ValueOfOneWayArgs "if_" "`either`" |cta, g| {
        let mut value = Val::<f32>::constant(1.0);
        let thread = cta.thread();
        cta.if_(thread.lt(g.n), |_| value = g.x.at(thread));
        g.y.set(cta.thread(), value);
    }
    a_value_of_the_leader ValueOfTheLeader ValueOfTheLeaderArgs "if_" "`either`" |cta, g| {
        let mut value = Val::<f32>::constant(1.0);
        cta.leader(|_| value = g.x.at(0).varying());
        g.y.set(cta.thread(), value);
    }
    a_value_of_another_way ValueOfAnotherWay ValueOfAnotherWayArgs "either" "`either`" |cta, g| {
        let mut value = Val::<f32>::constant(1.0);
        let thread = cta.thread();
        let own = cta.either(thread.lt(g.n), |_| { value = g.x.at(thread); value }, |_| 0.0.into());
        g.y.set(thread, own + value);
    }
    a_count_of_while CountOfWhile CountOfWhileArgs "while_" "state" |cta, g| {
        let mut count = Val::<u32>::constant(0);
        let thread = cta.thread();
        cta.while_(thread, |_, i| i.lt(g.n), |_, i| { count += 1; i * 2 + 1 });
        g.y.set(thread, count.f32());
    }
    a_constant_of_one_way ConstantOfOneWay ConstantOfOneWayArgs "if_" "`either`" |cta, g| {
        let mut flag = Val::<u32>::constant(0);
        let thread = cta.thread();
        cta.if_(thread.lt(g.n), |_| flag = 1.into());
        g.y.set(thread, flag.f32());
    }
    a_constant_that_a_loop_counts ConstantThatALoopCounts ConstantThatALoopCountsArgs "each" "`fold`" |cta, g| {
        let mut count = Val::<u32>::constant(0);
        cta.each(g.n, |_, _| count += 1);
        let twice = count * 2 + 1;
        g.y.set(cta.thread(), twice.f32());
    }
    a_constant_that_is_an_index ConstantThatIsAnIndex ConstantThatIsAnIndexArgs "each" "`fold`" |cta, g| {
        let mut last = Val::<u32>::constant(0);
        cta.each(g.n, |_, _| last += 1);
        cta.each(1, |_, _| g.y.set(last, 1.0));
    }
    a_constant_that_is_a_bound ConstantThatIsABound ConstantThatIsABoundArgs "each" "`fold`" |cta, g| {
        let mut last = Val::<u32>::constant(0);
        cta.each(g.n, |_, _| last += 1);
        cta.each(last, |_, i| g.y.set(i, 1.0));
    }
}

macro_rules! formats {
    ($($test:ident $name:ident $args:ident $what:literal |$lane:ident, $g:ident| $body:expr;)*) => {$(
        kernel! {
            /// Prints what does not fit.
            struct $name($args { x: In<f32>[n], n: Scalar<u32> });
            grid(g) = g.n;
            body(cta, $g) { cta.leader(|$lane| $body); }
        }

        #[test]
        fn $test() {
            let text = misuse(&$name).to_string();
            assert!(text.starts_with(Location::caller().file()) && text.contains($what), "{text}");
        }
    )*};
}

formats! {
    a_float_for_an_integer FloatForInteger FloatForIntegerArgs "conversion 1 of \"%d\\n\" takes an integer of 32 bits, the value is a float"
        |lane, g| printf!(lane, "%d\n", g.x.at(0));
    too_few_values TooFewValues TooFewValuesArgs "takes 2 values, there are 1" |lane, g| printf!(lane, "%f %f\n", g.x.at(0));
    a_conversion_that_is_none NoConversion NoConversionArgs "no conversion `%q`" |lane, g| printf!(lane, "%q\n", g.x.at(0));
}
